//! The load over stdio: many clients on the two pipes of one program, each with one call on its way.

use std::cell::RefCell;
use std::collections::HashMap;
use std::process::Stdio;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;

use crate::{Options, PATIENCE, Result, Seen, called, initialize};

/// Who waits for the answer to which number.
type Waiting = Rc<RefCell<HashMap<String, oneshot::Sender<String>>>>;

/// Returns how long the load took.
pub(super) async fn run(options: Options, seen: Rc<RefCell<Seen>>) -> Result<Duration> {
    let [program, arguments @ ..] = options.command.as_slice() else { return Err("no command".into()) };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let pipe = Rc::new(Mutex::new(child.stdin.take().ok_or("no pipe")?));
    let mut lines = BufReader::new(child.stdout.take().ok_or("no pipe")?).lines();
    let waiting = Waiting::default();
    let reader = Rc::clone(&waiting);
    tokio::task::spawn_local(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            let Ok(said) = serde_json::from_str::<Value>(&line) else { continue };
            // What has a method is a request or a notification of the server: neither is awaited.
            if said.get("method").is_none() {
                let waiter = reader.borrow_mut().remove(&said["id"].to_string());
                waiter.map(|waiter| waiter.send(line));
            }
        }
        // Everyone who still waits gets an error.
        reader.borrow_mut().clear();
    });
    ask(&pipe, &waiting, "\"open\"".to_owned(), initialize()).await?;
    send(&pipe, json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await?;
    // Some connect what is behind them only when they are asked for their tools.
    let list = json!({"jsonrpc": "2.0", "id": "list", "method": "tools/list"}).to_string();
    ask(&pipe, &waiting, "\"list\"".to_owned(), list).await?;
    let began = Instant::now();
    let clients: Vec<_> = (0..options.clients)
        .map(|_| {
            let (options, pipe, waiting, seen) =
                (options.clone(), Rc::clone(&pipe), Rc::clone(&waiting), Rc::clone(&seen));
            tokio::task::spawn_local(async move {
                while began.elapsed() < options.time {
                    let number = seen.borrow_mut().next();
                    let asked = called(&options.tool, number, json!({}));
                    let began = Instant::now();
                    let answer = ask(&pipe, &waiting, number.to_string(), asked).await;
                    let right = answer.and_then(|line| {
                        if line.contains(&format!("heard {number}.")) { Ok(()) } else { Err(line.into()) }
                    });
                    seen.borrow_mut().note(number, began, right);
                }
            })
        })
        .collect();
    for client in clients {
        client.await?;
    }
    let took = began.elapsed();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id().unwrap_or_default()));
    let resident = status.unwrap_or_default();
    let resident = resident.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    seen.borrow_mut().resident = resident.trim().trim_end_matches(" kB").parse().unwrap_or_default();
    Ok(took)
}

async fn ask(pipe: &Mutex<ChildStdin>, waiting: &Waiting, id: String, message: String) -> Result<String> {
    let (waiter, answer) = oneshot::channel();
    waiting.borrow_mut().insert(id, waiter);
    send(pipe, message).await?;
    match timeout(PATIENCE, answer).await {
        Ok(answer) => Ok(answer.map_err(|_| "the program ended")?),
        Err(_) => Err("no answer in time".into()),
    }
}

async fn send(pipe: &Mutex<ChildStdin>, mut message: String) -> Result<()> {
    message.push('\n');
    Ok(pipe.lock().await.write_all(message.as_bytes()).await?)
}
