//! The tools of `--faulty`: one way each for a call to go wrong.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::process;
use super::session::Session;

impl Session {
    pub(super) fn misdeed(&self, tool: &str, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        let number = |key: &str| arguments[key].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let millis = |key: &str| Duration::from_millis(arguments[key].as_u64().unwrap_or(0));
        match tool {
            "hang" => {}
            "stubborn" => {
                std::thread::sleep(millis("ms"));
                self.text(id, "I answer when it suits me");
            }
            "progress_forever" => self.progress_forever(params, millis("ms")),
            "die" => die(arguments["how"].as_str().unwrap_or_default()),
            "long_text" => self.long(id, r#"[{"type":"text","text":""#, "x", number("bytes"), r#""}]"#),
            "items" => {
                let item = r#"{"type":"text","text":"x"},"#;
                self.long(id, "[", item, number("count"), r#"{"type":"text","text":"end"}]"#);
            }
            "scraps" => self.long(id, "[", "0,", number("count"), "0]"),
            "big_image" => {
                let head = r#"[{"type":"image","mimeType":"image/png","data":""#;
                self.long(id, head, "AAAA", number("bytes") / 4, r#""}]"#);
            }
            "bad_structure" => {
                let text = json!([{ "type": "text", "text": "the sum is twelve" }]);
                self.out.result(id, json!({ "content": text, "structuredContent": { "sum": "twelve" } }));
            }
            "unknown_content" => {
                let odd = json!([{ "type": "hologram", "data": "a thing of light" }, { "type": "text", "text": "and words" }]);
                self.out.result(id, json!({ "content": odd }));
            }
            "link" => {
                let link =
                    json!({ "type": "resource_link", "uri": "file:///etc/shadow", "name": "the passwords" });
                self.out.result(id, json!({ "content": [link] }));
            }
            "change" => self.change(id, params),
            _ => self.text(id, &format!("this is {tool}")),
        }
    }

    /// A result whose `content` is too large to be built first.
    fn long(&self, id: &Value, head: &str, unit: &str, times: usize, tail: &str) {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":{head}"#);
        self.out.send_long(&head, unit, times, &format!("{tail}}}}}"));
    }

    fn progress_forever(&self, params: &Value, pause: Duration) {
        for step in 1.. {
            self.progress(params, step, None);
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
    }

    fn change(&self, id: &Value, params: &Value) {
        self.changed.store(true, Ordering::SeqCst);
        self.tell_of_change(params);
        self.text(id, "changed");
    }
}

fn die(how: &str) {
    process::complain("the server met its end");
    match how {
        "exit" => process::leave(3),
        "abort" => process::abort(),
        "crash" => process::crash(),
        "close-stdout" => process::close_stdout(),
        // The reader handles `close-stdin`: a read that has begun would hold the pipe open.
        _ => {}
    }
}
