//! The OpenAPI document: every example in it is sent, and every answer fits its schema.

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

/// The document, and the ids that the server has chosen instead of those of the examples.
struct Story<'g> {
    gate: &'g Gate,
    document: Value,
    ids: Vec<(String, String)>,
}

/// What is sent: the query, the media type and the text of the body, and the documented status.
struct Sent {
    query: String,
    body: Option<(String, String)>,
    status: String,
}

impl Story<'_> {
    fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        match value["$ref"].as_str() {
            Some(place) => self.document.pointer(place.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    /// Returns method, path and description of an operation.
    fn operation(&self, id: &str) -> (String, String, Value) {
        let (method, path, operation) =
            operations(&self.document).into_iter().find(|(.., one)| one["operationId"] == id).unwrap();
        (method, path, operation)
    }

    fn requests(&self, operation: &Value, parameters: &[&Value]) -> Vec<Sent> {
        let usual = operation["responses"].as_object().unwrap().keys().next().unwrap().clone();
        let of_query = parameters.iter().filter(|one| one["in"] == "query");
        let pairs = of_query.filter_map(|one| {
            let value = match &one["example"] {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(format!("{}={value}", one["name"].as_str().unwrap()))
        });
        let query = pairs.collect::<Vec<_>>().join("&");
        let Some(content) = operation["requestBody"]["content"].as_object() else {
            let bare = Sent { query: String::new(), body: None, status: usual.clone() };
            let full = (!query.is_empty()).then_some(Sent { query, body: None, status: usual });
            return [bare].into_iter().chain(full).collect();
        };
        let (kind, media) = content.iter().next().unwrap();
        let examples = media["examples"].as_object().unwrap().values();
        let sent = examples.map(|example| {
            let example = self.resolved(example);
            if !media["schema"].is_null() {
                self.fits(&media["schema"], &example["value"], "an example of a request");
            }
            let text = example["value"].as_str().map_or_else(|| example["value"].to_string(), str::to_owned);
            let kind = kind.replace("*/*", "application/octet-stream");
            let status = example["x-status"].as_u64().map_or(usual.clone(), |status| status.to_string());
            Sent { query: query.clone(), body: Some((kind, text)), status }
        });
        sent.collect()
    }

    /// With no other keys than those of the document.
    #[track_caller]
    fn fits(&self, schema: &Value, value: &Value, what: &str) {
        let faults = faults(&self.document, schema, value);
        assert!(faults.is_empty(), "{what}: {faults:?}: {value:#}");
    }

    fn run(&mut self, id: &str) {
        let (method, path, operation) = self.operation(id);
        let parameters: Vec<Value> = operation["parameters"].as_array().cloned().unwrap_or_default();
        let parameters: Vec<&Value> = parameters.iter().map(|one| self.resolved(one)).collect();
        let mut path = path;
        for one in parameters.iter().filter(|one| one["in"] == "path") {
            let (name, value) = (one["name"].as_str().unwrap(), one["example"].as_str().unwrap());
            path = path.replace(&format!("{{{name}}}"), value);
        }
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
        }
    }

    fn answered(&self, id: &str, method: &str, path: &str, operation: &Value, sent: &Sent) -> Value {
        let real =
            |text: &str| self.ids.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new));
        let what = format!("{method} {path}?{} {}", sent.query, sent.status);
        let response = &operation["responses"][&sent.status];
        let content = response["content"].as_object();
        let accept = content.and_then(|content| content.keys().next()).map_or("*/*", String::as_str);
        let body = sent.body.as_ref().map(|(kind, text)| (kind, real(text)));
        let (kind, text) =
            body.as_ref().map_or(("application/json", ""), |(kind, text)| (kind.as_str(), text.as_str()));
        let path = if sent.query.is_empty() { real(path) } else { format!("{}?{}", real(path), sent.query) };
        let more = format!(
            "authorization: Bearer {TOKEN}\r\naccept: {accept}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        let request = head(self.gate, method, &path, &more);
        if accept == "text/event-stream" {
            let ends = id == "run" || !sent.query.is_empty();
            let (status, kind, events) = streamed(self.gate, &request, ends);
            assert_eq!((status, kind.starts_with(accept)), (sent.status.clone(), true), "{what}: {events:?}");
            let schema = &response["content"][accept]["schema"]["x-event"];
            assert!(!schema.is_null() && (!ends || !events.is_empty()), "{what}");
            events.iter().for_each(|event| self.fits(schema, event, &what));
            return Value::Null;
        }
        let (status, answer) = self.gate.ask(&request);
        assert_eq!(status.to_string(), sent.status, "{what}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let Some(content) = content else {
            assert_eq!(body, "", "{what}");
            return Value::Null;
        };
        let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap();
        let kind = kind.split(';').next().unwrap();
        let media = content.get(kind).or_else(|| content.get("*/*"));
        let media = media.unwrap_or_else(|| panic!("{what}: {kind} is not documented"));
        if kind != "application/json" {
            return Value::Null;
        }
        let value: Value = serde_json::from_str(body).unwrap();
        self.fits(&media["schema"], &value, &what);
        let is_empty = value["items"].as_array().is_some_and(Vec::is_empty);
        assert!(!is_empty || !sent.query.is_empty(), "{what}: a list without items shows nothing");
        value
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

    let mut story = Story { gate: &gate, document, ids: Vec::new() };
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
