//! The ports of the inner crates, plugged into the real world.

pub(crate) mod approver;
pub(crate) mod audit;
pub(crate) mod cache;
pub(crate) mod client;
pub(crate) mod consent;
pub(crate) mod contents;
pub(crate) mod credentials;
pub(crate) mod discreet;
pub(crate) mod eras;
pub(crate) mod fetch;
pub(crate) mod http;
pub(crate) mod issuer_keys;
pub(crate) mod journal;
pub(crate) mod lists;
pub(crate) mod log;
pub(crate) mod model_lists;
pub(crate) mod person;
pub(crate) mod reach;
pub(crate) mod results;
pub(crate) mod sampler;
pub(crate) mod secrets;
pub(crate) mod signals;
pub(crate) mod spent;
pub(crate) mod understudy;
pub(crate) mod vault;
pub(crate) mod watched;
