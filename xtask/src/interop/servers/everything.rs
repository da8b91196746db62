//! `@modelcontextprotocol/server-everything`: every kind of content there is, on both transports.

use serde_json::json;

use super::{Era, Plan, Server, Transport};
use crate::Result;
use crate::interop::check::{Check, complains, once, says};
use crate::interop::install::NPM;
use crate::interop::pages::Pages;
use crate::interop::site::{CANARY, Site};
use crate::interop::step::{Step, ask, attached, call, prompted, records};

pub(crate) const STDIO: Server = Server {
    name: "everything",
    kit: NPM,
    program: "mcp-server-everything",
    transport: Transport::Stdio,
    era: Era::Legacy,
    tools: TOOLS,
    plan: stdio,
};

pub(crate) const HTTP: Server =
    Server { name: "everything-http", transport: Transport::Http, plan: http, ..STDIO };

const TOOLS: &[&str] = &[
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "simulate-research-query",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-long-running-operation",
];

/// The beginning of every PNG in base64: of such text a model has nothing.
const PNG: &str = "iVBORw0KGgo";

fn stdio(_: &Site, _: &Pages) -> Result<Plan> {
    let mut steps = steps(STDIO.name);
    let declared = "INTEROP_DECLARED";
    steps.push(call("get-env", &[]).with([says(declared), says("HOME"), Check::Lacks(CANARY.0.to_owned())]));
    let arguments = vec!["stdio".to_owned()];
    let environment = vec![(declared, "given".to_owned())];
    Ok(Plan { arguments, environment, steps, ..Plan::default() })
}

fn http(_: &Site, _: &Pages) -> Result<Plan> {
    let arguments = vec!["streamableHttp".to_owned()];
    Ok(Plan { arguments, steps: steps(HTTP.name), ..Plan::default() })
}

fn steps(server: &str) -> Vec<Step> {
    [plain(server), contents(), offered(server), asked(server)].concat()
}

fn plain(server: &str) -> Vec<Step> {
    vec![
        call("echo", &["message=cheese on the moon"]).with([once("Echo: cheese on the moon")]),
        call("get-sum", &["a=2", "b=3"]).with([once("The sum of 2 and 3 is 5.")]),
        // Whatever a server says of its own tools: nobody was asked.
        call("echo", &["message=x"]).unasked().exits(8).with([complains("approval")]),
        call("get-sum", &["a=x", "b=3"]).exits(2).with([complains("/a")]),
        call("nothing", &[]).exits(2).with([complains(format!("{server}.nothing"))]),
        // It can be run as a task only, which is not spoken here: an answer, and no silence.
        call("simulate-research-query", &["topic=moons"]).exits(10).with([complains("task")]),
    ]
}

fn contents() -> Vec<Step> {
    let link = |uri: &str| Check::Block(json!({ "type": "resource", "uri": uri, "mime": "text/plain" }));
    let no_base64 = || Check::Lacks(PNG.to_owned());
    vec![
        call("get-tiny-image", &[]).json().with([says("image/png"), no_base64()]),
        call("get-annotated-message", &["messageType=error", "includeImage=true"]).with([
            once("Error: Operation failed"),
            says("image/png"),
            no_base64(),
        ]),
        call("get-resource-links", &["count=2"])
            .json()
            .with([link("demo://resource/dynamic/blob/1"), link("demo://resource/dynamic/text/2")]),
        call("get-resource-reference", &["resourceType=Text", "resourceId=1"])
            .with([once("This is a plaintext resource"), says("demo://resource/dynamic/text/1")]),
        call("get-resource-reference", &["resourceType=Blob", "resourceId=1"])
            .with([says("demo://resource/dynamic/blob/1")]),
        call("gzip-file-as-resource", &["data=data:text/plain,cheese", "outputType=resource"])
            .with([says("application/gzip")]),
        // Once as text, once as structured content: one of them is enough.
        call("get-structured-content", &["location=New York"]).with([once("\"temperature\"")]),
        call("trigger-long-running-operation", &["duration=1", "steps=2"])
            .with([once("Long running operation completed")]),
    ]
}

/// Resources, prompts, and what is suggested for their arguments.
fn offered(server: &str) -> Vec<Step> {
    vec![
        attached(server, "demo://resource/static/document/architecture.md")
            .with([says("This documentation summarizes the current layout")]),
        // One of a template.
        attached(server, "demo://resource/dynamic/text/7")
            .with([says("Resource 7: This is a plaintext resource")]),
        attached(server, "demo://nowhere").exits(2).with([complains("demo://nowhere")]),
        prompted(server, "simple-prompt", &[]).with([says("This is a simple prompt without arguments.")]),
        prompted(server, "args-prompt", &["city=Paris"]).with([says("What's weather in Paris?")]),
        prompted(server, "resource-prompt", &["resourceType=Text", "resourceId=1"]).with([
            says("Please analyze the following resource"),
            says("Resource 1: This is a plaintext resource"),
        ]),
        prompted(server, "args-prompt", &[]).exits(2).with([complains("`city`")]),
        prompted(server, "completable-prompt", &[])
            .exits(2)
            .with([complains("Engineering, Sales, Marketing, Support")]),
        prompted(server, "nothing", &[]).exits(2).with([complains("no prompt `nothing`")]),
    ]
}

fn asked(server: &str) -> Vec<Step> {
    let ask = |prompt: &str, tools: &[&str]| ask(server, prompt, tools);
    vec![
        ask("Echo \"cheese on the moon\"", &["echo"]).with([says("Echo: cheese on the moon")]),
        ask("What is the sum of 2 and 3?", &["get-sum"]).with([says("The sum of 2 and 3 is 5.")]),
        ask("Show me a tiny image", &["get-tiny-image"]).with([
            says("image/png"),
            Check::Lacks(PNG.to_owned()),
            Check::Lacks("no tool".to_owned()),
        ]),
        ask("Get structured content for Chicago", &["get-structured-content"]).with([says("temperature")]),
        records("Demonstrate a long running operation: duration 1, steps 2")
            .with([Check::Record("invocation.progress"), says("Long running operation completed")]),
    ]
}
