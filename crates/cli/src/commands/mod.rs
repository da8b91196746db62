//! One file for each command: settings in, an exit code out.

pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod completions;
pub(crate) mod ensembles;
pub(crate) mod models;
