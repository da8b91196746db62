//! (being written)
mod invoker;
pub use invoker::{Answer, Context, Host, Invocable, InvokeError, Word};
