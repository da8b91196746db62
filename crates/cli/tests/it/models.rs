//! `converse models`: lists from the providers' own endpoints, what is kept of them, and what the settings change.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::http::{Answer, Request, serve};
use crate::provider::KEY;

/// A server that answers every GET with what `answer` says of its path; the requests it got.
pub(crate) fn server(
    answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
) -> (u16, Arc<Mutex<Vec<Request>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&requests);
    let port = serve(move |request| {
        let (status, body) = answer(&request.path);
        shared.lock().unwrap().push(request);
        Answer::new(status, "application/json", body)
    });
    (port, requests)
}

fn model<'j>(list: &'j Value, id: &str) -> &'j Value {
    list.as_array()
        .unwrap()
        .iter()
        .find(|model| model["id"] == id)
        .unwrap_or_else(|| panic!("no {id}: {list}"))
}

#[test]
fn a_list_is_read_page_by_page_and_kept_for_a_day() {
    let (port, requests) = server(|path| {
        let body = match path.split_once("after_id=") {
            None => json!({ "data": [{ "id": "claude-haiku-5-5", "max_input_tokens": 5, "max_tokens": 4 }],
                "has_more": true, "last_id": "claude-haiku-5-5" }),
            Some((_, "claude-haiku-5-5")) => json!({ "data": [{ "id": "claude-next" }],
                "has_more": false, "last_id": "claude-next" }),
            Some(_) => json!({}),
        };
        (200, body.to_string())
    });
    let env = TestEnv::new()
        .var("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"))
        .var("ANTHROPIC_API_KEY", KEY);
    let list = env.run(&["models", "list", "anthropic", "--json"]).exits(0).json();
    assert_eq!(list.as_array().unwrap().len(), 2);
    let haiku = model(&list, "anthropic/claude-haiku-5-5");
    // The provider's word is nearer than the table's, and elsewhere than at the vendor no price is known.
    assert_eq!(haiku["facts"]["window"], 5);
    assert_eq!(haiku["facts"]["thinking"], "effort");
    assert_eq!(haiku["facts"]["price"], Value::Null);
    assert_eq!(haiku["known_from"], json!(["provider", "table"]));
    assert_eq!(model(&list, "anthropic/claude-next")["facts"]["window"], Value::Null);
    {
        let requests = requests.lock().unwrap();
        assert_eq!(requests.len(), 2);
        assert!(requests.iter().all(|request| request.method == "GET"));
        assert!(requests.iter().all(|request| request.header("x-api-key") == Some(KEY)));
        assert!(requests.iter().all(|request| request.header("anthropic-version") == Some("2023-06-01")));
    }
    env.run(&["models", "list", "anthropic"]).exits(0);
    let offline = env.run(&["models", "list", "anthropic", "--offline", "--json"]).exits(0).json();
    assert_eq!((offline, requests.lock().unwrap().len()), (list, 2), "it was kept");
    env.run(&["models", "list", "anthropic", "--refresh"]).exits(0);
    assert_eq!(requests.lock().unwrap().len(), 4);
    let shown = env.run(&["models", "show", "anthropic/claude-haiku-5-5"]).exits(0).stdout;
    assert!(
        shown.lines().any(|line| line.starts_with("window") && line.ends_with("  5 (provider)")),
        "{shown}"
    );
    assert_eq!(requests.lock().unwrap().len(), 4);
    let kept = std::fs::read_to_string(env.path("home/.cache/converse/models/anthropic.jsonl")).unwrap();
    assert!(!kept.contains(KEY));
}

#[test]
fn a_server_without_a_list_is_told_as_what_it_is() {
    for (status, body, exit, code) in [
        (401, "{}", 4, "auth"),
        (404, "{}", 6, "no-list"),
        (200, "<html>", 6, "no-list"),
        (200, "{\"data\":3}", 6, "no-list"),
    ] {
        let (port, _) = server(move |_| (status, body.to_owned()));
        let env = TestEnv::new()
            .var("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"))
            .var("OPENAI_API_KEY", KEY);
        let ran = env.run(&["models", "list", "openai"]).exits(exit);
        assert!(
            ran.stderr.contains(&format!("error[{code}]")) && !ran.stderr.contains(KEY),
            "{}",
            ran.stderr
        );
    }
    let env = TestEnv::new().var("OPENAI_BASE_URL", "http://127.0.0.1:1/v1").var("OPENAI_API_KEY", KEY);
    env.run(&["models", "list", "openai"]).exits(5);
    let offline = env.run(&["models", "list", "openai", "--offline"]).exits(0).stdout;
    assert!(offline.contains("openai/gpt-6-luna") && offline.contains("ends 2027-01-14"), "{offline}");
    let ran = TestEnv::new().run(&["models", "list", "openai"]).exits(4);
    assert!(ran.stderr.contains("OPENAI_API_KEY"), "{}", ran.stderr);
    let ran = TestEnv::new().run(&["models", "list", "opnai"]).exits(2);
    assert!(ran.stderr.contains("did you mean `openai`?"), "{}", ran.stderr);
}

#[test]
fn what_is_known_is_shown_with_its_source() {
    let env = TestEnv::new().var("ANTHROPIC_API_KEY", KEY);
    env.write(
        "home/.config/converse/config.toml",
        "[models.\"anthropic/claude-haiku-5-5\"]\nwindow = 1234\n[models.\"ollama/x\"]\ntools = false\n",
    );
    let shown =
        env.run(&["models", "show", "anthropic/claude-haiku-5-5", "--offline", "--json"]).exits(0).json();
    assert_eq!(shown["facts"]["window"], 1234);
    assert_eq!(shown["facts"]["price"]["input"], 100_000);
    assert_eq!(shown["facts"]["price"]["above"]["tokens"], 100_000);
    assert_eq!(shown["known_from"], json!(["settings", "table"]));
    let price = |id: &str| {
        let shown = env.run(&["models", "show", id, "--offline", "--json"]).exits(0).json();
        shown["facts"]["price"].clone()
    };
    assert_eq!(price("ollama/x")["output"], 0, "a server on this machine costs nothing");
    assert_eq!(price("anthropic/claude-nobody-knows"), Value::Null, "unknown is not nothing");
    assert_eq!(price("understudy")["input"], 0);
    let away = TestEnv::new().var("OLLAMA_HOST", "http://192.0.2.1:11434");
    let shown = away.run(&["models", "show", "ollama/x", "--offline", "--json"]).exits(0).json();
    assert_eq!(shown["facts"]["price"], Value::Null, "elsewhere somebody may want money");
}

#[test]
fn openai_speaks_the_wire_that_its_model_needs() {
    let dialect = |env: &TestEnv, id: &str| {
        let shown = env.run(&["models", "show", id, "--offline", "--json"]).exits(0).json();
        shown["dialect"].as_str().unwrap().to_owned()
    };
    let env = TestEnv::new().var("OPENAI_API_KEY", KEY);
    assert_eq!(dialect(&env, "openai/gpt-6-luna"), "openai-responses");
    assert_eq!(dialect(&env, "openai"), "openai-responses");
    assert_eq!(dialect(&env, "openai/gpt-4o-mini"), "openai-chat");
    assert_eq!(dialect(&env, "openai-chat/gpt-6-luna"), "openai-chat");
    assert_eq!(dialect(&env, "openai-responses/gpt-4o-mini"), "openai-responses");
    env.write(
        "home/.config/converse/config.toml",
        "[providers.mine]\nlike = \"openai\"\nbase_url = \"https://API.openai.com:443/v1/\"\nkey_env = \"OPENAI_API_KEY\"\n\
         [providers.gateway]\nlike = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         [providers.said]\nlike = \"openai\"\ndialect = \"openai-chat\"\n",
    );
    assert_eq!(dialect(&env, "mine/gpt-6-luna"), "openai-responses", "the place counts, not the name");
    assert_eq!(dialect(&env, "mine/gpt-4o-mini"), "openai-chat");
    assert_eq!(dialect(&env, "gateway/gpt-6-luna"), "openai-chat");
    assert_eq!(dialect(&env, "said/gpt-6-luna"), "openai-chat");
    let shown = env.run(&["models", "show", "mine/gpt-6-luna", "--offline", "--json"]).exits(0).json();
    assert!(shown["facts"]["price"]["input"].is_u64(), "the vendor's own price: {shown}");
    let elsewhere = env.var("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    assert_eq!(dialect(&elsewhere, "openai/gpt-6-luna"), "openai-chat");
}

#[test]
fn a_base_url_that_no_request_can_use_is_refused_and_not_repeated() {
    const URL: &str = "http://user:hush-hush@127.0.0.1:1/x?key=hush-hush";
    let env = TestEnv::new();
    env.write(
        "home/.config/converse/config.toml",
        &format!("[providers.x]\ndefault_model = \"m\"\nbase_url = \"{URL}\"\n"),
    );
    for args in [&["ask", "-m", "x/m", "hi"][..], &["models", "show", "x/m"], &["models", "list", "--json"]] {
        let ran = env.run(args).exits(3);
        assert!(ran.stderr.contains("config.toml:3:12"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("hush") && !ran.stdout.contains("hush"), "{}", ran.stderr);
    }
    for (variable, id) in [("OPENAI_BASE_URL", "openai/gpt-4o-mini"), ("OLLAMA_HOST", "ollama/x")] {
        let env = TestEnv::new().var(variable, URL).var("OPENAI_API_KEY", KEY);
        for args in [
            &["ask", "-m", id, "--dry-run", "hi"][..],
            &["ask", "-m", id, "hi"],
            &["models", "show", id, "--offline"],
            &["models", "list", id.split_once('/').unwrap().0, "--refresh"],
        ] {
            let ran = env.run(args).exits(3);
            assert!(ran.stderr.contains(variable), "{}", ran.stderr);
            assert!(!ran.stderr.contains("hush") && !ran.stdout.contains("hush"), "{}", ran.stderr);
        }
        let json = env.run(&["models", "list", "--json"]).exits(0);
        let list = env.run(&["models", "list"]).exits(0);
        let row = list.stdout.lines().find(|line| line.ends_with(&format!("{variable} cannot be used")));
        assert!(row.is_some(), "{}", list.stdout);
        let doctor = env.run(&["doctor", "--offline"]);
        assert!(doctor.stdout.contains(&format!("{variable} cannot be used")), "{}", doctor.stdout);
        for ran in [json, list, doctor] {
            assert!(!ran.stdout.contains("hush") && !ran.stderr.contains("hush"), "{}", ran.stdout);
        }
    }
    let automatic = TestEnv::new().var("OPENAI_BASE_URL", URL).var("OPENAI_API_KEY", KEY);
    automatic.run(&["ask", "hi"]).exits(3);
}

#[test]
fn a_gateway_s_own_key_goes_with_every_request_and_is_shown_nowhere() {
    const GATEWAY: &str = "pk-gateway-0123456789";
    let (port, requests) = server(|path| match path.ends_with("/models") {
        true => (200, json!({ "data": [{ "id": "m" }] }).to_string()),
        false => (400, json!({ "error": { "message": format!("no {GATEWAY}") } }).to_string()),
    });
    let env = TestEnv::hasty().var("MY_KEY", KEY);
    env.write(
        "home/.config/converse/config.toml",
        &format!(
            "{}\n[providers.gate]\nbase_url = \"http://127.0.0.1:{port}/v1\"\nkey_env = \"MY_KEY\"\n\
             headers = {{ \"X-Portkey-Api-Key\" = \"env:PORTKEY\", X-Title = \"t\" }}\n",
            std::fs::read_to_string(env.path("home/.config/converse/config.toml")).unwrap_or_default(),
        ),
    );
    let missing = env.run(&["ask", "-m", "gate/m", "hi"]).exits(4);
    assert!(missing.stderr.contains("PORTKEY is not set"), "{}", missing.stderr);
    assert_eq!(requests.lock().unwrap().len(), 0);
    let env = env.var("PORTKEY", GATEWAY);
    let shown = env.run(&["ask", "-m", "gate/m", "--dry-run", "hi"]).exits(0).stdout;
    assert!(shown.contains("\"x-portkey-api-key\": \"[redacted]\""), "{shown}");
    assert!(shown.contains("\"x-title\": \"t\"") && !shown.contains(GATEWAY), "{shown}");
    env.run(&["models", "list", "gate"]).exits(0);
    let refused = env.run(&["ask", "-m", "gate/m", "--no-tools", "hi"]);
    assert!(refused.code != 0 && refused.stderr.contains("no [redacted]"), "{}", refused.stderr);
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    for request in requests.iter() {
        assert_eq!(request.header("x-portkey-api-key"), Some(GATEWAY));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    }
    for entry in walk(&env.path("home")) {
        let text = std::fs::read(&entry).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains(GATEWAY), "{}", entry.display());
    }
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn a_list_without_an_end_is_cut_and_said_to_be() {
    let (port, requests) = server(|path| {
        let page = path.split_once("after_id=m").map_or(0, |(_, page)| page.parse::<u32>().unwrap());
        let next = format!("m{}", page + 1);
        (200, json!({ "data": [{ "id": next }], "has_more": true, "last_id": next }).to_string())
    });
    let env = TestEnv::new()
        .var("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"))
        .var("ANTHROPIC_API_KEY", KEY);
    for args in [
        &["models", "list", "anthropic", "--json"][..],
        &["models", "list", "anthropic", "--offline", "--json"],
    ] {
        let ran = env.run(args).exits(0);
        assert_eq!(ran.json().as_array().unwrap().len(), 20);
        assert!(ran.stderr.contains("lists more models"), "{}", ran.stderr);
    }
    assert_eq!(requests.lock().unwrap().len(), 20);
}

#[test]
fn the_understudy_has_one_model() {
    let list = TestEnv::new().run(&["models", "list", "understudy", "--json"]).exits(0).json();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(model(&list, "understudy")["facts"]["price"]["input"], 0);
    let text = TestEnv::new().run(&["models", "list", "understudy"]).exits(0).stdout;
    assert!(text.contains("understudy") && text.contains("$0 in"), "{text}");
}

#[test]
fn a_window_that_nobody_asked_for_is_not_asked_of_ollama() {
    let (port, _) = server(|_| (200, json!({ "models": [{ "name": "x" }] }).to_string()));
    let env = TestEnv::new().var("OLLAMA_HOST", format!("127.0.0.1:{port}"));
    env.run(&["models", "list", "ollama-native"]).exits(0);
    let kept = env.path("home/.cache/converse/models/ollama-native.jsonl");
    let list = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&kept, list.replace("{\"name\":\"x\"", "{\"name\":\"x\",\"window\":262144")).unwrap();
    let ask = || env.run(&["ask", "-m", "ollama-native/x", "--dry-run", "--no-tools", "hi"]).exits(0).stdout;
    let shown = env.run(&["models", "show", "ollama-native/x", "--offline", "--json"]).exits(0).json();
    assert_eq!(shown["facts"]["window"], 262_144);
    assert!(!ask().contains("num_ctx"), "{}", ask());
    env.write("home/.config/converse/config.toml", "[models.\"ollama-native/x\"]\nwindow = 8192\n");
    assert!(ask().contains("\"num_ctx\": 8192"), "{}", ask());
}

/// Ollama's cloud refuses requests without a key; a server on this machine needs none, and neither does one like it.
#[test]
fn ollama_takes_a_key_if_there_is_one() {
    let env = TestEnv::new();
    env.write("home/.config/converse/config.toml", "[providers.mine]\nlike = \"ollama\"\n");
    for model in ["ollama/x", "ollama-native/x", "mine/x"] {
        let ask = ["ask", "-m", model, "--dry-run", "--no-tools", "hi"];
        let without = env.run(&ask).exits(0).stdout;
        assert!(!without.to_lowercase().contains("authorization"), "{without}");
        let with = TestEnv::new().var("OLLAMA_API_KEY", KEY);
        with.write("home/.config/converse/config.toml", "[providers.mine]\nlike = \"ollama\"\n");
        let shown = with.run(&ask).exits(0).stdout.to_lowercase();
        assert!(!shown.contains(KEY), "{shown}");
        assert_eq!(shown.contains("\"authorization\": \"[redacted]\""), model != "mine/x", "{shown}");
    }
}

#[test]
fn an_odd_server_is_reached_as_the_settings_say() {
    let env = TestEnv::new().var("ODD_KEY", KEY).var("GROQ_API_KEY", "sk-vendor-0123456789");
    env.write(
        "home/.config/converse/config.toml",
        r#"
[providers.odd]
base_url = "http://127.0.0.1:1/v1"
like = "mistral"
key_env = "ODD_KEY"
auth = "api-key"
version = "2024-10-21"
headers = { X-Title = "t" }
quirks = { max_tokens_key = "max_completion_tokens" }
[[providers.odd.patch]]
models = "q*"
set = { "/options/num_ctx" = 8192 }
rename = { "/max_completion_tokens" = "max_new_tokens" }
[providers.alike]
base_url = "http://127.0.0.1:1/v1"
like = "groq"
"#,
    );
    let ask = |model: &str| {
        env.run(&["ask", "-m", model, "--dry-run", "--no-tools", "--max-output-tokens", "9", "hi"])
            .exits(0)
            .stdout
    };
    let shown = ask("odd/qwen");
    for part in [
        "chat/completions?api-version=2024-10-21",
        "\"api-key\": \"[redacted]\"",
        "\"x-title\": \"t\"",
        "\"max_new_tokens\": 9",
        "\"num_ctx\": 8192",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains(KEY) && !shown.contains("stream_options"), "{shown}");
    let other = ask("odd/other");
    assert!(other.contains("\"max_completion_tokens\": 9") && !other.contains("num_ctx"), "{other}");
    // Like Groq it may be, but Groq's key is for Groq.
    let alike = ask("alike/x");
    assert!(!alike.to_lowercase().contains("authorization"), "{alike}");

    env.write("home/.config/converse/config.toml", "[providers.x]\nlike = \"grok\"\n");
    let ran = env.run(&["models", "list"]).exits(3);
    assert!(
        ran.stderr.contains("config.toml:2:8") && ran.stderr.contains("did you mean `groq`?"),
        "{}",
        ran.stderr
    );
}

#[test]
fn azure_needs_a_resource_of_ones_own() {
    let env = TestEnv::new().var("AZURE_OPENAI_API_KEY", KEY);
    let ran = env.run(&["ask", "-m", "azure/mine", "--dry-run", "hi"]).exits(3);
    assert!(ran.stderr.contains("AZURE_OPENAI_BASE_URL"), "{}", ran.stderr);
    let env = env.var("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/");
    let shown = env.run(&["ask", "-m", "azure/mine", "--dry-run", "hi"]).exits(0).stdout;
    assert!(shown.contains("https://r.openai.azure.com/openai/v1/chat/completions"), "{shown}");
    assert!(shown.contains("\"api-key\": \"[redacted]\""), "{shown}");
}
