//! What a listing shows.

use super::*;

#[test]
fn a_directory_is_listed_in_order_with_kinds_and_sizes() {
    let ground = Ground::new();
    let jail = ground.jail();
    make_pipe(&jail.join("pipe"));
    fs::write(jail.join("line\nbreak\u{202e}"), "12345").unwrap();
    let said = ground.said("list_directory", json!({}));
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            "a.txt (6 bytes)",
            "absolute -> /etc/passwd",
            "chain -> link",
            "converse.toml (4 bytes)",
            "dangling -> nowhere",
            "dir/",
            "dirlink -> dir",
            "ensembles/",
            "gitlink -> .git",
            "line\\nbreak\\u{202e} (5 bytes)",
            "link -> a.txt",
            "loop -> loop",
            "out -> ../secret.txt",
            "outchain -> out",
            "outdir -> ..",
            "ownlink -> converse.toml",
            "pipe (a named pipe)",
            "… 3 hidden not shown (`hidden` shows them)",
        ]
    );
    for (arguments, expected) in [
        (json!({ "path": "dir", "recursive": true }), "deep/\ninner.txt (6 bytes)\nup -> ../.."),
        (json!({ "path": "dirlink/deep" }), "`dirlink/deep` is empty"),
        (json!({ "path": ".git", "hidden": true }), "config (0 bytes)\nhooks/"),
        (json!({ "path": "a.txt" }), "error: `a.txt` is a file, not a directory"),
        (json!({ "path": "none" }), "error: `none` does not exist"),
        (
            json!({ "path": "outdir" }),
            "error: `outdir` leads outside of the workspace; only files under the workspace can be reached",
        ),
        (json!({ "recursive": "yes" }), "invalid: `recursive` must be true or false"),
    ] {
        assert_eq!(ground.said("list_directory", arguments), expected);
    }
    let hidden = ground.said("list_directory", json!({ "hidden": true }));
    assert!(hidden.contains(".hidden (0 bytes)") && !hidden.contains("not shown"));
}

#[test]
fn recursion_is_bounded_and_follows_no_symlink() {
    let ground = Ground::new();
    let deep = ground.jail().join("tree").join("d/".repeat(12));
    fs::create_dir_all(&deep).unwrap();
    symlink("..", ground.jail().join("tree/up")).unwrap();
    let said = ground.said("list_directory", json!({ "path": "tree", "recursive": true }));
    let deepest = format!("{}\n", "d/".repeat(8));
    assert!(said.contains(&deepest) && !said.contains(&"d/".repeat(9)), "{said}");
    assert!(said.ends_with("up -> ..\n… 1 directories deeper down not opened"), "{said}");
}

#[test]
fn a_long_listing_says_how_much_is_missing() {
    let ground = Ground::new();
    let many = ground.jail().join("many");
    fs::create_dir(&many).unwrap();
    for index in 0..2_003 {
        fs::write(many.join(format!("f{index:04}")), "").unwrap();
    }
    let said = ground.said("list_directory", json!({ "path": "many" }));
    assert_eq!(said.lines().count(), 2_001);
    assert!(said.ends_with("f1999 (0 bytes)\n… 3 more not shown"));
}
