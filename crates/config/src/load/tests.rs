use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A directory of its own for each test, removed when done.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("converse-config-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn root(&self, scope: Scope) -> Root {
        Root { scope, dir: self.0.join("ensembles"), shown: "ensembles".into() }
    }

    fn load(&self) -> (Vec<String>, Vec<String>) {
        found(&load(&[self.root(Scope::Project)], &[]))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Names of the descriptors (`!` before a broken one), and `code file:line` of the problems.
fn found(loaded: &LoadedFiles) -> (Vec<String>, Vec<String>) {
    let names = loaded.descriptors.iter().map(|descriptor| {
        let name = descriptor.name.as_ref().map_or("?", |name| &name.value);
        format!("{}{name}", if descriptor.broken { "!" } else { "" })
    });
    let findings = loaded.diagnostics.iter().map(|diagnostic| {
        let finding = diagnostic.finding(&loaded.sources);
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{} {}{line}", finding.code, finding.file)
    });
    (names.collect(), findings.collect())
}

fn ensemble(name: &str, source: &str) -> String {
    format!("[ensemble]\nname = \"{name}\"\ndescription = \"d\"\n[[invokers]]\nsource = \"{source}\"\n")
}

const INVOKER: &str = "[invoker]\nname = \"i\"\ndescription = \"d\"\nbuiltin = \"b\"\n";

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let dir = TempDir::new();
    dir.write("ensembles/a.toml", ensemble("a", "a/i.toml"));
    dir.write("ensembles/a/i.toml", INVOKER);
    dir.write("ensembles/b.toml", b"a = \"\xff\"");
    dir.write("ensembles/c.toml", vec![b'#'; MAX_FILE_BYTES + 1]);
    dir.write("ensembles/d.toml/x", "");
    dir.write("ensembles/e.toml", "[ensemble\n");
    dir.write("ensembles/f.toml", ensemble("f", "missing.toml"));
    dir.write("ensembles/g.toml", format!("\u{feff}{}", ensemble("g", "a/i.toml").replace('\n', "\r\n")));
    dir.write("ensembles/h.txt", "not ours");
    dir.write("ensembles/deep/i.toml", "not = \"an ensemble\"");
    let (names, findings) = dir.load();
    assert_eq!(names, ["a", "!?", "!f", "g"]);
    assert_eq!(
        findings,
        [
            "not-utf8 ensembles/b.toml:1",
            "too-large ensembles/c.toml",
            "unreadable ensembles/d.toml",
            "syntax ensembles/e.toml:1",
            "unreadable ensembles/f.toml:5",
        ]
    );
}

#[test]
fn a_missing_directory_is_no_problem_unless_it_was_named() {
    let dir = TempDir::new();
    let quiet = load(&[dir.root(Scope::User), dir.root(Scope::Project)], &[]);
    assert!(quiet.diagnostics.is_empty() && quiet.descriptors.is_empty());
    let (_, findings) = found(&load(&[dir.root(Scope::Explicit)], &[]));
    assert_eq!(findings, ["unreadable ensembles"]);
}

#[cfg(unix)]
#[test]
fn nothing_outside_the_root_is_read() {
    use std::os::unix::fs::symlink;
    let dir = TempDir::new();
    dir.write("outside/secret.toml", "[invoker]\nname = \"hunter2\"\n");
    dir.write("ensembles/a.toml", ensemble("a", "link.toml"));
    dir.write("ensembles/b.toml", ensemble("b", "linked/secret.toml"));
    dir.write("ensembles/real.toml", ensemble("real", "i/i.toml"));
    dir.write("ensembles/i/i.toml", INVOKER);
    symlink(dir.0.join("outside/secret.toml"), dir.0.join("ensembles/link.toml")).unwrap();
    symlink(dir.0.join("outside"), dir.0.join("ensembles/linked")).unwrap();
    symlink("nowhere", dir.0.join("ensembles/dangling.toml")).unwrap();
    symlink("i", dir.0.join("ensembles/inside")).unwrap();
    dir.write("ensembles/z.toml", ensemble("z", "inside/i.toml"));
    let loaded = load(&[dir.root(Scope::Project)], &[]);
    let (names, findings) = found(&loaded);
    assert_eq!(names, ["!a", "!b", "real", "z"]);
    assert_eq!(
        findings,
        [
            "outside-root ensembles/a.toml:5",
            "outside-root ensembles/b.toml:5",
            "unreadable ensembles/dangling.toml",
            "outside-root ensembles/link.toml",
        ]
    );
    assert!(!format!("{loaded:?}").contains("hunter2"));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let dir = TempDir::new();
    dir.write("ensembles/a.toml", ensemble("a", "i.toml").replace("[[invokers]]\nsource", "[[invokers]]\n#"));
    let pipe = dir.0.join("ensembles/pipe.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (_, findings) = dir.load();
    assert_eq!(findings.last().unwrap(), "unreadable ensembles/pipe.toml");
    let mut sources = SourceMap::new();
    let settings = load_settings(&mut sources, &pipe, "pipe", Scope::Project);
    assert!(settings.value.is_none() && settings.has_errors());
}

#[test]
fn many_ensembles_are_enough() {
    let dir = TempDir::new();
    for at in 0..MAX_DESCRIPTORS + 5 {
        dir.write(&format!("ensembles/e{at:04}.toml"), ensemble(&format!("e{at}"), "i/i.toml"));
    }
    dir.write("ensembles/i/i.toml", INVOKER);
    let (names, findings) = dir.load();
    assert_eq!((names.len(), names.last().map(String::as_str)), (MAX_DESCRIPTORS, Some("e3999")));
    assert_eq!(findings, ["too-many ensembles"]);
}

/// Seventy of a megabyte each: a few are read, one is told of, the others cost nothing.
#[test]
fn files_that_are_large_together_are_not_all_read() {
    let dir = TempDir::new();
    for at in 0..70 {
        let text = format!("{}#{}", ensemble(&format!("e{at}"), "i.toml"), "x".repeat(1_000_000));
        dir.write(&format!("ensembles/e{at:02}.toml"), text);
    }
    dir.write("ensembles/i.toml", INVOKER);
    for (scope, read, beyond) in [(Scope::Project, 4, "e04"), (Scope::User, 33, "e33")] {
        let loaded = load(&[dir.root(scope)], &[]);
        let (names, findings) = found(&loaded);
        assert_eq!((names.len(), names.iter().any(|name| name.starts_with('!'))), (read, false));
        assert_eq!(findings, [format!("too-large ensembles/{beyond}.toml")]);
        let kept: usize = loaded.sources.iter().map(|(_, source)| source.text.len()).sum();
        assert!(kept <= Budget::of(scope).most, "{kept}");
    }
}

/// The same file counts each time it is read, and an ensemble that lacks one is broken.
#[test]
fn an_ensemble_beyond_the_budget_is_broken() {
    let dir = TempDir::new();
    dir.write("ensembles/i/i.toml", format!("{INVOKER}#{}", "x".repeat(1_000_000)));
    let source = "[[invokers]]\nsource = \"i/i.toml\"\n";
    dir.write("ensembles/a.toml", ensemble("a", "i/i.toml") + &source.repeat(9));
    dir.write("ensembles/b.toml", ensemble("b", "i/i.toml"));
    let (names, findings) = dir.load();
    assert_eq!(names, ["!a"]);
    assert_eq!(findings, ["too-large ensembles/a.toml:13"], "at the line that names the first one beyond");
}

#[test]
fn files_too_large_by_themselves_use_up_the_budget_too() {
    let dir = TempDir::new();
    for at in 0..9 {
        dir.write(&format!("ensembles/e{at}.toml"), vec![b'#'; MAX_FILE_BYTES + 1]);
    }
    let (_, findings) = dir.load();
    let expected: Vec<_> = (0..4).map(|at| format!("too-large ensembles/e{at}.toml")).collect();
    assert_eq!(findings, expected);
}

/// Each missing file costs a look at the disk, and a message.
#[test]
fn files_that_are_missing_are_looked_for_a_hundred_times() {
    let dir = TempDir::new();
    let missing: String = (0..70).map(|at| format!("[[invokers]]\nsource = \"{at}.toml\"\n")).collect();
    for name in ["a", "b", "c"] {
        dir.write(&format!("ensembles/{name}.toml"), ensemble(name, "i.toml") + &missing);
    }
    dir.write("ensembles/i.toml", INVOKER);
    let (names, findings) = dir.load();
    assert_eq!(names, ["!a", "!b"], "c is not read");
    assert_eq!(findings.len(), 101);
    assert!(findings[..100].iter().all(|finding| finding.starts_with("unreadable ")));
    // What its line 5 names is there, and 30 more are not.
    assert_eq!(findings[100], "more-problems ensembles/b.toml:67");
}

#[test]
fn settings_are_read_if_they_are_there() {
    let dir = TempDir::new();
    let mut sources = SourceMap::new();
    let mut read = |name: &str| load_settings(&mut sources, &dir.0.join(name), name, Scope::User);
    assert_eq!(read("none.toml").value.map(|plan| plan.model), None);
    dir.write("config.toml", "model = \"a/b\"\n");
    assert_eq!(read("config.toml").value.and_then(|plan| plan.model).as_deref(), Some("a/b"));
    dir.write("bad.toml", b"\xff");
    let bad = read("bad.toml");
    assert!(bad.value.is_none() && bad.has_errors());
    let directory = read(".");
    assert!(directory.value.is_none() && directory.has_errors());
}
