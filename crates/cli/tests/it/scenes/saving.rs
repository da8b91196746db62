//! A disk that takes its time, and one without locks: `strace` makes them. Where there is no strace, these scenes are not
//! played.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::json;

use super::breaking::is_whole;
use super::person::{Key, Kind, Person};
use crate::body::{calls, text};
use crate::env::{TestEnv, wait};
use crate::provider::{Line, Provider};

/// Each time that something is brought to the disk.
const SLOW: &str = "inject=fsync,fdatasync:delay_enter=300ms";
const SYNCS: &str = "trace=fsync,fdatasync";

/// What somebody does meanwhile.
type Does = fn(&mut Person);

fn strace() -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|dir: PathBuf| dir.join("strace"));
    places.find(|place| place.is_file()).map(|place| place.display().to_string())
}

/// Detached, so that the program is the shell's own child; it takes no signal of a keyboard.
fn under(strace: &str, trace: &str, inject: &str, env: &TestEnv, args: &[&str]) -> Person {
    let words = [strace, "-DD", "-f", "-I3", "-o", "/dev/null", "-e", trace, "-e", inject, "--"];
    Person::under(&words, Kind::default(), env, args)
}

/// Says something, and is back while the answer is being saved: it is on the screen, and there is no prompt.
#[track_caller]
fn is_answered_slowly(person: &mut Person) {
    person.says("count");
    person.sees("one two three");
    assert!(!person.is_prompted(), "it has been saved already: {}", person.screen());
}

/// What was said until then, in the order it was said.
fn said(provider: &Provider) -> Vec<String> {
    let request = provider.requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap().clone();
    messages.iter().map(|one| one["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn under_strace_whatever_is_pressed_while_a_turn_is_saved() {
    let Some(strace) = strace() else { return };
    let presses: [(&str, Does); 3] = [
        ("Ctrl-C", |person| person.presses(Key::Ctrl('c'))),
        ("keys", |person| person.types("and th")),
        ("another size", |person| person.resizes(50, 30)),
    ];
    for (what, press) in presses {
        let provider = Provider::chat([Line::from(text("one two three")), text("I see.").into()]);
        let env = provider.env(TestEnv::new());
        let args = ["-m", provider.model(), "--no-tools"];
        let mut person = under(&strace, SYNCS, SLOW, &env, &args);
        is_answered_slowly(&mut person);
        press(&mut person);
        let typed = if what == "keys" { "and th" } else { "" };
        person.until("a prompt", |person| {
            person.screen().trim_end().ends_with(format!("❯ {typed}").trim_end())
        });
        let screen = person.screen();
        assert_eq!(screen.matches("one two three").count(), 1, "{what}: {screen}");
        assert!(typed.is_empty() || screen.matches(typed).count() == 1, "{what}: {screen}");
        person.types("en?\r");
        person.sees("I see.");
        assert_eq!(said(&provider), ["count", "one two three", &format!("{typed}en?")], "{what}");
        person.says("/quit");
        assert_eq!(person.ends().code, 0, "{what}");
        is_whole(&env);
        provider.is_content();
    }
}

#[test]
fn under_strace_whoever_leaves_while_a_turn_is_saved_has_it_saved() {
    let Some(strace) = strace() else { return };
    let leaves: [(i32, Does); 3] = [
        (0, |person| person.presses(Key::Ctrl('d'))),
        (143, |person| person.sends(Signal::TERM)),
        (129, |person| person.sends(Signal::HUP)),
    ];
    for (code, leave) in leaves {
        let provider = Provider::chat([Line::from(text("one two three")), text("I see.").into()]);
        let env = provider.env(TestEnv::new());
        let args = ["-m", provider.model(), "--no-tools"];
        let mut person = under(&strace, SYNCS, SLOW, &env, &args);
        is_answered_slowly(&mut person);
        leave(&mut person);
        assert_eq!(person.ends().code, code);
        is_whole(&env);
        env.run(&["ask", "-c", "and then?", "--no-tools"]).exits(0);
        assert_eq!(said(&provider), ["count", "one two three", "and then?"], "{code}");
        provider.is_content();
    }
}

/// Syncs before the first tool starts, and all of a turn with these replies.
fn syncs(strace: &str, effects: &str, replies: Vec<Line>) -> (usize, usize) {
    let provider = Provider::chat(replies);
    let env = provider.env(TestEnv::new());
    let tool = format!(
        "[ensemble]\nname = \"own\"\ndescription = \"Notes\"\n[[invokers]]\nname = \"note\"\n\
         description = \"Notes\"\npermission = \"allow\"\n{effects}\n\
         command = {{ argv = [\"echo\", \"noted\"] }}\n"
    );
    env.write("servers/own.toml", &tool);
    let servers = env.path("servers").display().to_string();
    // The audit log is there already.
    env.run(&["ensembles", "call", "own.note", "--ensembles", &servers]).exits(0);
    let trace = env.path("trace");
    let (file, calls) = (trace.display().to_string(), format!("{SYNCS},execve"));
    let traced = [strace, "-f", "-o", &file, "-e", &calls, "--"].map(OsString::from);
    let command = env.command(["ask", "--ensembles", &servers, "-e", "own", "go", "-m", provider.model()]);
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(ToOwned::to_owned);
    let mut under = Command::new(&traced[0]);
    under.args(&traced[1..]).args(words).env_clear().current_dir(env.path("work"));
    under.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = wait(under.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Noted.\n"), "{}", ran.stderr);
    provider.is_content();
    let trace = std::fs::read_to_string(trace).unwrap();
    let lines: Vec<&str> = trace.lines().filter(|line| !line.contains("resumed")).collect();
    let is_sync = |line: &&&str| line.contains("sync(");
    let runs = lines.iter().position(|line| line.contains("execve(") && line.contains("\"noted\"]"));
    let before = lines[..runs.expect("a tool runs")].iter().filter(is_sync).count();
    (before, lines.iter().filter(is_sync).count())
}

/// The rule of ADR 4, in numbers.
#[test]
fn under_strace_only_tools_with_effects_wait_for_the_disk() {
    let Some(strace) = strace() else { return };
    let note = || ("own__note", json!({}));
    let reply = |count| if count == 1 { calls([note()]) } else { calls([note(), note(), note()]) };
    // Three for a new session and one for its metadata. At the end of the turn the journal, the audit log and the metadata.
    let (begin, end) = (4, 3);
    let [read, write, external] = ["read", "write", "external"].map(|one| format!("effects = \"{one}\""));
    let rows: [(&str, &[usize], _); 8] = [
        (&read, &[1], (0, 0)),
        (&read, &[3, 1], (0, 0)),
        // The journal and the audit log.
        (&write, &[1], (2, 2)),
        (&external, &[1], (2, 2)),
        ("", &[1], (2, 2)),
        (&write, &[3], (2, 2)),
        (&write, &[3, 1], (2, 4)),
        ("parallel = false\neffects = \"write\"", &[3], (2, 6)),
    ];
    for (effects, trips, (before, in_trips)) in rows {
        let replies =
            trips.iter().map(|count| reply(*count)).chain([text("Noted.")]).map(Line::from).collect();
        let counted = syncs(&strace, effects, replies);
        assert_eq!(counted, (begin + before, begin + in_trips + end), "{effects}, calls: {trips:?}");
    }
}

#[test]
fn under_strace_a_signal_that_interrupts_a_lock_is_no_answer() {
    let Some(strace) = strace() else { return };
    let provider = Provider::chat([text("one two three")]);
    let env = provider.env(TestEnv::new());
    let args = ["-m", provider.model(), "--no-tools"];
    let mut person = under(&strace, "trace=flock", "inject=flock:error=EINTR:when=1+2", &env, &args);
    person.says("count");
    person.sees("one two three");
    person.says("/quit");
    let screen = person.sees("converse -c");
    assert!(!screen.contains("not saved"), "{screen}");
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
    assert!(env.run(&["sessions", "show", "last"]).exits(0).stdout.contains("one two three"));
}

#[test]
fn under_strace_where_there_are_no_locks_it_is_said_and_nothing_is_ruined() {
    let Some(strace) = strace() else { return };
    let provider = Provider::chat([text("Before."), text("one two three")]);
    let env = provider.env(TestEnv::new());
    env.run(&["ask", "first", "-m", provider.model(), "--no-tools"]).exits(0);
    let journal = || {
        let files = crate::env::files(&env.path("home/.local/share/converse/sessions"));
        let journals = files.into_iter().filter(|file| file.ends_with("journal.jsonl"));
        journals.map(|file| std::fs::read(file).unwrap()).collect::<Vec<_>>()
    };
    let before = journal();
    let (trace, inject) = ("trace=flock", "inject=flock:error=ENOLCK");
    // A session that is there is not touched.
    let person = under(&strace, trace, inject, &env, &["-c"]);
    let ended = person.ends();
    assert!(ended.code == 9 && ended.screen.contains("lock"), "{ended:?}");
    // A new one is led, and it is said that it is not kept.
    let mut person = under(&strace, trace, inject, &env, &["-m", provider.model(), "--no-tools"]);
    person.says("count");
    person.sees("one two three");
    let screen = person.sees("not saved");
    assert!(screen.contains("lock"), "{screen}");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    assert_eq!(journal(), before);
    is_whole(&env);
    provider.is_content();
}
