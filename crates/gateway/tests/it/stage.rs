//! Tools that do as they are told, a roster of them, a sink that remembers, and a client that speaks in lines.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{Arguments, Blobs, Canister, Content, Digest};
use converse_config::{
    BudgetPlan, EnsemblePlan, LogLevel, Origin, Permission, Policy, Rule, Scope, ViewPlan,
};
use converse_engine::{CallSpans, Event, Sink, SinkError};
use converse_ensemble::{
    Answer, COMPLETE, ConnectError, Connection, Context, Definition, Ensemble, GET_PROMPT, Invocable,
    InvokeError, NoArtefacts, NoticeSender, Notices, OfferKind, Pins, READ_RESOURCE, Relay, Roster, Tool,
    ToolProgress,
};
use converse_gateway::{
    Audit, Caller, Gateway, GatewayParts, NameConflict, Pipes, StdioError, Upstreams, serve_stdio,
};
use converse_testkit::hang_guard::ends;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const PICTURE: Digest = Digest([7; 32]);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Does {
    Echo,
    Waits,
    Progress,
    Structured,
    List,
    Picture,
    Fails,
    Long,
    /// As a server of its own wrote it.
    Verbatim,
    Odd,
    /// Its server has another one by now.
    Held,
    /// Asks its client.
    Asks,
    /// Begins a task: asks its client with `ask`, and waits with `wait`.
    Works,
}

const ALL: [(&str, Does); 10] = [
    ("echo", Does::Echo),
    ("waits", Does::Waits),
    ("progress", Does::Progress),
    ("structured", Does::Structured),
    ("list", Does::List),
    ("picture", Does::Picture),
    ("fails", Does::Fails),
    ("long", Does::Long),
    ("verbatim", Does::Verbatim),
    ("odd", Does::Odd),
];

struct Acts {
    does: Does,
    started: Arc<AtomicUsize>,
}

impl Acts {
    async fn act(&self, context: Context, arguments: &Arguments) -> Result<Answer, InvokeError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let said = |text: &str| json!({ "content": [{ "type": "text", "text": text }], "vendor": 1 });
        Ok(match self.does {
            Does::Echo => {
                let text = arguments.object.get("text").and_then(Value::as_str).unwrap_or("nothing");
                Answer::text(text)
            }
            Does::Waits => {
                context.cancel.cancelled().await;
                Answer::text("too late")
            }
            Does::Progress => {
                let steps = arguments.object.get("text").and_then(Value::as_str);
                let steps: u32 = steps.and_then(|text| text.parse().ok()).unwrap_or(3);
                for done in 1..=steps {
                    let message = Some(format!("step {done}"));
                    context.host.say(ToolProgress::Progress {
                        done: f64::from(done),
                        total: Some(3.0),
                        message,
                    });
                }
                context.host.say(ToolProgress::Log { message: "said so".to_owned() });
                Answer::text("done")
            }
            Does::Structured => Answer::structured(json!({ "n": 1 })),
            Does::List => Answer::structured(json!([1])),
            Does::Picture => Answer::new(
                vec![
                    Content::Blob { mime: "image/png".into(), digest: PICTURE, name: None, seal: None },
                    Content::Blob {
                        mime: "image/png".into(),
                        digest: Digest([0; 32]),
                        name: None,
                        seal: None,
                    },
                    Content::Resource { uri: "file:///x".into(), name: Some("x".into()), mime: None },
                ],
                false,
            ),
            Does::Fails => Answer::error("it did not work"),
            Does::Long => Answer::text("x".repeat(100_000)),
            Does::Verbatim => {
                let verbatim = context.host.is_verbatim().then(|| said("as it came").to_string().into());
                Answer { verbatim, ..Answer::text("as it is kept") }
            }
            Does::Odd => {
                let text = json!({ "content": [{ "type": "hologram" }] }).to_string();
                Answer { verbatim: Some(text.into()), ..Answer::text("in words") }
            }
            Does::Asks => {
                let (method, params) = (
                    "elicitation/create",
                    json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } }),
                );
                match context.host.client() {
                    Some(client) if client.answers(method, &params) => {
                        let answer = client.ask(method, params).await;
                        Answer::text(
                            answer.map_or_else(|refusal| refusal.message, |answer| answer.to_string()),
                        )
                    }
                    Some(client) if client.round().1.as_deref() == Some("forged") => {
                        let error = json!({ "code": -32602, "message": "Not my state", "data": { "x": 1 } });
                        context.host.hand_on(json!({ "error": error }));
                        return Err(InvokeError::Failed("it does not know the state".to_owned()));
                    }
                    Some(client) if client.round().1.is_some() => {
                        Answer::text(json!(client.round()).to_string())
                    }
                    Some(client) if client.takes_round(method, &params) => {
                        let question = json!({ "method": method, "params": params });
                        context.host.hand_on(json!({ "resultType": "input_required", "requestState": "s",
                            "inputRequests": { "q": question } }));
                        Answer::text("it asks")
                    }
                    client => {
                        let level = client.and_then(|client| client.log_level());
                        Answer::text(format!("it cannot ask, and logs {level:?}"))
                    }
                }
            }
            Does::Works => {
                context.host.hand_on(json!({ "resultType": "task" }));
                let message = Some("half".to_owned());
                context.host.say(ToolProgress::Progress { done: 1.0, total: None, message });
                match arguments.object.get("text").and_then(Value::as_str) {
                    Some("wait") => {
                        context.cancel.cancelled().await;
                        return Err(InvokeError::Failed("it was stopped".to_owned()));
                    }
                    Some("ask") => {
                        let params = json!({ "message": "Who?",
                            "requestedSchema": { "type": "object", "properties": {} } });
                        match context.host.client() {
                            Some(client) if client.answers("elicitation/create", &params) => {
                                let answer = client.ask("elicitation/create", params).await;
                                Answer::text(answer.map_or_else(|no| no.message, |answer| answer.to_string()))
                            }
                            _ => Answer::text("it cannot ask"),
                        }
                    }
                    Some("fail") => Answer::error("it did not work"),
                    _ => Answer::text("worked"),
                }
            }
            Does::Held => return Err(InvokeError::HeldBack("it is held back".to_owned())),
        })
    }
}

impl Invocable for Acts {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        self.act(context, arguments).boxed()
    }
}

/// What an ensemble offers beside tools.
#[derive(Clone, Default)]
pub(crate) struct Library {
    pub(crate) resources: Vec<&'static str>,
    pub(crate) templates: Vec<&'static str>,
    pub(crate) prompts: Vec<&'static str>,
    pub(crate) notices: NoticeSender,
    /// `level X`, `+URI` and `-URI` that it was asked for.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    /// What texts of its resources end with.
    pub(crate) edition: &'static str,
    /// Number of lists that it was asked for.
    pub(crate) listed: Arc<AtomicUsize>,
    /// Refuses subscriptions, once it is notified.
    pub(crate) refuses: Option<Arc<Notify>>,
}

struct Reads {
    reader: &'static str,
    ensemble: String,
    edition: &'static str,
}

impl Invocable for Reads {
    fn invoke<'a>(
        &'a self,
        _: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        let (given, by) = (&arguments.object, &self.ensemble);
        let uri = given.get("uri").and_then(Value::as_str).unwrap_or_default();
        let answer = match self.reader {
            READ_RESOURCE if uri.ends_with("missing") => {
                Err(InvokeError::Invalid("it is not there".to_owned()))
            }
            READ_RESOURCE => {
                Ok(json!({ "contents": [{ "uri": uri, "text": format!("of {by}{}", self.edition) }],
                    "ttlMs": 7 }))
            }
            GET_PROMPT => {
                let text = format!(
                    "{} of {by} with {}",
                    given["name"],
                    given.get("arguments").unwrap_or(&Value::Null)
                );
                Ok(json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] }))
            }
            _ => Ok(json!({ "completion": { "values": [by, given["ref"].to_string()], "hasMore": true } })),
        };
        std::future::ready(answer.map(Answer::structured)).boxed()
    }
}

impl Relay for Hands {
    fn notices(&self) -> Notices {
        self.library.as_ref().unwrap().notices.notices()
    }

    fn set_log_level(&self, level: LogLevel) {
        self.library.as_ref().unwrap().asked.lock().unwrap().push(format!("level {level:?}"));
    }

    fn list(&self, kind: OfferKind) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        let library = self.library.as_ref().unwrap();
        library.listed.fetch_add(1, Ordering::SeqCst);
        let (names, key) = match kind {
            OfferKind::Resources => (&library.resources, "uri"),
            OfferKind::Templates => (&library.templates, "uriTemplate"),
            OfferKind::Prompts => (&library.prompts, "name"),
        };
        let entry = |name: &&str| match kind {
            OfferKind::Prompts => json!({ "name": name, "title": "T" }),
            _ => json!({ key: name, "name": "n", "mimeType": "text/plain", "_meta": { "x/y": 1 } }),
        };
        std::future::ready(Ok(names.iter().map(entry).collect())).boxed()
    }

    fn readers(&self, ensemble: &Ensemble) -> Vec<Tool> {
        let reader = |reader: &'static str| {
            let edition = self.library.as_ref().unwrap().edition;
            let invocable = Arc::new(Reads { reader, ensemble: ensemble.name.to_string(), edition });
            let (invoker, schema) = (reader.to_owned().try_into().unwrap(), json!({ "type": "object" }));
            ensemble.tool(&invoker, "reads".to_owned(), schema, Policy::default(), false, invocable)
        };
        [READ_RESOURCE, GET_PROMPT, COMPLETE].map(reader).into()
    }

    fn subscribe<'a>(&'a self, uri: &'a str, wanted: bool) -> BoxFuture<'a, Result<(), String>> {
        let sign = if wanted { '+' } else { '-' };
        let library = self.library.as_ref().unwrap();
        library.asked.lock().unwrap().push(format!("{sign}{uri}"));
        let refuses = library.refuses.clone();
        async move {
            match refuses {
                Some(now) => {
                    now.notified().await;
                    Err("it refuses".to_owned())
                }
                None => Ok(()),
            }
        }
        .boxed()
    }
}

/// The tools by name, and what they become at the next refresh.
struct Hands {
    tools: Vec<(String, Does)>,
    next: Arc<Mutex<Option<Vec<String>>>>,
    started: Arc<AtomicUsize>,
    library: Option<Library>,
}

impl Hands {
    fn tool(&self, ensemble: &Ensemble, name: &str, does: Does) -> Tool {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let invocable = Arc::new(Acts { does, started: Arc::clone(&self.started) });
        let invoker = name.to_owned().try_into().unwrap();
        let description = if does == Does::Held { format!("did {name}") } else { format!("does {name}") };
        let policy = Policy { parallel: !name.starts_with("alone"), ..Policy::default() };
        let tool = ensemble.tool(&invoker, description.clone(), schema.clone(), policy, false, invocable);
        if does != Does::Verbatim {
            return tool;
        }
        tool.defined_as(Definition::of(&json!({
            "name": name, "title": "Word for word", "description": description, "inputSchema": schema,
            "annotations": { "readOnlyHint": true }, "_meta": { "x/y": 1 },
        })))
    }
}

impl Connection for Hands {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let tools = self.tools.iter().map(|(name, does)| self.tool(ensemble, name, *does)).collect();
        std::future::ready(Ok(tools)).boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        let next = self.next.lock().unwrap().take();
        let tools =
            next.map(|names| names.iter().map(|name| self.tool(ensemble, name, Does::Echo)).collect());
        std::future::ready(tools).boxed()
    }

    fn relay(&self) -> Option<&dyn Relay> {
        self.library.as_ref().map(|_| self as &dyn Relay)
    }
}

struct NoBlobs;

impl Blobs for NoBlobs {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        (*digest == PICTURE).then(|| b"png".as_slice().into())
    }
}

/// What was written down: `kind tool caller`.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<String>>>, Arc<Mutex<bool>>);

struct Ear {
    heard: Heard,
    caller: String,
}

impl Audit for Heard {
    fn sink_for(&self, caller: &Caller) -> Arc<dyn Sink> {
        // Read more easily without the quotes around it.
        let caller = caller.line().unwrap_or_default().replace('"', "");
        Arc::new(Ear { heard: self.clone(), caller })
    }
}

impl Sink for Ear {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        if *self.heard.1.lock().unwrap() {
            return Err(SinkError::Audit("the disk is full".to_owned()));
        }
        let line = match event {
            Event::Appended(Canister::Invocation(one)) => format!("asked {} {}", one.id.as_str(), one.tool),
            Event::Appended(Canister::Result(result)) => format!("unrun {}", result.outcome.label()),
            Event::Decided { decision, .. } => format!("decided {}", decision.allows()),
            Event::Started { invocations: started, .. } => format!("started {}", started[0].id.as_str()),
            Event::Finished { result, .. } => format!("finished {}", result.outcome.label()),
            _ => return Ok(()),
        };
        self.heard.0.lock().unwrap().push(format!("{line} for {}", self.caller));
        Ok(())
    }
}

impl Heard {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn fill_the_disk(&self) {
        *self.1.lock().unwrap() = true;
    }
}

/// A gateway over two ensembles: `one` with all tools, `two` with `other` (and `echo`, if names may clash).
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    /// What the gateway serves.
    pub(crate) roster: Roster,
    pub(crate) heard: Heard,
    pub(crate) started: Arc<AtomicUsize>,
    pub(crate) next: Arc<Mutex<Option<Vec<String>>>>,
}

pub(crate) struct Set {
    pub(crate) rules: Vec<Rule>,
    pub(crate) bare_names: bool,
    pub(crate) max_calls: usize,
    pub(crate) budget: BudgetPlan,
    pub(crate) of_two: Vec<String>,
    pub(crate) views: Vec<ViewPlan>,
    pub(crate) upstreams: Upstreams,
    pub(crate) spans: Option<Arc<dyn CallSpans>>,
    /// Of `one` and of `two`.
    pub(crate) libraries: [Option<Library>; 2],
}

pub(crate) fn allow(tool: &str) -> Rule {
    Rule::new(tool, Permission::Allow, "test").unwrap()
}

impl Default for Set {
    fn default() -> Self {
        let of_two = vec!["other".to_owned()];
        Self {
            rules: vec![allow("*")],
            bare_names: false,
            max_calls: 8,
            budget: BudgetPlan::default(),
            of_two,
            views: Vec::new(),
            upstreams: Upstreams::default(),
            spans: None,
            libraries: [None, None],
        }
    }
}

impl Set {
    pub(crate) async fn up(self) -> Stage {
        self.try_up().await.unwrap()
    }

    pub(crate) async fn try_up(self) -> Result<Stage, NameConflict> {
        let (next, started) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
        let all = ALL.iter().map(|(name, does)| ((*name).to_owned(), *does)).collect();
        let of_two = |name: &String| {
            let does = match name.as_str() {
                "held" => Does::Held,
                "asks" => Does::Asks,
                "works" => Does::Works,
                "alone" => Does::Waits,
                _ => Does::Echo,
            };
            (name.clone(), does)
        };
        let other = self.of_two.iter().map(of_two).collect();
        let ensembles = [("one", all), ("two", other)].map(|(name, tools)| {
            let origin = Origin { scope: Scope::User, file: "t.toml".into(), line: 1 };
            let plan = EnsemblePlan::new(name.to_owned().try_into().unwrap(), origin);
            let next = if name == "two" { Arc::clone(&next) } else { Arc::default() };
            let library = self.libraries[usize::from(name == "two")].clone();
            let hands = || Hands {
                tools: Vec::clone(&tools),
                next: next.clone(),
                started: Arc::clone(&started),
                library: library.clone(),
            };
            let ensemble = Ensemble::new(&plan, Box::new(hands()));
            match tools.iter().any(|(_, does)| *does == Does::Held) {
                true => {
                    let accepted = tools.iter().map(|(name, does)| hands().tool(&ensemble, name, *does));
                    let accepted = accepted.map(|tool| (tool.invoker.clone(), tool.digest())).collect();
                    ensemble.pinned(Pins::Accepted(accepted))
                }
                false => ensemble,
            }
        });
        let (roster, failures) = Roster::connect(ensembles.into(), self.rules, Arc::new(NoArtefacts)).await;
        assert_eq!(failures, []);
        let heard = Heard::default();
        let served = roster.for_caller(roster.caller());
        let gateway = Gateway::new(GatewayParts {
            roster,
            upstreams: self.upstreams,
            audit: Arc::new(heard.clone()),
            blobs: Arc::new(NoBlobs),
            spans: self.spans,
            bare_names: self.bare_names,
            views: self.views,
            max_calls: self.max_calls,
            budget: self.budget,
            version: "1.2.3".to_owned(),
        })?;
        Ok(Stage { gateway, roster: served, heard, started, next })
    }
}

impl Stage {
    /// Returns an ensemble without tools that is connected and not served.
    pub(crate) async fn other(&self, name: &str, library: Library) -> Arc<Ensemble> {
        let origin = Origin { scope: Scope::User, file: "t.toml".into(), line: 2 };
        let plan = EnsemblePlan::new(name.to_owned().try_into().unwrap(), origin);
        let started = Arc::clone(&self.started);
        let hands = Hands { tools: Vec::new(), next: Arc::default(), started, library: Some(library) };
        let ensemble = Ensemble::new(&plan, Box::new(hands));
        let (roster, failures) = Roster::connect(vec![ensemble], Vec::new(), Arc::new(NoArtefacts)).await;
        assert_eq!(failures, []);
        Arc::clone(&roster.ensembles()[0])
    }

    /// Resolves when so many calls are open.
    pub(crate) async fn running(&self, count: usize) {
        let waiting = async {
            while self.gateway.running() < count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        ends("waiting for open calls", waiting).await;
    }

    /// Resolves when so many tools have been started.
    pub(crate) async fn started(&self, count: usize) {
        let waiting = async {
            while self.started.load(Ordering::SeqCst) < count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        ends("waiting for its start", waiting).await;
    }

    pub(crate) fn client(&self) -> Client {
        self.client_with(Duration::from_secs(30))
    }

    pub(crate) fn client_with(&self, drain: Duration) -> Client {
        self.client_of(&self.gateway, drain)
    }

    pub(crate) fn client_of(&self, gateway: &Gateway, drain: Duration) -> Client {
        let (send, input) = mpsc::channel(16);
        let (output, lines) = mpsc::channel(16);
        let (gateway, stop) = (gateway.clone(), CancellationToken::new());
        let told = stop.clone();
        let served =
            tokio::spawn(async move { serve_stdio(&gateway, Pipes { input, output }, told, drain).await });
        Client { send: Some(send), lines, stop, served, others: Vec::new() }
    }
}

/// A client that speaks in lines.
pub(crate) struct Client {
    send: Option<mpsc::Sender<Vec<u8>>>,
    pub(crate) lines: mpsc::Receiver<Vec<u8>>,
    pub(crate) stop: CancellationToken,
    served: JoinHandle<Result<(), StdioError>>,
    /// What came while something else was waited for.
    others: Vec<Value>,
}

pub(crate) fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "9" },
    })
}

impl Client {
    pub(crate) async fn bytes(&self, bytes: impl Into<Vec<u8>>) {
        self.send.as_ref().unwrap().send(bytes.into()).await.unwrap();
    }

    pub(crate) async fn say(&self, message: Value) {
        self.bytes(format!("{message}\n")).await;
    }

    pub(crate) async fn request(&self, id: impl Into<Value>, method: &str, params: Value) {
        self.say(json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })).await;
    }

    pub(crate) async fn call(&self, id: u64, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    }

    /// As an old client begins.
    pub(crate) async fn initialize(&mut self) -> Value {
        self.initialize_with(json!({})).await
    }

    /// The same, with these capabilities.
    pub(crate) async fn initialize_with(&mut self, capabilities: Value) -> Value {
        let info = json!({ "name": "tester", "version": "9" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
        self.request(0, "initialize", params).await;
        let answer = self.answer(0).await;
        self.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        answer
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = ends("waiting for a line", self.lines.recv()).await.expect("it ended");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        serde_json::from_slice(&line).unwrap()
    }

    /// The first message that `wanted` says yes to; what came before stays for others.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.others.iter().position(&wanted) {
            return self.others.remove(at);
        }
        loop {
            let next = self.next().await;
            if wanted(&next) {
                return next;
            }
            self.others.push(next);
        }
    }

    pub(crate) async fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.until(|message| message.get("id") == Some(&id) && message.get("method").is_none()).await
    }

    /// Notifications of this kind that came so far.
    pub(crate) fn told(&self, method: &str) -> Vec<&Value> {
        self.others.iter().filter(|message| message["method"] == method).collect()
    }

    /// No more input.
    pub(crate) fn hang_up(&mut self) {
        self.send = None;
    }

    /// How it ended; what it said last is there to be read.
    pub(crate) async fn ended(&mut self) -> HashMap<String, Value> {
        let mut answers = HashMap::new();
        let reading = async {
            while let Some(line) = self.lines.recv().await {
                let message: Value = serde_json::from_slice(&line).unwrap();
                answers.insert(message["id"].to_string(), message);
            }
        };
        ends("waiting for its end", reading).await;
        ends("waiting for its end", &mut self.served).await.unwrap().unwrap();
        answers
    }
}
