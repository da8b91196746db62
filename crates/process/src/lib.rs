//! Child processes that get a clean environment and never outlive the program.
//!
//! [`Spawn`] says what is started, [`Child`] is what runs, a [`Guardian`] ends what is left when this process cannot:
//! it is a process of its own that runs [`guard()`]. Linux only, see `docs/decisions/010-child-processes-end-with-converse.md`. This
//! crate knows nothing of protocols, tools or settings.

mod birth;
mod child;
mod crowd;
mod error;
mod exit;
mod group;
mod guard;
mod guardian;
mod inherited;
mod jobs;
mod kin;
mod ours;
mod procfs;
mod program;
pub mod sandbox;
mod spawn;
mod stderr;
mod strangers;
mod watch;

pub use child::Child;
pub use crowd::{Counting, Crowd, Size, counting};
pub use error::{ProgramNotFound, SpawnError};
pub use guard::guard;
pub use guardian::Guardian;
pub use inherited::{INHERITED, inherited};
pub use jobs::has_shell;
pub use program::find_program;
pub use spawn::Spawn;
pub use stderr::Stderr;
