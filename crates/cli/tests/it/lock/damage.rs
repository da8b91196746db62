//! Lockfiles that nobody can rely on, and those that must not be touched.

use serde_json::json;

use super::{LOCK, Locked, definition, steady};
use crate::env::TestEnv;
use crate::fake_server::{FakeServer, at_once, own_command};

type Damage = (&'static str, fn(&str) -> String);

#[test]
fn what_is_damaged_holds_everything_back() {
    let damage: Vec<Damage> = vec![
        ("truncated", |text| text[..text.len() / 2].to_owned()),
        ("empty", |_| String::new()),
        ("a conflict", |text| format!("<<<<<<< HEAD\n{text}")),
        ("an edited digest", |text| {
            let at = text.find("\"sha256\": \"").unwrap() + 11;
            let other = if &text[at..=at] == "0" { "1" } else { "0" };
            format!("{}{other}{}", &text[..at], &text[at + 1..])
        }),
        ("an edited definition", |text| text.replace("Never changes", "Never changed")),
        ("a later version", |text| text.replace("\"version\": 1", "\"version\": 2")),
        ("an unknown key", |text| text.replacen('{', "{ \"more\": 1,", 1)),
    ];
    at_once(damage, |(what, edit)| {
        let locked = Locked::first(&json!([steady()]));
        let damaged = edit(&locked.text());
        locked.rewrite(&damaged);
        let (offered, said) = locked.offered();
        assert_eq!(offered, [] as [&str; 0], "{what}");
        assert!(said.contains("warning[lock-damaged]: `srv`: all its tools are held back"), "{what}: {said}");
        let check = locked.check().exits(3);
        assert_eq!(check.json()[0]["code"], "lock-damaged", "{what}");
        let refused = locked.lock(&[]).exits(3);
        assert!(refused.stderr.contains("error[lock-damaged]"), "{what}: {}", refused.stderr);
        assert_eq!(locked.text(), damaged, "{what}");
        for line in [
            "\n  ~ the descriptor of srv\n",
            "\n  + srv.steady\n      description added: \"Never changes\"\n",
        ] {
            assert!(refused.stdout.contains(line), "{what}: {}", refused.stdout);
        }
        let named = locked.lock(&["srv", "--accept"]).exits(3);
        assert!(named.stderr.contains("without names"), "{what}: {}", named.stderr);
        assert_eq!(locked.text(), damaged, "{what}");
        locked.lock(&["--accept"]).exits(0);
        assert_eq!(locked.offered().0, ["srv__steady"], "{what}");
    });
}

#[test]
fn what_drops_out_of_a_damaged_one_is_named() {
    let locked = Locked::first(&json!([steady()]));
    FakeServer::new("off", &[]).ensemble("enabled = false").write(&locked.env);
    FakeServer::new("gone", &["--exit=1"]).write(&locked.env);
    locked.lock(&["off"]).exits(0);
    locked.rewrite("{");
    let refused = locked.lock(&[]).exits(3);
    for name in ["off", "gone"] {
        let line = format!("- ensemble {name}: it is not connected, and is removed");
        assert!(refused.stdout.contains(&line), "{}", refused.stdout);
    }
    assert_eq!(locked.lock(&["--json"]).exits(3).json()["lockfiles"][0]["dropped"], json!(["gone", "off"]));
}

#[test]
fn no_link_is_followed() {
    let locked = Locked::first(&json!([steady()]));
    let elsewhere = locked.env.path("elsewhere.json");
    std::fs::rename(locked.env.path(LOCK), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, locked.env.path(LOCK)).unwrap();
    let before = std::fs::read_to_string(&elsewhere).unwrap();
    let (offered, said) = locked.offered();
    assert_eq!(offered, [] as [&str; 0]);
    assert!(said.contains("symbolic link"), "{said}");
    locked.serve(&json!([definition()]));
    locked.lock(&["--accept"]).exits(9);
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), before);
}

#[test]
fn a_projects_lockfile_is_not_written_before_the_project_is_trusted() {
    let env = TestEnv::hasty();
    let command = serde_json::to_string(&own_command(&[])).unwrap();
    let descriptor = format!(
        "[ensemble]\nname = \"srv\"\ndescription = \"Of the project\"\n[defaults]\npermission = \"allow\"\n\
         [connection]\ntransport = \"stdio\"\ncommand = {command}\n"
    );
    env.write("work/ensembles/srv.toml", &descriptor);
    env.write("work/ensembles.lock", "damaged");
    env.run(&["ensembles", "lock", "--accept"]).exits(3);
    assert_eq!(std::fs::read_to_string(env.path("work/ensembles.lock")).unwrap(), "damaged");
    let hash = env.run(&["ensembles", "trust", "--json"]).json()["sha256"].as_str().unwrap().to_owned();
    env.run(&["ensembles", "trust", "--hash", &hash]).exits(0);
    let call = |env: &TestEnv| env.run(&["ensembles", "call", "srv.echo", "text=x"]);
    assert!(call(&env).exits(3).stderr.contains("ensembles.lock is damaged"));
    env.run(&["ensembles", "lock", "--accept"]).exits(0);
    assert_eq!(call(&env).exits(0).stdout, "x\n");
}

#[test]
fn no_tool_may_write_to_a_lockfile() {
    for (directory, lockfile) in [("ensembles", "ensembles.lock"), ("tools", "tools.lock")] {
        let env = TestEnv::hasty();
        let descriptor = FakeServer::new("srv", &[]).write(&env);
        let text = std::fs::read_to_string(descriptor).unwrap();
        env.write(&format!("work/{directory}/srv.toml"), &text);
        let whole = "{ \"ensembles\": {}, \"version\": 1 }";
        env.write(&format!("work/{lockfile}"), whole);
        let tool = json!({ "path": lockfile, "content": "mine" }).to_string();
        let call = ["ensembles", "call", "io.write_file", &tool, "--allow", "io.*", "--ensembles", directory];
        assert!(env.run(&call).exits(10).stderr.contains("is protected"));
        assert_eq!(std::fs::read_to_string(env.path(&format!("work/{lockfile}"))).unwrap(), whole);
    }
}

#[test]
fn a_key_that_a_server_repeats_is_not_written_down() {
    let env = TestEnv::hasty().var("CANARY_TOKEN", "canary-0123456789");
    let mut telling = steady();
    telling["_meta"] = json!({ "session": "canary-0123456789" });
    let tools = env.write("tools.json", &json!([telling]).to_string());
    FakeServer::new("srv", &[&format!("--tool-file={}", tools.display())]).write(&env);
    let locked = Locked { env, tools };
    let ran = locked.lock(&[]).exits(10);
    assert!(ran.stderr.contains("contains the value of a secret variable"), "{}", ran.stderr);
    assert!(!locked.env.path(LOCK).exists());
}

/// Whoever asks why a tool is not there asks these first.
#[test]
fn those_who_only_look_are_told_of_damage() {
    let env = TestEnv::new();
    let own = "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"x\"\ndescription = \"d\"\n\
               command = { argv = [\"true\"] }\n";
    env.write("home/.config/converse/ensembles/own.toml", own);
    env.run(&["ensembles", "lock"]).exits(0);
    let row = |code: i32| {
        let sections = env.run(&["doctor", "--offline", "--json"]).exits(code).json()["sections"].clone();
        let rows = sections
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|section| section["findings"].as_array().unwrap().clone());
        rows.into_iter().find(|row| row["name"] == "your lockfile").unwrap()
    };
    assert_eq!(row(0)["state"], "ok");
    assert!(!env.run(&["ensembles", "list"]).exits(0).stderr.contains("lock"));
    let path = env.path("home/.config/converse/ensembles.lock");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("<<<<<<< HEAD\n{text}")).unwrap();
    let row = row(3);
    let detail = row["detail"].as_str().unwrap();
    assert!(
        row["state"] == "broken" && detail.contains("held back: line 1 is a conflict marker of a merge"),
        "{detail}"
    );
    let listed = env.run(&["ensembles", "list"]).exits(0).stderr;
    assert!(listed.contains("warning[lock-damaged]: it is damaged, so all tools"), "{listed}");
    std::fs::remove_file(&path).unwrap();
    assert!(env.run(&["doctor", "--offline"]).exits(0).stdout.contains("changes of tools are not detected"));
}
