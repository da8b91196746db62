//! The lockfile: what each tool was when somebody accepted it, and what has changed since.
//!
//! The module works on text: the caller reads and writes the file. A lockfile that cannot be read in full, or whose
//! digests do not match, is refused as a whole; the caller then hides every tool.
//!
//! The module knows no files, servers or terminals. A tool is a JSON object here.

mod diff;
mod drift;
mod escaped;
mod lockfile;
mod path;
mod shown;

pub use diff::{Change, diff};
pub use drift::{Drift, Kind, Subject};
pub use lockfile::{LockError, Lockfile, MAX_BYTES, Pinned, PinnedTool, Server, digest};
pub use shown::{Cut, Shown};
