//! The least client with reqwest, rmcp and serde_json that does the work of `converse ask` with MCP servers: no
//! settings, no permissions, no journal, no bounds, no retries. What the program costs is compared with what this costs.
//!
//! `floor BASE_URL PROMPT [--mcp COMMAND]…`: the tools of the first server are shown as `s0__NAME`, of the second
//! `s1__NAME`. A command is words between blanks.

mod chat;

use std::error::Error;
use std::io::Write as _;

use futures_util::future::{join_all, try_join_all};
use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Map, Value, json};

use chat::{Call, Reply};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Server = RunningService<RoleClient, ()>;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let (url, prompt) =
        words.next().zip(words.next()).ok_or("usage: floor BASE_URL PROMPT [--mcp COMMAND]…")?;
    let mut commands = Vec::new();
    while let Some(word) = words.next() {
        let command = words.next().filter(|_| word == "--mcp").ok_or("only `--mcp COMMAND` may follow")?;
        commands.push(command);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(ask(&url, &prompt, &commands))
}

async fn ask(url: &str, prompt: &str, commands: &[String]) -> Result<()> {
    let client = chat::client()?;
    let servers = try_join_all(commands.iter().map(|command| start(command))).await?;
    let tools = tools(&servers).await?;
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    let mut out = std::io::stdout().lock();
    loop {
        let reply = chat::reply(&client, url, &messages, &tools, &mut out).await?;
        if reply.calls.is_empty() {
            break;
        }
        let results = join_all(reply.calls.iter().map(|call| invoke(&servers, call))).await;
        messages.push(message(&reply));
        for (call, result) in reply.calls.iter().zip(results) {
            let text = result.unwrap_or_else(|error| error.to_string());
            messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": text}));
        }
    }
    out.write_all(b"\n")?;
    join_all(servers.into_iter().map(Server::cancel)).await;
    Ok(())
}

async fn start(command: &str) -> Result<Server> {
    let mut words = command.split_whitespace();
    let mut command = tokio::process::Command::new(words.next().ok_or("an empty command")?);
    command.args(words);
    Ok(().serve(TokioChildProcess::new(command)?).await?)
}

/// As a Chat Completions request declares them.
async fn tools(servers: &[Server]) -> Result<Vec<Value>> {
    let lists = try_join_all(servers.iter().map(|server| server.list_all_tools())).await?;
    let of_server = |(index, list): (usize, Vec<rmcp::model::Tool>)| {
        list.into_iter().map(move |tool| {
            json!({"type": "function", "function": {
                "name": format!("s{index}__{}", tool.name),
                "description": tool.description,
                "parameters": tool.input_schema,
            }})
        })
    };
    Ok(lists.into_iter().enumerate().flat_map(of_server).collect())
}

async fn invoke(servers: &[Server], call: &Call) -> Result<String> {
    let (server, name) = call.name.split_once("__").ok_or("no such tool")?;
    let index: usize = server.trim_start_matches('s').parse()?;
    let arguments: Map<String, Value> = serde_json::from_str(&call.arguments)?;
    let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
    let result = servers.get(index).ok_or("no such server")?.call_tool(params).await?;
    Ok(result.content.iter().filter_map(|part| part.as_text()).map(|part| part.text.as_str()).collect())
}

fn message(reply: &Reply) -> Value {
    let calls = reply.calls.iter().map(|call| {
        json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
    });
    json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Value>()})
}
