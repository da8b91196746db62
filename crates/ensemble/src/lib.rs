//! Live tools.
//!
//! An **ensemble** is a group of tools that connect and disconnect together; the **roster** is everybody who can be
//! invoked in a run. One order holds for every invocation, whoever asks (the loop, `ensembles call`, a gateway):
//! parse → check against the schema → judge by the rules → approve → journal → run under its limits → bound the result.
//! [`Roster::judge`] is the first half, [`Roster::invoke`] the second; what was approved is what runs.
//!
//! What this crate refuses to know: models, providers, terminals, the environment, the clock (tools are handed one).

mod aside;
mod bounding;
mod builtin;
mod cached;
mod checked;
mod command;
mod confiner;
mod cost_meter;
mod declared;
mod definition;
mod ensemble;
mod fetch;
mod invoker;
mod lazy;
mod naming;
mod offer;
mod pausable_clock;
mod pins;
mod pipeline;
mod reach;
mod request;
mod roster;
mod rules;
mod shared;
mod surroundings;
mod template_input;
mod tool;
pub mod tool_tests;
mod verdict;

#[cfg(test)]
mod testing;

pub use builtin::{BuildError, Builtin, Clock, Settings, Variable, builtins, is_public};
pub use cached::{Cached, Results};
pub use command::{KILLED, no_refuge};
pub use confiner::{Confiner, Method};
pub use cost_meter::{CostMeter, PendingCost};
pub use declared::{DeclaredConnection, declared_definition, declared_ensemble};
pub use definition::Definition;
pub use ensemble::{ConnectError, Connection, Ensemble, reached};
pub use fetch::{Fetch, FetchError, Fetched};
pub use invoker::{Answer, Context, Host, Invocable, InvokeError, ToolProgress};
pub use lazy::{SEARCH, found};
pub use naming::tool_name;
pub use offer::Offer;
pub use pausable_clock::{PausableClock, PauseGuard};
pub use pins::{HoldReason, Pins, accepting, lock_flag};
pub use pipeline::{CRASHED, CancelScope, Turn};
pub use reach::{Reach, Way};
pub use roster::{Artefacts, NoArtefacts, Roster};
pub use rules::Rules;
pub use shared::{Shared, SharedRuns};
pub use surroundings::Surroundings;
pub use tool::{Tool, own_permission};
pub use verdict::{Approved, Denied, Pending, Verdict};
