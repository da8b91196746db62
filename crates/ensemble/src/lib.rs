//! Live tools: groups of tools, the checks before a call, and the run of a call under its limits.
//!
//! An **ensemble** is a group of tools that connect and disconnect together. The **roster** is the list of all tools of
//! a run. Every call takes the same steps, whether a model, `ensembles call` or the MCP server asks: parse, check against
//! the schema, judge by the rules, approve, journal, run under its limits, bound the result. [`Roster::judge`] is the
//! first half and [`Roster::invoke`] the second. The arguments that were approved are the arguments that run.
//!
//! ```
//! use std::sync::Arc;
//!
//! use converse_canister::{Arguments, Invocation, InvocationId, Outcome, TurnId};
//! use converse_ensemble::{NoArtefacts, Roster, Verdict};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let (roster, failures) = Roster::connect(Vec::new(), Vec::new(), Arc::new(NoArtefacts)).await;
//! assert!(failures.is_empty());
//!
//! let (turn, tool, arguments) = (TurnId(1), "house__greet".to_owned(), Arguments::parse("{}"));
//! let call = Invocation { turn, id: InvocationId::of(turn, 0), wire_id: None, tool, arguments, seal: None };
//! // No ensemble has this tool. A failure is not an error but a result that the model reads.
//! let Verdict::Answered(denied) = roster.judge(&call) else { panic!("it cannot run") };
//! assert_eq!(denied.result.outcome, Outcome::NoSuchTool);
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! This crate does not know models, providers, terminals or the environment. It reads no clock: tools are given one.

mod bounding;
mod builtin;
mod cached;
mod call_client;
mod command;
mod cost_meter;
mod declared;
mod definition;
pub mod disclosure;
mod ensemble;
mod fetch;
mod instructions;
mod invoker;
mod labelling;
mod lazy;
mod mode;
mod named_path;
mod naming;
mod offer;
mod path_class;
mod path_policy;
mod pausable_clock;
mod pins;
mod pipeline;
mod relay;
mod request;
mod roster;
mod rules;
mod scripts;
mod shared;
mod surroundings;
mod template_input;
mod tool;
pub mod tool_tests;
mod upstream;
mod verdict;

#[cfg(test)]
mod testing;

pub use builtin::{BuildError, Builtin, Clock, Settings, Variable, builtins, is_public, opens_files};
pub use cached::{Cached, Results, ResultsInMemory};
pub use call_client::{CallClient, ClientRefusal, ServerLog};
pub use command::{KILLED, is_named_output};
pub use cost_meter::{CostMeter, PendingCost};
pub use declared::{DeclaredConnection, declared_definition, declared_ensemble};
pub use definition::Definition;
pub use ensemble::{Acceptance, ConnectError, Connection, Ensemble, reached};
pub use fetch::{Fetch, FetchError, Fetched, Reach, Way};
pub use instructions::{Instructions, MAX_INSTRUCTIONS};
pub use invoker::{Answer, Context, Host, Invocable, InvokeError, ToolProgress};
pub use lazy::{SEARCH, search_matches};
pub use mode::{Mode, ModeSwitch, NoEdits, edited_project};
pub use named_path::{NamedPath, PathResolver, PathUse};
pub use naming::tool_name;
pub use offer::Offer;
pub use path_class::holds_credentials;
pub use path_policy::PathPolicy;
pub use pausable_clock::{PausableClock, PauseGuard};
pub use pins::{HoldReason, Pins, accepting, lock_flag};
pub use pipeline::{CRASHED, CancelScope, Gate, Invoked, Turn};
pub use relay::{COMPLETE, GET_PROMPT, NoticeSender, Notices, OfferKind, READ_RESOURCE, Relay, ServerNotice};
pub use roster::{Artefacts, NoArtefacts, Roster};
pub use rules::Rules;
pub use scripts::{CommandLine, Scripts, leads_to};
pub use shared::{Shared, SharedRuns};
pub use surroundings::{SandboxKind, SandboxLauncher, StartCheck, StartChecks, Surroundings};
pub use tool::{Tool, own_permission};
pub use upstream::{Phase, Upstream, UpstreamState};
pub use verdict::{Approved, Denied, Pending, Verdict};
