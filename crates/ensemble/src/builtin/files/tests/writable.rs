//! What writing does, and where it never does.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

fn write(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content })
}

#[test]
fn files_are_made_replaced_and_appended_to() {
    let ground = Ground::new();
    assert_eq!(ground.said("write_file", write("new.txt", "héllo")), "wrote 6 bytes to new.txt");
    assert_eq!(ground.at("new.txt"), "héllo");
    assert_eq!(ground.said("write_file", write("a.txt", "")), "wrote 0 bytes to a.txt");
    assert_eq!(ground.at("a.txt"), "");
    for text in ["1", "2"] {
        let mut arguments = write("log", text);
        arguments["append"] = json!(true);
        assert_eq!(ground.said("write_file", arguments), "appended 1 byte to log");
    }
    assert_eq!(ground.at("log"), "12");
    assert_eq!(ground.said("write_file", write("dirlink/x", "via")), "wrote 3 bytes to dirlink/x");
    assert_eq!(ground.at("dir/x"), "via");
    let absolute = ground.jail().join("dir/y").display().to_string();
    assert_eq!(ground.said("write_file", write(&absolute, "y")), format!("wrote 1 byte to {absolute}"));
    let mut arguments = write("cyrillic", "Да");
    arguments["encoding"] = json!("windows-1251");
    assert_eq!(ground.said("write_file", arguments.clone()), "wrote 2 bytes to cyrillic");
    assert_eq!(fs::read(ground.jail().join("cyrillic")).unwrap(), b"\xc4\xe0");
    arguments["content"] = json!("日本");
    assert!(
        ground
            .said("write_file", arguments)
            .starts_with("invalid: `content` cannot be written: windows-1251")
    );
    assert!(names(&ground.jail()).iter().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn directories_are_made_when_asked_for_only() {
    let ground = Ground::new();
    let mut arguments = write("new/deep/../x.txt", "x");
    assert!(ground.said("write_file", arguments.clone()).contains("`create_directories`"));
    arguments["create_directories"] = json!(true);
    assert!(
        ground.said("write_file", arguments.clone()).contains("goes up from a directory that does not exist")
    );
    assert!(!ground.jail().join("new").exists());
    arguments["path"] = json!("new/./deep/x.txt");
    assert_eq!(ground.said("write_file", arguments.clone()), "wrote 1 byte to new/./deep/x.txt");
    assert_eq!(ground.at("new/deep/x.txt"), "x");
    for path in ["a.txt/x", "dangling/x", "loop/x"] {
        arguments["path"] = json!(path);
        assert!(ground.said("write_file", arguments.clone()).starts_with("error: "), "{path}");
    }
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_its_other_names_their_content() {
    let ground = Ground::new();
    let path = ground.jail().join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
    fs::hard_link(&path, ground.temp.path().join("other")).unwrap();
    assert!(ground.said("write_file", write("a.txt", "new")).starts_with("wrote"));
    let after = fs::metadata(&path).unwrap();
    assert_eq!(after.mode() & 0o7777, 0o640, "and is not run as its owner any more");
    assert_eq!(fs::read_to_string(ground.temp.path().join("other")).unwrap(), "alpha\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(ground.said("write_file", write("a.txt", "x")), "error: `a.txt` is read-only");
}

#[test]
fn symlinks_are_never_written_through() {
    let ground = Ground::new();
    for path in ["link", "chain", "out", "dangling", "ownlink", "loop"] {
        let said = ground.said("write_file", write(path, "x"));
        assert_eq!(said, format!("error: `{path}` is a symbolic link; name the file it points to"));
    }
    assert_eq!((ground.at("a.txt").as_str(), ground.at("converse.toml").as_str()), ("alpha\n", "mine"));
    assert!(!ground.jail().join("nowhere").exists());
}

#[test]
fn protected_places_are_refused_under_every_name() {
    let ground = Ground::new();
    let jail = ground.jail();
    symlink("ensembles", jail.join("tools")).unwrap();
    symlink("dir/deep/kept", jail.join("state-alias")).unwrap();
    let absolute = jail.join(".git/hooks/pre-commit").display().to_string();
    let before = names(&jail);
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        "./.git//hooks/../config",
        "dir/../.git/config",
        "gitlink/hooks/post-merge",
        "gitlink/config",
        "dir/.git/hooks/x",
        "dir/.git",
        ".GIT/config",
        ".git./config",
        ".ssh/authorized_keys",
        "converse.toml",
        "CONVERSE.TOML",
        "dir/converse.toml",
        "ensembles.lock",
        "ensembles/new.toml",
        "ensembles/a/b.toml",
        "Ensembles/new.toml",
        "tools/new.toml",
        "dir/deep/kept/x",
        "dir/deep/kept",
        "dir/../dirlink/deep/kept/x",
        "state-alias/x",
        ".bashrc",
        "dir/.zshrc",
        ".gitconfig",
        &absolute,
    ] {
        let mut arguments = write(path, "evil");
        for append in [false, true] {
            arguments["append"] = json!(append);
            arguments["create_directories"] = json!(true);
            let said = ground.said("write_file", arguments.clone());
            let refused = said.contains("is protected") || path.starts_with("state-alias");
            assert!(said.starts_with("error: ") && refused, "{path}: {said}");
        }
    }
    for path in [
        ".bash_aliases",
        ".cshrc",
        ".tcshrc",
        ".login",
        ".logout",
        ".kshrc",
        ".mkshrc",
        ".zlogout",
        ".xprofile",
        ".xsessionrc",
        ".xinitrc",
        ".pam_environment",
        "dir/.envrc",
        ".husky/pre-commit",
        ".mcp.json",
        ".npmrc",
        ".netrc",
        ".config/fish/config.fish",
        ".config/git/config",
        "dir/.Config/Autostart/x.desktop",
        ".config/systemd/user/x.service",
    ] {
        let mut arguments = write(path, "evil");
        arguments["create_directories"] = json!(true);
        assert!(ground.said("write_file", arguments).contains("is protected"), "{path}");
    }
    assert_eq!(names(&jail), before);
    assert_eq!(ground.at("converse.toml"), "mine");
    assert_eq!(names(&jail.join(".git/hooks")), [""; 0]);
    assert_eq!(names(&jail.join("dir")), ["deep", "inner.txt", "up"]);
    // What only looks like them is free.
    for path in [
        ".gitignore",
        "ensembles.md",
        "my-converse.toml",
        "dir/ensembles/x",
        ".config/x/fish",
        "fish/.config",
    ] {
        let mut arguments = write(path, "fine");
        arguments["create_directories"] = json!(true);
        assert!(ground.said("write_file", arguments).starts_with("wrote"), "{path}");
    }
}

#[test]
fn a_protected_place_is_known_by_its_inode_too() {
    let ground = Ground::new();
    // Protected under a name outside, reached under a name inside: the same directory, as a bind mount would show it.
    let alias = ground.temp.path().join("alias");
    symlink(ground.jail().join("dir"), &alias).unwrap();
    let tool =
        build("write_file", json!({}), &ground.jail(), &[alias], fixed("2026-11-20T12:00:00Z")).unwrap();
    for path in ["dir/x", "dirlink/x", "dir/deep/x"] {
        assert!(told(&*tool, write(path, "x")).contains("is protected"), "{path}");
    }
    // A protected file with a second name: its content is safe, and so is the name.
    let own = ground.temp.path().join("own");
    fs::write(&own, "own").unwrap();
    fs::hard_link(&own, ground.jail().join("second")).unwrap();
    let protected = [own.clone()];
    let tool =
        build("write_file", json!({}), &ground.jail(), &protected, fixed("2026-11-20T12:00:00Z")).unwrap();
    assert!(told(&*tool, write("second", "x")).contains("is protected"));
    assert_eq!(fs::read_to_string(own).unwrap(), "own");
}

#[test]
fn a_write_that_fails_leaves_nothing_behind() {
    let ground = Ground::new();
    fs::create_dir(ground.jail().join("plain")).unwrap();
    let before = names(&ground.jail());
    let said = ground.said("write_file", write("plain", "x"));
    assert_eq!(said, "error: `plain` is a directory, not a regular file");
    let long = "x".repeat(16 * 1024 * 1024 + 1);
    assert!(
        ground.said("write_file", write("large", &long)).starts_with("invalid: `content` has 16777217 bytes")
    );
    let name = "n".repeat(256);
    assert!(ground.said("write_file", write(&name, "x")).starts_with("error: "));
    let file = fs::File::create(ground.jail().join("full")).unwrap();
    file.set_len(32 * 1024 * 1024).unwrap();
    let mut arguments = write("full", "x");
    arguments["append"] = json!(true);
    assert!(ground.said("write_file", arguments).contains("would become larger"));
    fs::remove_file(ground.jail().join("full")).unwrap();
    assert_eq!(names(&ground.jail()), before);
}

#[test]
fn a_cancelled_write_does_not_write() {
    let ground = Ground::new();
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    let arguments =
        converse_canister::Arguments::from_object(write("a.txt", "x").as_object().unwrap().clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let tool = ground.tool("write_file");
    let answer = runtime.block_on(tool.invoke(crate::builtin::testing::context(cancel), &arguments)).unwrap();
    assert!(answer.is_error && words(&answer).contains("cancelled"));
    assert_eq!(ground.at("a.txt"), "alpha\n");
}
