//! The lockfile: what each tool was when somebody accepted it, and what has changed since.
//!
//! Text in, text out: whoever calls this reads and writes the file. A lockfile that cannot be read in full, or that does
//! not add up, is refused as a whole; what to make of that (hold everything back) is the caller's to do.
//!
//! What this crate refuses to know: files, servers, terminals. It knows tools only as JSON objects.

mod change;
mod diff;
mod digest;
mod drift;
mod error;
mod escaped;
mod lockfile;
mod once;
mod path;
mod shown;

pub use change::Change;
pub use diff::diff;
pub use digest::digest;
pub use drift::{Drift, Kind, Subject};
pub use error::LockError;
pub use lockfile::{Lockfile, MAX_BYTES, Pinned, PinnedTool, Server};
pub use shown::{Cut, Shown};
