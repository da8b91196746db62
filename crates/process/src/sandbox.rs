//! A sandbox for one program: Landlock, seccomp, resource limits, no new privileges.
//!
//! A [`Confinement`] says what stays open. [`confined()`] is the body of a process of its own (our binary, run with a
//! hidden word): it shuts itself in and becomes the program, so that nothing of it runs between fork and exec.
//! [`survey()`] says what this machine has. Linux only, see `docs/decisions/015-sandbox-re-executes-converse.md`.

mod bubblewrap;
mod calls;
mod confined;
mod confinement;
mod enter;
mod error;
mod files;
mod limits;
mod privileges;
mod refused;
mod report;
mod survey;
mod system;

pub use bubblewrap::bubblewrap;
pub use confined::confined;
pub use confinement::{Confinement, Limits, Strictness};
pub use enter::{Effective, enter};
pub use error::SandboxError;
pub use report::Report;
pub use survey::{LEAST_LANDLOCK, Survey, survey};
pub use system::{is_open_to_all, system};
