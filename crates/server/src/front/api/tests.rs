//! Where requests are worked on: the turns of all clients run on one thread, which no request may hold up.

mod several_servers;
pub(in crate::front) mod shared_files;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{ThreadId, current};

use bytes::Bytes;
use converse_config::SettingsPlan;
use converse_ensemble::{NoArtefacts, Roster, Rules};
use converse_gateway::{Principal, Upstreams};
use converse_host::TurnOptions;
use converse_host::interrupt::Interrupt;
use converse_host::secrets::Redactor;
use converse_host::world::{Input, World};
use converse_session::Document;
use converse_session::storage::Storage;
use futures_util::FutureExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Renderers;
use super::channel::RunningTurn;
use crate::access::Access;
use crate::front::{Front, FrontOptions, FrontParts, TurnQueue};

/// Threads on which texts were rendered.
static RENDERED: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

fn rendered() -> String {
    RENDERED.lock().unwrap().push(current().id());
    "rendered".to_owned()
}

async fn front(dir: &Path) -> Arc<Front> {
    front_with(dir, None).await
}

pub(in crate::front) async fn front_with(dir: &Path, database: Option<Arc<dyn Storage>>) -> Arc<Front> {
    served(dir, database).await.0
}

/// The front, and the queue without which turns end at once, and streams too.
async fn served(dir: &Path, database: Option<Arc<dyn Storage>>) -> (Arc<Front>, TurnQueue) {
    let world = World {
        words: Vec::new(),
        env: std::collections::BTreeMap::new(),
        cwd: dir.to_owned(),
        config: Some(dir.join("config")),
        data: Some(dir.join("data")),
        database,
        stdin: Input::Nothing,
        stdout_tty: false,
        stderr_tty: false,
    };
    let (roster, _) = Roster::connect(Vec::new(), Vec::new(), Arc::new(NoArtefacts)).await;
    let parts = FrontParts {
        options: FrontOptions { api: true, max_turns: 1, ..FrontOptions::default() },
        world: &world,
        files: SettingsPlan::default(),
        turn: TurnOptions::default(),
        roster: &roster,
        failures: &[],
        upstreams: Upstreams::default(),
        directories: &[],
        rules: Rules::new(Vec::new()),
        redactor: Redactor::default(),
        renderers: Renderers {
            fragment: |_| rendered(),
            markdown: |_: &Document| rendered(),
            html: |_: &Document| rendered(),
        },
    };
    Front::new(parts, CancellationToken::new()).unwrap()
}

/// Makes a session of a question and an answer at this time, and returns its id.
async fn imported(front: &Arc<Front>, at: &str) -> String {
    let reply = json!({ "role": "assistant", "turn": 1, "content": [{ "type": "text", "text": "*Hello*" }],
        "stop": "end" });
    let document = json!({ "format": 1, "program": "a test", "session": "s", "created": "2026-11-23T00:00:00Z",
        "canisters": [
            { "number": 1, "at": "2026-11-23T00:00:00Z",
              "canister": { "role": "user", "content": [{ "type": "text", "text": "Hello" }] } },
            { "number": 2, "at": at, "canister": reply },
        ] });
    let (status, made) = answer(front, "POST", "/api/sessions/import", &document).await;
    assert_eq!(status, 201, "{made:?}");
    let made: Value = serde_json::from_slice(&made).unwrap();
    made["id"].as_str().unwrap().to_owned()
}

async fn answer(front: &Arc<Front>, method: &str, path: &str, body: &Value) -> (u16, Bytes) {
    let request = Request::builder().method(method).uri(path).body(()).unwrap();
    let admission = Access::open().admit(request.headers()).await.unwrap();
    let (parts, ()) = request.into_parts();
    let reply = front.answer(&parts, Bytes::from(body.to_string()), &admission).await;
    let status = reply.status().as_u16();
    (status, reply.into_body().collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn texts_are_rendered_beside_the_turns() {
    let dir = tempfile::tempdir().unwrap();
    let front = front(dir.path()).await;
    let id = imported(&front, "2026-11-23T00:00:00Z").await;
    for path in ["", "/export?format=markdown", "/export?format=html"] {
        let (status, shown) = answer(&front, "GET", &format!("/api/sessions/{id}{path}"), &Value::Null).await;
        let shown = String::from_utf8_lossy(&shown);
        assert!(status == 200 && shown.contains("rendered"), "{path}: {shown}");
    }
    let threads = std::mem::take(&mut *RENDERED.lock().unwrap());
    assert!(threads.len() >= 3 && !threads.contains(&current().id()), "{threads:?}");
}

/// The events that a client gets at once which follows a session from its beginning.
async fn missed(front: &Arc<Front>, id: &str) -> String {
    let request = Request::builder().uri(format!("/api/sessions/{id}/events?after=0.0.0")).body(()).unwrap();
    let admission = Access::open().admit(request.headers()).await.unwrap();
    let reply = front.answer(&request.into_parts().0, Bytes::new(), &admission).await;
    let (mut body, mut text) = (reply.into_body(), String::new());
    while let Some(Some(frame)) = body.frame().now_or_never() {
        text.push_str(std::str::from_utf8(frame.unwrap().data_ref().unwrap()).unwrap());
    }
    text
}

#[tokio::test]
async fn a_client_misses_nothing_while_a_turn_is_about_to_begin() {
    let dir = tempfile::tempdir().unwrap();
    let front = front(dir.path()).await;
    let id = imported(&front, "2026-11-23T00:00:00Z").await;
    let has_messages = |text: &str| text.contains("converse.user") && text.contains("*Hello*");
    let text = missed(&front, &id).await;
    assert!(has_messages(&text) && text.contains("RUN_FINISHED"), "{text}");
    // The turn has its place in the session, and has not read it yet.
    let channel = front.channels.of(&Principal::Owner, id.parse().unwrap());
    let (run, interrupt, followed) = ("r".to_owned(), Interrupt::default(), CancellationToken::new());
    channel.lock().begin(RunningTurn { run, interrupt, began: None, followed });
    let text = missed(&front, &id).await;
    assert!(has_messages(&text) && !text.contains("RUN_FINISHED"), "{text}");
    channel.lock().began(1);
    let text = missed(&front, &id).await;
    assert!(text.contains("converse.user") && !text.contains("*Hello*"), "{text}");
}

#[tokio::test]
async fn a_page_goes_on_where_the_last_one_ended() {
    let dir = tempfile::tempdir().unwrap();
    let front = front(dir.path()).await;
    let mut made = Vec::new();
    // As texts, these times are in another order.
    for at in ["2026-11-23T00:00:00.52Z", "2026-11-23T00:00:00.521Z", "2026-11-23T00:00:01Z"] {
        made.insert(0, imported(&front, at).await);
    }
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/sessions?limit=1&cursor={cursor}");
        let (status, page) = answer(&front, "GET", &path, &Value::Null).await;
        assert_eq!(status, 200, "{page:?}");
        let page: Value = serde_json::from_slice(&page).unwrap();
        listed.push(page["items"][0]["id"].as_str().unwrap().to_owned());
        let Some(next) = page["next"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    assert_eq!(listed, made);
    assert_eq!(answer(&front, "GET", "/api/sessions?cursor=nowhere", &Value::Null).await.0, 400);
}
