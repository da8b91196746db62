//! Permission rules through the real binary: two settings files, `explain`, and rules that never decide.

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::Provider;

pub(crate) const CONFIG: &str = "home/.config/converse/config.toml";

pub(crate) fn write_file(env: &TestEnv, path: &str) -> Ran {
    env.run(&["ensembles", "call", "io.write_file", &json!({ "path": path, "content": "x" }).to_string()])
}

pub(crate) fn writes(path: &str) -> (&'static str, Value) {
    ("io__write_file", json!({ "path": path, "content": "x" }))
}

/// An ensemble of one program, `own.tool`.
pub(crate) fn own(env: &TestEnv, directory: &str, description: &str) {
    let text = format!(
        "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"tool\"\ndescription = \"{description}\"\n\
         command = {{ argv = [\"printf\", \"ran\"] }}\n"
    );
    env.write(&format!("{directory}/own.toml"), &text);
}

#[test]
fn the_rules_of_both_files_decide_together() {
    let env = TestEnv::new();
    env.write(
        CONFIG,
        "[[rules]]\ntools = \"io\"\ndecision = \"allow\"\ninteractive = false\narguments = { path = { path = \"**\" } }\n\
         [[rules]]\ntools = \"io\"\ndecision = \"deny\"\nreason = \"hooks are not for models\"\narguments = { path = \".git/**\" }\n\
         match = \"io.write_file path=a/../.git/x\"\n",
    );
    env.write(
        "work/converse.toml",
        "[[rules]]\ntools = \"io.write_file\"\ndecision = \"ask\"\narguments = { path = \"*.lock\" }\n",
    );
    write_file(&env, "notes.txt").exits(0);
    assert!(env.path("work/notes.txt").exists());
    let refused = write_file(&env, "./x/../.git/hooks").exits(8);
    let place = format!("{}:6", env.path(CONFIG).display());
    for part in ["hooks are not for models", &place] {
        assert!(refused.stderr.contains(part), "no {part} in {}", refused.stderr);
    }
    let absolute = env.path("work").canonicalize().unwrap().join(".git/x");
    let refused = write_file(&env, absolute.to_str().unwrap()).exits(8);
    assert!(refused.stderr.contains("hooks are not for models"), "{}", refused.stderr);
    let asked = write_file(&env, "Cargo.lock").exits(8);
    assert!(
        asked.stderr.contains("nobody can be asked") && asked.stderr.contains("converse.toml:1"),
        "{}",
        asked.stderr
    );
    assert!(!env.path("work/Cargo.lock").exists() && !env.path("work/.git").exists());
}

#[test]
fn the_model_is_told_why_it_was_refused() {
    let env = TestEnv::new();
    env.write(
        CONFIG,
        "[[rules]]\ntools = \"io.write_file\"\ndecision = \"deny\"\nreason = \"read only, please\"\n",
    );
    let provider = Provider::chat([calls([writes("a")]), text("Well.")]);
    let env = provider.env(env);
    env.run(&["ask", "go", "-m", provider.model()]).exits(0);
    let told = provider.requests()[1]["messages"].to_string();
    assert!(told.contains("read only, please"), "{told}");
}

#[test]
fn a_rule_that_is_wrong_stops_the_run_where_it_is_wrong() {
    let env = TestEnv::new();
    let rule = "[[rules]]\ntools = \"io\"\ndecision = \"deny\"\narguments = { path = \".git/**\" }\n";
    env.write(CONFIG, &format!("{rule}match = [\"io.x path=.git/a\", \"io.x path=git/a\"]\n"));
    let ran = write_file(&env, "a").exits(3);
    assert!(
        ran.stderr.contains("error[rule-example]") && ran.stderr.contains("config.toml:5:30"),
        "{}",
        ran.stderr
    );
    env.write(CONFIG, "");
    env.write("work/converse.toml", "[[rules]]\ntools = \"io\"\ndecision = \"allow\"\n");
    let ran = write_file(&env, "a").exits(3);
    assert!(
        ran.stderr.contains("error[project-scope]") && ran.stderr.contains("converse.toml:3:12"),
        "{}",
        ran.stderr
    );
    assert!(!env.path("work/a").exists());
}

#[test]
fn an_explanation_says_who_decides() {
    let env = TestEnv::new();
    env.write(
        CONFIG,
        "[permissions]\nallow = [\"io\"]\n[[rules]]\ntools = \"io\"\ndecision = \"deny\"\neffects = \"write\"\n\
         reason = \"why not\"\narguments = { path = \".git/**\" }\n",
    );
    env.write("work/converse.toml", "[permissions]\nask = [\"io.write_*\"]\n");
    let explained =
        |words: &[&str]| env.run(&[&["explain", "io.write_file", "--json"], words].concat()).exits(0).json();
    let told = explained(&["path=.git//x", "content=y"]);
    let user = env.path(CONFIG).display().to_string();
    assert_eq!(
        (&told["fate"], &told["decision"], &told["by_rule"]),
        (&json!("refused"), &json!("deny"), &json!(true))
    );
    assert_eq!((&told["rule"], &told["reason"]), (&json!(format!("io ({user}:3)")), &json!("why not")));
    assert_eq!(told["own"]["permission"], "ask");
    assert_eq!((&told["effects"], &told["arguments"]["checked"]), (&json!("write"), &json!(true)));
    assert_eq!(told["arguments"]["filled"]["append"], false);
    let bearings: Vec<&str> =
        told["rules"].as_array().unwrap().iter().map(|rule| rule["bearing"].as_str().unwrap()).collect();
    assert_eq!(bearings, ["outweighed", "decides", "outweighed"]);

    let told = explained(&["path=x", "content=y"]);
    assert_eq!((&told["fate"], &told["rule"]), (&json!("asked"), &json!("io.write_* (converse.toml:2)")));
    assert_eq!(told["rules"][1]["why_not"], json!(["`path` does not match `.git/**`"]));
    assert_eq!(explained(&["path=x", "content=y", "--unattended"])["fate"], "refused");
    assert_eq!(explained(&["path=x", "content=y", "--deny", "*"])["rule"], "* (--deny)");
    let told = explained(&["{\"path\": 5}"]);
    assert_eq!(told["fate"], "invalid");
    assert_eq!(told["arguments"]["faults"].as_array().unwrap().len(), 2, "{told}");
    let text = env.run(&["explain", "io.write_file", "{\"path\": 5}"]).exits(0).stdout;
    let of_arguments = text.lines().skip_while(|line| !line.starts_with("  arguments   do not fit: "));
    let faults: Vec<&str> = of_arguments.take(2).collect();
    assert!(faults.iter().any(|line| line.contains("content")), "each fault has a line: {text}");
    assert!(faults.iter().any(|line| line.contains("/path: ")), "{text}");
    let text = env.run(&["explain", "io.write_file", "path=x", "content=y"]).exits(0).stdout;
    for part in [
        "io.write_file: ask",
        "decided by  io.write_* (converse.toml:2)",
        "does not count: `path` does not match",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    env.run(&["explain", "io.write_fil"]).exits(2);
    env.run(&["explain", "nowhere.x"]).exits(2);
    env.run(&["explain", "io"]).exits(2);
    env.run(&["explain", "io.write_file", "pat=x"]).exits(2);
}

/// A mode decides after the rules, in an explanation and in a run without a user.
#[test]
fn a_mode_decides_after_the_rules() {
    let turn = |path| [calls([writes(path)]), text("Done.")];
    let provider = Provider::chat(["a", "b", "c"].into_iter().flat_map(turn));
    let env = provider.env(TestEnv::new());
    let explained = |words: &[&str]| {
        let told =
            env.run(&[&["explain", "io.write_file", "content=y", "--json"], words].concat()).exits(0).json();
        (told["fate"].as_str().unwrap().to_owned(), told["rule"].as_str().unwrap().to_owned())
    };
    let by = |fate: &str, rule: &str| (fate.to_owned(), rule.to_owned());
    let accepts = ["--mode", "accept-edits"];
    assert_eq!(explained(&["path=x"]), by("asked", "the default: it may change something"));
    assert_eq!(explained(&["path=x", "--mode", "read-only"]), by("refused", "mode read-only"));
    let allowed = ["path=x", "--allow", "io", "--mode", "read-only"];
    assert_eq!(explained(&allowed), by("refused", "mode read-only"));
    assert_eq!(explained(&[&["path=x"][..], &accepts].concat()), by("runs", "mode accept-edits"));
    assert_eq!(explained(&[&["path=x", "--ask", "io"][..], &accepts].concat()), by("asked", "io (--ask)"));
    assert_eq!(
        explained(&[&["path=x", "--deny", "io"][..], &accepts].concat()),
        by("refused", "io (--deny)")
    );
    assert_eq!(explained(&[&["path=../x"][..], &accepts].concat()).0, "asked");
    let shown =
        env.run(&["explain", "io.write_file", "path=x", "content=y", "--mode", "accept-edits"]).exits(0);
    assert!(shown.stdout.contains("mode        accept-edits"), "{}", shown.stdout);

    let ask = |mode| env.run(&["ask", "go", "-m", provider.model(), "--ephemeral", "--mode", mode]);
    ask("accept-edits").exits(0);
    assert!(env.path("work/a").exists(), "nobody has to be asked");
    ask("ask");
    // Instructions that are not trusted are not read.
    env.write("work/AGENTS.md", "Be brief.");
    assert_eq!(explained(&[&["path=x"][..], &accepts].concat()), by("runs", "mode accept-edits"));
    env.write("work/converse.toml", "system = \"Be brief.\"\n");
    assert_eq!(explained(&[&["path=x"][..], &accepts].concat()).0, "asked");
    std::fs::remove_file(env.path("work/converse.toml")).unwrap();
    own(&env, "work/ensembles", "d");
    let ran = ask("accept-edits");
    assert!(ran.stderr.contains("accepts no edits here: the project is not trusted"), "{}", ran.stderr);
    assert!(!env.path("work/b").exists() && !env.path("work/c").exists());
    let told =
        env.run(&["explain", "io.write_file", "path=x", "content=y", "--mode", "accept-edits"]).exits(0);
    assert!(told.stdout.contains("io.write_file: ask\n"), "{}", told.stdout);
    provider.is_content();
}

/// A server is not started to explain a call of its tools; what its descriptor says is known.
#[test]
fn an_explanation_starts_nothing() {
    let env = TestEnv::new();
    env.write(
        "work/mine/far.toml",
        "[ensemble]\nname = \"far\"\ndescription = \"d\"\n[connection]\ntransport = \"stdio\"\ncommand = [\"touch\", \"started\"]\n\
         [tools.get]\neffects = \"read\"\npermission = \"allow\"\n",
    );
    let explained =
        |tool: &str| env.run(&["explain", tool, "x=1", "--ensembles", "mine", "--json"]).exits(0).json();
    let told = explained("far.get");
    assert_eq!((&told["fate"], &told["effects"]), (&json!("runs"), &json!("read")));
    assert_eq!(told["arguments"]["checked"], false);
    assert!(told["notes"][0].as_str().unwrap().contains("not connected here"), "{told}");
    assert_eq!(explained("far.other")["fate"], "asked");
    assert!(!env.path("work/started").exists());
}

#[test]
fn a_check_finds_rules_that_never_decide() {
    let env = TestEnv::new();
    env.write("work/converse.toml", "[permissions]\nask = [\"io\"]\ndeny = [\"oi.*\"]\n");
    env.write(CONFIG, "[permissions]\nallow = [\"io.write_file\"]\n");
    let ran = env.run(&["ensembles", "check", "--json"]).exits(0);
    let found: Vec<(String, String, Value)> = ran
        .json()
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["code"].as_str().unwrap().starts_with("rule-"))
        .map(|one| {
            let file = one["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            (one["code"].as_str().unwrap().to_owned(), file, one["line"].clone())
        })
        .collect();
    let expected = [("rule-shadowed", "config.toml", 2), ("rule-never-matches", "converse.toml", 3)];
    let expected: Vec<(String, String, Value)> = expected
        .iter()
        .map(|(code, file, line)| ((*code).to_owned(), (*file).to_owned(), json!(line)))
        .collect();
    assert_eq!(found, expected, "{}", ran.stdout);
    // Directories that are named stand alone.
    own(&env, "work/mine", "d");
    let ran = env.run(&["ensembles", "check", "mine", "--json"]).exits(0);
    assert_eq!(ran.json(), json!([]));
}

/// What is not there in a run is not said to run.
#[test]
fn an_explanation_knows_what_does_not_get_so_far() {
    let env = TestEnv::new();
    let explained = |words: &[&str]| {
        let told = env.run(&[&["explain"], words, &["--json"]].concat()).exits(0).json();
        (told["fate"].as_str().unwrap().to_owned(), told["notes"].to_string())
    };
    // The lockfile holds it back.
    own(&env, "work/mine", "as it was");
    let allowed = ["own.tool", "--ensembles", "mine", "--allow", "*"];
    env.run(&["ensembles", "lock", "--ensembles", "mine", "--accept"]).exits(0);
    assert_eq!(explained(&allowed).0, "runs");
    own(&env, "work/mine", "as it is now");
    let (fate, notes) = explained(&allowed);
    assert!(fate == "held" && notes.contains("not what it was"), "{fate} {notes}");
    let text = env.run(&[&["explain"], &allowed[..]].concat()).exits(0).stdout;
    assert!(text.starts_with("own.tool: held back by the lockfile"), "{text}");

    // Nobody has trusted the project.
    own(&env, "work/ensembles", "d");
    let (fate, notes) = explained(&["own.tool", "--allow", "*"]);
    assert!(fate == "unavailable" && notes.contains("not trusted"), "{fate} {notes}");

    // Its ensemble leaves it out.
    env.write(
        "work/far/far.toml",
        "[ensemble]\nname = \"far\"\ndescription = \"d\"\n[connection]\ntransport = \"stdio\"\ncommand = [\"touch\", \"started\"]\n\
         [tools]\ninclude = [\"get_*\"]\nexclude = [\"*_all\"]\n",
    );
    for (tool, expected) in
        [("far.get_one", "runs"), ("far.get_all", "unavailable"), ("far.put_one", "unavailable")]
    {
        assert_eq!(explained(&[tool, "--ensembles", "far", "--allow", "*"]).0, expected, "{tool}");
    }
}

/// Rules may stand in what cannot be read.
#[test]
fn settings_that_cannot_be_read_stop_the_run() {
    let dangling = |env: &TestEnv, path: &str| {
        let path = env.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("nowhere", path).unwrap();
    };
    for place in [CONFIG, "home/.config/converse", "home/.config", "work/converse.toml"] {
        let env = TestEnv::new();
        dangling(&env, place);
        let ran = write_file(&env, "a").exits(3);
        let name = if place.starts_with("work") { "converse.toml" } else { "config.toml" };
        assert!(ran.stderr.contains(name) && ran.stderr.contains("link"), "{place}: {}", ran.stderr);
    }
    for place in ["home/.config", "home/.config/converse"] {
        let env = TestEnv::new();
        env.write(place, "a file");
        let ran = write_file(&env, "a").exits(3);
        assert!(ran.stderr.contains("cannot be looked for"), "{place}: {}", ran.stderr);
    }
    // No home is no reason to stop, and a link within the project is none.
    let env = TestEnv::new().var("XDG_CONFIG_HOME", "/dev/null");
    env.write("work/other.toml", "[permissions]\ndeny = [\"io.write_file\"]\n");
    std::os::unix::fs::symlink("other.toml", env.path("work/converse.toml")).unwrap();
    let ran = write_file(&env, "a").exits(8);
    assert!(ran.stderr.contains("going on without it"), "{}", ran.stderr);
}

#[test]
fn the_home_is_the_home() {
    let env = TestEnv::new();
    env.write(
        CONFIG,
        "[[rules]]\ntools = \"io\"\ndecision = \"deny\"\nreason = \"my keys\"\narguments = { path = \"~/.ssh/**\" }\n",
    );
    for path in ["~/.ssh/id", "../home/.ssh/id", "$HOME/.ssh/id"] {
        let refused = write_file(&env, path).exits(8);
        assert!(refused.stderr.contains("my keys"), "{path}: {}", refused.stderr);
        let told = env.run(&["explain", "io.read_file", &format!("path={path}"), "--json"]).exits(0).json();
        assert_eq!(told["reason"], "my keys", "{path}");
    }
    let told = env.run(&["explain", "io.read_file", "path=x/.ssh/id", "--json"]).exits(0).json();
    assert_eq!(told["fate"], "runs");
}
