//! No path leads out, whatever it is made of.

use std::os::unix::net::UnixListener;

use super::*;

#[test]
fn paths_that_stay_inside_are_read_in_every_spelling() {
    let ground = Ground::new();
    let jail = ground.jail();
    let absolute = jail.join("a.txt").display().to_string();
    for path in [
        "a.txt",
        "./a.txt",
        "dir/../a.txt",
        "dir//..//a.txt",
        "dir/deep/../../a.txt",
        "link",
        "chain",
        "dirlink/../a.txt",
        &absolute,
        &format!("{}//./dir/../a.txt", jail.display()),
    ] {
        assert_eq!(ground.said("read_file", json!({ "path": path })), "alpha\n", "{path}");
    }
    assert_eq!(ground.said("read_file", json!({ "path": "dirlink/inner.txt" })), "inner\n");
}

#[test]
fn paths_that_lead_out_are_refused_by_every_tool() {
    let ground = Ground::new();
    let temp = ground.temp.path().display().to_string();
    for path in [
        "../secret.txt",
        "..",
        "../..",
        "dir/../../secret.txt",
        "../jail/a.txt",
        "../jail-evil/secret.txt",
        "out",
        "outchain",
        "outdir/secret.txt",
        "dir/up/secret.txt",
        "dirlink/up/secret.txt",
        "absolute",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/cwd/a.txt",
        &format!("{temp}/secret.txt"),
        &format!("{temp}/jail-evil/secret.txt"),
        &format!("{temp}/jail/../secret.txt"),
        &format!("{temp}/jail/dir/../../jail-evil/secret.txt"),
        &format!("{temp}/./../secret.txt"),
        "//etc/passwd",
    ] {
        let said = ground.said("read_file", json!({ "path": path }));
        assert!(
            said.starts_with("error: `") && said.contains("only files under the workspace"),
            "{path}: {said}"
        );
        assert!(said.contains(path), "{said}");
        let said =
            ground.said("write_file", json!({ "path": path, "content": "x", "create_directories": true }));
        assert!(said.starts_with("error: "), "{path}: {said}");
        let said = ground.said("list_directory", json!({ "path": path }));
        assert!(said.starts_with("error: "), "{path}: {said}");
    }
    assert_eq!(fs::read_to_string(ground.temp.path().join("secret.txt")).unwrap(), "SECRET");
    assert_eq!(names(ground.temp.path()), ["jail", "jail-evil", "secret.txt", "state"]);
    assert!(names(&ground.temp.path().join("jail-evil")) == ["secret.txt"]);
}

#[test]
fn what_is_not_a_path_or_not_a_file_is_said() {
    let ground = Ground::new();
    make_pipe(&ground.jail().join("pipe"));
    let _socket = UnixListener::bind(ground.jail().join("socket")).unwrap();
    for (path, expected) in [
        ("", "invalid: `path` is empty"),
        ("a\0.txt", "invalid: `path` has a NUL"),
        (&"a/".repeat(3_000), "invalid: `path` has 6000 bytes"),
        (&"a".repeat(300), "error: a name in"),
        ("nothing.txt", "error: `nothing.txt` does not exist"),
        ("dangling", "error: `dangling` does not exist"),
        ("a.txt/x", "error: a part of `a.txt/x` is not a directory"),
        ("loop", "error: cannot read `loop`"),
        ("dir", "error: `dir` is a directory, not a regular file"),
        (".", "error: `.` is a directory"),
        ("pipe", "error: `pipe` is a named pipe, not a regular file"),
        ("socket", "error: `socket` is a socket, not a regular file"),
        ("\u{1b}[2Jx", "error: `\\u{1b}[2Jx` does not exist"),
    ] {
        let said = ground.said("read_file", json!({ "path": path }));
        assert!(said.starts_with(expected), "{path}: {said}");
    }
    for path in ["pipe", "socket", "dir", "dir/", "."] {
        let said = ground.said("write_file", json!({ "path": path, "content": "x" }));
        assert!(said.starts_with("error: "), "{path}: {said}");
    }
    assert_eq!(ground.said("read_file", json!({})), "invalid: `path` is missing");
}

#[test]
fn a_device_is_not_read() {
    let ground = Ground::new();
    let tool = ground.tool_with("read_file", json!({ "root": "/dev" }));
    for path in ["zero", "/dev/null"] {
        let said = told(&*tool, json!({ "path": path }));
        assert!(said.contains("is a device, not a regular file"), "{said}");
    }
}

#[test]
fn the_root_is_where_the_configuration_puts_it() {
    let ground = Ground::new();
    let inner = ground.tool_with("read_file", json!({ "root": "dir" }));
    assert_eq!(told(&*inner, json!({ "path": "inner.txt" })), "inner\n");
    assert!(told(&*inner, json!({ "path": "../a.txt" })).contains("leads outside"));
    // Both spellings of a root that is a symlink are known.
    let spelt = ground.jail().join("dirlink");
    let linked = ground.tool_with("read_file", json!({ "root": spelt.to_str().unwrap() }));
    for path in [spelt.join("inner.txt"), ground.jail().join("dir/inner.txt"), PathBuf::from("inner.txt")] {
        assert_eq!(told(&*linked, json!({ "path": path.to_str().unwrap() })), "inner\n");
    }
    for root in [json!(""), json!(".."), json!("dir/../.."), json!(3), json!("a\0b")] {
        let configuration = json!({ "root": root });
        let built = build("read_file", configuration, &ground.jail(), &[], fixed("2026-11-20T12:00:00Z"));
        assert_eq!(built.err().unwrap().key, "root");
    }
}

/// A descriptor of the user says `root = "notes"`; the repository decides what `notes` is.
#[test]
fn a_relative_root_stays_in_the_workspace() {
    let ground = Ground::new();
    for (root, inside) in [("dirlink", true), ("dir", true), ("outdir", false), ("dir/up", false)] {
        for name in ["read_file", "list_directory", "search_files", "write_file", "edit_file"] {
            let tool = ground.tool_with(name, json!({ "root": root }));
            let arguments = json!({ "path": "secret.txt", "pattern": "S", "content": "x", "old_text": "S",
                "new_text": "T" });
            let ended = invoke(&*tool, arguments);
            let refused = matches!(&ended, Err(InvokeError::Unreachable { message, sent: false })
                if message.contains("leads out of the workspace"));
            assert_eq!(refused, !inside, "{root} {name}: {ended:?}");
        }
    }
    assert_eq!(fs::read_to_string(ground.temp.path().join("secret.txt")).unwrap(), "SECRET");
    // The link is looked at when the tool is used: it may have changed since the last run.
    let later = ground.tool_with("read_file", json!({ "root": "later" }));
    symlink("..", ground.jail().join("later")).unwrap();
    assert!(told(&*later, json!({ "path": "secret.txt" })).contains("leads out of the workspace"));
}

#[test]
fn an_absolute_root_is_refused_without_trust() {
    let ground = Ground::new();
    let configuration = json!({ "root": ground.jail().to_str().unwrap() });
    let configuration = configuration.as_object().unwrap();
    let (jail, builtins) = (ground.jail(), crate::builtin::builtins());
    for builtin in builtins {
        let build = |trusted| (builtin.build)(&Settings { trusted, ..settings(configuration, &jail) });
        let opens = build(true).is_ok_and(|tool| tool.path_resolver().is_some());
        assert_eq!(opens, crate::opens_files(builtin.name), "{}", builtin.name);
    }
    for builtin in builtins.iter().filter(|builtin| crate::opens_files(builtin.name)) {
        let build = |trusted| (builtin.build)(&Settings { trusted, ..settings(configuration, &jail) });
        assert!(build(true).is_ok() && build(false).is_err_and(|error| error.key == "root"));
    }
}

/// The path that a call reaches is known before it is judged.
#[test]
fn what_a_call_names_is_resolved() {
    let ground = Ground::new();
    let jail = ground.jail().canonicalize().unwrap();
    for (tool, path, named) in [
        ("read_file", "a.txt", Some("a.txt")),
        ("read_file", "chain", Some("a.txt")),
        ("read_file", "dirlink/../a.txt", Some("a.txt")),
        ("read_file", "gitlink/config", Some(".git/config")),
        ("read_file", "nothing", None),
        ("read_file", "out", None),
        ("list_directory", "dirlink", Some("dir")),
        ("list_directory", ".", Some("")),
        ("search_files", "link", Some("a.txt")),
        ("write_file", "dirlink/new", Some("dir/new")),
        ("write_file", "gitlink/hooks/x/y", Some(".git/hooks/x/y")),
        ("write_file", "outdir/x", None),
        ("edit_file", "./a.txt", Some("a.txt")),
    ] {
        let resolver = ground.tool(tool).path_resolver().unwrap();
        let found = resolver.resolve(json!({ "path": path }).as_object().unwrap());
        assert_eq!(found.map(|found| found.path), named.map(|named| jail.join(named)), "{tool} {path}");
    }
}

#[test]
fn a_root_that_is_not_there_is_unreachable_and_may_come_later() {
    let ground = Ground::new();
    let tool = ground.tool_with("read_file", json!({ "root": "later" }));
    let error = invoke(&*tool, json!({ "path": "x" })).unwrap_err();
    assert!(matches!(error, InvokeError::Unreachable { sent: false, .. }), "{error}");
    fs::create_dir(ground.jail().join("later")).unwrap();
    fs::write(ground.jail().join("later/x"), "here").unwrap();
    assert_eq!(told(&*tool, json!({ "path": "x" })), "here");
}
