//! The lockfile: the accepted definition of each tool, and the changes since.
//!
//! The module works on text and JSON: the caller reads and writes the file. A lockfile that cannot be read in full, or
//! whose digests do not match, is refused as a whole; the caller then hides every tool.

mod change_list;
mod diff;
mod drift;
mod lockfile;
mod path;
mod update;

pub use change_list::{ChangeList, Omitted};
pub use diff::{Change, diff};
pub use drift::{Drift, DriftKind, DriftSubject};
pub use lockfile::{LockError, Lockfile, MAX_BYTES, OfferList, PinnedEnsemble, PinnedTool, Server, digest};
