//! Serves the roster (all tools of a run) to other programs, as an MCP server.
//!
//! Calls of clients take the same path as a model's calls: arguments are checked, rules are judged, limits are kept, and
//! every call is in the audit log. [`Gateway`] implements the `ServerHandler` of rmcp in both protocol eras.
//! [`serve_stdio`] serves one client over standard input and output. HTTP is the work of another crate, which checks each
//! body with [`accept_body`], and finds in [`Sessions`] what belongs to the session of a client.

mod budgets;
mod call;
mod call_trace;
mod caller;
mod calling_client;
mod content;
mod counters;
mod gateway;
mod handler;
mod message;
mod notices;
mod offers;
mod output_schema;
mod principal;
mod queue;
mod raw_arguments;
mod reading;
mod search;
mod served_tools;
mod sessions;
mod stdio;
mod tasks;
mod upstreams;
mod view;

pub use caller::{Caller, Remote, quoted};
pub use counters::{Call, Connection, Counters, RefusalReason, TEXT_TYPE};
pub use gateway::{Audit, Change, Gateway, GatewayParts};
pub use message::{AcceptedBody, RejectedMessage, accept_body};
pub use principal::{Admitted, Principal, StreamEnd};
pub use served_tools::NameConflict;
pub use sessions::{ClientSessions, FoundSession, SessionLimits, Sessions};
pub use stdio::{Pipes, StdioError, serve_stdio};
pub use upstreams::{ServedUpstream, Upstreams};
pub use view::{UnknownView, ViewPlans};
