//! One module for each command: parsed arguments in, output and an exit code out.

pub(crate) mod approvals;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod doctor;
pub(crate) mod ensembles;
pub(crate) mod explain;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod models;
mod output_file;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod stats;
