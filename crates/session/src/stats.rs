//! Figures of what was used, from the journals of sessions. Pure: lines in, numbers out; it reads no file and no clock.
//!
//! A journal is folded line by line, so the memory it takes does not grow with it: names and days are bounded, and times
//! go into a [`Sketch`] of fixed size.
//!
//! What a session took over from another (a fork, an import) is not counted: it was spent there. What a conversation went
//! back behind stays counted: it was spent.
//!
//! Where a number comes from:
//! - a **reply** is a `used` line: also an attempt that broke off, and a summary that was made of a long conversation;
//! - the **time of a model** passes from the line before the reply to its `used` line, waits before another attempt
//!   included;
//! - the **time of a tool** from `started` to its result; what never answered has none;
//! - the **model of a call** is that of the reply that asked for it.

mod calls;
mod day;
mod figures;
mod folding;
mod journal;
mod pattern;
mod sketch;
mod spent;
mod tool;

pub use calls::Calls;
pub use figures::{Day, Figures, Model, Pair, Share, Tool, Unreadable};
pub use folding::{Folding, Wanted};
pub use journal::Journal;
pub use pattern::Pattern;
pub use sketch::Sketch;
pub use spent::Spent;
pub use tool::tool_name;
