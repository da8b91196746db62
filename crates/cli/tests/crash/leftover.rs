//! One run that is killed, and what it leaves.

use std::process::Command;

use crate::acknowledged::in_records;
use crate::env::{Ran, TestEnv, wait};
use crate::journals::Fact;
use crate::killing::{faulty, kept};
use crate::options::Strace;
use crate::place;
use crate::points::Point;
use crate::provider::Line;
use crate::scenario::{Run, Scenario};
use crate::screen::Screen;
use crate::script::Models;

/// Of strace, which ends as the program did.
const KILLED: i32 = 128 + 9;
/// What could not be saved stops a run.
const UNSAVED: i32 = 9;

#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) code: i32,
    pub(crate) acknowledged: Vec<Fact>,
    /// What was said on stderr, for whoever looks into a loss.
    pub(crate) stderr: String,
}

impl Leftover {
    /// It may have ended before it came so far.
    pub(crate) fn is_hit(&self) -> bool {
        self.code == KILLED || self.code == UNSAVED
    }
}

/// The words of the run, without strace.
fn words<'a>(scenario: &Scenario, model: &'a str) -> Vec<&'a str> {
    let mut words = match scenario.run {
        Run::Asks(words) => [&["ask", "-o", "jsonl"], words].concat(),
        Run::Types(_) => vec!["repl"],
        Run::Keeps(words) => return words.to_vec(),
    };
    words.extend(["-m", model]);
    words.extend(scenario.flags);
    words
}

/// Runs it as strace is told to by `under`. `begun` learns the process, unless it is at a terminal.
pub(crate) fn runs(
    scenario: &Scenario,
    env: &TestEnv,
    point: (&Models, crate::body::Dialect),
    under: impl FnOnce(&Command) -> Command,
    begun: impl FnOnce(u32),
) -> Leftover {
    let writer = point.0.writer(point.1);
    writer.plays((scenario.script)().into_iter().map(|says| match scenario.pace {
        Some(pace) => Line::Bent(says, pace),
        None => says.into(),
    }));
    let command = env.command(words(scenario, writer.model()));
    let mut command = under(&command);
    match scenario.run {
        Run::Asks(words) => {
            let ran = waited(&mut command, begun);
            let prompt = words.last().unwrap();
            Leftover { code: ran.code, acknowledged: in_records(prompt, &ran.stdout), stderr: ran.stderr }
        }
        Run::Keeps(_) => {
            let ran = waited(&mut command, begun);
            Leftover { code: ran.code, acknowledged: Vec::new(), stderr: ran.stderr }
        }
        Run::Types(lines) => typed(command, lines),
    }
}

fn waited(command: &mut Command, begun: impl FnOnce(u32)) -> Ran {
    let child = command.spawn().unwrap();
    begun(child.id());
    wait(child)
}

/// An answer is acknowledged when the next prompt is there.
fn typed(command: Command, lines: &[(&str, &str, bool)]) -> Leftover {
    let mut screen = Screen::on("xterm-256color", command);
    let (mut acknowledged, mut waiting) = (Vec::new(), Vec::new());
    for (line, shown, is_answer) in lines {
        if !screen.says_unless_over(line) {
            break;
        }
        acknowledged.append(&mut waiting);
        if !screen.shows_unless_over(shown) {
            break;
        }
        if shown.strip_prefix("undone: ").is_some_and(|words| !screen.clears_unless_over(words)) {
            break;
        }
        if *is_answer {
            waiting.extend([line, shown].map(|words| Fact::Said((*words).to_owned())));
        }
    }
    let stderr = screen.text();
    Leftover { code: screen.ends(), acknowledged, stderr }
}

/// In a place like the one that was prepared.
pub(crate) fn left(
    (scenario, base): (&Scenario, &TestEnv),
    point: &Point,
    strace: &Strace,
    models: &Models,
) -> (TestEnv, Leftover) {
    let env = models.writer(point.dialect).env(place::copied(base));
    let files = kept(&env);
    let leftover =
        runs(scenario, &env, (models, point.dialect), |run| faulty(strace, run, point, &files), |_| {});
    (env, leftover)
}
