//! What a server gives us to warn of. It must not fill a screen: each line is told once, and only so many of them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::surroundings::Warn;

/// Lines of one connection.
const MOST: usize = 20;

pub(crate) struct Warnings {
    ensemble: String,
    warn: Warn,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    told: BTreeSet<String>,
    untold: usize,
}

impl Warnings {
    pub(crate) fn new(ensemble: &str, warn: Warn) -> Self {
        Self { ensemble: ensemble.to_owned(), warn, state: Mutex::default() }
    }

    pub(crate) fn tell(&self, line: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.told.contains(line) {
            return;
        }
        if state.told.len() == MOST {
            state.untold += 1;
            return;
        }
        state.told.insert(line.to_owned());
        drop(state);
        self.say(line);
    }

    fn say(&self, line: &str) {
        (self.warn)(format!("ensemble `{}`: {line}", self.ensemble));
    }
}

impl Drop for Warnings {
    fn drop(&mut self) {
        let untold = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).untold;
        if untold > 0 {
            self.say(&format!("{untold} more warnings of what its server asked are not shown"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn each_is_told_once_and_the_rest_are_counted() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let warnings = Warnings::new("e", Arc::new(move |line| heard.lock().unwrap().push(line)));
        (0..3).for_each(|_| warnings.tell("again"));
        assert_eq!(*told.lock().unwrap(), ["ensemble `e`: again"]);
        (0..30).for_each(|n| warnings.tell(&n.to_string()));
        assert_eq!(told.lock().unwrap().len(), 20);
        drop(warnings);
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 21);
        assert!(told[20].contains("11 more warnings"), "{told:?}");
    }
}
