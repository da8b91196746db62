//! Random sequences of what people do. Whatever it is, each row of the answers is in the history of the terminal once, in the
//! order in which it came, as with a program that never draws anything twice.

use std::path::Path;

use serde_json::json;

use super::person::{Key, Person};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::{Line, Provider};

/// Sequences, and steps of each.
const SEQUENCES: u64 = 8;
const STEPS: usize = 8;
/// The terminal of [`Person::at_a_shell`].
const ROWS: u16 = 40;
const COLUMNS: u16 = 80;
/// More rows than the screen has.
const MOST_ROWS: u64 = 90;

/// What a person does.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Gets an answer of so many rows.
    Asks(usize),
    /// The same, after a paste of so many lines.
    Pastes(usize, usize),
    /// Gets an answer of so many rows, and one to a message that is typed meanwhile.
    Queues(usize, usize),
    /// Gets an answer of so many rows, after a paste of so many lines that stays a mark if it is long.
    Folds(usize, usize),
    /// Runs a command of the shell that prints so many rows.
    Runs(usize),
    /// Pastes so many lines and clears them.
    Clears(usize),
    /// Interrupts an answer after so many rows, with Esc or Ctrl-C.
    Interrupts(usize, bool),
    /// Approves a call; then comes an answer of so many rows.
    Approves(usize),
    /// Stops the program, and lets it go on.
    Suspends,
    /// Makes the terminal so many columns wide, and goes on at once. The emulators cut lines, and lose rows if a terminal becomes
    /// lower.
    Resizes(u16),
}

/// Numbers from a seed: <https://prng.di.unimi.it/splitmix64.c>.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % limit
    }

    fn step(&mut self) -> Step {
        let kind = self.below(11);
        let rows = 1 + usize::try_from(self.below(MOST_ROWS)).unwrap();
        match kind {
            0 => Step::Asks(rows),
            1 => Step::Pastes(1 + usize::try_from(self.below(60)).unwrap(), rows),
            2 => Step::Clears(rows),
            3 => Step::Interrupts(rows, self.below(2) == 0),
            4 => Step::Approves(rows),
            5 => Step::Suspends,
            6 => Step::Queues(rows, 1 + usize::try_from(self.below(MOST_ROWS)).unwrap()),
            7 => Step::Folds(1 + usize::try_from(self.below(60)).unwrap(), rows),
            8 => Step::Runs(rows),
            _ => Step::Resizes(60 + u16::try_from(self.below(80)).unwrap()),
        }
    }
}

impl Step {
    /// What the model says, with rows from `first` on, and how many there are.
    fn answers(self, first: usize) -> (Vec<Line>, usize) {
        let rows =
            |count: usize| (first..first + count).map(|row| format!("- row {row}\n")).collect::<String>();
        let said = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let write = || {
            let path = format!("file-{first}");
            Line::from(calls([("io__write_file", json!({ "path": path, "content": "x" }))]))
        };
        match self {
            Self::Asks(count) | Self::Pastes(_, count) | Self::Folds(_, count) => {
                (vec![text(said(rows(count))).into()], count)
            }
            Self::Queues(one, two) => {
                let next = (first + one..first + one + two).map(|row| format!("- row {row}\n")).collect();
                (vec![text(said(rows(one))).into(), text(said(next)).into()], one + two)
            }
            Self::Runs(count) => (Vec::new(), count),
            Self::Approves(count) => (vec![write(), text(said(rows(count))).into()], count),
            Self::Interrupts(count, _) => {
                let bend = |answer: &mut Answer| {
                    answer.cut_at = answer.body.windows(4).position(|window| window == b"STOP");
                    answer.stall = true;
                };
                let stalled = format!("{}\nno more STOP and so on", rows(count));
                (vec![Line::Bent(text(said(stalled)), bend)], count)
            }
            Self::Clears(_) | Self::Suspends | Self::Resizes(_) => (Vec::new(), 0),
        }
    }

    /// `last` is the number of the last row that it brings.
    fn happens(self, person: &mut Person, last: usize) {
        let paste = |lines: usize| {
            (1..=lines).map(|line| format!("paste, line {line}")).collect::<Vec<_>>().join("\n")
        };
        match self {
            Self::Asks(_) => person.says("count"),
            Self::Pastes(lines, _) => {
                person.prompts();
                person.pastes(&paste(lines));
                expands(person, lines);
                person.presses(Key::Enter);
            }
            Self::Queues(..) => {
                person.says("count");
                // While the answer comes, or at the next prompt.
                person.types("and more\r");
            }
            Self::Folds(lines, _) => {
                person.prompts();
                person.pastes(&paste(lines));
                let last = format!("paste, line {lines}");
                person.until("a paste", |person| is_mark(person, lines) || person.screen().ends_with(&last));
                person.presses(Key::Enter);
            }
            Self::Runs(rows) => person.says(&format!("!seq -f 'row %g' {} {last}", last + 1 - rows)),
            Self::Clears(lines) => {
                person.prompts();
                person.pastes(&paste(lines));
                expands(person, lines);
                person.presses(Key::Ctrl('c'));
            }
            Self::Interrupts(_, by_escape) => {
                person.says("count");
                person.sees(&format!("row {last}"));
                match by_escape {
                    true => person.types("\x1b"),
                    false => person.presses(Key::Ctrl('c')),
                }
                person.sees("interrupted");
            }
            Self::Approves(rows) => {
                person.says("write");
                // An earlier question may still be on the screen.
                person.sees(&format!("\"file-{}\"", last + 1 - rows));
                person.types("y\n");
            }
            Self::Suspends => {
                person.is_back();
                person.presses(Key::Ctrl('z'));
                person.until("a stop", |person| person.screen().ends_with("shell>"));
                person.types("fg\n");
            }
            Self::Resizes(columns) => return person.resizes(columns, ROWS),
        }
        if !matches!(self, Self::Clears(_) | Self::Interrupts(..) | Self::Suspends) {
            person.sees(&format!("row {last}"));
        }
        person.is_back();
    }
}

fn is_mark(person: &Person, lines: usize) -> bool {
    person.screen().replace('\u{fe01}', "").ends_with(&format!("[pasted {lines} lines]"))
}

/// A long paste is a mark if it did not come before the prompt. By Tab it may become taller than the screen.
#[track_caller]
fn expands(person: &mut Person, lines: usize) {
    let last = format!("paste, line {lines}");
    person.until("a paste", |person| is_mark(person, lines) || person.screen().ends_with(&last));
    if is_mark(person, lines) {
        person.presses(Key::Tab);
    }
    person.sees(&last);
}

/// The numbers of the rows, wherever a line has one.
fn rows(person: &mut Person) -> Vec<usize> {
    let number = |line: String| {
        line.trim().trim_start_matches(['-', '•', '*', ' ']).strip_prefix("row ")?.parse().ok()
    };
    person.history().into_iter().filter_map(number).collect()
}

/// What was written, for `xtask/terminals/replay.py`.
fn tape(person: &Person, expected: usize) -> String {
    let mut events = Vec::new();
    let (mut from, mut columns) = (0, COLUMNS);
    let ends = person.sizes().iter().copied().chain([(person.bytes().len(), COLUMNS)]);
    for (to, next) in ends {
        let hex: String = person.bytes()[from..to].iter().map(|byte| format!("{byte:02x}")).collect();
        events.extend([json!({ "columns": columns, "rows": ROWS }), json!({ "hex": hex })]);
        (from, columns) = (to, next);
    }
    events.push(json!({ "expected": expected }));
    events.into_iter().map(|event| format!("{event}\n")).collect()
}

#[test]
fn the_history_has_each_row_once_whatever_is_done() {
    for seed in 0..SEQUENCES {
        let mut dice = Dice(seed);
        let steps: Vec<Step> = (0..STEPS).map(|_| dice.step()).collect();
        let (mut script, mut lasts, mut count) = (Vec::new(), Vec::new(), 0);
        for step in &steps {
            let (lines, more) = step.answers(count + 1);
            script.extend(lines);
            count += more;
            lasts.push(count);
        }
        let provider = Provider::chat(script);
        let env = provider.env(TestEnv::new());
        let mut person = Person::at_a_shell(&env);
        person.starts(&format!("-m {} -e io", provider.model()));
        for (at, (step, last)) in steps.iter().zip(lasts).enumerate() {
            step.happens(&mut person, last);
            let expected: Vec<usize> = (1..=last).collect();
            assert_eq!(rows(&mut person), expected, "seed {seed}, after step {at} of {steps:?}");
        }
        if let Some(directory) = std::env::var_os("CONVERSE_TAPES") {
            let tape = tape(&person, count);
            std::fs::write(Path::new(&directory).join(format!("seed-{seed}.jsonl")), tape).unwrap();
        }
        person.leaves_both();
    }
}
