//! The REPL as a person drives it: keys on a keyboard, a screen to look at, a shell behind it that sees how the terminal
//! was left.

mod again;
mod ahead;
mod asked;
mod breaking;
mod calling;
mod changes;
mod choosing;
mod connecting;
mod finding;
mod folding;
mod golden_screens;
mod halted;
mod handed;
mod looks;
mod modes;
mod one_key;
mod person;
mod pictures;
mod resuming;
mod rewind;
mod saving;
mod scrollback;
mod sequences;
mod shell;
mod sizes;
mod slashes;
mod status_line;
mod steering;
mod stopping;
mod tools;
mod trusting;
mod typing;
mod wide;

use crate::env::TestEnv;
use crate::provider::Provider;

use person::Person;

/// Somebody who talks with a provider that follows its script.
fn talking(provider: &Provider, env: &TestEnv) -> Person {
    Person::runs(env, &["-m", provider.model(), "--no-tools"])
}
