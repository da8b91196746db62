//! The lockfile through the binary: what it catches, what it does not mind, and what becomes of a tool that has changed.

mod damage;
mod declared;
mod mutations;
mod offers;
mod running;
mod unseen;
mod untrusted;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::env::{Ran, TestEnv};
use crate::fake_server::{FakeServer, offered};
use crate::terminal::Terminal;

const LOCK: &str = "servers.lock";

/// One tool with everything that a definition has.
fn definition() -> Value {
    json!({
        "name": "search",
        "title": "Search",
        "description": "Searches files for a text",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": { "type": "string", "description": "What to look for" },
                "limit": { "type": "integer", "default": 10 },
                "kind": { "type": "string", "enum": ["file", "directory"] },
            },
            "required": ["text"],
            "additionalProperties": false,
        },
        "outputSchema": { "type": "object", "properties": { "hits": { "type": "integer" } } },
        "annotations": { "readOnlyHint": true, "title": "Search" },
        "_meta": { "vendor/level": 1 },
        "x-unheard-of": { "a": [1, 2] },
    })
}

fn steady() -> Value {
    json!({ "name": "steady", "description": "Never changes", "inputSchema": { "type": "object" } })
}

/// An environment with one server whose tools are in a file.
struct Locked {
    env: TestEnv,
    tools: PathBuf,
}

impl Locked {
    fn new(tools: &Value) -> Self {
        let env = TestEnv::hasty();
        let tools = env.write("tools.json", &tools.to_string());
        FakeServer::new("srv", &[&format!("--tool-file={}", tools.display())]).write(&env);
        Self { env, tools }
    }

    /// With what is there now written down.
    fn first(tools: &Value) -> Self {
        let locked = Self::new(tools);
        let ran = locked.lock(&[]).exits(0);
        assert!(ran.stdout.contains("servers.lock: written, 1 ensemble with"), "{}", ran.stdout);
        locked
    }

    fn serve(&self, tools: &Value) {
        std::fs::write(&self.tools, tools.to_string()).unwrap();
    }

    fn command(&self, words: &[&str]) -> Ran {
        let servers = self.env.path("servers").display().to_string();
        self.env.run(&[&["ensembles"], words, &["--ensembles", &servers]].concat())
    }

    fn lock(&self, words: &[&str]) -> Ran {
        self.command(&[&["lock"], words].concat())
    }

    fn check(&self) -> Ran {
        self.command(&["check", "--locked", "--json"])
    }

    /// The findings of `check --locked`: code and message.
    fn findings(&self) -> Vec<(String, String)> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let check = self.check();
        let findings = check.json();
        assert_eq!(check.code == 0, findings.as_array().unwrap().is_empty(), "{check:?}");
        findings.as_array().unwrap().iter().map(|one| (word(&one["code"]), word(&one["message"]))).collect()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.env.path(LOCK)).unwrap()
    }

    fn rewrite(&self, text: &str) {
        std::fs::write(self.env.path(LOCK), text).unwrap();
    }

    /// What a model would be offered of `srv`, and what is said about the rest.
    fn offered(&self) -> (Vec<String>, String) {
        let ran = self.ask(&["--dry-run"]).exits(0);
        (of_srv(&ran.json()["body"]), ran.stderr)
    }

    fn ask(&self, words: &[&str]) -> Ran {
        let servers = self.env.path("servers").display().to_string();
        self.env.run(&[&["ask", "go", "-m", "understudy", "--ensembles", &servers], words].concat())
    }

    fn quarantined(&self) -> Value {
        self.ask(&["-o", "json"]).exits(0).json()["quarantined"].clone()
    }

    fn shown(&self) -> String {
        self.env.path(LOCK).display().to_string()
    }
}

/// The names of the tools of `srv` in a request.
fn of_srv(request: &Value) -> Vec<String> {
    offered(request).into_iter().filter(|name| name.starts_with("srv__")).collect()
}

#[test]
fn a_change_is_shown_and_waits_for_a_yes() {
    let locked = Locked::first(&json!([definition(), steady()]));
    let before = locked.text();
    let path = locked.env.path(LOCK);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let mut changed = definition();
    changed["inputSchema"]["properties"]["limit"]["default"] = json!(1000);
    let newcomer =
        json!({ "name": "new", "description": "Came\u{202e} later", "inputSchema": { "type": "object" } });
    locked.serve(&json!([changed, newcomer]));
    let shown = locked.lock(&[]).exits(3);
    for line in [
        "3 changes",
        "~ srv.search\n      default of `limit`: 10 → 1000\n",
        "- srv.steady\n",
        "+ srv.new\n      description added: \"Came\\u{202e} later\"\n",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
    assert!(
        shown.stderr.contains("error[lock-drift]") && shown.stderr.contains("--accept"),
        "{}",
        shown.stderr
    );
    assert_eq!(locked.text(), before, "nothing was written");
    let report = locked.lock(&["--json"]).exits(3).json();
    assert_eq!(report["lockfiles"][0]["state"], "refused");
    assert_eq!(
        report["lockfiles"][0]["drift"][1]["changes"][0]["pointer"],
        "/inputSchema/properties/limit/default"
    );
    locked.lock(&["--accept"]).exits(0);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    locked.check().exits(0);
    assert_eq!(locked.offered().0, ["srv__new", "srv__search"]);
    let accepted = locked.text();
    locked.lock(&["--accept"]).exits(0);
    assert_eq!(locked.text(), accepted);
}

#[test]
fn an_ensemble_that_is_new_is_added_and_one_that_is_gone_is_not_forgotten_silently() {
    let locked = Locked::first(&json!([steady()]));
    FakeServer::new("more", &[]).write(&locked.env);
    assert_eq!(locked.offered().0, ["srv__steady"]);
    let quarantined = locked.quarantined();
    assert!(quarantined.as_array().unwrap().contains(&json!("more.echo")), "{quarantined}");
    assert_eq!(locked.findings()[0], ("lock-drift".into(), format!("`more` is not in {}", locked.shown())));
    locked.lock(&[]).exits(0);
    assert_eq!(locked.findings(), []);
    std::fs::remove_file(locked.env.path("servers/more.toml")).unwrap();
    assert!(locked.findings()[0].1.contains("no descriptor declares it"), "{:?}", locked.findings());
    let servers = locked.env.path("servers").display().to_string();
    let hint = locked.check().json()[0]["hint"].to_string();
    assert!(hint.contains(&format!("`converse ensembles lock --ensembles {servers} --accept`")), "{hint}");
    let shown = locked.lock(&[]).exits(3);
    assert!(shown.stdout.contains("- ensemble more"), "{}", shown.stdout);
    locked.lock(&["--accept"]).exits(0);
    assert!(!locked.text().contains("\"more\""));
}

#[test]
fn one_that_cannot_be_connected_keeps_its_entries() {
    let locked = Locked::first(&json!([steady()]));
    let before = locked.text();
    FakeServer::new("srv", &["--exit=1"]).write(&locked.env);
    FakeServer::new("more", &[]).write(&locked.env);
    let ran = locked.lock(&[]).exits(10);
    assert!(ran.stderr.contains("srv: "), "{}", ran.stderr);
    let after: Value = serde_json::from_str(&locked.text()).unwrap();
    let before: Value = serde_json::from_str(&before).unwrap();
    assert_eq!(after["ensembles"]["srv"], before["ensembles"]["srv"]);
    assert!(after["ensembles"]["more"]["tools"]["echo"]["tokens"].as_str().unwrap().starts_with('~'));
    assert_eq!(locked.check().exits(10).json()[0]["code"], "connect-failed");
}

#[test]
fn a_directory_without_a_lockfile_is_told() {
    let locked = Locked::new(&json!([steady()]));
    assert_eq!(locked.offered().0, ["srv__steady"], "what was never locked is as free as before");
    let check = locked.check().exits(3).json();
    assert_eq!((&check[0]["code"], &check[0]["file"]), (&json!("lock-missing"), &json!(locked.shown())));
}

#[test]
fn commands_and_built_ins_are_locked_too() {
    let env = TestEnv::hasty();
    let descriptor = |argv: &str| {
        format!(
            "[ensemble]\nname = \"own\"\ndescription = \"Ours\"\n[[invokers]]\nname = \"say\"\ndescription = \"Says\"\n\
             effects = \"read\"\n[invokers.arguments]\ntype = \"object\"\n[invokers.command]\nargv = {argv}\n\
             environment = {{ TOKEN = \"env:PATH\", FIXED = \"canary-value\" }}\n"
        )
    };
    env.write("home/.config/converse/ensembles/own.toml", &descriptor("[\"echo\", \"a\"]"));
    env.run(&["ensembles", "lock"]).exits(0);
    let path = env.path("home/.config/converse/ensembles.lock");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"argv\"") && text.contains("env:PATH"), "{text}");
    env.run(&["ensembles", "check", "--locked"]).exits(0);
    env.write("home/.config/converse/ensembles/own.toml", &descriptor("[\"echo\", \"b\"]"));
    let check = env.run(&["ensembles", "check", "--locked"]).exits(3);
    assert!(
        check.stdout.contains("`own.say`: kind.command.argv: from entry 2: [\"a\"] → [\"b\"]"),
        "{}",
        check.stdout
    );
    env.run(&["ensembles", "call", "own.say"]).exits(3);
}

#[test]
fn on_a_terminal_somebody_is_asked() {
    for (answer, code) in [("n\n", 3), ("y\n", 0)] {
        let locked = Locked::first(&json!([steady()]));
        let before = locked.text();
        locked.serve(&json!([steady(), definition()]));
        let servers = locked.env.path("servers").display().to_string();
        let mut terminal = Terminal::run(&locked.env, &["ensembles", "lock", "--ensembles", &servers]);
        let question = terminal.shows("accept all of this?").to_owned();
        assert!(question.contains("+ srv.search"), "{question}");
        terminal.types(answer);
        assert_eq!(terminal.ends(), code);
        assert_eq!(locked.text() == before, code == 3);
    }
}

#[test]
fn one_that_is_not_enabled_is_locked_by_its_name() {
    let locked = Locked::first(&json!([steady()]));
    FakeServer::new("off", &[]).ensemble("enabled = false").write(&locked.env);
    locked.lock(&[]).exits(0);
    assert!(!locked.text().contains("\"off\": {"));
    let call = || locked.command(&["call", "off.echo", "text=x"]);
    assert!(call().exits(3).stderr.contains("`converse ensembles lock off --ensembles "));
    locked.lock(&["off"]).exits(0);
    assert_eq!(call().exits(0).stdout, "x\n");
    locked.lock(&["--accept"]).exits(0);
    assert!(locked.text().contains("\"off\": {"), "it is still declared, so it stays");
    locked.lock(&["nobody"]).exits(2);
    locked.lock(&["essentials"]).exits(2);
}
