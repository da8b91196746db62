//! Sessions belong to the project in which they began.

use serde_json::{Value, json};

use crate::body::text;
use crate::env::{Ran, TestEnv, wait};
use crate::provider::Provider;

/// Runs in a directory of the test.
fn at(env: &TestEnv, directory: &str, args: &[&str]) -> Ran {
    wait(env.command(args).current_dir(env.path(directory)).spawn().unwrap())
}

fn asked(env: &TestEnv, directory: &str, args: &[&str]) -> String {
    let ran = at(env, directory, &[&["ask", "-o", "json"], args].concat()).exits(0);
    ran.json()["session"].as_str().unwrap().to_owned()
}

fn listed(env: &TestEnv, directory: &str, args: &[&str]) -> (Vec<String>, String) {
    let ran = at(env, directory, &[&["sessions", "list", "--json"], args].concat()).exits(0);
    let rows = ran.json();
    let ids = rows.as_array().unwrap().iter().map(|row| row["session"].as_str().unwrap().to_owned());
    (ids.collect(), ran.stderr)
}

#[test]
fn the_last_session_of_this_project_continues_and_another_one_only_with_all() {
    let provider = Provider::chat(["a", "b", "c", "d", "e"].map(text));
    let env = provider.env(TestEnv::new());
    for directory in ["one/.git", "one/src/deep", "two"] {
        std::fs::create_dir_all(env.path("work").join(directory)).unwrap();
    }
    let model = ["-m", provider.model()];
    let none = at(&env, "work/one", &["ask", "-c", "x", "-m", provider.model()]).exits(2);
    assert!(none.stderr.contains("there is no session yet"), "{}", none.stderr);

    let first = asked(&env, "work/one/src/deep", &[&["first"], &model[..]].concat());
    let none = at(&env, "work/two", &["ask", "-c", "x", "-m", provider.model()]).exits(2);
    let two = env.path("work/two").canonicalize().unwrap();
    for words in [&format!("the project `{}` has no session yet", two.display()), "`-c --all` continues"] {
        assert!(none.stderr.contains(words), "no {words:?} in {}", none.stderr);
    }
    let second = asked(&env, "work/two", &[&["second"], &model[..]].concat());
    assert_eq!(asked(&env, "work/one", &["-c", "again"]), first, "from another directory of the repository");
    assert_eq!(asked(&env, "work/two", &["-c", "again"]), second);
    assert_eq!(asked(&env, "work/one", &["-c", "--all", "again"]), second);
    let alone = at(&env, "work/one", &["ask", "--all", "x"]).exits(2);
    assert!(alone.stderr.contains("--continue"), "{}", alone.stderr);

    let (ids, told) = listed(&env, "work/one/src", &[]);
    assert_eq!(ids, std::slice::from_ref(&first));
    assert!(told.contains("1 session of other projects: `converse sessions list --all`"), "{told}");
    let (ids, told) = listed(&env, "work/one", &["--all"]);
    assert_eq!((ids, told.as_str()), (vec![second.clone(), first.clone()], ""));
    let table = at(&env, "work/two", &["sessions", "list", "--all"]).exits(0).stdout;
    assert!(table.contains("project") && table.contains(&format!("  {}  ", two.display())), "{table}");
    let table = at(&env, "work/two", &["sessions", "list"]).exits(0).stdout;
    assert!(!table.contains("project") && table.contains("second") && !table.contains("first"), "{table}");
}

#[test]
fn a_session_without_a_project_is_found_outside_of_projects_and_with_all() {
    let provider = Provider::chat(["a", "b"].map(text));
    let env = provider.env(TestEnv::new());
    let id = asked(&env, "work", &["first", "-m", provider.model()]);
    let metadata = env.path("home/.local/share/converse/sessions").join(&id).join("metadata.toml");
    let text = std::fs::read_to_string(&metadata).unwrap();
    assert!(text.contains("project = "), "{text}");
    // As earlier versions left it.
    let without: String =
        text.lines().filter(|line| !line.starts_with("project")).map(|line| format!("{line}\n")).collect();
    std::fs::write(&metadata, without).unwrap();
    at(&env, "work", &["ask", "-c", "x"]).exits(2);
    assert_eq!(listed(&env, "work", &[]).0, [""; 0]);
    assert_eq!(listed(&env, "home", &[]).0, std::slice::from_ref(&id));
    assert_eq!(asked(&env, "home", &["-c", "again"]), id);
}

#[test]
fn what_is_imported_or_forked_here_belongs_here() {
    let provider = Provider::chat(["a"].map(text));
    let env = provider.env(TestEnv::new());
    std::fs::create_dir(env.path("work/other")).unwrap();
    let id = asked(&env, "work", &["first", "-m", provider.model()]);
    at(&env, "work", &["sessions", "export", &id, "-o", "x.json"]).exits(0);
    let imported = at(&env, "work/other", &["sessions", "import", "../x.json"]).exits(0).stdout;
    assert_eq!(listed(&env, "work/other", &[]).0, [imported.trim().to_owned()]);
    let forked = at(&env, "work/other", &["sessions", "fork", &id]).exits(0).stdout;
    let all = at(&env, "work", &["sessions", "list", "--json"]).exits(0).json();
    let project = |id: &str| -> Value {
        let row = all.as_array().unwrap().iter().find(|row| row["session"] == json!(id.trim()));
        row.unwrap()["project"].clone()
    };
    assert_eq!(project(&forked), project(&id), "a copy belongs where its source does");
}
