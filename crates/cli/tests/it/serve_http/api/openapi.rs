//! The OpenAPI document: every example in it is sent, and every answer fits its schema.

use std::collections::BTreeSet;

use converse_testkit::hang_guard::wait_until;

use super::*;

/// The operations, in an order in which each finds what it needs.
const STORY: [&str; 28] = [
    "showDocument",
    "showStatus",
    "listModels",
    "listEnsembles",
    "showDrift",
    "callTool",
    "createSession",
    "upload",
    "run",
    "listApprovals",
    "answerApproval",
    "compare",
    "takeAnswer",
    "importSession",
    "changeSession",
    "listSessions",
    "showSession",
    "followSession",
    "followEverything",
    "showContent",
    "exportSession",
    "showFigures",
    "listInvocations",
    "listRecords",
    "forkSession",
    "cancelRun",
    "rewindSession",
    "deleteSession",
];

/// The digest of a question in the examples.
const QUESTION: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A tool that ends only when it is cancelled.
const LAB: &str = r#"
[ensemble]
name = "lab"

[[invokers]]
name = "wait"
description = "Waits"
effects = "read"
[invokers.command]
argv = ["tail", "-f", "/dev/null"]
"#;

/// The document, the ids that the server has chosen instead of those of the examples, and what was seen.
struct Story<'g> {
    gate: &'g Gate,
    document: Value,
    ids: Vec<(String, String)>,
    /// Operations with a status and a media type of their answers.
    seen: BTreeSet<String>,
    /// Pointers to examples that were sent.
    sent: BTreeSet<String>,
}

/// What is sent.
#[derive(Clone)]
struct Sent {
    query: Vec<(String, String)>,
    header: Option<(String, String)>,
    /// Media type and text.
    body: Option<(String, String)>,
    /// The documented status.
    status: String,
}

impl Story<'_> {
    /// Follows a reference, and returns where it leads.
    fn resolved(&self, value: &Value) -> (String, Value) {
        let place = value["$ref"].as_str().unwrap().trim_start_matches('#');
        (place.to_owned(), self.document.pointer(place).unwrap().clone())
    }

    /// Returns method, path and description of an operation.
    fn operation(&self, id: &str) -> (String, String, Value) {
        let (method, path, operation) =
            operations(&self.document).into_iter().find(|(.., one)| one["operationId"] == id).unwrap();
        (method, path, operation)
    }

    /// Returns the parameters of an operation with an example: where they are, their name, the example and the schema.
    fn parameters(&mut self, operation: &Value) -> Vec<(String, String, String, Value)> {
        let list = operation["parameters"].as_array().cloned().unwrap_or_default();
        let mut parameters = Vec::new();
        for one in list {
            let (place, parameter) = self.resolved(&one);
            let example = match &parameter["example"] {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.fits(&parameter["schema"], &parameter["example"], &place);
            self.sent.insert(format!("{place}/example"));
            let text = |key: &str| parameter[key].as_str().unwrap().to_owned();
            parameters.push((text("in"), text("name"), example, parameter["schema"].clone()));
        }
        parameters
    }

    /// Without a body: nothing, all parameters of the query, each value of an enumeration, and each header. Otherwise each
    /// example of a body.
    fn requests(&mut self, operation: &Value, parameters: &[(String, String, String, Value)]) -> Vec<Sent> {
        let of = |place: &'static str| parameters.iter().filter(move |one| one.0 == place);
        let query: Vec<_> = of("query").map(|(_, name, value, _)| (name.clone(), value.clone())).collect();
        let headers = of("header").map(|(_, name, value, _)| Some((name.clone(), value.clone())));
        let usual = operation["responses"].as_object().unwrap().keys().next().unwrap().clone();
        let bare = Sent { query: Vec::new(), header: None, body: None, status: usual };
        let Some(content) = operation["requestBody"]["content"].as_object() else {
            let mut requests = vec![bare.clone()];
            requests.extend((!query.is_empty()).then(|| Sent { query: query.clone(), ..bare.clone() }));
            for (at, (.., schema)) in of("query").enumerate() {
                for value in schema["enum"].as_array().into_iter().flatten() {
                    let mut query = query.clone();
                    query[at].1 = value.as_str().unwrap().to_owned();
                    requests.push(Sent { query, ..bare.clone() });
                }
            }
            requests.extend(headers.map(|header| Sent { header, ..bare.clone() }));
            return requests;
        };
        // A key of idempotency belongs to one request.
        let mut headers = headers.chain(std::iter::repeat(None));
        let mut requests = Vec::new();
        for (kind, media) in content {
            let examples = media["examples"].as_object().unwrap_or_else(|| panic!("no example of {kind}"));
            for example in examples.values() {
                let (place, example) = self.resolved(example);
                self.sent.insert(place.clone());
                let value = &example["value"];
                if !media["schema"].is_null() {
                    self.fits(&media["schema"], value, &place);
                }
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let kind = kind.replace("*/*", "application/octet-stream");
                let status = example["x-status"].as_u64().map_or(bare.status.clone(), |one| one.to_string());
                let (query, header) = (query.clone(), headers.next().flatten());
                requests.push(Sent { query, header, body: Some((kind, text)), status });
            }
        }
        requests
    }

    /// With no other keys than those of the document.
    #[track_caller]
    fn fits(&self, schema: &Value, value: &Value, what: &str) {
        let faults = faults(&self.document, schema, value);
        assert!(faults.is_empty(), "{what}: {faults:?}: {value:#}");
    }

    fn run(&mut self, id: &str) {
        let (method, mut path, operation) = self.operation(id);
        let parameters = self.parameters(&operation);
        for (_, name, value, _) in parameters.iter().filter(|one| one.0 == "path") {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        self.refuses_other_keys(&method, &path, &operation);
        let requests = self.requests(&operation, &parameters);
        assert!(!requests.is_empty(), "{id} has no example");
        for sent in requests {
            let answer = self.answered(id, &method, &path, &operation, &sent);
            self.learn(id, &answer);
            // The next one may need what a turn does.
            wait_until("no turn runs", || {
                let list = get(self.gate, "/api/sessions");
                list["items"].as_array().unwrap().iter().all(|one| one["running"] == false)
            });
            self.learn_questions();
        }
    }

    /// Replaces the ids of the examples by those of the server.
    fn real(&self, text: &str) -> String {
        self.ids.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
    }

    /// Compares the keys of a body's schema with those that the server reads: it names them if it gets another one.
    fn refuses_other_keys(&self, method: &str, path: &str, operation: &Value) {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() || schema["$ref"] == "#/components/schemas/Document" {
            return;
        }
        let (_, schema) = self.resolved(schema);
        let mut bodies = vec![(schema.clone(), json!({ "nonesuch": 1 }))];
        let options = &self.document["components"]["schemas"]["TurnOptions"];
        if !schema["properties"]["forwardedProps"].is_null() {
            bodies.push((options.clone(), json!({ "forwardedProps": { "nonesuch": 1 } })));
        }
        for (schema, body) in bodies {
            let (status, answer) = send(self.gate, method, &self.real(path), TOKEN, &body);
            let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
            let message = body["error"]["message"].as_str().unwrap();
            let named: BTreeSet<&str> = message.split('`').skip(1).step_by(2).skip(1).collect();
            let documented = schema["properties"].as_object().unwrap().keys().map(String::as_str);
            assert_eq!((status, named), (400, documented.collect()), "{method} {path}: {message}");
        }
    }

    fn answered(&mut self, id: &str, method: &str, path: &str, operation: &Value, sent: &Sent) -> Value {
        let what = format!("{method} {path}?{:?} {:?} {}", sent.query, sent.header, sent.status);
        let response = &operation["responses"][&sent.status];
        let content = response["content"].as_object();
        let accept = content.and_then(|content| content.keys().next()).map_or("*/*", String::as_str);
        let (kind, text) = match &sent.body {
            Some((kind, text)) => (kind.as_str(), self.real(text)),
            None => ("application/json", String::new()),
        };
        let query: Vec<String> = sent.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let path = format!("{}?{}", self.real(path), query.join("&"));
        let path = path.trim_end_matches('?');
        let header = sent.header.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let more = format!(
            "authorization: Bearer {TOKEN}\r\naccept: {accept}\r\n{}content-type: {kind}\r\n\
             content-length: {}\r\n\r\n{text}",
            header.collect::<String>(),
            text.len()
        );
        let request = head(self.gate, method, path, &more);
        if accept == "text/event-stream" {
            let ends = id == "run" || !sent.query.is_empty() || sent.header.is_some();
            let (status, kind, events) = streamed(self.gate, &request, ends);
            assert_eq!((status, kind.starts_with(accept)), (sent.status.clone(), true), "{what}: {events:?}");
            let schema = &response["content"][accept]["schema"]["x-event"];
            assert!(!schema.is_null() && (!ends || !events.is_empty()), "{what}");
            events.iter().for_each(|event| self.fits(schema, event, &what));
            self.seen.insert(format!("{id} {} {accept}", sent.status));
            return Value::Null;
        }
        let (status, answer) = self.gate.ask(&request);
        assert_eq!(status.to_string(), sent.status, "{what}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let Some(content) = content else {
            assert_eq!(body, "", "{what}");
            self.seen.insert(format!("{id} {status} nothing"));
            return Value::Null;
        };
        let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap();
        let kind = kind.split(';').next().unwrap();
        let kind = if content.contains_key(kind) { kind } else { "*/*" };
        let media =
            content.get(kind).unwrap_or_else(|| panic!("{what}: this type is not documented: {head}"));
        self.seen.insert(format!("{id} {status} {kind}"));
        if kind != "application/json" {
            return Value::Null;
        }
        let value: Value = serde_json::from_str(body).unwrap();
        self.fits(&media["schema"], &value, &what);
        let is_empty = value["items"].as_array().is_some_and(Vec::is_empty);
        assert!(!is_empty || !sent.query.is_empty(), "{what}: a list without items shows nothing");
        value
    }

    /// Notes the digests in the ids of questions.
    fn learn_questions(&mut self) {
        for one in get(self.gate, "/api/approvals")["items"].as_array().unwrap() {
            let id = one["id"].as_str().unwrap();
            let (call, _) = id.rsplit_once('.').unwrap();
            self.ids.push((format!("{call}.{QUESTION}"), id.to_owned()));
        }
    }

    /// Notes the ids that the server has chosen.
    fn learn(&mut self, id: &str, answer: &Value) {
        let example = |name: &str| {
            let pointer = format!("/components/{name}");
            self.document.pointer(&pointer).and_then(Value::as_str).unwrap().to_owned()
        };
        let learnt = match id {
            "upload" => vec![("examples/ask/value/forwardedProps/attachments/0", &answer["id"])],
            "compare" => vec![
                ("parameters/path.comparison/example", &answer["id"]),
                ("examples/take/value/session", &answer["sessions"][0]["id"]),
            ],
            _ => Vec::new(),
        };
        let learnt: Vec<_> =
            learnt.into_iter().map(|(place, id)| (example(place), id.as_str().unwrap().to_owned())).collect();
        self.ids.extend(learnt);
    }
}

fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, one)| (method.to_ascii_uppercase(), path.clone(), one.clone()))
    });
    all.collect()
}

/// Returns the documented answers, as [`Story`] notes them.
fn documented(document: &Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (.., operation) in operations(document) {
        let id = operation["operationId"].as_str().unwrap();
        for (status, response) in operation["responses"].as_object().unwrap() {
            match response["content"].as_object() {
                Some(content) => all.extend(content.keys().map(|kind| format!("{id} {status} {kind}"))),
                None if status == "default" => {}
                None => all.extend([format!("{id} {status} nothing")]),
            }
        }
    }
    all
}

/// Collects pointers to all examples of the document.
fn examples(value: &Value, pointer: &str, found: &mut BTreeSet<String>) {
    let Value::Object(object) = value else {
        let list = value.as_array().into_iter().flatten().enumerate();
        list.for_each(|(index, value)| examples(value, &format!("{pointer}/{index}"), found));
        return;
    };
    for (key, value) in object {
        let pointer = format!("{pointer}/{key}");
        if key == "example" {
            found.insert(pointer);
        } else if key == "examples" {
            let named =
                value.as_object().unwrap().iter().map(|(name, example)| match example["$ref"].as_str() {
                    Some(place) => place.trim_start_matches('#').to_owned(),
                    None => format!("{pointer}/{name}"),
                });
            found.extend(named);
        } else {
            examples(value, &pointer, found);
        }
    }
}

fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut components = document["components"].clone();
    for (name, schema) in components["schemas"].as_object_mut().unwrap() {
        // Events have the keys of AG-UI.
        if !["Event", "Change"].contains(&name.as_str()) {
            close(schema);
        }
    }
    let mut root = schema.clone();
    root["components"] = components;
    let validator = jsonschema::validator_for(&root).unwrap();
    validator.iter_errors(value).map(|error| error.to_string()).collect()
}

/// Refuses keys that a schema does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if object.get("properties").is_some_and(Value::is_object) && object.contains_key("type") {
                object.entry("additionalProperties").or_insert(json!(false));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

/// Returns status, media type and, if the stream is to be read to the end of a run, its events.
fn streamed(gate: &Gate, request: &str, ends: bool) -> (String, String, Vec<Value>) {
    let mut stream = TcpStream::connect(&gate.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let kind = head.iter().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default();
    let mut events: Vec<Value> = Vec::new();
    if ends && status == "200" {
        let data = lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        for data in data {
            events.push(serde_json::from_str(&data).unwrap());
            let kind = &events[events.len() - 1]["type"];
            if kind == "RUN_FINISHED" || kind == "RUN_ERROR" {
                break;
            }
        }
    }
    (status, kind.to_owned(), events)
}

#[test]
fn every_example_is_answered_as_documented() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let preset = "[presets.brief]\nmodel = \"understudy\"\nsystem = \"Be brief.\"\n";
    env.write("home/.config/converse/config.toml", preset);
    env.write("home/.config/converse/ensembles/lab.toml", LAB);
    let gate = open(&env, &["-e", "lab", "--allow", "lab.wait"]);
    let document = get(&gate, "/api/openapi.json");
    let published = include_str!("../../../../../../docs/reference/openapi.json");
    assert_eq!(document, serde_json::from_str::<Value>(published).unwrap());
    let mut named: Vec<String> = operations(&document)
        .iter()
        .map(|(.., operation)| operation["operationId"].as_str().unwrap().to_owned())
        .collect();
    let mut told = STORY.map(str::to_owned).to_vec();
    named.sort();
    told.sort();
    assert_eq!(told, named, "an operation has no place in the story");

    let mut story =
        Story { gate: &gate, document, ids: Vec::new(), seen: BTreeSet::new(), sent: BTreeSet::new() };
    for id in STORY {
        if id == "cancelRun" {
            let session = &story.document["components"]["parameters"]["path.session"]["example"];
            let mut body = question("@lab.wait");
            body["threadId"] = session.clone();
            let body = body.to_string();
            let more = format!(
                "authorization: Bearer {TOKEN}\r\naccept: application/json\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
            assert_eq!(gate.ask(&head(&gate, "POST", "/api/runs", &more)).0, 202);
        }
        story.run(id);
    }
    let mut all = BTreeSet::new();
    examples(&story.document, "", &mut all);
    assert_eq!(story.sent, all, "an example is not sent");
    assert_eq!(story.seen, documented(&story.document), "an answer is documented and not given");
    assert_eq!(std::fs::read_to_string(env.path("work/note.txt")).unwrap(), "hello");
    assert_eq!(std::fs::read_to_string(env.path("work/other.txt")).unwrap(), "hello");
}

#[test]
fn an_error_fits_its_schema_and_a_key_without_a_schema_does_not() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let document = get(&gate, "/api/openapi.json");
    let error = json!({ "$ref": "#/components/schemas/Error" });
    let write = json!({ "arguments": { "path": "note.txt", "content": "x" } });
    for (method, path, body, status) in [
        ("POST", "/api/tools/io/write_file", write, 409),
        ("GET", "/api/status?colour=red", Value::Null, 400),
        ("GET", "/api/nonesuch", Value::Null, 404),
    ] {
        let (given, answer) = send(&gate, method, path, TOKEN, &body);
        let value: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!((given, faults(&document, &error, &value)), (status, Vec::new()), "{value}");
    }
    let status = json!({ "$ref": "#/components/schemas/Status" });
    let mut shown = get(&gate, "/api/status");
    assert_eq!(faults(&document, &status, &shown), Vec::<String>::new());
    shown["colour"] = json!("red");
    assert_eq!(faults(&document, &status, &shown).len(), 1);
    shown = json!({ "version": 1 });
    assert!(faults(&document, &status, &shown).len() > 1);
}
