//! The port for spans of calls that other programs make.

use std::sync::Arc;
use std::time::Duration;

use converse_text::trace_context::TraceContext;

/// A call that a client made and that has ended. Without arguments and results.
#[derive(Debug, Clone)]
pub struct CallSpan {
    /// `ensemble.invoker`; `None` if there is no such tool.
    pub tool: Option<Arc<str>>,
    /// The span of the client, if it has one.
    pub caller: Option<TraceContext>,
    /// The span of the call; `None` if it is not recorded.
    pub context: Option<TraceContext>,
    pub over_http: bool,
    /// The kind of error with which it ended: `tool_error`, `cancelled`, or the code of a protocol error.
    pub error: Option<String>,
    /// Including the time in which the call waited.
    pub elapsed: Duration,
}

/// Receives the spans of calls. Never waits and never fails.
pub trait CallSpans: Send + Sync {
    /// Returns the span of a new call below the span of its caller; `None` if it is not recorded.
    fn begin(&self, caller: Option<&TraceContext>) -> Option<TraceContext>;

    fn end(&self, call: CallSpan);
}
