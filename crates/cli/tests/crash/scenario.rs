//! What is done, and killed while it is done.

use serde_json::{Value, json};

use crate::body::{Dialect, Says, calls, text};
use crate::env::{TestEnv, files};
use crate::http::Answer;
use crate::provider::Provider;

/// What runs.
pub(crate) enum Run {
    /// `ask …`, with the model and as records.
    Asks(&'static [&'static str]),
    /// At a terminal: what is typed, what is awaited then, and whether it is an answer.
    Types(&'static [(&'static str, &'static str, bool)]),
    Keeps(&'static [&'static str]),
}

pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) dialects: &'static [Dialect],
    /// What was there before.
    pub(crate) before: fn(&TestEnv, &Provider),
    pub(crate) run: Run,
    /// Of the run, and of the one that goes on.
    pub(crate) flags: &'static [&'static str],
    pub(crate) script: fn() -> Vec<Says>,
    /// How each reply comes, if not at once.
    pub(crate) pace: Option<fn(&mut Answer)>,
    /// Said before, and there for good.
    pub(crate) kept: &'static [&'static str],
}

/// On the session that is renamed; there for good.
pub(crate) const TAG: &str = "kept";

const ALL: &[Dialect] = &Dialect::ALL;
const ONE: &[Dialect] = &[Dialect::Chat];
const TWO: &[Dialect] = &[Dialect::Anthropic, Dialect::Responses];

const OWN: &str = r#"[ensemble]
name = "own"
description = "Notes"
[[invokers]]
name = "note"
description = "Notes a word"
permission = "allow"
command = { argv = ["sh", "-c", "echo $0 >> noted; echo noted $0", "{word}"] }
[invokers.arguments]
type = "object"
required = ["word"]
properties = { word = { type = "string" } }
"#;

const TALK: &[(&str, &str, bool)] = &[
    ("one", "First.", true),
    ("two", "Second.", true),
    ("/undo", "undone: two", false),
    ("/save a talk", "a talk", false),
    ("three", "Third.", true),
    ("/quit", "converse -c", false),
];

pub(crate) fn all() -> Vec<Scenario> {
    let asks = |name, dialects, before, words, flags, script| {
        let kept: &[&str] = if words == ["one"] { &[] } else { &["zero", "Zero."] };
        Scenario { name, dialects, before, run: Run::Asks(words), flags, script, pace: None, kept }
    };
    let keeps = |name, before, words, kept| Scenario {
        name,
        dialects: ONE,
        before,
        run: Run::Keeps(words),
        flags: &[],
        script: Vec::new,
        pace: None,
        kept,
    };
    let no_tools: &[&str] = &["--no-tools"];
    let io: &[&str] = &["-e", "io"];
    vec![
        asks("answer", ALL, |_, _| {}, &["one"], no_tools, || vec![text("First.")]),
        asks("read", ALL, with_files, &["-c", "--all", "read it"], io, || {
            let read = ("io__read_file", json!({ "path": "a.txt" }));
            vec![calls([read]).thinking("Hm.").with_text("Let me see."), text("Read.")]
        }),
        asks("effects", ALL, with_notes, &["-c", "--all", "note it"], &["--ensembles", "../ens"], || {
            let note = |word: &str| ("own__note", json!({ "word": word }));
            let several = calls([note("a"), note("b"), note("c")]).thinking("Hm.");
            vec![several, calls([note("d")]).with_text("One more."), text("Noted.")]
        }),
        Scenario {
            name: "talk",
            dialects: TWO,
            before: |_, _| {},
            run: Run::Types(TALK),
            flags: no_tools,
            script: || vec![text("First."), text("Second."), text("Third.")],
            pace: None,
            kept: &[],
        },
        Scenario {
            name: "stream",
            dialects: ONE,
            before: |_, _| {},
            run: Run::Asks(&["one"]),
            flags: no_tools,
            script: || vec![text("A reply that takes its time.")],
            pace: Some(slowly),
            kept: &[],
        },
        asks("migrate", TWO, older, &["-c", "--all", "more"], io, || vec![text("More.")]),
        asks("mend", TWO, broken, &["-c", "--all", "more"], io, || vec![text("More.")]),
        asks("condense", TWO, filling, &["-c", "--all", "the task"], io, || {
            let mut script: Vec<Says> = (0..4).map(reads).collect();
            script.extend([text("SUMMARY."), text("Done.")]);
            script
        }),
        keeps("fork", with_files, &["sessions", "fork", "last"], &["zero", "Zero."]),
        keeps("import", exported, &["sessions", "import", "../kept.json"], &["zero", "Zero."]),
        keeps("rename", tagged, &["sessions", "rename", "last", "another"], &["zero", "Zero."]),
        keeps("delete", two, &["sessions", "delete", "last", "--yes"], &["zero", "Zero."]),
        keeps("gc", two, &["sessions", "gc", "--keep", "1", "--yes"], &["last", "Last."]),
    ]
}

/// In three pieces, with more than a second between them: the text is written as it comes.
fn slowly(answer: &mut Answer) {
    answer.piece = answer.body.len().div_ceil(3);
    answer.pause = std::time::Duration::from_millis(1_100);
}

fn asked(env: &TestEnv, provider: &Provider, words: &[&str], script: Vec<Says>) {
    provider.plays(script);
    env.run(&[&["ask", "-m", provider.model()], words].concat()).exits(0);
    provider.is_content();
}

fn zero(env: &TestEnv, provider: &Provider) {
    asked(env, provider, &["zero"], vec![text("Zero.")]);
}

fn with_files(env: &TestEnv, provider: &Provider) {
    env.write("work/a.txt", "what is in a");
    zero(env, provider);
}

fn tagged(env: &TestEnv, provider: &Provider) {
    zero(env, provider);
    env.run(&["sessions", "tag", "last", TAG]).exits(0);
}

fn with_notes(env: &TestEnv, provider: &Provider) {
    env.write("ens/own.toml", OWN);
    zero(env, provider);
}

fn two(env: &TestEnv, provider: &Provider) {
    zero(env, provider);
    asked(env, provider, &["last"], vec![text("Last.")]);
}

fn exported(env: &TestEnv, provider: &Provider) {
    zero(env, provider);
    let kept = env.run(&["sessions", "export", "last", "--format", "json"]).exits(0).stdout;
    env.write("kept.json", &kept);
}

/// It ended while a tool ran, in the middle of a line.
fn broken(env: &TestEnv, provider: &Provider) {
    with_files(env, provider);
    let read = calls([("io__read_file", json!({ "path": "a.txt" }))]);
    asked(env, provider, &["-c", "--all", "read it", "-e", "io"], vec![read, text("Read.")]);
    change_journal(env, |text| {
        let lines: Vec<&str> = text.lines().collect();
        let started = lines.iter().position(|line| line.contains("\"type\":\"started\"")).unwrap();
        lines[..=started].join("\n") + "\n{\"seq\":99,\"at\":\"20"
    });
}

/// The same, written by an earlier version.
fn older(env: &TestEnv, provider: &Provider) {
    broken(env, provider);
    change_journal(env, |text| {
        let plain = |line: &str| match line.rsplit_once(",\"sum\":\"") {
            Some((rest, _)) => format!("{rest}}}"),
            None => line.to_owned(),
        };
        text.lines().map(plain).collect::<Vec<_>>().join("\n").replacen("\"format\":2", "\"format\":1", 1)
    });
}

fn change_journal(env: &TestEnv, change: impl FnOnce(&str) -> String) {
    let journal = files(&env.path("home")).into_iter().find(|file| file.ends_with("journal.jsonl")).unwrap();
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, change(&text)).unwrap();
}

/// Files of which a few fill the window.
fn filling(env: &TestEnv, provider: &Provider) {
    for reply in 0..4 {
        for place in ["a", "b", "c", "d"] {
            env.write(
                &format!("work/{place}{reply}.txt"),
                &format!("{place}{reply} {}", "lorem ipsum ".repeat(290)),
            );
        }
    }
    zero(env, provider);
    let settings = format!("[context]\nlazy_tools = 0\n[models.\"{}\"]\nwindow = 8000\n", provider.model());
    env.write("home/.config/converse/config.toml", &settings);
}

fn reads(reply: usize) -> Says {
    let read = |place: &str| -> (&'static str, Value) {
        ("io__read_file", json!({ "path": format!("{place}{reply}.txt") }))
    };
    calls([read("a"), read("b"), read("c"), read("d")])
}
