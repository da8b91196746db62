//! Files that are no descriptors, through the program: each is told with its name, none hides another, nothing hangs.

use std::os::unix::fs::symlink;

use crate::env::TestEnv;

const INVOKER: &str = "[invoker]\nname = \"i\"\ndescription = \"d\"\nbuiltin = \"read_file\"\n\
                       [arguments]\ntype = \"object\"\nproperties.path.type = \"string\"\n";

fn ensemble(name: &str, source: &str) -> String {
    format!("[ensemble]\nname = \"{name}\"\ndescription = \"d\"\n[[invokers]]\nsource = \"{source}\"\n")
}

/// A file of `d/` and what is told of it.
type Fault = (&'static str, &'static str, Option<u64>);

const FAULTS: [Fault; 13] = [
    ("large.toml", "too-large", None),
    ("latin1.toml", "not-utf8", Some(2)),
    ("directory.toml", "unreadable", None),
    ("dangling.toml", "unreadable", None),
    ("loop.toml", "unreadable", None),
    ("pipe.toml", "unreadable", None),
    ("outside.toml", "outside-root", None),
    ("up.toml", "bad-source", Some(5)),
    ("absolute.toml", "bad-source", Some(5)),
    ("itself.toml", "bad-source", Some(5)),
    ("linked.toml", "outside-root", Some(5)),
    ("piped.toml", "unreadable", Some(5)),
    ("twin.toml", "duplicate-ensemble", Some(2)),
];

fn faulty() -> TestEnv {
    let env = TestEnv::new();
    let write =
        |path: &str, bytes: &[u8]| std::fs::write(env.path(&format!("work/d/{path}")), bytes).unwrap();
    env.write("work/d/i/good.toml", INVOKER);
    env.write("work/outside.toml", "[invoker]\nname = \"hunter2\"\n");
    env.write("work/d/right.toml", &ensemble("right", "i/good.toml"));
    env.write(
        "work/d/bom.toml",
        &format!("\u{feff}{}", ensemble("bom", "i/good.toml").replace('\n', "\r\n")),
    );
    env.write("work/d/twin.toml", &ensemble("right", "i/good.toml"));
    write("large.toml", &b"# filler\n".repeat(1_200_000));
    write("latin1.toml", b"[ensemble]\nname = \"caf\xe9\"\n");
    for (name, source) in [
        ("up", "../outside.toml"),
        ("absolute", "/etc/hostname"),
        ("itself", "itself.toml"),
        ("linked", "i/linked.toml"),
        ("piped", "i/pipe.toml"),
    ] {
        env.write(&format!("work/d/{name}.toml"), &ensemble(name, source));
    }
    std::fs::create_dir(env.path("work/d/directory.toml")).unwrap();
    for (to, from) in [
        ("nowhere", "dangling.toml"),
        ("loop.toml", "loop.toml"),
        ("../outside.toml", "outside.toml"),
        ("../../outside.toml", "i/linked.toml"),
        ("i/good.toml", "i.link"),
    ] {
        symlink(to, env.path(&format!("work/d/{from}"))).unwrap();
    }
    env.shell("mkfifo d/pipe.toml d/i/pipe.toml").exits(0);
    env
}

#[test]
fn every_fault_is_told_and_what_is_right_is_counted() {
    let env = faulty();
    let found = env.run(&["ensembles", "check", "d", "--json"]).exits(3).json();
    let told: Vec<_> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            let file = found["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            (file, found["code"].as_str().unwrap().to_owned(), found["line"].as_u64())
        })
        .collect();
    for (file, code, line) in FAULTS {
        assert!(told.contains(&(file.to_owned(), code.to_owned(), line)), "{file} {code}: {told:?}");
    }
    assert_eq!(told.len(), FAULTS.len(), "{told:?}");
    let ran = env.run(&["ensembles", "check", "d"]).exits(3);
    for (file, code, _) in FAULTS {
        assert!(
            ran.stdout.contains(&format!("error[{code}]")) && ran.stdout.contains(file),
            "{}",
            ran.stdout
        );
    }
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    // The two that are right, bom.toml too, are counted.
    assert!(ran.stdout.lines().last().unwrap().starts_with("checked 2 ensembles, "), "{}", ran.stdout);
}

/// Those of a project are told as warnings of the run, and what is right works.
#[test]
fn a_project_with_faulty_files_is_still_of_use() {
    let env = faulty();
    std::fs::rename(env.path("work/d"), env.path("work/ensembles")).unwrap();
    let ran = env.run(&["ensembles", "call", "right.i", "path=outside.toml"]).exits(0);
    assert!(ran.stdout.contains("hunter2"), "{ran:?}");
    let ran = env.run(&["ask", "2+2"]).exits(0);
    assert!(ran.stdout.contains('4'), "{ran:?}");
    for file in ["large.toml", "latin1.toml", "pipe.toml", "itself.toml"] {
        assert!(ran.stderr.contains(file), "{file}: {}", ran.stderr);
    }
}
