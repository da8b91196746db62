//! What searching finds, and what it leaves alone.

use super::*;

fn lines(said: &str) -> Vec<&str> {
    said.lines().collect()
}

#[test]
fn lines_are_found_below_the_directory_asked_for() {
    let ground = Ground::new();
    fs::write(ground.jail().join("dir/two.md"), "one\ninner too\n").unwrap();
    let said = ground.said("search_files", json!({ "pattern": "^inner" }));
    assert_eq!(lines(&said), ["dir/inner.txt:1: inner", "dir/two.md:2: inner too"]);
    let said =
        ground.said("search_files", json!({ "pattern": "INNER", "ignore_case": true, "files": "*.md" }));
    assert_eq!(lines(&said), ["dir/two.md:2: inner too"]);
    let said = ground.said("search_files", json!({ "pattern": "inner", "path": "dir", "files": "**/*.txt" }));
    assert_eq!(lines(&said), ["dir/inner.txt:1: inner"]);
    let said = ground.said("search_files", json!({ "pattern": "inner", "path": "dir/two.md", "context": 1 }));
    assert_eq!(lines(&said), ["dir/two.md-1- one", "dir/two.md:2: inner too"]);
    assert_eq!(ground.said("search_files", json!({ "pattern": "nowhere" })), "nothing matches");
    let said = ground.said("search_files", json!({ "pattern": "i", "limit": 1 }));
    assert_eq!(lines(&said).len(), 2, "{said}");
    assert!(said.ends_with("… the search ended at 1 matches; narrow `pattern`, `path` or `files`"));
}

#[test]
fn hidden_and_ignored_files_are_searched_when_asked_for_only() {
    let ground = Ground::new();
    let jail = ground.jail();
    fs::create_dir(jail.join("built")).unwrap();
    for (file, text) in [(".gitignore", "/built\n*.tmp\n"), ("built/x", "needle"), ("dir/y.tmp", "needle")] {
        fs::write(jail.join(file), text).unwrap();
    }
    fs::write(jail.join(".hidden"), "needle").unwrap();
    let found = |more: Value| {
        let mut arguments = json!({ "pattern": "needle" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ground.said("search_files", arguments)
    };
    assert_eq!(found(json!({})), "nothing matches");
    assert_eq!(found(json!({ "path": "dir" })), "nothing matches", "what is above holds too");
    assert_eq!(lines(&found(json!({ "ignored": true }))), ["built/x:1: needle", "dir/y.tmp:1: needle"]);
    assert_eq!(lines(&found(json!({ "hidden": true }))), [".hidden:1: needle"]);
}

#[test]
fn nothing_outside_is_read_and_nothing_waits() {
    let ground = Ground::new();
    let jail = ground.jail();
    make_pipe(&jail.join("pipe"));
    fs::remove_file(jail.join(".hidden")).unwrap();
    make_pipe(&jail.join(".gitignore"));
    fs::write(jail.join("binary"), b"SECRET\0").unwrap();
    fs::File::create(jail.join("huge")).unwrap().set_len(9 * 1024 * 1024).unwrap();
    let said = ground.said("search_files", json!({ "pattern": "SECRET", "hidden": true }));
    assert_eq!(
        lines(&said),
        ["nothing matches", "… 2 file(s) not searched: not text, too large, or not readable"]
    );
    for path in ["..", "out", "outdir", "/etc", "absolute", "dir/up"] {
        let said = ground.said("search_files", json!({ "pattern": "SECRET", "path": path }));
        assert!(said.starts_with("error: "), "{path}: {said}");
    }
    let pipe = ground.said("search_files", json!({ "pattern": "x", "path": "pipe" }));
    assert!(pipe.starts_with("error: "), "{pipe}");
    for pattern in ["(", "(?:a{1000}){1000}", "[ab]*a[ab]{9000}c"] {
        let said = ground.said("search_files", json!({ "pattern": pattern }));
        assert!(said.starts_with("invalid: `pattern` is not a regular expression"), "{said}");
    }
}

/// In one piece this search takes many minutes, and nothing but its own look at the token ends it.
#[test]
fn a_search_ends_when_nobody_waits_for_it() {
    let ground = Ground::new();
    let mut state = 12_345_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if state >> 63 == 0 { b'a' } else { b'b' }
    };
    fs::write(ground.jail().join("long"), (0..4 * 1024 * 1024).map(|_| next()).collect::<Vec<u8>>()).unwrap();
    let arguments = json!({ "pattern": "[ab]*a[ab]{900}c" });
    let arguments = converse_canister::Arguments::from_object(arguments.as_object().unwrap().clone());
    let tool = ground.tool("search_files");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let cancel = tokio_util::sync::CancellationToken::new();
    let context = crate::builtin::testing::context(cancel);
    runtime.block_on(async {
        let search = tool.invoke(context, &arguments);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(200), search).await.is_err());
    });
    // Waits for the blocking thread.
    converse_testkit::hang_guard::run("a search that nobody waits for", move || drop(runtime));
}
