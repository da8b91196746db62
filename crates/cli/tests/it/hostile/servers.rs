//! Words of MCP servers, on a terminal.

use serde_json::{Value, json};

use super::shown::{Manner, each, holds, is_clean, parts, without_nul, words};
use crate::env::TestEnv;
use crate::fake_server::{FakeServer, own_command};
use crate::provider::Provider;
use crate::screen::Screen;

/// A server that says the words wherever it can, and has them in its tools.
pub(super) struct Talker {
    pub(super) env: TestEnv,
    pub(super) servers: String,
    flags: Vec<String>,
}

impl Talker {
    pub(super) fn new(more: &[&str]) -> Self {
        Self::saying(&words(), more)
    }

    fn saying(words: &str, more: &[&str]) -> Self {
        let env = TestEnv::new();
        let file = env.write("words", words).display().to_string();
        let tools = env.write("tools.json", &Value::from(tools()).to_string()).display().to_string();
        let stderr = format!("--stderr={}", without_nul(words).replace('\u{7f}', ""));
        let mut flags = vec![stderr, format!("--words={file}"), format!("--tool-file={tools}")];
        flags.extend(["--resources", "--prompts"].iter().chain(more).map(ToString::to_string));
        let borrowed: Vec<&str> = flags.iter().map(String::as_str).collect();
        FakeServer::new("broken", &borrowed).write(&env);
        let servers = env.path("servers").display().to_string();
        Self { env, servers, flags }
    }

    #[track_caller]
    fn is_clean(&self, args: &[&str], told: &str) {
        is_clean(&self.env, &[args, &["--ensembles", &self.servers]].concat(), told);
    }
}

/// Some that can be used, with the words where there may be any, and some that cannot.
fn tools() -> Vec<Value> {
    let good = |(index, part): (usize, &String)| {
        let schema = json!({ "type": "object", "title": part, "properties":
            { format!("p{index}"): { "type": "string", "description": part, "default": part }, part: { "enum": [part] } } });
        json!({ "name": format!("tool_{index}"), "title": part, "description": part, "inputSchema": schema,
            "annotations": { "title": part } })
    };
    let named =
        |evil: String| json!({ "name": evil, "description": evil, "inputSchema": { "type": "object" } });
    let simple = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let mut tools: Vec<Value> = parts(20).iter().enumerate().map(good).collect();
    tools.extend(each().into_iter().map(named));
    tools.extend(["progress", "fail", "ask", "echo"].map(simple));
    tools
}

#[test]
fn what_is_listed_of_a_server() {
    let talker = Talker::new(&[]);
    for args in [
        &["ensembles", "show", "broken", "--connect"][..],
        &["ensembles", "show", "broken", "--connect", "--json"],
        &["ensembles", "show", "broken", "--connect", "-v"],
        &["ensembles", "show", "broken", "--connect", "-vvv"],
        &["ensembles", "list", "--tools"],
        &["ensembles", "list", "--tools", "--json"],
        &["ensembles", "check", "--connect"],
        &["ensembles", "lock"],
        &["ensembles", "test", "--synth"],
        &["explain", "broken.tool_1"],
    ] {
        talker.is_clean(args, "broken");
    }
}

#[test]
fn what_a_probe_tells() {
    let talker = Talker::new(&[]);
    let flags: Vec<&str> = talker.flags.iter().map(String::as_str).collect();
    let command = own_command(&flags);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    for options in
        [&[][..], &["--json"], &["--call", "progress", "{\"steps\":2,\"ms\":1}"], &["--call", "fail", "{}"]]
    {
        let args = [&["mcp", "probe"], options, &["--plain", "--"], &command].concat();
        let mut screen = Screen::run(&talker.env, &args);
        screen.finishes();
        holds(screen.bytes(), Manner::Plain, &["mcp", "probe"], "⟦");
        let args = [&["mcp", "probe"], options, &["--"], &command].concat();
        let mut screen = Screen::run(&talker.env, &args);
        screen.finishes();
        holds(screen.bytes(), Manner::Drawn, &["mcp", "probe"], "⟦");
    }
}

#[test]
fn what_a_call_tells() {
    let talker = Talker::new(&[]);
    for (tool, arguments, told) in [
        ("broken.progress", "{\"steps\":3,\"ms\":40}", "steps done"),
        ("broken.fail", "{}", "⟦"),
        ("broken.none", "{}", "error"),
    ] {
        talker.is_clean(&["ensembles", "call", tool, arguments], told);
        talker.is_clean(&["ensembles", "call", tool, arguments, "-v"], told);
    }
    let text = json!({ "text": words() }).to_string();
    talker.is_clean(&["ensembles", "call", "broken.echo", &text], "⟦");
    talker.is_clean(&["ensembles", "call", "broken.echo", &text, "--json"], "⟦");
    let wrong = without_nul(&words());
    talker.is_clean(&["ensembles", "call", &wrong, &wrong], "error");
    talker.is_clean(&["ensembles", "call", "broken.echo", &wrong], "");
    talker.is_clean(&["ensembles", "show", &wrong], "error");
    talker.is_clean(&["explain", &wrong, &wrong], "⟦");
}

#[test]
fn how_a_server_fails() {
    for (flags, args) in [
        (&["--exit=3"][..], &["ensembles", "show", "broken", "--connect"][..]),
        (&["--error-on=tools/list"], &["ensembles", "show", "broken", "--connect"]),
        (&["--exit-on=tools/call"], &["ensembles", "call", "broken.fail"]),
        (&["--error-on=tools/call"], &["ensembles", "call", "broken.fail"]),
        (&["--error-on=prompts/list"], &["ensembles", "show", "broken", "--connect"]),
    ] {
        let talker = Talker::new(flags);
        talker.is_clean(args, "broken");
        talker.is_clean(&[args, &["-vv"]].concat(), "⟦");
    }
}

#[test]
fn what_a_server_asks() {
    for (index, part) in questions(6).into_iter().enumerate() {
        let what = ["form", "url"][index / 2 % 2];
        let (plain, manner) = [(&["--plain"][..], Manner::Plain), (&[], Manner::Drawn)][index % 2];
        let talker = Talker::saying(&part, &[&format!("--ask={what}")]);
        let call = ["ensembles", "call", "broken.ask", "{}", "--ensembles", &talker.servers];
        let mut screen = Screen::run(&talker.env, &[&call, plain].concat());
        screen.shows("c = cancel");
        screen.types("n\r");
        screen.finishes();
        holds(screen.bytes(), manner, &["a question"], "⟦");
    }
}

/// What asks for a secret is not asked at all.
fn questions(count: usize) -> Vec<String> {
    let each: Vec<String> =
        each().into_iter().filter(|one| !one.contains("secret") && !one.contains("passw")).collect();
    each.chunks(each.len().div_ceil(count)).map(|part| part.join(" ")).collect()
}

#[test]
fn prompts_and_resources_that_are_not_there() {
    let talker = Talker::new(&[]);
    let provider = Provider::chat(Vec::<crate::body::Says>::new());
    let model = provider.model();
    let wrong = without_nul(&words());
    let (resource, prompt) = (format!("mcp:broken:demo://{wrong}"), format!("broken.{wrong}"));
    for args in [
        &["ask", "-m", model, "hello", "-a", &resource][..],
        &["ask", "-m", model, "--prompt", &prompt],
        &["ask", "-m", model, "--prompt", "broken.guide", &wrong],
        &["ask", "-m", model, "--prompt", "broken.guide"],
    ] {
        talker.is_clean(args, "error");
    }
}
