//! Files that are no descriptors, or not where they seem to be: each is one clear finding, none keeps the others from
//! being read, and none is waited for.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use converse_config::{
    BuiltinSpec, Effects, Environment, MAX_FILE_BYTES, ResolveInput, Root, Scope, load, resolve,
};
use converse_testkit::hang_guard;

const BUILTINS: [BuiltinSpec<'static>; 1] = [BuiltinSpec { name: "peek_file", effects: Effects::Read }];

struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("converse-config-faults-{name}-{}", std::process::id()));
        fs::create_dir_all(dir.join("ensembles/i")).unwrap();
        let dir = Self(dir);
        dir.write("ensembles/i/good.toml", INVOKER);
        dir
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.join(path), bytes).unwrap();
    }

    fn link(&self, to: impl AsRef<Path>, path: &str) {
        symlink(to, self.0.join(path)).unwrap();
    }

    fn pipe(&self, path: &str) {
        let made = std::process::Command::new("mkfifo").arg(self.0.join(path)).status().unwrap();
        assert!(made.success());
    }

    /// Names of the plans, and `code file:line:column` of everything found, sorted.
    fn check(&self) -> (Vec<String>, Vec<String>) {
        let root = Root { scope: Scope::Explicit, dir: self.0.join("ensembles"), shown: "ensembles".into() };
        let loaded = load(&[root], &[]);
        let environment = Environment::default();
        let given = ResolveInput {
            builtins: &BUILTINS,
            environment: &environment,
            project_trusted: true,
            compile_schemas: true,
            require_env: false,
        };
        let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
        let found = loaded.diagnostics.iter().chain(&resolved.diagnostics).map(|diagnostic| {
            let found = diagnostic.finding(&loaded.sources);
            assert!(found.message.len() < 400, "{}", found.message);
            let at = found.line.zip(found.column).map(|(line, column)| format!(":{line}:{column}"));
            format!("{} {}{}", found.code, found.file, at.unwrap_or_default())
        });
        let mut found: Vec<_> = found.collect();
        found.sort();
        (resolved.plans.iter().map(|plan| plan.name.to_string()).collect(), found)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const INVOKER: &str = "[invoker]\nname = \"i\"\ndescription = \"d\"\nbuiltin = \"peek_file\"\n";

fn ensemble(name: &str, source: &str) -> String {
    format!("[ensemble]\nname = \"{name}\"\ndescription = \"d\"\n[[invokers]]\nsource = \"{source}\"\n")
}

#[test]
fn every_fault_is_one_finding_and_what_is_right_still_loads() {
    let dir = TempDir::new("all");
    let of = |name: &str| format!("ensembles/{name}.toml");
    let good = |name: &str| ensemble(name, "i/good.toml");
    for name in ["a-right", "z-right"] {
        dir.write(&of(name), good(name));
    }
    // sizes and encodings
    dir.write(&of("b-ten-megabytes"), good("b") + &"# filler\n".repeat(1_200_000));
    dir.write(&of("c-latin1"), b"[ensemble]\nname = \"caf\xe9\"\n");
    dir.write(
        &of("d-utf16"),
        "\u{feff}[ensemble]\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
    );
    dir.write(&of("e-zeros"), [0; 100]);
    // files that are none
    fs::create_dir(dir.0.join(of("f-directory"))).unwrap();
    dir.link("nowhere.toml", &of("g-dangling"));
    dir.link("h-loop.toml", &of("h-loop"));
    dir.pipe(&of("j-pipe"));
    dir.write("outside.toml", "[ensemble]\nname = \"hunter2\"\n");
    dir.link("../outside.toml", &of("k-outside"));
    // sources
    for (at, source) in [
        ("l-up", "../outside.toml"),
        ("m-absolute", "/etc/hostname"),
        ("n-itself", "n-itself.toml"),
        ("o-loop", "i/loop.toml"),
        ("p-linked-out", "i/out.toml"),
        ("q-directory", "i"),
        ("r-pipe", "i/pipe.toml"),
        ("s-large", "i/large.toml"),
        ("t-latin1", "i/latin1.toml"),
        ("u-through-a-file", "i/good.toml/x.toml"),
    ] {
        dir.write(&of(at), ensemble(at, source));
    }
    dir.link("loop2.toml", "ensembles/i/loop.toml");
    dir.link("loop.toml", "ensembles/i/loop2.toml");
    dir.link("../../outside.toml", "ensembles/i/out.toml");
    dir.pipe("ensembles/i/pipe.toml");
    dir.write("ensembles/i/large.toml", vec![b'#'; MAX_FILE_BYTES + 1]);
    dir.write("ensembles/i/latin1.toml", b"[invoker]\nname = \"i\"\ndescription = \"\xe9\"\n");
    // names
    dir.write(&of("v-duplicate"), good("a-right"));
    dir.write(&of("w-twice"), good("w") + "[[invokers]]\nsource = \"i/good.toml\"\n");
    // what is no fault
    dir.write(&of("x-bom-and-crlf"), format!("\u{feff}{}", good("x").replace('\n', "\r\n")));
    dir.write("ensembles/i/real.toml", good("y"));
    dir.link("i/real.toml", &of("y-linked-within"));

    let (plans, found) = hang_guard::run("reading files that keep a reader waiting", move || dir.check());
    assert_eq!(plans, ["a-right", "x", "y", "z-right"]);
    let mut expected = [
        "too-large ensembles/b-ten-megabytes.toml",
        "not-utf8 ensembles/c-latin1.toml:2:12",
        "not-utf8 ensembles/d-utf16.toml:1:1",
        "syntax ensembles/e-zeros.toml:1:101",
        "unreadable ensembles/f-directory.toml",
        "unreadable ensembles/g-dangling.toml",
        "unreadable ensembles/h-loop.toml",
        "unreadable ensembles/j-pipe.toml",
        "outside-root ensembles/k-outside.toml",
        "bad-source ensembles/l-up.toml:5:10",
        "bad-source ensembles/m-absolute.toml:5:10",
        "bad-source ensembles/n-itself.toml:5:10",
        "unreadable ensembles/o-loop.toml:5:10",
        "outside-root ensembles/p-linked-out.toml:5:10",
        "unreadable ensembles/q-directory.toml:5:10",
        "unreadable ensembles/r-pipe.toml:5:10",
        "too-large ensembles/s-large.toml:5:10",
        "not-utf8 ensembles/i/latin1.toml:3:16",
        "unreadable ensembles/u-through-a-file.toml:5:10",
        "duplicate-ensemble ensembles/v-duplicate.toml:2:8",
        "duplicate-invoker ensembles/i/good.toml:2:8",
    ]
    .map(str::to_owned);
    expected.sort();
    assert_eq!(found, expected);
}

/// A byte order mark takes no column, and neither do the two bytes of a line end.
#[test]
fn places_are_right_whatever_the_line_ends() {
    let text = "[ensemble]\nname = \"e\"\ndescription = \"d\"\nenabeld = true\n[[invokers]]\nsource = \"none.toml\"\n";
    let mut all = Vec::new();
    for (name, text) in [
        ("plain", text.to_owned()),
        ("bom", format!("\u{feff}{text}")),
        ("crlf", text.replace('\n', "\r\n")),
        ("both", format!("\u{feff}{}", text.replace('\n', "\r\n"))),
    ] {
        let dir = TempDir::new(name);
        dir.write("ensembles/e.toml", text);
        all.push(dir.check().1);
    }
    assert_eq!(all[0], ["unknown-key ensembles/e.toml:4:1", "unreadable ensembles/e.toml:6:10"]);
    assert!(all.iter().all(|found| *found == all[0]), "{all:?}");
    // On the first line itself the mark would count.
    let dir = TempDir::new("first");
    dir.write("ensembles/e.toml", "\u{feff}foo = 1\r\n");
    assert!(dir.check().1.contains(&"unknown-key ensembles/e.toml:1:1".to_owned()));
}

/// A descriptor behind a link within the directory, and one whose `source` is.
#[test]
fn links_within_the_directory_are_followed() {
    let dir = TempDir::new("links");
    dir.write("ensembles/i/real.toml", ensemble("e", "i/alias.toml"));
    dir.link("i/real.toml", "ensembles/e.toml");
    dir.link("good.toml", "ensembles/i/alias.toml");
    assert_eq!(dir.check(), (vec!["e".to_owned()], Vec::new()));
    // The directory itself may be one: somebody named it.
    let outer = TempDir::new("outer");
    fs::remove_dir_all(outer.0.join("ensembles")).unwrap();
    outer.link(dir.0.join("ensembles"), "ensembles");
    assert_eq!(outer.check(), (vec!["e".to_owned()], Vec::new()));
}
