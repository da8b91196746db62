//! Which files the file tools reach: a path counts as the file that it leads to, in the place where the tool's root is.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv, wait};
use crate::provider::Provider;
use crate::rules::CONFIG;
use crate::terminal::{ASKED, Terminal};

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
    let question = terminal.shows(ASKED).to_owned();
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
        let question = terminal.shows(ASKED).to_owned();
        assert_eq!(
            question.contains("writes: ") && question.contains("/work/there/new"),
            named,
            "{question}"
        );
        terminal.types("n\n");
        terminal.ends();
    }
}

fn io(env: &TestEnv, tool: &str, arguments: serde_json::Value, words: &[&str]) -> Ran {
    let (tool, arguments) = (format!("io.{tool}"), arguments.to_string());
    let ran = env.run(&[&["ensembles", "call", &tool, &arguments], words].concat());
    assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
    ran
}

fn rule(tools: &str, decision: &str, path: &str) -> String {
    format!("[[rules]]\ntools = {tools:?}\ndecision = {decision:?}\narguments = {{ path = {path:?} }}\n")
}

/// Whatever the text of its path is, and in whatever way a tool comes to it.
#[test]
fn a_rule_about_a_path_is_about_the_file() {
    let env = TestEnv::new();
    env.write(CONFIG, &(rule("io", "deny", "plan.md") + &rule("io", "ask", "drafts/**")));
    for file in ["plan.md", "drafts/one.md", "sub/plan.md"] {
        env.write(&format!("work/{file}"), SECRET);
    }
    for (target, link) in
        [("plan.md", "notes.txt"), ("notes.txt", "chain"), ("drafts", "open"), (".", "here")]
    {
        symlink(target, env.path("work").join(link)).unwrap();
    }
    for path in ["plan.md", "notes.txt", "chain", "here/plan.md", "open/one.md"] {
        for (tool, more) in [
            ("read_file", json!({})),
            ("search_files", json!({ "pattern": "private" })),
            ("edit_file", json!({ "old_text": "private", "new_text": "public" })),
            ("write_file", json!({ "content": "x" })),
        ] {
            let mut arguments = more;
            arguments["path"] = json!(path);
            let ran = io(&env, tool, arguments, &["--allow", "io"]);
            assert!(ran.code != 0 && !ran.stdout.contains(SECRET), "{tool} {path}: {ran:?}");
            let refused = ["config.toml", "is a symbolic link"];
            assert!(refused.iter().any(|part| ran.stderr.contains(part)), "{tool} {path}: {}", ran.stderr);
        }
    }
    assert_eq!(fs::read_to_string(env.path("work/plan.md")).unwrap(), SECRET);
    // What is found is judged file by file, and what is left out is counted.
    for files in [json!("plan.md"), json!("*"), json!("**/*.md")] {
        let found =
            io(&env, "search_files", json!({ "pattern": "private", "files": files }), &[]).exits(0).stdout;
        assert!(found.contains("sub/plan.md:1:"), "{found}");
        assert_eq!(found.matches(SECRET).count(), 1, "{files}: {found}");
        assert!(found.contains("… 1 not searched: not allowed"), "{files}: {found}");
        assert!(found.contains("… 1 not searched: each needs an approval"), "{files}: {found}");
    }
    let listed = io(&env, "list_directory", json!({ "recursive": true }), &[]).exits(0).stdout;
    let names: Vec<&str> =
        listed.lines().filter(|line| line.contains("plan.md (") || line.contains("one.md")).collect();
    assert_eq!(names, [format!("sub/plan.md ({} bytes)", SECRET.len())], "{listed}");
    assert!(listed.contains("… 1 not shown: not allowed\n… 1 not shown: each needs"), "{listed}");
}

/// The text of a path that leads over a link is not the file that a rule allows.
#[test]
fn a_rule_that_allows_a_directory_allows_no_link_out_of_it() {
    let env = TestEnv::new();
    env.write(CONFIG, &rule("io.write_file", "allow", "src/**"));
    for dir in ["src/deep", "other"] {
        fs::create_dir_all(env.path("work").join(dir)).unwrap();
    }
    for (target, link) in [("../other", "src/out"), ("deep", "src/in")] {
        symlink(target, env.path("work").join(link)).unwrap();
    }
    for (path, code) in
        [("src/a", 0), ("./src/../src/b", 0), ("src/in/c", 0), ("src/out/d", 8), ("other/e", 8)]
    {
        io(&env, "write_file", json!({ "path": path, "content": "x" }), &[]).exits(code);
    }
    assert_eq!(fs::read_dir(env.path("work/other")).unwrap().count(), 0);
}

#[test]
fn files_that_other_programs_execute_ask_whatever_allows_the_tool() {
    let env = TestEnv::new();
    fs::create_dir_all(env.path("work/.github/workflows")).unwrap();
    symlink(".github/workflows", env.path("work/flows")).unwrap();
    let write = |path: &str, words: &[&str]| {
        let arguments = json!({ "path": path, "content": "x", "create_directories": true });
        io(&env, "write_file", arguments, words)
    };
    for (path, reader) in [
        (".github/workflows/ci.yml", "GitHub Actions"),
        ("flows/ci.yml", "GitHub Actions"),
        (".claude/settings.json", "Claude Code"),
        (".vscode/tasks.json", "Visual Studio Code"),
        (".cursor/mcp.json", "Cursor"),
        (".codex/config.toml", "Codex"),
        (".cargo/config.toml", "cargo"),
        ("Makefile", "make"),
        ("web/package.json", "npm"),
    ] {
        let ran = write(path, &["--allow", "io"]).exits(8);
        assert!(
            ran.stderr.contains(&format!("{reader} ")) && ran.stderr.contains("executes"),
            "{}",
            ran.stderr
        );
        assert!(!env.path("work").join(path).exists(), "{path}");
    }
    write("src/main.rs", &["--allow", "io"]).exits(0);
    env.write("work/Makefile", "all:\n");
    let edit = json!({ "path": "Makefile", "old_text": "all", "new_text": "any" });
    io(&env, "edit_file", edit, &["--allow", "io"]).exits(8);
    assert_eq!(io(&env, "read_file", json!({ "path": "Makefile" }), &[]).exits(0).stdout, "all:\n");
    // No answer is kept for it; one yes is for one call.
    let call = ["ensembles", "call", "io.write_file", "path=flows/ci.yml", "content=x", "--allow", "io"];
    let mut terminal = Terminal::with_columns(&env, &call, 200);
    let question = terminal.shows(ASKED).to_owned();
    assert!(
        question.contains("(GitHub Actions executes what it says)") && !question.contains("always"),
        "{question}"
    );
    terminal.types("y\n");
    assert_eq!(terminal.ends(), 0);
    assert!(env.path("work/.github/workflows/ci.yml").exists());
    // A rule that names them is the user's word about them; one that names everything is not.
    env.write(CONFIG, &rule("io", "allow", "**"));
    write("Makefile", &[]).exits(8);
    env.write(CONFIG, &rule("io", "allow", ".github/workflows/*.yml"));
    write(".github/workflows/ci.yml", &[]).exits(0);
}

#[test]
fn credentials_ask_before_they_are_read() {
    let env = TestEnv::new();
    let key = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n");
    env.write("work/.ssh/config", SECRET);
    env.write("work/.env", &format!("NAME={SECRET}\n"));
    env.write("work/deploy.txt", &key);
    env.write("work/.env.example", "NAME=value\n");
    symlink(".env", env.path("work/notes.txt")).unwrap();
    for path in [".env", "notes.txt", ".ssh/config", "deploy.txt"] {
        for words in [&[][..], &["--allow", "io"]] {
            let ran = io(&env, "read_file", json!({ "path": path }), words).exits(8);
            assert!(
                ran.stderr.contains("files with credentials") && ran.stdout.is_empty(),
                "{path}: {ran:?}"
            );
        }
    }
    assert_eq!(io(&env, "read_file", json!({ "path": ".env.example" }), &[]).exits(0).stdout, "NAME=value\n");
    let arguments = json!({ "pattern": "N|private|a", "hidden": true });
    let found = io(&env, "search_files", arguments, &[]).exits(0).stdout;
    assert!(!found.contains(SECRET) && found.contains(".env.example:1:"), "{found}");
    assert!(found.contains("… 3 not searched: each needs an approval"), "{found}");
    let call = ["ensembles", "call", "io.read_file", "path=notes.txt"];
    let mut terminal = Terminal::with_columns(&env, &call, 200);
    let question = terminal.shows(ASKED).to_owned();
    assert!(question.contains("it holds variables of an environment"), "{question}");
    assert!(question.contains("reads: ") && question.contains("/work/.env"), "{question}");
    terminal.types("y\n");
    terminal.shows(SECRET);
    assert_eq!(terminal.ends(), 0);
    env.write(CONFIG, &(rule("io", "allow", "**/.env") + &rule("io", "allow", "deploy.txt")));
    for path in [".env", "deploy.txt"] {
        assert!(io(&env, "read_file", json!({ "path": path }), &[]).exits(0).stdout.contains(SECRET));
    }
    io(&env, "read_file", json!({ "path": ".ssh/config" }), &[]).exits(8);
    let explained = env.run(&["explain", "io.read_file", "path=.ssh/config"]).exits(0).stdout;
    assert!(explained.contains("so is the file that it leads to"), "{explained}");
}

/// The workspace is the home.
fn at_home() -> TestEnv {
    let env = TestEnv::new();
    let home = env.path("work").display().to_string();
    env.var("HOME", home)
}

#[test]
fn no_tool_opens_converses_own_directories() {
    let env = at_home();
    for file in [".local/share/converse/tokens/x", ".config/converse/config.d", ".local/state/converse/x"] {
        env.write(&format!("work/{file}"), SECRET);
        let ran = io(&env, "read_file", json!({ "path": file }), &["--allow", "io"]).exits(8);
        assert!(ran.stderr.contains("converse's own directories"), "{}", ran.stderr);
        let (directory, _) = file.rsplit_once('/').unwrap();
        io(&env, "list_directory", json!({ "path": directory }), &["--allow", "io"]).exits(8);
    }
    symlink(".local/share/converse", env.path("work/shared")).unwrap();
    io(&env, "read_file", json!({ "path": "shared/tokens/x" }), &["--allow", "io"]).exits(8);
    let arguments = json!({ "pattern": "private", "hidden": true });
    let found = io(&env, "search_files", arguments, &["--allow", "io"]).exits(0).stdout;
    assert!(!found.contains(SECRET) && found.contains("not searched: not allowed"), "{found}");
    let arguments = json!({ "recursive": true, "hidden": true });
    let listed = io(&env, "list_directory", arguments, &["--allow", "io"]).exits(0).stdout;
    assert!(!listed.contains("tokens") && listed.contains("not shown: not allowed"), "{listed}");
}

#[test]
fn a_home_as_a_workspace_is_asked_about_once() {
    let env = at_home();
    env.write("work/notes.txt", "mine\n");
    let ran = io(&env, "read_file", json!({ "path": "notes.txt" }), &[]).exits(8);
    assert!(ran.stderr.contains("the workspace is a home directory"), "{}", ran.stderr);
    io(&env, "read_file", json!({ "path": "notes.txt" }), &["--allow", "io.read_file"]).exits(0);
    let read = || ("io__read_file", json!({ "path": "notes.txt" }));
    let list = || ("io__list_directory", json!({}));
    let provider = Provider::chat([calls([read()]), calls([read(), list()]), text("Done.")]);
    let env = provider.env(env);
    let words = ["ask", "go", "-m", provider.model(), "--ephemeral"];
    let mut terminal = Terminal::with_columns(&env, &words, 200);
    let question = terminal.shows(ASKED).to_owned();
    assert!(question.contains("tools that read would see all of it"), "{question}");
    terminal.types("y\n");
    let screen = terminal.shows("Done.").to_owned();
    assert_eq!(screen.matches("allow io.").count(), 2, "a question and its answer: {screen}");
    assert_eq!(terminal.ends(), 0);
    // A directory in it is a workspace like any other.
    fs::create_dir(env.path("work/project")).unwrap();
    env.write("work/project/notes.txt", "mine\n");
    let mut command = env.command(["ensembles", "call", "io.read_file", "path=notes.txt"]);
    wait(command.current_dir(env.path("work/project")).spawn().unwrap()).exits(0);
    let mut command = env.command(["ensembles", "call", "io.list_directory"]);
    wait(command.current_dir("/").spawn().unwrap()).exits(8);
}

#[test]
fn a_yes_is_for_the_file_that_was_shown() {
    let env = TestEnv::new();
    env.write("work/first", "as shown");
    env.write("work/second", SECRET);
    let link = env.path("work/notes");
    symlink("first", &link).unwrap();
    let call = ["ensembles", "call", "io.read_file", "path=notes", "--ask", "io"];
    let mut terminal = Terminal::with_columns(&env, &call, 200);
    assert!(terminal.shows(ASKED).contains("/work/first"));
    fs::remove_file(&link).unwrap();
    symlink("second", &link).unwrap();
    terminal.types("y\n");
    let (code, screen) = terminal.ends_showing();
    assert!(code != 0 && screen.contains("it leads elsewhere than when the call was judged"), "{screen}");
    assert!(!screen.contains(SECRET), "{screen}");
}

/// The file came with the project, and the repository is another one of the user's.
#[test]
fn git_does_not_follow_a_file_to_another_repository() {
    let env = TestEnv::new();
    let path = format!("{}:{}", env.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let env = env.var("PATH", path);
    let git = env.write("bin/git", &format!("#!/bin/sh\necho {SECRET}\n"));
    fs::set_permissions(git, fs::Permissions::from_mode(0o755)).unwrap();
    env.write(
        &format!("{USER}/vcs.toml"),
        "[ensemble]\nname = \"vcs\"\ndescription = \"d\"\n[[invokers]]\nname = \"log\"\ndescription = \"d\"\n\
         command = { argv = [\"git\", \"log\"] }\n",
    );
    let log = || env.run(&["ensembles", "call", "vcs.log", "--allow", "vcs"]);
    assert_eq!(log().exits(0).stdout.trim(), SECRET);
    for file in ["HEAD", "objects/x", "refs/x", "worktrees/work/HEAD"] {
        env.write(&format!("private/.git/{file}"), "");
    }
    for leads_to in ["../private/.git", "../private/.git/worktrees/work"] {
        env.write("work/.git", &format!("gitdir: {leads_to}\n"));
        let ran = log();
        assert!(ran.code != 0 && ran.stdout.is_empty(), "{leads_to}: {ran:?}");
        assert!(ran.stderr.contains("git is not run: the `.git` of"), "{}", ran.stderr);
    }
    let own = env.path("work").canonicalize().unwrap().join(".git");
    env.write("private/.git/worktrees/work/gitdir", &format!("{}\n", own.display()));
    env.write("private/.git/worktrees/work/commondir", "../..\n");
    assert_eq!(log().exits(0).stdout.trim(), SECRET);
}
