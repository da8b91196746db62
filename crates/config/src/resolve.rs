//! Turns descriptors into plans. Pure: files, environment, built-ins and trust are passed in.
//!
//! Every descriptor is checked in full, even broken and replaced ones, so that one run reports everything. An ensemble
//! with an error is left out as a whole. It still hides a farther ensemble of its name, because falling back could mean
//! looser permissions.

mod arguments;
mod command;
mod command_line;
mod invokers;
mod pinning;
mod placeholders;
mod policies;
mod secrets;
mod selection;
mod tool_tests;
mod trust;
mod unexpanded;

pub use pinning::unpinned_package;

use std::collections::BTreeSet;

use converse_canister::EnsembleName;
use serde_json::{Map, Value};

use crate::Code;
use crate::connection::TransportDescriptor;
use crate::diagnostic::{Diagnostic, Severity, quoted};
use crate::ensemble::EnsembleDescriptor;
use crate::environment::Environment;
use crate::oauth::OauthPlan;
use crate::plan::{
    ConnectionPlan, Effects, EnsemblePlan, Origin, Policy, Protocol, Scope, SecretRef, TransportPlan,
};
use crate::source::{SourceId, SourceMap, Span, Spanned};
use crate::table::suggested;
use crate::template::Template;

/// Limit on the names that one name is compared with for "did you mean".
const MAX_SUGGESTED: usize = 200;
/// Limit on the diagnostics of one ensemble for which names are compared.
const MAX_COMPARED: usize = 200;
/// Limit on the reported unset variables of one text.
const MAX_UNSET: usize = 32;

/// A tool in the binary, as descriptors refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinSpec<'a> {
    pub name: &'a str,
    pub effects: Effects,
}

/// The surroundings in which descriptors are resolved.
#[derive(Debug, Clone, Copy)]
pub struct ResolveInput<'a> {
    pub builtins: &'a [BuiltinSpec<'a>],
    pub environment: &'a Environment,
    /// The user trusts the ensembles of the project.
    pub project_trusted: bool,
    /// Compile every schema (`ensembles check`). A run compiles a schema at the first call of its tool.
    pub compile_schemas: bool,
    /// An unset variable is an error (`ensembles check --require-env`).
    pub require_env: bool,
}

/// The result of resolving all descriptors.
#[derive(Debug)]
pub struct Resolution {
    /// Sorted by name, one plan per name, including plans with `enabled = false`.
    pub plans: Vec<EnsemblePlan>,
    /// Ensembles that are left out because of errors or because of the limit for untrusted projects.
    pub broken: Vec<BrokenEnsemble>,
    pub diagnostics: Vec<Diagnostic>,
}

/// An ensemble that is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenEnsemble {
    /// The name as written, if it can be read.
    pub name: Option<String>,
    pub scope: Scope,
    pub source: SourceId,
    /// The path as shown to people.
    pub file: String,
    /// The valid parts, for display only.
    pub rest: Option<EnsemblePlan>,
}

pub fn resolve(
    sources: &SourceMap,
    descriptors: &[EnsembleDescriptor],
    given: &ResolveInput<'_>,
) -> Resolution {
    let mut diagnostics = Vec::new();
    let mut candidates = Vec::new();
    for descriptor in descriptors {
        let mut resolver = Resolver::new(sources, descriptor, given);
        let (plan, rest) = match resolver.ensemble() {
            Some(Ok(plan)) => (Some(plan), None),
            Some(Err(rest)) => (None, Some(rest)),
            None => (None, None),
        };
        // Warnings about variables wait until it is known whether the ensemble is in use.
        let waits = |found: &Diagnostic| found.code == Code::UnsetVariable && plan.is_some();
        let (unset, found): (Vec<_>, Vec<_>) = resolver.diagnostics.into_iter().partition(waits);
        candidates.push(selection::Candidate { descriptor, plan, rest, trusted: resolver.trusted, unset });
        diagnostics.extend(found);
    }
    selection::select(sources, candidates, diagnostics)
}

/// Resolves one descriptor.
struct Resolver<'a> {
    sources: &'a SourceMap,
    descriptor: &'a EnsembleDescriptor,
    given: &'a ResolveInput<'a>,
    scope: Scope,
    trusted: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Resolver<'a> {
    fn new(sources: &'a SourceMap, descriptor: &'a EnsembleDescriptor, given: &'a ResolveInput<'a>) -> Self {
        let scope = sources.scope(descriptor.source);
        let trusted = scope != Scope::Project || given.project_trusted;
        Self { sources, descriptor, given, scope, trusted, diagnostics: Vec::new() }
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    /// Adds "did you mean", unless there are too many problems to compare names.
    fn suggested<'n>(
        &self,
        diagnostic: Diagnostic,
        found: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> Diagnostic {
        let most = if self.diagnostics.len() < MAX_COMPARED { MAX_SUGGESTED } else { 0 };
        suggested(diagnostic, found, names.take(most))
    }

    fn warning(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::warning(code, span, message));
    }

    /// Returns `Err` with the valid parts if there is an error, and `None` if there is no valid name.
    fn ensemble(&mut self) -> Option<Result<EnsemblePlan, EnsemblePlan>> {
        let descriptor = self.descriptor;
        let name = self.name();
        let prefix = self.prefix();
        self.parts();
        self.unpinned();
        self.unexpanded();
        self.secrets_in_file();
        let defaults = descriptor.defaults.over(&Policy::default(), self.sources);
        let connection = self.connection();
        let invokers = self.invokers();
        let (tools, tests) = self.tools(&defaults);
        let filter = self.filter();
        self.check_defaults(&defaults);
        let configuration = match descriptor.configuration.as_ref().map(|table| &table.value) {
            Some(Value::Object(map)) => map.clone(),
            _ => Map::new(),
        };
        let mut plan = EnsemblePlan {
            name: name?,
            description: text(&descriptor.description),
            enabled: or(&descriptor.enabled, true),
            required: or(&descriptor.required, false),
            lazy: or(&descriptor.lazy, false),
            prefix: prefix.ok()?,
            connection,
            configuration,
            defaults,
            invokers,
            filter,
            tools,
            tests,
            trusted: self.trusted,
            named_files: Vec::new(),
            origin: self.origin(descriptor.span),
        };
        self.restrict_untrusted(&mut plan);
        let broken = descriptor.broken || self.diagnostics.iter().any(Diagnostic::is_error);
        Some(if broken { Err(plan) } else { Ok(plan) })
    }

    fn name(&mut self) -> Option<EnsembleName> {
        let name = self.descriptor.name.as_ref()?;
        let checked = EnsembleName::new(name.value.as_str());
        checked.map_err(|error| self.bad_name(name, error.kind, error.rule)).ok()
    }

    fn bad_name(&mut self, name: &Spanned<String>, kind: &str, rule: &str) {
        self.error(
            Code::BadName,
            name.span,
            format!("{} is not a valid {kind}: {rule}", quoted(&name.value)),
        );
    }

    fn prefix(&mut self) -> Result<Option<String>, ()> {
        let Some(prefix) = self.descriptor.prefix.as_ref().filter(|prefix| !prefix.value.is_empty()) else {
            return Ok(self.descriptor.prefix.as_ref().map(|prefix| prefix.value.clone()));
        };
        match EnsembleName::new(prefix.value.as_str()) {
            Ok(_) => Ok(Some(prefix.value.clone())),
            Err(error) => {
                self.bad_name(prefix, "prefix", error.rule);
                Err(())
            }
        }
    }

    /// Reports missing parts, and parts that exclude each other.
    fn parts(&mut self) {
        let descriptor = self.descriptor;
        let (connection, first) = (descriptor.has_connection, descriptor.invokers.first());
        match (connection, first) {
            (Some(_), Some(entry)) => {
                let message = "an ensemble cannot have both a `[connection]` and `[[invokers]]`";
                self.error(Code::MixedConnection, entry.span, message);
            }
            // After errors in the file, the invokers may only be lost.
            (None, None) if !descriptor.broken => {
                let message = "the ensemble has neither `[[invokers]]` nor a `[connection]`";
                self.error(Code::EmptyEnsemble, descriptor.span, message);
            }
            _ => {}
        }
        if let (None, Some(tools)) = (connection, &descriptor.tools) {
            let message =
                "`[tools]` requires a `[connection]`; policy keys of an invoker belong in its `[[invokers]]`";
            self.error(Code::ToolsWithoutConnection, tools.span, message);
        }
    }

    fn connection(&mut self) -> Option<ConnectionPlan> {
        let connection = self.descriptor.connection.as_ref()?;
        let mut named = |list: &[(String, Spanned<SecretRef>)]| {
            list.iter().map(|(name, secret)| (name.clone(), self.secret(secret))).collect::<Vec<_>>()
        };
        let transport = match &connection.transport {
            TransportDescriptor::Stdio { command, environment, cwd } => {
                let environment = named(environment);
                let words: Vec<_> =
                    command.iter().map(|part| (Template::from(&part.value), part.span)).collect();
                self.one_word(words.iter().map(|(word, span)| (word, *span)));
                let command = command.iter().map(|part| self.secret(part)).collect();
                let cwd = cwd.as_ref().map(|cwd| cwd.value.as_str().into());
                TransportPlan::Stdio { command, environment, cwd }
            }
            TransportDescriptor::Http { url, headers } => {
                let headers = named(headers);
                TransportPlan::Http { url: self.secret(url), headers }
            }
        };
        let connect_timeout = connection.connect_timeout.as_ref().map(|timeout| timeout.value);
        let auth = connection.auth.as_ref().map(|auth| OauthPlan {
            client_id: auth.client_id.as_ref().map(|id| self.secret(id)),
            client_secret: auth.client_secret.as_ref().map(|secret| self.secret(secret)),
            scopes: auth.scopes.clone(),
            client_metadata_url: auth.client_metadata_url.clone(),
            redirect_port: auth.redirect_port,
        });
        let (protocol, grants) = (or(&connection.protocol, Protocol::Auto), connection.grants.clone());
        Some(ConnectionPlan { transport, connect_timeout, protocol, auth, grants })
    }

    /// Returns the reference, and reports variables that are not set.
    fn secret(&mut self, secret: &Spanned<SecretRef>) -> SecretRef {
        self.variables(secret.value.required(), secret.span);
        secret.value.clone()
    }

    fn variables<'n>(&mut self, names: impl IntoIterator<Item = &'n str>, span: Span) {
        let unset = names.into_iter().filter(|name| self.given.environment.get(name).is_none());
        let names: BTreeSet<&str> = unset.collect();
        for name in names.into_iter().take(MAX_UNSET) {
            let message = format!("the environment variable `{name}` is not set");
            // The line may also contain a literal secret.
            let mut diagnostic = Diagnostic::warning(Code::UnsetVariable, span, message).without_excerpt();
            if self.given.require_env {
                diagnostic.severity = Severity::Error;
            }
            self.diagnostics.push(diagnostic);
        }
    }

    fn origin(&self, span: Span) -> Origin {
        Origin {
            scope: self.scope,
            file: self.sources.path(span.source).to_owned(),
            line: self.sources.line(span),
        }
    }
}

fn or<T: Copy>(given: &Option<Spanned<T>>, default: T) -> T {
    given.as_ref().map_or(default, |given| given.value)
}

fn text(given: &Option<Spanned<String>>) -> String {
    given.as_ref().map(|text| text.value.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
