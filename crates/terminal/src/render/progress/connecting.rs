//! Servers that keep the run waiting: each is told after a second, with its seconds, until it is there.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tokio::time::sleep;

use super::{Progress, TICK, TerminalHost};

/// Whoever is quicker is not worth a word.
const AFTER: Duration = Duration::from_secs(1);
/// Where nothing moves a line stays, so it comes later.
const AFTER_PLAIN: Duration = Duration::from_secs(4);
/// Lines at a time; of the others nothing is told.
const MOST: usize = 8;

impl Progress {
    /// Says that something is waited for, until it is dropped. `what` is `starting NAME`.
    pub(super) async fn say_waiting(&self, what: &str) -> Infallible {
        sleep(AFTER).await;
        if let Some(terminal_host) = self.terminal_host() {
            let _waited = Waited { terminal_host, number: terminal_host.wait_for(what) };
            return pending().await;
        }
        if self.style.live {
            let _pending = self.pending(what);
            return pending().await;
        }
        sleep(AFTER_PLAIN - AFTER).await;
        self.line(&format!("{} … {} s", self.brief(what, 80), AFTER_PLAIN.as_secs()));
        pending().await
    }

    fn pending(&self, what: &str) -> Option<Pending<'_>> {
        let mut state = self.state.lock().ok()?;
        if state.connecting == MOST {
            return None;
        }
        let template = if self.style.colour {
            "{spinner:.cyan} {msg} … {whole:.dim}"
        } else {
            "{spinner} {msg} … {whole}"
        };
        let style = ProgressStyle::with_template(template).ok()?.tick_chars(super::TICKS);
        let style = style.with_key("whole", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // A bar that cannot be drawn is no reason to fail.
            let _ = write!(out, "{} s", state.elapsed().as_secs());
        });
        state.connecting += 1;
        let bar = ProgressBar::new_spinner().with_style(style).with_message(self.brief(what, 80));
        let bar = self.bars.add(bar.with_elapsed(AFTER));
        bar.enable_steady_tick(TICK);
        Some(Pending { progress: self, bar })
    }
}

/// Gone when it is there, when it has failed, and when nobody waits for it any more.
struct Pending<'a> {
    progress: &'a Progress,
    bar: ProgressBar,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.progress.bars.remove(&self.bar);
        if let Ok(mut state) = self.progress.state.lock() {
            state.connecting = state.connecting.saturating_sub(1);
        }
    }
}

/// The same for who draws instead.
struct Waited<'a> {
    terminal_host: &'a Arc<dyn TerminalHost>,
    number: u64,
}

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        self.terminal_host.waited(self.number);
    }
}
