//! Live tools.
//!
//! An **ensemble** is a group of tools that connect and disconnect together; the **roster** is everybody who can be
//! invoked in a run. One order holds for every invocation, whoever asks (the loop, `ensembles call`, a gateway):
//! parse → check against the schema → judge by the rules → approve → journal → run under its limits → bound the result.
//! [`Roster::judge`] is the first half, [`Roster::invoke`] the second; what was approved is what runs.
//!
//! What this crate refuses to know: models, providers, terminals, the environment, the clock (tools are handed one).

mod builtin;
mod ensemble;
mod invoker;
mod naming;
mod near;
mod pipeline;
mod roster;
mod tool;

pub use builtin::{BuildError, Builtin, Clock, Settings, builtins};
pub use ensemble::{BuiltinConnection, ConnectError, Connection, Ensemble, Surroundings};
pub use invoker::{Answer, Context, Host, Invocable, InvokeError, Word};
pub use naming::tool_name;
pub use pipeline::{Halt, Turn};
pub use roster::{Approved, Artefacts, Denied, Offer, Pending, Roster, Verdict};
pub use tool::{Tool, own_permission};
