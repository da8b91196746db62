//! (being written)
mod plan;
mod rule;
pub use plan::{
    ConnectionPlan, Effects, EnsemblePlan, InvokerKind, InvokerPlan, OnFailure, Origin, Policy, Scope,
    SecretRef, ToolFilter,
};
pub use rule::{BadPattern, Judgement, Permission, Rule, Subject, judge};
