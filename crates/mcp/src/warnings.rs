//! [`Warnings`]: warnings about the requests of one server, each shown once and limited in number.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use crate::surroundings::Warn;

/// Warnings per connection.
const MAX_WARNINGS: usize = 20;

pub(crate) struct Warnings {
    ensemble: String,
    warn: Warn,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    reported: BTreeSet<String>,
    suppressed: usize,
}

impl Warnings {
    pub(crate) fn new(ensemble: &str, warn: Warn) -> Self {
        Self { ensemble: ensemble.to_owned(), warn, state: Mutex::default() }
    }

    pub(crate) fn report(&self, line: &str) {
        let mut state = self.state.lock();
        if state.reported.contains(line) {
            return;
        }
        if state.reported.len() == MAX_WARNINGS {
            state.suppressed += 1;
            return;
        }
        state.reported.insert(line.to_owned());
        drop(state);
        self.emit(line);
    }

    fn emit(&self, line: &str) {
        (self.warn)(format!("ensemble `{}`: {line}", self.ensemble));
    }
}

impl Drop for Warnings {
    fn drop(&mut self) {
        let suppressed = self.state.get_mut().suppressed;
        if suppressed > 0 {
            self.emit(&format!("{suppressed} more warnings about the server's requests are not shown"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn each_warning_is_shown_once_and_the_rest_are_counted() {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&reported);
        let warnings = Warnings::new("e", Arc::new(move |line| heard.lock().push(line)));
        (0..3).for_each(|_| warnings.report("again"));
        assert_eq!(*reported.lock(), ["ensemble `e`: again"]);
        (0..30).for_each(|n| warnings.report(&n.to_string()));
        assert_eq!(reported.lock().len(), 20);
        drop(warnings);
        let reported = reported.lock();
        assert_eq!(reported.len(), 21);
        assert!(reported[20].contains("11 more warnings"), "{reported:?}");
    }
}
