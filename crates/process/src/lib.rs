//! Child processes that get a clean environment and never outlive converse.
//!
//! ```
//! use std::path::Path;
//!
//! use converse_process::{find_program, inherited};
//!
//! // A child gets no variable that is not listed, and no relative entry of PATH.
//! let ours = [("PATH", "bin:/usr/bin:/bin"), ("API_KEY", "secret")];
//! assert_eq!(inherited(ours), [("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
//!
//! let program = find_program("sh", Some("bin:/usr/bin:/bin"), Path::new("/"), None)?;
//! assert!(program.is_absolute());
//! # Ok::<(), converse_process::ProgramNotFound>(())
//! ```
//!
//! [`Spawn`] describes a command, [`Child`] is the running process, a [`Guardian`] kills what is left if this process dies:
//! it is a separate process that runs [`guard()`]. [`sandbox`] confines one program, and [`ScratchDir`] is its home and
//! goes with all that it left. Linux only, see
//! `docs/decisions/010-child-processes-end-with-converse.md`. This crate knows nothing of protocols, tools or settings.

mod blocking;
mod child;
mod child_table;
mod descriptors;
mod error;
mod group;
mod guard;
mod guardian;
mod jobs;
mod preexisting;
mod privacy;
mod process_count;
mod process_tree;
mod process_watch;
mod procfs;
mod program;
pub mod sandbox;
mod scratch_dir;
mod spawn;
mod stderr;
mod this_program;
mod tracker;
mod vfork;

pub use blocking::spawn_blocking;
pub use child::Child;
pub use descriptors::{NO_DESCRIPTORS, lacks_descriptors};
pub use error::{ProgramNotFound, SpawnError};
pub use guard::guard;
pub use guardian::Guardian;
pub use jobs::has_shell;
pub use privacy::hide_from_others;
pub use process_count::{CountingMethod, GroupCounter, GroupSize, counting_method};
pub use program::find_program;
pub use scratch_dir::{NoScratchDir, ScratchDir, scratch_dir_problem};
pub use spawn::{INHERITED, Spawn, inherited};
pub use stderr::Stderr;
pub use this_program::this_program;
