//! Where requests are worked on: the turns of all clients run on one thread, which no request may hold up.

use std::path::Path;
use std::sync::Mutex;
use std::thread::{ThreadId, current};

use bytes::Bytes;
use converse_config::SettingsPlan;
use converse_ensemble::{NoArtefacts, Roster, Rules};
use converse_gateway::Upstreams;
use converse_host::TurnOptions;
use converse_host::secrets::Redactor;
use converse_host::world::{Input, World};
use converse_session::Document;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Renderers;
use crate::access::Access;
use crate::front::{Front, FrontOptions, FrontParts};

/// Threads on which texts were rendered.
static RENDERED: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

fn rendered() -> String {
    RENDERED.lock().unwrap().push(current().id());
    "rendered".to_owned()
}

async fn front(dir: &Path) -> std::sync::Arc<Front> {
    let world = World {
        words: Vec::new(),
        env: std::collections::BTreeMap::new(),
        cwd: dir.to_owned(),
        config: Some(dir.join("config")),
        data: Some(dir.join("data")),
        stdin: Input::Nothing,
        stdout_tty: false,
        stderr_tty: false,
    };
    let (roster, _) = Roster::connect(Vec::new(), Vec::new(), std::sync::Arc::new(NoArtefacts)).await;
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
    Front::new(parts, CancellationToken::new()).0
}

async fn answer(front: &std::sync::Arc<Front>, method: &str, path: &str, body: &Value) -> (u16, Bytes) {
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
    let reply = json!({ "role": "assistant", "turn": 1, "content": [{ "type": "text", "text": "*Hello*" }],
        "stop": "end" });
    let document = json!({ "format": 1, "program": "a test", "session": "s", "created": "2026-11-23T00:00:00Z",
        "canisters": [
            { "number": 1, "at": "2026-11-23T00:00:00Z",
              "canister": { "role": "user", "content": [{ "type": "text", "text": "Hello" }] } },
            { "number": 2, "at": "2026-11-23T00:00:00Z", "canister": reply },
        ] });
    let (status, made) = answer(&front, "POST", "/api/sessions/import", &document).await;
    assert_eq!(status, 201, "{made:?}");
    let made: Value = serde_json::from_slice(&made).unwrap();
    let id = made["id"].as_str().unwrap();
    for path in ["", "/export?format=markdown", "/export?format=html"] {
        let (status, shown) = answer(&front, "GET", &format!("/api/sessions/{id}{path}"), &Value::Null).await;
        let shown = String::from_utf8_lossy(&shown);
        assert!(status == 200 && shown.contains("rendered"), "{path}: {shown}");
    }
    let threads = std::mem::take(&mut *RENDERED.lock().unwrap());
    assert!(threads.len() >= 3 && !threads.contains(&current().id()), "{threads:?}");
}
