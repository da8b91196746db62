//! `converse doctor`: what it finds, and that it tells no key.

use crate::env::{Ran, TestEnv};
use crate::models::server;
use crate::provider::KEY;

const WITHOUT_LANDLOCK: [&str; 2] = ["without-landlock", env!("CARGO_BIN_EXE_converse")];

#[test]
fn the_doctor_says_what_is_effective() {
    let env = TestEnv::new().var("ANTHROPIC_API_KEY", "canary-0123456789");
    let state = |ran: &Ran, section: &str, name: &str| {
        let sections = ran.json()["sections"].as_array().unwrap().clone();
        let section = sections.iter().find(|known| known["name"] == section).unwrap().clone();
        let finding =
            section["findings"].as_array().unwrap().iter().find(|known| known["name"] == name).cloned();
        let finding = finding.unwrap_or_else(|| panic!("no {name} in {section}"));
        (finding["state"].as_str().unwrap().to_owned(), finding["detail"].as_str().unwrap().to_owned())
    };
    let ran = env.run(&["doctor", "--offline", "--json"]).exits(0);
    assert!(!ran.stdout.contains("canary"), "{}", ran.stdout);
    assert_eq!(ran.json()["sound"], true);
    assert_eq!(state(&ran, "sandbox", "sandbox = \"require\"").0, "ok");
    assert_eq!(state(&ran, "model", "key"), ("ok".to_owned(), "set".to_owned()));
    assert_eq!(state(&ran, "sandbox", "Landlock").0, "ok");
    let plain = env.run(&["doctor", "--offline"]).exits(0);
    for heading in
        ["program", "directories", "settings", "model", "providers", "ensembles", "sandbox", "programs"]
    {
        assert!(plain.stdout.lines().any(|line| line == heading), "{}", plain.stdout);
    }

    let older = env.run(&[&WITHOUT_LANDLOCK[..], &["doctor", "--offline", "--json"]].concat()).exits(0);
    assert_eq!(state(&older, "sandbox", "Landlock"), ("note".to_owned(), "not available".to_owned()));
    assert!(state(&older, "sandbox", "sandbox = \"require\"").1.starts_with("would refuse"));

    env.write("home/.config/converse/ensembles/own.toml", "[ensemble]\nname = \"own\"\ndescription = \"d\"\n\
        [[invokers]]\nname = \"x\"\ndescription = \"d\"\nsandbox = \"require\"\ncommand = { argv = [\"true\"] }\n");
    env.run(&["doctor", "--offline"]).exits(0);
    let ran = env.run(&[&WITHOUT_LANDLOCK[..], &["doctor", "--offline", "--json"]].concat()).exits(3);
    assert!(state(&ran, "sandbox", "sandbox = \"require\"").1.starts_with("refuses 1 command"));

    env.write("home/.config/converse/config.toml", "modle = 1\nsystm = 2\n");
    let told = env.run(&["doctor", "--offline"]).exits(3).stdout;
    for fault in ["config.toml:1:1: ", "config.toml:2:1: "] {
        assert_eq!(told.lines().filter(|line| line.contains(fault)).count(), 1, "{told}");
    }
    let ran = env.run(&["doctor", "--offline", "--json"]).exits(3);
    assert_eq!(
        (state(&ran, "settings", "contents").0.as_str(), ran.json()["sound"].as_bool()),
        ("broken", Some(false))
    );
}

#[test]
fn a_sandbox_needs_a_place_for_temporary_files() {
    let env = TestEnv::new().var("TMPDIR", "/nope");
    let told = env.run(&["doctor", "--offline"]).exits(0).stdout;
    let line = told.lines().find(|line| line.contains("sandbox = \"require\"")).unwrap();
    assert!(line.contains("would refuse") && line.contains("/nope") && line.contains("TMPDIR"), "{line}");
}

#[test]
fn a_directory_that_is_not_ours_alone_is_broken() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = TestEnv::new();
    let state = env.path("home/.local/state/converse");
    std::fs::create_dir_all(&state).unwrap();
    env.run(&["doctor", "--offline"]).exits(0);
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o777)).unwrap();
    let ran = env.run(&["doctor", "--offline"]).exits(3);
    assert!(ran.stdout.contains("every user can write to"), "{}", ran.stdout);
    std::fs::remove_dir(&state).unwrap();
    env.write("home/.local/state/converse", "");
    let ran = env.run(&["doctor", "--offline"]).exits(3);
    assert!(ran.stdout.contains("is not a directory"), "{}", ran.stdout);
}

#[test]
fn providers_are_asked_whether_they_take_the_key() {
    let takes = |request: &str| request.contains("/v1/models");
    let (good, asked) = server(move |path| match takes(path) {
        true => (200, r#"{"data":[{"id":"a"},{"id":"b"}]}"#.to_owned()),
        false => (404, String::new()),
    });
    let (bad, _) =
        server(|_| (401, r#"{"error":{"message":"no such key: sk-canary-0123456789abcdef"}}"#.to_owned()));
    let (silent, _) = server(|_| (404, String::new()));
    let env = TestEnv::new()
        .var("OPENAI_BASE_URL", format!("http://127.0.0.1:{good}/v1"))
        .var("OPENAI_API_KEY", KEY)
        .var("GROQ_BASE_URL", format!("http://127.0.0.1:{bad}/v1"))
        .var("GROQ_API_KEY", KEY)
        .var("MISTRAL_BASE_URL", "http://127.0.0.1:1/v1")
        .var("MISTRAL_API_KEY", KEY);
    env.write(
        "home/.config/converse/config.toml",
        &format!("[providers.own]\nbase_url = \"http://127.0.0.1:{silent}/v1\"\nlocal = true\n"),
    );
    let findings = |ran: &Ran| {
        let sections = ran.json()["sections"].as_array().unwrap().clone();
        let section = sections.iter().find(|section| section["name"] == "providers").unwrap().clone();
        let said = |finding: &serde_json::Value| {
            ["name", "state", "detail"].map(|key| finding[key].as_str().unwrap().to_owned())
        };
        section["findings"].as_array().unwrap().iter().map(said).collect::<Vec<_>>()
    };
    let ran = env.run(&["doctor", "--json"]).exits(0);
    assert!(!ran.stdout.contains("sk-canary"), "{}", ran.stdout);
    let found = findings(&ran);
    let found: Vec<[&str; 2]> =
        found.iter().map(|[name, state, _]| [name.as_str(), state.as_str()]).collect();
    assert_eq!(found, [["openai", "ok"], ["groq", "note"], ["mistral", "note"], ["own", "note"]]);
    let details: Vec<String> = findings(&ran).into_iter().map(|[_, _, detail]| detail).collect();
    assert_eq!(details[0], "answers and accepts the key (2 models)");
    assert_eq!(details[1], "does not accept the key of GROQ_API_KEY");
    assert!(details[2].starts_with("cannot be reached"), "{}", details[2]);
    assert!(details[3].contains("status 404"), "{}", details[3]);
    assert_eq!(asked.lock().unwrap().len(), 1, "three names of one server are asked once");

    let env = env.var("CONVERSE_MODEL", "groq/x");
    let ran = env.run(&["doctor", "--json"]).exits(3);
    assert!(findings(&ran).iter().any(|[name, state, _]| name == "groq" && state == "broken"));
    let offline = env.run(&["doctor", "--offline"]).exits(0);
    assert!(offline.stdout.contains("not contacted (--offline)"), "{}", offline.stdout);
    assert_eq!(asked.lock().unwrap().len(), 2);
}
