//! (being written)
mod endpoint;
mod error;
mod processor;
mod prompt;
pub use endpoint::{AuthScheme, Dialect, Endpoint, Quirks};
pub use error::{DecodeError, Refusal, RefusalClass, ReplyError, RetryAdvice, TranslateError};
pub use processor::{Decoder, Delta, Processor, Reply, ReplyOrigin};
pub use prompt::{Controls, Effort, Prompt};
