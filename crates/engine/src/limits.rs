//! Limits and timeouts of a turn.

use std::time::Duration;

use converse_canister::Cost;

/// The limits of one turn of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Model calls.
    pub iterations: u32,
    pub invocations: u32,
    /// Wall clock of the whole run.
    pub deadline: Option<Duration>,
    /// Cost of models and tools. Checked before each model call and each batch of invocations. A reply of unknown cost
    /// ends the turn. An attempt that broke off counts with what the provider had reported by then.
    pub cost: Option<Cost>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { iterations: 25, invocations: 100, deadline: None, cost: None }
    }
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Iterations(u32),
    Invocations(u32),
    Deadline,
    Cost(Cost),
    /// There is a limit of cost, and the cost of a reply is unknown.
    UnknownCost,
}

/// How long a model call may stay silent. Connecting is bounded by the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the head of the response.
    pub first_byte: Duration,
    /// Between any two pieces of the body.
    pub stream_idle: Duration,
    /// Between two pieces with content: pings and comments do not count.
    pub stream_content: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(120),
            stream_idle: Duration::from_secs(120),
            stream_content: Duration::from_secs(600),
        }
    }
}
