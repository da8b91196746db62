//! A provider on loopback that says what a scene's script says.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::Result;
use crate::request::Request;

/// One reply of the model.
#[derive(Debug, Clone, Copy)]
pub(super) enum Says {
    Text(&'static str),
    /// Tools and their arguments, as JSON.
    Calls(&'static [(&'static str, &'static str)]),
}

/// Serves the replies one after the other, until the chore ends; where it is.
pub(super) fn serve(script: &[Says]) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let script: Mutex<VecDeque<Says>> = Mutex::new(script.iter().copied().collect());
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // Who goes away ends no more than this.
            let _ = one(&connection, &script);
        }
    });
    Ok(format!("http://{address}/v1"))
}

fn one(mut connection: &TcpStream, script: &Mutex<VecDeque<Says>>) -> io::Result<()> {
    let Some(_) = Request::read(&mut BufReader::new(connection))? else { return Ok(()) };
    let says = script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let says = says.unwrap_or(Says::Text("The script is over."));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    connection.write_all((head.to_owned() + &stream(says)).as_bytes())
}

fn stream(says: Says) -> String {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-5", "choices": choices, "usage": usage });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, stop: Option<&str>| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": stop }]), Value::Null)
    };
    let mut body = delta(json!({ "role": "assistant", "content": "" }), None);
    let (stop, written) = match says {
        Says::Text(text) => {
            text.split_inclusive(' ').for_each(|word| body += &delta(json!({ "content": word }), None));
            ("stop", text.len() / 4)
        }
        Says::Calls(calls) => {
            for (index, (tool, arguments)) in calls.iter().enumerate() {
                let function = json!({ "name": tool, "arguments": arguments });
                let call = json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function });
                body += &delta(json!({ "tool_calls": [call] }), None);
            }
            ("tool_calls", 24 * calls.len())
        }
    };
    body += &delta(json!({}), Some(stop));
    let usage =
        json!({ "prompt_tokens": 1842, "completion_tokens": written, "total_tokens": 1842 + written });
    body + &chunk(json!([]), usage) + "data: [DONE]\n\n"
}
