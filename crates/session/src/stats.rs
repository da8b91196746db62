//! Usage statistics from the journals of sessions. Pure: lines in, numbers out.
//!
//! A journal is folded line by line, so memory does not grow with it: names and days are limited, and durations go into a
//! [`Sketch`] of fixed size.
//!
//! Messages that a session took over from another (fork, import) are not counted: they were paid for there. What a
//! conversation left by going back stays counted.
//!
//! Sources of the numbers:
//! - a **reply** is a `used` line, including attempts that broke off and summaries of long conversations;
//! - the **time of a model** is from the line before the reply to its `used` line, including waits between attempts;
//! - the **time of a tool** is from `started` to its result; calls without a result have none;
//! - the **model of a call** is the model of the reply that requested it.

mod day;
mod figures;
mod folding;
mod journal;
mod page;
mod pattern;
mod series;
mod sketch;

pub use figures::{Calls, Day, Figures, Model, Pair, Share, Spent, Tool, Unreadable};
pub use folding::{Folding, StatsFilter};
pub use journal::Journal;
pub(crate) use journal::{full, is_own, milliseconds};
pub use page::{Cursor, ListedCall, Outcomes, Page};
pub use pattern::{Pattern, tool_name};
pub use series::{Histogram, HistogramSeries};
pub use sketch::Sketch;
