//! `converse sessions …`: what one does with conversations that are kept.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv, files};
use crate::provider::Provider;
use crate::terminal::Terminal;

/// What no terminal may get to see, and what it is shown instead.
const HOSTILE: &str = "\u{1b}[31mred\u{1b}]0;title\u{7} \u{202e}evil";

/// A conversation with one call: user, words, call, result, words.
fn talk(env: &TestEnv, provider: &Provider) -> String {
    let ran = env.run(&["ask", "6*7 \"quoted\" <b>?", "-m", provider.model(), "-o", "json"]).exits(0);
    ran.json()["session"].as_str().unwrap().to_owned()
}

fn one() -> (TestEnv, String) {
    let call = calls([("essentials__calculator", json!({ "expression": "6*7" }))]).with_text("Let me see.");
    let provider = Provider::chat([call, text("It is **42**.\n```\nlet x = 42;\n```\n")]);
    let env = provider.env(TestEnv::new());
    let id = talk(&env, &provider);
    (env, id)
}

fn hostile() -> (TestEnv, String) {
    let call = calls([("essentials__calculator", json!({ "expression": HOSTILE }))]);
    let provider = Provider::chat([call, text(format!("{HOSTILE} <script>alert(1)</script> needle").leak())]);
    let env = provider.env(TestEnv::new());
    let ran = env.run(&["ask", HOSTILE, "-m", provider.model(), "-o", "json"]).exits(0);
    let id = ran.json()["session"].as_str().unwrap().to_owned();
    (env, id)
}

fn sessions(env: &TestEnv, words: &[&str]) -> Ran {
    env.run(&[&["sessions"], words].concat())
}

fn dir(env: &TestEnv, id: &str) -> PathBuf {
    env.path("home/.local/share/converse/sessions").join(id)
}

fn said(env: &TestEnv, words: &[&str], code: i32, expected: &str) {
    let ran = sessions(env, words).exits(code);
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(all.contains(expected), "{words:?}: no {expected:?} in {all}");
}

#[test]
fn a_session_is_listed_labelled_and_found_by_its_label() {
    let (env, id) = one();
    let rows = sessions(&env, &["list", "--json"]).exits(0).json();
    let row = &rows[0];
    assert_eq!(
        (&row["session"], &row["messages"], &row["problem"]),
        (&id.clone().into(), &5.into(), &Value::Null)
    );
    assert!(row["words"].as_str().unwrap().starts_with("6*7"), "{row}");
    said(&env, &["rename", &id[..13], "tax 2026"], 0, "tax 2026");
    said(&env, &["tag", "tax 2026", "+work", "home", "-none"], 0, "work home");
    said(&env, &["tag", "last", "--remove", "home"], 0, ": work");
    let table = sessions(&env, &["list"]).exits(0).stdout;
    for part in ["session", &id[..13], "work", "tax 2026"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(!table.contains(&id), "ids are short: {table}");
    let count = |words: &[&str]| sessions(&env, words).exits(0).json().as_array().unwrap().len();
    assert_eq!(count(&["list", "--json", "--tag", "work"]), 1);
    assert_eq!(count(&["list", "--json", "--tag", "home"]), 0);
    assert_eq!(count(&["list", "--json", "--limit", "0"]), 0);
    said(&env, &["rename", "tax 2026", "last"], 2, "error[bad-name]");
    said(&env, &["tag", "last", "+a b"], 2, "error[bad-tag]");
    said(&env, &["tag", "last", "compare:x"], 2, "error[bad-tag]");
    said(&env, &["show", "nobody"], 2, "error[no-such-session]");
    let bare = TestEnv::new();
    said(&bare, &["list"], 0, "no sessions");
    said(&bare, &["show", "last"], 2, "error[no-such-session]");
    assert_eq!(sessions(&bare, &["list", "--json"]).exits(0).stdout, "[]\n");
    said(&bare.without("HOME"), &["list"], 2, "error[no-such-session]");
}

#[test]
fn a_conversation_is_shown_short_and_in_full() {
    let call =
        calls([("essentials__calculator", json!({ "expression": "6*7", "comment": "x".repeat(400) }))]);
    let provider = Provider::chat([call, text("Fine.")]);
    let env = provider.env(TestEnv::new());
    talk(&env, &provider);
    let short = sessions(&env, &["show", "last"]).exits(0).stdout;
    for part in [
        "[1] you",
        "6*7 \"quoted\" <b>?",
        "→ essentials__calculator",
        "✗ invalid · essentials__calculator",
        "model",
        "Fine.",
    ] {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert!(!short.contains(&"x".repeat(200)) && !short.contains('\u{1b}'), "{short}");
    let full = sessions(&env, &["show", "last", "--full"]).exits(0).stdout;
    assert!(full.contains(&"x".repeat(400)), "{full}");
    let json = sessions(&env, &["show", "last", "--json"]).exits(0).json();
    let roles: Vec<_> =
        json["canisters"].as_array().unwrap().iter().map(|c| c["canister"]["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "invocation", "result", "assistant"]);
    assert_eq!(json["canisters"][4]["number"], 5);
    assert!(json.get("contents").is_none());
}

#[test]
fn words_are_found_in_all_sessions() {
    let (env, id) = one();
    env.run(&["ask", "2+2 is what, Essentials?", "-m", "understudy"]).exits(0);
    let found = sessions(&env, &["search", "CALCULATOR", "6*7", "--json"]).exits(0).json();
    assert_eq!(found["total"], 1);
    let hit = &found["hits"][0];
    assert_eq!(
        (&hit["session"], &hit["message"], &hit["who"]),
        (&id.clone().into(), &3.into(), &"tool".into())
    );
    assert_eq!(hit["marked"], json!(["calculator", "6*7"]));
    let lines = sessions(&env, &["search", "let me"]).exits(0).stdout;
    assert!(
        lines.contains(&id[..13]) && lines.contains("assistant") && lines.contains("Let me see."),
        "{lines}"
    );
    let painted = env.run(&["--color", "always", "sessions", "search", "let me"]).exits(0).stdout;
    assert!(painted.contains("\u{1b}[1;33mLet me\u{1b}[0m"), "{painted:?}");
    said(&env, &["search", "what", "--in", "assistant"], 0, "nothing was found");
    said(&env, &["search", "xyzzy"], 0, "nothing was found");
    said(&env, &["search", "s", "--limit", "1"], 0, "1 of ");
    said(&env, &["search", " "], 2, "error[no-words]");
    // Without any index it is the same.
    let indexes: Vec<_> =
        files(&env.path("home")).into_iter().filter(|file| file.ends_with("index")).collect();
    assert_eq!(indexes.len(), 2);
    indexes.iter().for_each(|file| fs::remove_file(file).unwrap());
    assert_eq!(sessions(&env, &["search", "let me"]).exits(0).stdout, lines);
}

#[test]
fn a_fork_goes_its_own_way() {
    let (env, id) = one();
    said(&env, &["fork", &id, "--at", "3"], 2, "the nearest are 1 and 4");
    let fork =
        sessions(&env, &["fork", &id, "--at", "4", "--name", "other way"]).exits(0).stdout.trim().to_owned();
    assert_ne!(fork, id);
    let json = sessions(&env, &["show", "other way", "--json"]).exits(0).json();
    assert_eq!(
        (json["session"].as_str(), json["canisters"].as_array().unwrap().len()),
        (Some(fork.as_str()), 4)
    );
    assert_eq!((&json["usage"], &json["cost"]), (&json!({}), &0.into()));
    // It is a conversation like any other, for a provider that looks at every request.
    let provider = Provider::chat([text("Then 43.")]);
    let env = provider.env(env);
    env.run(&["ask", "--session", &fork, "And one more?", "-m", provider.model()]).exits(0);
    provider.is_content();
    assert!(provider.requests()[0].to_string().contains("Let me see."));
    assert_eq!(
        sessions(&env, &["show", &id, "--json"]).exits(0).json()["canisters"].as_array().unwrap().len(),
        5
    );
}

/// Somebody else's document must not choose where the conversation goes.
#[test]
fn a_model_that_an_imported_session_names_is_not_used_unasked() {
    let provider = Provider::chat([text("Mine."), text("Mine again.")]);
    let (env, id) = one();
    let json = sessions(&env, &["export", &id, "--format", "json", "-o", "-"]).exits(0).stdout;
    let model = serde_json::from_str::<Value>(&json).unwrap()["model"].as_str().unwrap().to_owned();
    let env = provider.env(TestEnv::hasty());
    env.write("work/in.json", &json.replace(&format!("\"{model}\""), "\"vllm/theirs\""));
    let new = sessions(&env, &["import", "in.json"]).exits(0).stdout.trim().to_owned();
    let config = format!("model = \"{}\"\n", provider.model());
    env.write("home/.config/converse/config.toml", &config);
    let ran = env.run(&["ask", "--session", &new, "And now?"]).exits(0);
    assert!(ran.stderr.contains("names the model `vllm/theirs`"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "Mine.\n");
    // From now on it has a model of its own.
    let ran = env.run(&["ask", "--session", &new, "And now?"]).exits(0);
    assert!(!ran.stderr.contains("vllm/theirs"), "{}", ran.stderr);
}

#[test]
fn what_is_exported_can_be_read_and_taken_in() {
    let (env, id) = one();
    let env = env.var("SOME_API_KEY", "sk-canary-value-123");
    sessions(&env, &["export", &id, "-o", "out.json"]).exits(0);
    let out = env.path("work/out.json");
    assert_eq!(out.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    said(&env, &["export", &id, "-o", "out.json"], 2, "`--force` replaces it");
    sessions(&env, &["export", &id, "-o", "out.json", "--force"]).exits(0);
    let new = sessions(&env, &["import", "out.json"]).exits(0).stdout.trim().to_owned();
    let piped = env.run_with_stdin(&["sessions", "import", "-"], &fs::read(&out).unwrap()).exits(0).stdout;
    assert_ne!(piped.trim(), new);
    let canisters = |id: &str| sessions(&env, &["show", id, "--json"]).exits(0).json()["canisters"].clone();
    assert_eq!(canisters(&new), canisters(&id));
    sessions(&env, &["export", &id, "-o", "out.jsonl"]).exits(0);
    let lines = fs::read_to_string(env.path("work/out.jsonl")).unwrap();
    assert!(lines.lines().count() > 2 && lines.lines().all(|line| line.starts_with('{')), "{lines}");
    let new = sessions(&env, &["import", "out.jsonl"]).exits(0).stdout.trim().to_owned();
    assert_eq!(canisters(&new), canisters(&id));
    let markdown = sessions(&env, &["export", &id]).exits(0).stdout;
    for part in
        ["> 6*7 \"quoted\" &lt;b>?", "## 1 · You", "`essentials__calculator` ✓ success", "It is **42**."]
    {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    for (bad, expected) in
        [("{}", "format: is missing"), ("{\"format\": 7}", "later version"), ("nonsense", "not valid JSON")]
    {
        env.write("work/bad.json", bad);
        said(&env, &["import", "bad.json"], 3, expected);
    }
    // `-` is no file; what would wedge a session later is not taken in.
    let json = sessions(&env, &["export", &id, "--format", "json", "-o", "-"]).exits(0).stdout;
    assert!(!env.path("work/-").exists());
    env.write("work/bad.json", &json.replace("\"turn\": 1,", "\"turn\": 18446744073709551615,"));
    said(&env, &["import", "bad.json"], 3, "turn 18446744073709551615 exceeds");
    let named = json.replacen("\"name\": ", "\"name\": \"last\", \"was\": ", 1);
    env.write("work/named.json", &named.replacen("\"tags\": [", "\"tags\": [\"a b\", \"work\"", 1));
    let ran = sessions(&env, &["import", "named.json"]).exits(0);
    assert!(
        ran.stderr.contains("`last` is left out") && ran.stderr.contains("`a b` is left out"),
        "{}",
        ran.stderr
    );
    said(&env, &["tag", ran.stdout.trim(), "+x"], 0, ": work x");
    said(&env, &["import", "nowhere.json"], 2, "error[unreadable]");
    said(&env, &["import", "."], 2, "not a regular file");
}

#[test]
fn missing_content_is_named_and_the_rest_is_written() {
    let provider = Provider::chat([text("A picture.")]);
    let env = provider.env(TestEnv::new());
    fs::write(env.path("work/p.png"), [&b"\x89PNG\r\n\x1a\n"[..], &[0x55; 1500]].concat()).unwrap();
    env.run(&["ask", "-m", provider.model(), "-a", "p.png", "What is this?"]).exits(0);
    let content = |file: &PathBuf| file.parent().is_some_and(|dir| dir.ends_with("content"));
    let kept: Vec<_> = files(&env.path("home")).into_iter().filter(content).collect();
    assert!(!kept.is_empty());
    kept.iter().for_each(|file| fs::write(file, "damaged").unwrap());
    for (words, part) in [
        (&["export", "last"][..], "## 1 · You"),
        (&["export", "last", "--format", "json"], "\"canisters\""),
        (&["show", "last", "--full"], "What is this?"),
    ] {
        let ran = sessions(&env, words).exits(9);
        assert!(ran.stdout.contains(part), "{words:?}: {}", ran.stdout);
        assert!(
            ran.stderr.contains("error[content-missing]") && ran.stderr.contains("`content/"),
            "{}",
            ran.stderr
        );
    }
    sessions(&env, &["export", "last", "-o", "out.html"]).exits(9);
    assert!(env.path("work/out.html").exists());
    sessions(&env, &["show", "last"]).exits(0);
}

#[test]
fn known_secrets_do_not_leave_unless_that_is_asked_for() {
    let secret = "sk-canary-value-12345";
    let provider = Provider::chat([text(format!("Your key is {secret}").leak())]);
    let env = provider.env(TestEnv::new());
    env.run(&["ask", &format!("my key: {secret}"), "-m", provider.model()]).exits(0);
    let env = env.var("SOME_API_KEY", secret);
    for format in ["md", "json", "html"] {
        let clean = sessions(&env, &["export", "last", "--format", format]).exits(0).stdout;
        assert!(clean.contains("[redacted]") && !clean.contains("canary"), "{format}: {clean}");
        let raw = sessions(&env, &["export", "last", "--format", format, "--raw"]).exits(0).stdout;
        assert_eq!(raw.matches(secret).count(), clean.matches("[redacted]").count(), "{format}");
    }
    for words in [
        &["show", "last"][..],
        &["show", "last", "--json"],
        &["search", "key"],
        &["search", "key", "--json"],
        &["list"],
    ] {
        let shown = sessions(&env, words).exits(0).stdout;
        assert!(!shown.contains("canary"), "{words:?}: {shown}");
    }
}

#[test]
fn a_key_is_known_by_its_settings_and_taken_out_before_a_text_is_cut() {
    let key = "plain-spoken-0123456789-0123456789-spoken";
    let provider = Provider::chat([text("Yes.")]);
    let env = provider.env(TestEnv::new());
    let question = format!("{key} {} needle{} {key}", "a".repeat(60), "b".repeat(115));
    env.run(&["ask", &question, "-m", provider.model()]).exits(0);
    let settings = "[providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\nkey_env = \"MINE\"\n";
    env.write("home/.config/converse/config.toml", settings);
    let env = env.var("MINE", key);
    for words in [&["search", "needle"][..], &["search", "needle", "--json"], &["list"], &["list", "--json"]]
    {
        let shown = sessions(&env, words).exits(0).stdout;
        assert!(
            !shown.contains("spoken") && !shown.contains("plain") && shown.contains("[redacted"),
            "{words:?}: {shown}"
        );
    }
}

#[test]
fn words_of_others_cannot_act_on_a_terminal() {
    let (env, id) = hostile();
    let metadata = dir(&env, &id).join("metadata.toml");
    fs::write(
        metadata,
        format!("name = {}\ntags = [{0}]\n", json!(HOSTILE).to_string().replace("\\u001b", "\\u001B")),
    )
    .unwrap();
    for words in [
        &["sessions", "list"][..],
        &["sessions", "show", &id],
        &["sessions", "show", &id, "--full"],
        &["sessions", "search", "needle"],
        &["sessions", "search", "evil", "--json"],
        &["sessions", "export", &id],
        &["sessions", "export", &id, "--format", "json"],
        &["sessions", "export", &id, "--format", "html"],
        &["sessions", "check", &id],
        &["sessions", "fork", &id],
        &["sessions", "tag", &id, "x"],
    ] {
        let (code, screen) = Terminal::run(&env, words).ends_showing();
        assert_eq!(code, 0, "{words:?}: {screen}");
        for bad in ["\u{1b}[31mred", "\u{1b}]", "\u{7}", "\u{202e}"] {
            assert!(!screen.contains(bad), "{words:?}: {bad:?} in {screen:?}");
        }
    }
    // Through a pipe goes what was said.
    assert!(sessions(&env, &["show", &id]).exits(0).stdout.contains(HOSTILE));
}

#[test]
fn sessions_are_deleted_when_that_is_said() {
    let (env, id) = one();
    said(&env, &["delete", &id], 2, "`--yes` skips the question");
    assert!(dir(&env, &id).exists());
    let mut terminal = Terminal::run(&env, &["sessions", "delete", &id]);
    terminal.shows("delete for good?");
    terminal.types("n\n");
    terminal.shows("nothing was deleted");
    assert_eq!(terminal.ends(), 0);
    assert!(dir(&env, &id).exists());
    said(&env, &["delete", &id, "nobody", "--yes"], 2, "no session `nobody`");
    assert!(dir(&env, &id).exists(), "all of them are found first");
    let mut terminal = Terminal::run(&env, &["sessions", "delete", &id]);
    terminal.shows("delete for good?");
    terminal.types("y\n");
    terminal.shows("deleted");
    assert_eq!(terminal.ends(), 0);
    assert!(!dir(&env, &id).exists());
}

#[test]
fn one_that_is_in_use_is_left_alone_and_read_all_the_same() {
    let (env, id) = one();
    let lock = fs::File::options().write(true).open(dir(&env, &id).join("lock")).unwrap();
    lock.lock().unwrap();
    for words in [&["delete", &id, "--yes"][..], &["rename", &id, "x"], &["tag", &id, "x"]] {
        said(&env, words, 9, &format!("session {id} is in use"));
    }
    for words in
        [&["show", &id][..], &["list"], &["search", "42"], &["export", &id], &["fork", &id], &["check", &id]]
    {
        sessions(&env, words).exits(0);
    }
    said(&env, &["gc", "--keep", "0", "--dry-run"], 0, "would remove");
    assert!(!sessions(&env, &["gc", "--keep", "0", "--dry-run"]).stdout.contains(&id));
}

#[test]
fn a_check_says_what_is_wrong_and_mends_it() {
    let (env, id) = one();
    said(&env, &["check"], 0, "checked 1 session: 0 problems");
    let journal = dir(&env, &id).join("journal.jsonl");
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o644)).unwrap();
    said(&env, &["check", &id], 9, "has mode 0644");
    let json = sessions(&env, &["check", "--json"]).exits(9).json();
    assert_eq!(json[0]["problems"][0]["kind"], "mode");
    said(&env, &["check", "--repair"], 0, "repaired: ");
    let whole = fs::read_to_string(&journal).unwrap();
    let damaged = whole.replacen("It is **42**", "It is **43**", 1);
    assert_ne!(whole, damaged);
    fs::write(&journal, &damaged).unwrap();
    said(&env, &["show", &id], 9, &format!("`converse sessions check --repair {id}` makes"));
    said(&env, &["list"], 0, "damaged at line");
    said(&env, &["search", "42"], 0, "was not searched");
    let hint = format!("`converse sessions check --repair {id}` makes");
    let refused = env.run(&["ask", "-c", "x", "-m", "openai/m"]).exits(9);
    assert!(refused.stderr.contains(&hint), "{}", refused.stderr);
    said(&env, &["check", "--repair"], 0, "is lost; all others are now session");
    said(&env, &["check"], 0, "its readable part is now session");
    assert_eq!(fs::read_to_string(&journal).unwrap(), damaged, "the original stays");
    assert_eq!(sessions(&env, &["list", "--json"]).exits(0).json().as_array().unwrap().len(), 2);
    // Its beginning was saved: everything before the damage.
    let saved = sessions(&env, &["check", "--repair", "--json"]).exits(0).json();
    let saved = saved.as_array().unwrap().iter().find_map(|one| one["saved_as"].as_str()).unwrap().to_owned();
    assert_eq!(
        sessions(&env, &["show", &saved, "--json"]).exits(0).json()["canisters"].as_array().unwrap().len(),
        4
    );
}

#[test]
fn gc_removes_what_it_says_and_asks_before_a_conversation_goes() {
    let (env, id) = one();
    said(&env, &["gc"], 0, "freed 0 B");
    let stray = dir(&env, &id).parent().unwrap().join(".deleted-x");
    fs::create_dir(&stray).unwrap();
    said(&env, &["gc", "--dry-run"], 0, "would remove leftover");
    assert!(stray.exists());
    said(&env, &["gc"], 0, "removed leftover");
    assert!(!stray.exists() && dir(&env, &id).exists());
    said(&env, &["gc", "--older-than", "1d"], 0, "freed 0 B");
    said(&env, &["gc", "--older-than", "0h"], 2, "error[not-asked]");
    assert!(dir(&env, &id).exists());
    let json = sessions(&env, &["gc", "--keep", "0", "--yes", "--json"]).exits(0).json();
    assert_eq!(json["removed"][0]["session"], id.as_str());
    assert!(!dir(&env, &id).exists());
    said(&env, &["gc", "--older-than", "soon"], 2, "a number with h, d or w");
}

#[test]
fn a_home_that_cannot_be_written_can_still_be_read() {
    let (env, id) = one();
    let store = dir(&env, &id);
    let modes = |mode| {
        fs::set_permissions(&store, fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(store.parent().unwrap(), fs::Permissions::from_mode(mode)).unwrap();
    };
    modes(0o500);
    for words in [&["list"][..], &["show", &id], &["search", "42"], &["export", &id]] {
        sessions(&env, words).exits(0);
    }
    modes(0o700);
}

#[test]
fn a_conversation_is_resumed_at_a_terminal_only() {
    let (env, id) = one();
    said(&env, &["resume", &id], 2, "converse ask --session");
    said(&env, &["resume", "nobody"], 2, "error[no-such-session]");
}

#[test]
fn a_check_shows_a_bar_on_a_terminal_only() {
    let (env, _) = one();
    let mut terminal = Terminal::run(&env, &["sessions", "check"]);
    terminal.shows("/1 sessions");
    terminal.shows("checked 1 session");
    assert_eq!(terminal.ends(), 0);
    let plain = Terminal::run(&env, &["sessions", "check", "--plain"]).ends_showing();
    assert!(plain.0 == 0 && !plain.1.contains("/1 sessions"), "{plain:?}");
    assert_eq!(env.run(&["sessions", "check"]).exits(0).stderr, "");
}
