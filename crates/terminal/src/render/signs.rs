//! Signs of ours between words of others, for questions, which are asked where nobody knows the world.

use std::sync::atomic::{AtomicBool, Ordering};

static ONLY_ASCII: AtomicBool = AtomicBool::new(false);

/// Told once, when the program begins: what the locale has.
pub fn settle(unicode: bool) {
    ONLY_ASCII.store(!unicode, Ordering::Relaxed);
}

/// Before a line that goes on, and between a number and its line.
pub(crate) fn bar() -> &'static str {
    one_of("│", "|")
}

/// There is more than is shown.
pub fn more() -> &'static str {
    one_of("…", "...")
}

fn one_of(unicode: &'static str, ascii: &'static str) -> &'static str {
    if ONLY_ASCII.load(Ordering::Relaxed) { ascii } else { unicode }
}
