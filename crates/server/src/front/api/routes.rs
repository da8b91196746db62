//! The routes of `/api`. The router answers what is in [`ROUTES`] and nothing else, and the OpenAPI document is made of it.
//!
//! Schemas, parameters and examples are in `components.json`; the end-to-end tests run every example and compare each
//! answer with its schema.

use serde_json::{Map, Value, json};

use self::Body::{Bytes, Events, Export, Import, Json, Nothing};

/// A method and a path, and what the document says about them.
#[derive(Debug)]
pub(super) struct Route {
    method: &'static str,
    /// Segments in braces are captured. Their names are those of parameters `path.NAME`.
    path: &'static str,
    pub(super) action: Action,
    summary: &'static str,
    /// The known parameters of the query. Their descriptions are the parameters `query.NAME`.
    pub(super) query: &'static [&'static str],
    /// Headers that mean something on this route only. Their descriptions are the parameters `header.NAME`.
    headers: &'static [&'static str],
    request: Body,
    /// Bodies of requests, by their names in `components.json`: all of the one media type, or one of each.
    examples: &'static [&'static str],
    answers: &'static [(u16, Body)],
}

/// What a route does. The name is the `operationId` of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    ShowStatus,
    ShowDocument,
    ListModels,
    ListEnsembles,
    ShowDrift,
    CallTool,
    ShowFigures,
    ListInvocations,
    ListRecords,
    FollowEverything,
    ListApprovals,
    AnswerApproval,
    Run,
    Compare,
    TakeAnswer,
    Upload,
    ListSessions,
    CreateSession,
    ImportSession,
    ShowSession,
    ChangeSession,
    DeleteSession,
    ForkSession,
    RewindSession,
    CancelRun,
    ExportSession,
    ShowContent,
    FollowSession,
}

/// The content of a request or an answer.
#[derive(Debug, Clone, Copy)]
enum Body {
    Nothing,
    /// JSON of this schema.
    Json(&'static str),
    /// Server-Sent Events whose data are JSON of this schema.
    Events(&'static str),
    /// A session in one of the formats of an export, or of an import.
    Export,
    Import,
    Bytes,
}

const fn route(method: &'static str, path: &'static str, action: Action, summary: &'static str) -> Route {
    Route {
        method,
        path,
        action,
        summary,
        query: &[],
        headers: &[],
        request: Nothing,
        examples: &[],
        answers: &[],
    }
}

impl Route {
    const fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    const fn headers(self, headers: &'static [&'static str]) -> Self {
        Self { headers, ..self }
    }

    const fn takes(self, request: Body, examples: &'static [&'static str]) -> Self {
        Self { request, examples, ..self }
    }

    /// The first answer is the usual one.
    const fn gives(self, answers: &'static [(u16, Body)]) -> Self {
        Self { answers, ..self }
    }
}

const ROUTES: &[Route] = &[
    route("GET", "/api/openapi.json", Action::ShowDocument, "Show this document")
        .gives(&[(200, Json("OpenApi"))]),
    route("GET", "/api/status", Action::ShowStatus, "Show what this server is and serves")
        .gives(&[(200, Json("Status"))]),
    route("GET", "/api/models", Action::ListModels, "List models and presets")
        .gives(&[(200, Json("Models"))]),
    route("GET", "/api/ensembles", Action::ListEnsembles, "List ensembles with their tools")
        .gives(&[(200, Json("Ensembles"))]),
    route(
        "GET",
        "/api/ensembles/{ensemble}/drift",
        Action::ShowDrift,
        "Compare an ensemble with its lockfile; only for the user who runs the server",
    )
    .gives(&[(200, Json("Drift"))]),
    route(
        "POST",
        "/api/tools/{ensemble}/{tool}",
        Action::CallTool,
        "Call a tool by hand. 409 `needs-approval` if a rule asks: repeat the call with the `approval.digest` of the answer in `approve`",
    )
    .takes(Json("Call"), &["call"])
    .gives(&[(200, Json("CallResult"))]),
    route("GET", "/api/figures", Action::ShowFigures, "Count turns, invocations, tokens, cost and latency")
        .query(&["since", "until", "by", "project"])
        .gives(&[(200, Json("Figures"))]),
    route("GET", "/api/invocations", Action::ListInvocations, "List the invocations behind the figures")
        .query(&["since", "until", "day", "model", "tool", "outcome", "project", "cursor", "limit"])
        .gives(&[(200, Json("Invocations"))]),
    route("GET", "/api/audit", Action::ListRecords, "List the records of the audit log, the last first")
        .query(&["session", "cursor"])
        .gives(&[(200, Json("Records"))]),
    route("GET", "/api/events", Action::FollowEverything, "Follow what happens in all sessions")
        .gives(&[(200, Events("Change"))]),
    route("GET", "/api/approvals", Action::ListApprovals, "List the questions that wait for an answer")
        .gives(&[(200, Json("Approvals"))]),
    route("POST", "/api/approvals/{approval}", Action::AnswerApproval, "Answer a question")
        .takes(Json("Answer"), &["allow"])
        .gives(&[(200, Json("Left"))]),
    route(
        "POST",
        "/api/runs",
        Action::Run,
        "Run a turn (AG-UI 1.0). With `Accept: application/json` the turn runs on without its client",
    )
    .headers(&["Idempotency-Key"])
    .takes(Json("RunAgentInput"), &["ask", "askForApproval", "resume", "askAlone"])
    .gives(&[(200, Events("Event")), (202, Json("Begun"))]),
    route(
        "POST",
        "/api/comparisons",
        Action::Compare,
        "Ask two to four models, each in a session of its own",
    )
    .takes(Json("NewComparison"), &["compare"])
    .gives(&[(201, Json("Comparison"))]),
    route(
        "POST",
        "/api/comparisons/{comparison}/take",
        Action::TakeAnswer,
        "Continue with one session of a comparison",
    )
    .takes(Json("Take"), &["take"])
    .gives(&[(200, Json("Session"))]),
    route(
        "POST",
        "/api/uploads",
        Action::Upload,
        "Send a file for one message. It is kept for an hour; the header `Content-Type` is its type",
    )
    .query(&["name"])
    .takes(Bytes, &["file"])
    .gives(&[(201, Json("Upload"))]),
    route("GET", "/api/sessions", Action::ListSessions, "List sessions, the last written first")
        .query(&["text", "tag", "since", "until", "cursor", "limit", "project"])
        .gives(&[(200, Json("Sessions"))]),
    route("POST", "/api/sessions", Action::CreateSession, "Create a session")
        .takes(Json("Description"), &["describe"])
        .gives(&[(201, Json("Session"))]),
    route("POST", "/api/sessions/import", Action::ImportSession, "Import an exported document")
        .takes(Import, &["document", "lines"])
        .gives(&[(201, Json("Session"))]),
    route("GET", "/api/sessions/{session}", Action::ShowSession, "Show a session with its messages")
        .query(&["from", "limit"])
        .gives(&[(200, Json("Session"))]),
    route("PATCH", "/api/sessions/{session}", Action::ChangeSession, "Name, tag, or choose the model")
        .takes(Json("Description"), &["describe"])
        .gives(&[(200, Json("Session"))]),
    route("DELETE", "/api/sessions/{session}", Action::DeleteSession, "Delete a session")
        .gives(&[(204, Nothing)]),
    route(
        "POST",
        "/api/sessions/{session}/fork",
        Action::ForkSession,
        "Copy the first messages to a new session",
    )
    .takes(Json("At"), &["at"])
    .gives(&[(201, Json("Session"))]),
    route("POST", "/api/sessions/{session}/rewind", Action::RewindSession, "Keep only the first messages")
        .takes(Json("At"), &["at"])
        .gives(&[(200, Json("Session"))]),
    route("POST", "/api/sessions/{session}/cancel", Action::CancelRun, "Cancel the turn that runs")
        .gives(&[(202, Json("Cancelled"))]),
    route("GET", "/api/sessions/{session}/export", Action::ExportSession, "Export a session as a file")
        .query(&["format"])
        .gives(&[(200, Export)]),
    route(
        "GET",
        "/api/sessions/{session}/content/{digest}",
        Action::ShowContent,
        "Show an attachment, or a picture of a result",
    )
    .gives(&[(200, Bytes)]),
    route(
        "GET",
        "/api/sessions/{session}/events",
        Action::FollowSession,
        "Follow a session from a position on, or from now on",
    )
    .query(&["after"])
    .headers(&["Last-Event-ID"])
    .gives(&[(200, Events("Event"))]),
];

/// Returns the route of a request and the captured segments of its path.
pub(super) fn route_of<'p>(method: &str, path: &'p str) -> Option<(&'static Route, [&'p str; 2])> {
    let mut of_method = ROUTES.iter().filter(|route| route.method == method);
    of_method.find_map(|route| Some((route, route.captured(path)?)))
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.trim_matches('/').split('/')
}

impl Route {
    /// Returns the captured segments, if the path is one of this route.
    fn captured<'p>(&self, path: &'p str) -> Option<[&'p str; 2]> {
        if segments(self.path).count() != segments(path).count() {
            return None;
        }
        let mut captured = [""; 2];
        let mut free = captured.iter_mut();
        for (known, given) in segments(self.path).zip(segments(path)) {
            if !known.starts_with('{') {
                if known != given {
                    return None;
                }
            } else if let Some(place) = free.next() {
                *place = given;
            }
        }
        Some(captured)
    }

    fn id(&self) -> String {
        let name = format!("{:?}", self.action);
        let (first, rest) = name.split_at(1);
        first.to_ascii_lowercase() + rest
    }

    /// Returns the operation object of the route.
    fn operation(&self) -> Value {
        let of_path = segments(self.path).filter_map(|name| name.strip_prefix('{')?.strip_suffix('}'));
        let parameters = of_path.map(|name| format!("path.{name}"));
        let parameters = parameters.chain(self.query.iter().map(|name| format!("query.{name}")));
        let parameters = parameters.chain(self.headers.iter().map(|name| format!("header.{name}")));
        let parameters: Vec<Value> = parameters.map(|name| reference("parameters", &name)).collect();
        let mut operation = json!({ "operationId": self.id(), "summary": self.summary });
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if let Some(mut content) = self.request.content() {
            let last = content.len().saturating_sub(1);
            for (index, name) in self.examples.iter().enumerate() {
                if let Some(media) = content.values_mut().nth(index.min(last)) {
                    media["examples"][*name] = reference("examples", name);
                }
            }
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        for (status, body) in self.answers {
            let answer = &mut operation["responses"][status.to_string()];
            *answer = json!({ "description": "Success" });
            if let Some(content) = body.content() {
                answer["content"] = content.into();
            }
        }
        operation["responses"]["default"] = reference("responses", "Error");
        operation
    }
}

impl Body {
    /// Returns the media types with their schemas.
    fn content(self) -> Option<Map<String, Value>> {
        let json = |name: &str| json!({ "schema": reference("schemas", name) });
        let text = || json!({ "schema": { "type": "string" } });
        let content = match self {
            Nothing => return None,
            Json(name) => json!({ "application/json": json(name) }),
            // Version 3.1 has no word for the schema of one event.
            Events(name) => {
                let data = format!("Server-Sent Events. Each data is a `{name}`.");
                json!({ "text/event-stream": { "schema": {
                    "type": "string", "description": data, "contentMediaType": "text/event-stream",
                    "x-event": reference("schemas", name),
                } } })
            }
            Export => json!({
                "text/markdown": text(), "text/html": text(), "application/json": json("Document"),
                "application/jsonl": text(),
            }),
            Import => json!({ "application/json": json("Document"), "application/jsonl": text() }),
            Bytes => json!({ "*/*": {} }),
        };
        content.as_object().cloned()
    }
}

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// Returns the OpenAPI document.
pub(super) fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = route.operation();
    }
    let components: Value = serde_json::from_str(include_str!("components.json")).unwrap_or_default();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "converse",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sessions, turns, approvals, tools and figures of `converse serve --api`.",
        },
        "security": [{ "token": [] }, { "cookie": [] }],
        "paths": paths,
        "components": components,
    })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test reads the environment")]
mod tests {
    use super::*;

    /// `CONVERSE_BLESS=1` writes the document.
    #[test]
    fn the_published_document_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
        let text = format!("{:#}\n", document());
        if std::env::var("CONVERSE_BLESS").is_ok_and(|value| value == "1") {
            std::fs::write(path, &text).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == text,
            "docs/reference/openapi.json is out of date: run this test with CONVERSE_BLESS=1"
        );
    }

    #[test]
    fn the_page_of_the_api_lists_every_route() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/api.md");
        let page = std::fs::read_to_string(path).unwrap();
        let is_request = |line: &&str| line.split('`').nth(1).is_some_and(|code| code.contains(" /api/"));
        let rows_of_page = page.lines().filter(|line| line.starts_with("| `")).filter(is_request);
        let mut documented: Vec<&str> = rows_of_page.collect();
        let mut rows: Vec<String> = ROUTES.iter().map(Route::row).collect();
        documented.sort_unstable();
        rows.sort_unstable();
        assert_eq!(documented, rows, "the rows of docs/reference/api.md");
    }

    #[test]
    fn every_reference_leads_to_a_component_and_every_component_is_used() {
        let document = document();
        let text = document.to_string();
        let mut used = std::collections::BTreeSet::new();
        for (at, _) in text.match_indices("\"#/") {
            let pointer = text[at + 2..].split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
            used.insert(pointer.to_owned());
        }
        for kind in ["schemas", "parameters", "examples", "responses"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                assert!(used.contains(&format!("/components/{kind}/{name}")), "{kind}/{name} is not used");
            }
        }
    }

    impl Route {
        fn row(&self) -> String {
            let query: Vec<String> = self.query.iter().map(|name| format!("`{name}`")).collect();
            format!("| `{} {}` | {} | {} |", self.method, self.path, query.join(", "), self.summary)
        }
    }

    /// An error about another word names all words of a type.
    fn words<T: serde::de::DeserializeOwned>() -> Vec<String> {
        let error = serde_json::from_value::<T>(json!("nonesuch")).err().unwrap().to_string();
        error.split('`').skip(1).step_by(2).skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn enumerations_have_the_words_of_their_types() {
        let document = document();
        let of = |name: &str| document["components"]["schemas"][name]["enum"].clone();
        assert_eq!(of("Outcome"), json!(words::<converse_canister::Outcome>()));
        assert_eq!(of("Choice"), json!(words::<super::super::waiting::Choice>()));
    }

    #[test]
    fn a_path_has_one_route() {
        for route in ROUTES {
            let path = route.path.replace(['{', '}'], "");
            let (found, _) = route_of(route.method, &path).unwrap();
            assert_eq!(found.action, route.action, "{path}");
            let same = ROUTES.iter().filter(|other| other.action == route.action).count();
            assert_eq!(same, 1, "an operation has one name: {:?}", route.action);
        }
        assert_eq!(route_of("POST", "/api/tools/a/b").unwrap().1, ["a", "b"]);
        for (method, path) in [("GET", "/api"), ("PUT", "/api/status"), ("GET", "/api/status/more")] {
            assert!(route_of(method, path).is_none(), "{method} {path}");
        }
    }
}
