//! Which files the file tools reach: a path counts as the file that it leads to, in the place where the tool's root is.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::Provider;
use crate::terminal::Terminal;

const SECRET: &str = "the-content-of-a-private-file";
const USER: &str = "home/.config/converse/ensembles";
const PROJECT: &str = "work/ensembles";

/// An ensemble `disk` of two file tools below a root.
fn disk(env: &TestEnv, directory: &str, root: &str) {
    let file = |name: &str, required: &str| {
        format!(
            "[[invokers]]\nname = \"{name}\"\ndescription = \"d\"\nbuiltin = \"{name}_file\"\n[invokers.arguments]\n\
             type = \"object\"\nproperties = {{ path = {{ type = \"string\" }}, content = {{ type = \"string\" }} }}\n\
             required = [{required}]\n"
        )
    };
    let text = format!(
        "[ensemble]\nname = \"disk\"\ndescription = \"d\"\n[configuration]\nroot = {root:?}\n{}{}",
        file("read", "\"path\""),
        file("write", "\"path\", \"content\"")
    );
    env.write(&format!("{directory}/disk.toml"), &text);
}

/// A workspace beside a file that it must not reach.
fn beside_a_secret() -> TestEnv {
    let env = TestEnv::new();
    env.write("private/file", SECRET);
    env
}

fn read(env: &TestEnv, path: &str, words: &[&str]) -> Ran {
    let path = format!("path={path}");
    let ran = env.run(&[&["ensembles", "call", "disk.read", &path], words].concat());
    assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
    ran
}

fn trust(env: &TestEnv) -> Ran {
    let hash = env.run(&["ensembles", "trust", "--json"]).json()["sha256"].as_str().unwrap().to_owned();
    env.run(&["ensembles", "trust", "--hash", &hash]).exits(0)
}

/// The user wrote the descriptor, the repository made the link.
#[test]
fn a_relative_root_does_not_follow_a_link_out_of_the_workspace() {
    for directory in [USER, PROJECT] {
        let env = beside_a_secret();
        disk(&env, directory, "notes");
        env.write("work/notes/file", "mine");
        if directory == PROJECT {
            trust(&env);
        }
        assert_eq!(read(&env, "file", &[]).exits(0).stdout.trim(), "mine");
        fs::remove_dir_all(env.path("work/notes")).unwrap();
        symlink("../private", env.path("work/notes")).unwrap();
        for words in [&[][..], &["--allow", "*"]] {
            let ran = read(&env, "file", words);
            assert!(ran.code != 0 && !ran.stdout.contains(SECRET), "{directory}: {ran:?}");
            assert!(ran.stderr.contains("leads out of the workspace"), "{directory}: {}", ran.stderr);
        }
    }
}

#[test]
fn an_untrusted_project_opens_no_absolute_root() {
    let env = beside_a_secret();
    let private = env.path("private").display().to_string();
    disk(&env, PROJECT, &private);
    for words in [&[][..], &["--allow", "*"], &["--allow", "disk.read"]] {
        let ran = read(&env, "file", words).exits(3);
        assert!(ran.stderr.contains("converse ensembles trust"), "{}", ran.stderr);
    }
    let call = calls([("disk__read", json!({ "path": "file" }))]);
    let provider = Provider::chat([call, text("Well.")]);
    let env = provider.env(env);
    env.run(&["ask", "go", "-m", provider.model(), "--allow", "*"]).exits(0);
    let told = provider.requests()[1]["messages"].to_string();
    assert!(told.contains("no tool") && !told.contains(SECRET), "{told}");
    trust(&env);
    assert_eq!(read(&env, "file", &[]).exits(0).stdout.trim(), SECRET);
}

#[test]
fn trust_names_what_a_configuration_opens_and_ends_with_it() {
    let env = beside_a_secret();
    env.write("other/file", "another");
    let link = env.path("elsewhere").display().to_string();
    symlink("private", &link).unwrap();
    disk(&env, PROJECT, &link);
    env.write(
        "work/ensembles/net.toml",
        "[ensemble]\nname = \"net\"\ndescription = \"d\"\n[configuration]\nallow_private = [\"169.254.169.254\"]\n\
         [[invokers]]\nname = \"get\"\ndescription = \"d\"\nbuiltin = \"fetch\"\n",
    );
    let shown = env.run(&["ensembles", "trust"]).exits(3).stdout;
    let (_, acts) = shown.split_once("What this would do:").unwrap();
    let private = env.path("private").canonicalize().unwrap();
    for part in [
        format!("OPENS FILES BELOW {link:?}"),
        format!("which is {private:?} now"),
        "OPENS YOUR NETWORK: \"169.254.169.254\"".to_owned(),
    ] {
        assert!(acts.contains(&part), "no {part} in {shown}");
    }
    trust(&env);
    assert_eq!(read(&env, "file", &[]).exits(0).stdout.trim(), SECRET);
    // The text of the descriptor is the same, and it leads elsewhere.
    fs::remove_file(&link).unwrap();
    symlink("other", &link).unwrap();
    let ran = read(&env, "file", &["--allow", "*"]).exits(3);
    assert!(ran.stderr.contains("changed since: root of disk"), "{}", ran.stderr);
}

#[test]
fn a_question_names_the_file_behind_the_path() {
    let env = beside_a_secret();
    let private = env.path("private").canonicalize().unwrap();
    disk(&env, USER, private.to_str().unwrap());
    let mut terminal =
        Terminal::with_columns(&env, &["ensembles", "call", "disk.write", "path=new", "content=x"], 200);
    let question = terminal.shows("y = yes").to_owned();
    let told = format!("writes: {} (root: {})", private.join("new").display(), private.display());
    assert!(question.contains(&told), "no {told} in {question}");
    terminal.types("n\n");
    terminal.ends();

    let env = TestEnv::new();
    fs::create_dir(env.path("work/there")).unwrap();
    symlink("there", env.path("work/here")).unwrap();
    for (path, named) in [("here/new", true), ("there/new", false)] {
        let path = format!("path={path}");
        let mut terminal =
            Terminal::with_columns(&env, &["ensembles", "call", "io.write_file", &path, "content=x"], 200);
        let question = terminal.shows("y = yes").to_owned();
        assert_eq!(
            question.contains("writes: ") && question.contains("/work/there/new"),
            named,
            "{question}"
        );
        terminal.types("n\n");
        terminal.ends();
    }
}
