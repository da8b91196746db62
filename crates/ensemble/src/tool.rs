//! One live tool: its declaration, its policy, and its implementation.

use std::sync::{Arc, OnceLock};

use converse_canister::{Declaration, Digest, InvokerName, json_length};
use converse_config::{
    ArgumentsSchema, Binding, Effects, InvokerKind, InvokerPlan, Permission, Policy, SchemaError,
};
use serde_json::{Map, Value, json};

use crate::declared::declared_definition;
use crate::ensemble::EnsembleCalls;
use crate::{Definition, Ensemble, HoldReason, Invocable, NamedPath, PathResolver};

#[derive(Clone)]
pub struct Tool {
    pub invoker: InvokerName,
    pub declaration: Declaration,
    /// `ensemble.invoker`, as users write it.
    pub qualified: String,
    pub policy: Policy,
    /// The permission if no rule matches, and its source.
    pub own: (Permission, String),
    /// False for tools of a project that the user has not trusted.
    pub trusted: bool,
    /// Whether the tool belongs to the working directory or the command line. An answer "always" holds only there then.
    pub local: bool,
    /// Whether the tool is built in, so that its declared effects are reliable.
    pub builtin: bool,
    /// Whether its server is reached over a network.
    pub remote: bool,
    /// Digest of how its ensemble is reached; see [`reached`](crate::reached()).
    pub reached: Digest,
    pub invocable: Arc<dyn Invocable>,
    /// Finds the file or directory that the arguments name.
    path_resolver: Option<Arc<dyn PathResolver>>,
    /// Why the tool is held back, if it is.
    pub held: Option<HoldReason>,
    /// The command that accepts the tool, if it is held back.
    pub(crate) accepting: Option<String>,
    /// The declaration in a descriptor, if there is one.
    declared: Option<Arc<InvokerPlan>>,
    /// Made at the first use: most runs never need it.
    definition: OnceLock<Definition>,
    /// Compiled at the first call: eager compilation doubles the start with a thousand tools.
    schema: Arc<OnceLock<Result<ArgumentsSchema, SchemaError>>>,
    /// Those of its ensemble.
    pub(crate) calls: Arc<EnsembleCalls>,
}

impl Tool {
    pub fn new(
        ensemble: &Ensemble,
        invoker: &InvokerName,
        declaration: Declaration,
        policy: Policy,
        own: (Permission, String),
        invocable: Arc<dyn Invocable>,
    ) -> Self {
        let qualified = format!("{}.{invoker}", ensemble.name);
        Self {
            invoker: invoker.clone(),
            declaration,
            qualified,
            policy,
            own,
            trusted: ensemble.trusted,
            local: Binding::is_local(ensemble.origin.scope),
            builtin: false,
            remote: ensemble.remote,
            reached: ensemble.reached,
            path_resolver: invocable.path_resolver(),
            invocable,
            held: None,
            accepting: None,
            declared: None,
            definition: OnceLock::new(),
            schema: Arc::default(),
            calls: Arc::clone(&ensemble.calls),
        }
    }

    /// Sets the definition of a tool that has more than a name, a description and arguments.
    #[must_use]
    pub fn defined_as(self, definition: Definition) -> Self {
        Self { definition: definition.into(), ..self }
    }

    /// Returns why the tool is held back, for a model that calls it by this name.
    pub fn hold_reason(&self, name: &str) -> Option<String> {
        self.held.map(|held| held.message(name, self.accepting.as_deref().unwrap_or_default()))
    }

    /// Returns whether the tool only reads, according to its declaration.
    pub fn reads(&self) -> bool {
        self.policy.effects <= Effects::Read
    }

    /// Returns the file or directory that the arguments name, as it is now.
    pub(crate) fn named_path(&self, arguments: &Map<String, Value>) -> Option<NamedPath> {
        self.path_resolver.as_ref()?.resolve(arguments)
    }

    /// Returns whether the tool opens files that its arguments name.
    pub(crate) fn opens_files(&self) -> bool {
        self.path_resolver.is_some()
    }

    /// Returns the size of the declaration in bytes.
    pub fn bytes(&self) -> usize {
        let Declaration { name, description, arguments } = &self.declaration;
        name.as_str().len() + description.len() + json_length(arguments)
    }

    /// Sets the descriptor's declaration.
    #[must_use]
    pub fn declared_by(self, plan: Arc<InvokerPlan>) -> Self {
        Self { declared: Some(plan), ..self }
    }

    /// Returns what a descriptor declares the tool as, or `None` for the tool of a server.
    pub(crate) fn kind(&self) -> Option<&InvokerKind> {
        self.declared.as_ref().map(|plan| &plan.kind)
    }

    /// Returns whether a descriptor declares the tool.
    pub(crate) fn declared_here(&self) -> bool {
        self.declared.is_some()
    }

    /// Returns everything that the server or descriptor declares about the tool, which is more than models are shown.
    pub fn definition(&self) -> &Definition {
        self.definition.get_or_init(|| {
            if let Some(plan) = &self.declared {
                return declared_definition(plan);
            }
            let Declaration { description, arguments, .. } = &self.declaration;
            let shown = json!({ "name": self.invoker, "description": description, "inputSchema": arguments });
            Definition::of(&shown)
        })
    }

    /// Returns the SHA-256 of the [definition](Self::definition()) in canonical form. Approvals and the lockfile are bound to
    /// it.
    pub fn digest(&self) -> Digest {
        self.definition().digest()
    }

    pub fn schema(&self) -> &Result<ArgumentsSchema, SchemaError> {
        self.schema.get_or_init(|| ArgumentsSchema::compile(&self.declaration.arguments))
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool")
            .field("qualified", &self.qualified)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Returns a tool's own permission and its source: the descriptor or the default. Annotations of servers do not count.
/// `trusted` is false for an ensemble of a project that the user has not trusted: it may then restrict, never allow.
/// `declared_in` is `file:line` of the ensemble, used if the line of the permission is unknown.
pub fn own_permission(
    policy: &Policy,
    builtin: bool,
    trusted: bool,
    declared_in: &str,
) -> (Permission, String) {
    let said_in = policy.permission_at.as_deref().unwrap_or(declared_in);
    let own = match policy.permission {
        Some(Permission::Ask) if !trusted => {
            (Permission::Ask, format!("permission of {said_in}, which is not trusted: `ask` at most"))
        }
        Some(permission) => (permission, format!("permission of {said_in}")),
        None if builtin && policy.effects <= Effects::Read => {
            (Permission::Allow, "the default: it reads or computes".to_owned())
        }
        None if policy.effects <= Effects::Read => {
            (Permission::Ask, "the default: converse cannot check that the tool only reads".to_owned())
        }
        None => (Permission::Ask, "the default: it may change something".to_owned()),
    };
    match own {
        (Permission::Allow, _) if !trusted && policy.permission.is_some() => {
            (Permission::Ask, format!("{declared_in} is not trusted"))
        }
        own => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_allows_only_what_is_built_in_and_reads() {
        let policy = |effects, permission| Policy { effects, permission, ..Policy::default() };
        let own = |effects, permission, builtin, trusted| {
            own_permission(&policy(effects, permission), builtin, trusted, "x.toml:1").0
        };
        use Permission::{Allow, Ask, Deny};
        assert_eq!(own(Effects::None, None, true, true), Allow);
        assert_eq!(own(Effects::Read, None, true, true), Allow);
        assert_eq!(own(Effects::Write, None, true, true), Ask);
        assert_eq!(own(Effects::Read, None, false, true), Ask, "a server's word is not enough");
        assert_eq!(own(Effects::Write, Some(Allow), true, true), Allow);
        assert_eq!(own(Effects::Write, Some(Allow), true, false), Ask);
        assert_eq!(own(Effects::None, None, true, false), Allow, "untrusted built-ins still compute");
        assert_eq!(own(Effects::None, Some(Deny), true, false), Deny);
    }

    #[test]
    fn it_is_told_by_the_line_that_says_it() {
        let policy = Policy {
            permission: Some(Permission::Ask),
            permission_at: Some("x.toml:71".into()),
            ..Policy::default()
        };
        let own = |trusted| own_permission(&policy, false, trusted, "x.toml:1").1;
        assert_eq!(own(true), "permission of x.toml:71");
        assert_eq!(own(false), "permission of x.toml:71, which is not trusted: `ask` at most");
        let reads = Policy { effects: Effects::Read, ..Policy::default() };
        let because = own_permission(&reads, false, true, "x.toml:1").1;
        assert_eq!(because, "the default: converse cannot check that the tool only reads", "also a request");
        let unknown = Policy { permission_at: None, ..policy.clone() };
        assert_eq!(own_permission(&unknown, false, true, "x.toml:1").1, "permission of x.toml:1");
    }
}
