//! What must hold of whatever a killed run leaves.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::body::{Dialect, text};
use crate::database::Database;
use crate::env::{Ran, TestEnv};
use crate::journals::{self, Fact, INTERRUPTED, Journal, NOT_RUN};
use crate::leftover::Leftover;
use crate::place::is_deserted;
use crate::scenario::{Scenario, TAG};
use crate::script::Models;

/// Where the sessions of a run are.
pub(crate) enum Sessions<'a> {
    Files,
    Database(Database<'a>),
}

impl Sessions<'_> {
    fn journals(&self, env: &TestEnv) -> Vec<Journal> {
        match self {
            Self::Files => journals::all(env),
            Self::Database(database) => database.journals(),
        }
    }

    /// The user's settings.
    fn settings(&self) -> String {
        match self {
            Self::Files => String::new(),
            Self::Database(database) => database.settings(),
        }
    }
}

type Judged = Result<(), String>;

/// What a check may find before anybody has opened the session again.
const TO_BE_EXPECTED: [&str; 2] = ["unmended", "litter"];

fn require(holds: bool, breach: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(breach()) }
}

/// The conversation goes on with a model of this dialect.
pub(crate) fn judge(
    scenario: &Scenario,
    env: TestEnv,
    leftover: &Leftover,
    (models, writer, reader): (&Models, Dialect, Dialect),
    sessions: &Sessions<'_>,
) -> Judged {
    is_deserted(&env)?;
    require([0, 9, 137].contains(&leftover.code), || {
        format!("it ended with {}: {}", leftover.code, leftover.stderr)
    })?;
    let breaches = models.writer(writer).breaches();
    require(breaches.is_empty(), || breaches.join("\n"))?;
    let left = sessions.journals(&env);
    let facts: Vec<Fact> = scenario.kept.iter().map(|words| Fact::Said((*words).to_owned())).collect();
    let facts = [facts, leftover.acknowledged.clone()].concat();
    are_held(&facts, &left)?;
    let problems = kinds(&env.run(&["sessions", "check", "--json"]));
    require(problems.iter().all(|kind| TO_BE_EXPECTED.contains(&kind.as_str())), || {
        format!("found: {problems:?}")
    })?;

    let provider = models.reader(reader);
    provider.plays([text("Fine.")]);
    // Everything fits into the window again, so that nothing is asked but to go on.
    env.write("home/.config/converse/config.toml", &sessions.settings());
    let env = provider.env(env);
    goes_on(scenario, &env, provider.model(), &left)?;
    provider.is_content();
    let told = provider.requests().last().map(Value::to_string).unwrap_or_default();

    let after = sessions.journals(&env);
    is_longer(&left, &after)?;
    are_held(&facts, &after)?;
    is_tidy(&env)?;
    is_labelled(scenario, &env)?;
    left.iter().chain(&after).try_for_each(is_answered_once)?;
    ran_once(&env, &after)?;
    are_told(&left, &told)
}

fn are_held(facts: &[Fact], journals: &[Journal]) -> Judged {
    let lost: Vec<_> =
        facts.iter().filter(|fact| !journals.iter().any(|journal| journal.holds(fact))).collect();
    require(lost.is_empty(), || format!("lost: {lost:?}"))
}

fn kinds(check: &Ran) -> Vec<String> {
    let problems = check.json();
    let all = problems.as_array().unwrap().iter().flat_map(|one| one["problems"].as_array().unwrap());
    all.map(|problem| problem["kind"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Where nothing was begun there is nothing to go on with, and a new conversation is none the worse.
fn goes_on(scenario: &Scenario, env: &TestEnv, model: &str, left: &[Journal]) -> Judged {
    let ask = [&["ask", "go on", "-m", model], scenario.flags].concat();
    let mut ran = env.run(&[&ask[..], &["-c", "--all"]].concat());
    if ran.code == 2 && !left.iter().any(Journal::is_begun) && ran.stderr.contains("error[no-such-session]") {
        ran = env.run(&ask);
    }
    require((ran.code, ran.stdout.as_str()) == (0, "Fine.\n"), || format!("it does not go on: {ran:?}"))
}

/// Byte for byte what it was, and more.
fn is_longer(left: &[Journal], after: &[Journal]) -> Judged {
    for journal in left.iter().filter(|journal| journal.is_begun()) {
        let old = journal.whole();
        let later = after.iter().find(|later| later.path == journal.path);
        let later = later.ok_or_else(|| format!("`{}` is gone", journal.path.display()))?;
        let is_kept = later.bytes.starts_with(old) || is_migrated(&journal.path, &journal.bytes);
        require(is_kept, || format!("`{}` was changed", journal.path.display()))?;
    }
    Ok(())
}

/// An older format stays as a file of its own.
fn is_migrated(path: &Path, old: &[u8]) -> bool {
    let backup = path.with_file_name("journal.v1.jsonl");
    old.windows(10).any(|part| part == b"\"format\":1") && std::fs::read(backup).is_ok_and(|kept| kept == old)
}

/// When what was killed is cleared away, nothing is wrong, and nothing lies about.
fn is_tidy(env: &TestEnv) -> Judged {
    let ran = env.run(&["sessions", "gc", "--empty", "--yes", "--json"]);
    require(ran.code == 0, || format!("gc: {ran:?}"))?;
    let check = env.run(&["sessions", "check", "--json"]);
    require(check.code == 0, || format!("check: {check:?}"))?;
    let audit = env.run(&["audit", "verify", "--json"]);
    require(audit.code == 0, || format!("audit: {audit:?}"))?;
    let kept = env.path("home/.local/share/converse/sessions");
    let hidden = std::fs::read_dir(kept).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let hidden: Vec<_> = hidden.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    require(hidden.is_empty(), || format!("litter: {hidden:?}"))
}

/// What people added to it is as it was before or as it is after.
fn is_labelled(scenario: &Scenario, env: &TestEnv) -> Judged {
    let listed = env.run(&["sessions", "list", "--all", "--json"]).json();
    let is_kept =
        listed.as_array().unwrap().iter().any(|one| one["tags"].as_array().unwrap().contains(&TAG.into()));
    require(is_kept || scenario.name != "rename", || format!("the tag is gone: {listed}"))
}

fn is_answered_once(journal: &Journal) -> Judged {
    let twice = |(_, invocation): &(String, _)| {
        let invocation: &journals::Invocation = invocation;
        invocation.results.len() > 1
    };
    let twice: Vec<_> = journal.invocations().into_iter().filter(twice).collect();
    require(twice.is_empty(), || format!("answered more than once: {twice:?}"))
}

/// Each word was noted once at most; and what the model was told of it is true.
fn ran_once(env: &TestEnv, after: &[Journal]) -> Judged {
    let noted = std::fs::read_to_string(env.path("work/noted")).unwrap_or_default();
    let mut times = BTreeMap::new();
    noted.lines().for_each(|word| *times.entry(word.to_owned()).or_insert(0) += 1);
    require(times.values().all(|times| *times == 1), || format!("run twice: {times:?}"))?;
    for (id, invocation) in after.iter().flat_map(Journal::invocations) {
        let Some(word) = invocation.word else { continue };
        let [result] = &invocation.results[..] else { return Err(format!("`{id}` has no result")) };
        let ran = times.contains_key(&word);
        let is_true = match result {
            _ if result.starts_with(NOT_RUN) => !ran,
            _ if result.starts_with(INTERRUPTED) => true,
            _ => ran && result.trim_end() == format!("noted {word}"),
        };
        require(is_true, || format!("`{word}` ran: {ran}, and the model is told {result:?}"))?;
    }
    Ok(())
}

/// Whatever had no result when it was killed, and the text of a reply that was arriving, the model is told of.
fn are_told(left: &[Journal], told: &str) -> Judged {
    let open = left.iter().flat_map(Journal::invocations).filter(|(_, one)| one.results.is_empty()).count();
    let lost =
        left.iter().map(Journal::arriving).find(|text| !text.is_empty() && !told.contains(text.trim()));
    require(lost.is_none(), || format!("the model is not told what it had said: {lost:?} in {told}"))?;
    let times = told.matches(INTERRUPTED).count() + told.matches(NOT_RUN).count();
    require(times >= open, || format!("{open} have no result, and the model is told {times} times: {told}"))
}
