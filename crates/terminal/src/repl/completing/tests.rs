//! Tables: what is typed (`|` is the cursor, at the end unless it is there), what is offered.

use super::*;

fn completing(cwd: &std::path::Path) -> Completing {
    let named = |name: &str| Named::new(name, "about it");
    let known = Known {
        models: ["anthropic/claude-opus", "anthropic/claude-haiku", "openai/gpt-5"].map(named).to_vec(),
        ensembles: ["io", "web"].map(named).to_vec(),
        tools: ["io.read_file", "web.fetch"].map(named).to_vec(),
        prompts: vec![KnownPrompt {
            name: "git.review".to_owned(),
            about: String::new(),
            arguments: ["path", "depth"].map(named).to_vec(),
        }],
        commands: vec![(named("review"), "FILE".to_owned())],
        sessions: ["weather in Rome"].map(named).to_vec(),
        cwd: cwd.to_owned(),
        home: Some(cwd.join("home")),
    };
    Completing::new(Arc::new(Mutex::new(known)), crate::repl::pictures::Pictures::default())
}

fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["home", "home/docs", "src", "my dir"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    for name in
        [".hidden", "a.txt", "b c.txt", "src/main.rs", "src/menu.rs", "home/docs/x", "my dir/in it", "q\"q"]
    {
        std::fs::write(dir.path().join(name), "x").unwrap();
    }
    // In the line it would be read as a tab: never offered.
    std::fs::write(dir.path().join("a␉b"), "x").unwrap();
    dir
}

/// The lines that the suggestions make.
fn made(completing: &Completing, line: &str) -> Vec<String> {
    let at = line.find('|').unwrap_or(line.len());
    let line = line.replace('|', "");
    let offers = completing.complete(&line, at);
    let made = |one: Suggestion| format!("{}{}{}", &line[..one.from], one.value, &line[one.to..]);
    offers.into_iter().map(made).collect()
}

#[test]
fn commands_and_what_they_take() {
    let dir = directory();
    let completing = completing(dir.path());
    for (line, expected) in [
        ("/mo", &["/model", "/mode"][..]),
        ("/MO", &["/model", "/mode"]),
        ("/e", &["/ensembles", "/edit", "/export", "/editor", "/exit"]),
        ("/g", &["/git.review"]),
        ("/rev", &["/review"]),
        ("/mo| x", &["/model x", "/mode x"]),
        ("/model anth", &["/model anthropic/claude-opus", "/model anthropic/claude-haiku"]),
        ("/model gpt", &["/model openai/gpt-5"]),
        ("/ensembles io w", &["/ensembles io web"]),
        ("/ensembles +w", &["/ensembles +web"]),
        ("/ensembles +web -", &["/ensembles +web -io", "/ensembles +web -web"]),
        ("/ensembles +g", &[]),
        ("/allow io", &["/allow io.read_file"]),
        ("/sessions wea", &["/sessions weather in Rome"]),
        ("/help und", &["/help undo"]),
        ("/reasoning o", &["/reasoning on", "/reasoning off"]),
        ("/usage x", &[]),
        ("/git.review ", &["/git.review path=", "/git.review depth="]),
        ("/git.review path=a d", &["/git.review path=a depth="]),
        ("/attach a", &["/attach a.txt"]),
        ("/export a", &["/export a.txt"]),
        ("/attach a.txt \"b", &["/attach a.txt \"b c.txt\""]),
        ("/system @a", &["/system @a.txt"]),
        ("/usr/b", &[]),
        ("//mo", &[]),
        ("say /mo", &[]),
        ("mo", &[]),
    ] {
        assert_eq!(made(&completing, line), expected, "{line:?}");
    }
}

#[test]
fn files_behind_an_at() {
    let dir = directory();
    let completing = completing(dir.path());
    for (line, expected) in [
        ("look at @a", &["look at @a.txt"][..]),
        ("look at @a| now", &["look at @a.txt now"]),
        ("@b", &["@\"b c.txt\""]),
        ("@\"b c", &["@\"b c.txt\""]),
        ("@my", &["@\"my dir/"]),
        ("@\"my dir/i", &["@\"my dir/in it\""]),
        ("@src/m", &["@src/main.rs", "@src/menu.rs"]),
        ("@./s", &["@./src/"]),
        ("@.h", &["@.hidden"]),
        ("@~/d", &["@~/docs/"]),
        ("@q", &[]),
        ("@a.txt ", &[]),
        ("me@a", &[]),
        ("@nowhere/x", &[]),
    ] {
        assert_eq!(made(&completing, line), expected, "{line:?}");
    }
    let all = made(&completing, "@");
    assert!(all.contains(&"@a.txt".to_owned()) && !all.iter().any(|one| one.contains("hidden")), "{all:?}");
    let root = made(&completing, "@/us");
    assert!(root.iter().all(|one| one.starts_with("@/us")), "{root:?}");
}

#[test]
fn a_large_directory_is_not_read_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..300 {
        std::fs::write(dir.path().join(format!("f{number}")), "").unwrap();
    }
    let offers = completing(dir.path()).complete("@f", 2);
    assert!(!offers.is_empty() && offers.len() <= 200, "{}", offers.len());
}

#[test]
fn what_is_more_than_text_is_marked() {
    let dir = directory();
    let completing = completing(dir.path());
    let mark = |from, to, nature| Mark { from, to, nature };
    for (line, marks) in [
        ("/model x", &[mark(0, 6, Nature::Command)][..]),
        ("/git.review", &[mark(0, 11, Nature::Command)]),
        ("/mod", &[]),
        ("/mod x", &[mark(0, 4, Nature::Unknown)]),
        ("/zzz", &[mark(0, 4, Nature::Unknown)]),
        ("/usr/bin", &[]),
        ("see @a.txt and @no", &[mark(4, 10, Nature::File)]),
        // A directory is attached as a list of its names.
        ("@\"b c.txt\" @src", &[mark(0, 10, Nature::File), mark(11, 15, Nature::File)]),
        ("@", &[]),
        ("see @ now @\"\"", &[]),
        ("/system @a.txt", &[mark(0, 7, Nature::Command), mark(8, 14, Nature::File)]),
        ("plain", &[]),
    ] {
        assert_eq!(completing.marks(line), marks, "{line:?}");
    }
}

#[test]
fn a_command_is_hinted_at_while_it_is_typed() {
    let dir = directory();
    let completing = completing(dir.path());
    for (line, hint) in [
        ("/mo", Some("del")),
        ("/git", Some(".review")),
        ("/rev", Some("iew")),
        ("/review ", Some("FILE")),
        ("/review x", None),
        ("/model", None),
        ("/", None),
        ("/mo ", None),
        ("/zzz", None),
        ("mo", None),
    ] {
        assert_eq!(completing.hint(line).as_deref(), hint, "{line:?}");
    }
}
