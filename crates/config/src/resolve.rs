//! Descriptors as written to plans as meant. Pure: files, environment, built-ins and trust are handed in.
//!
//! Every descriptor is looked at in full, also the broken and the replaced, so that one run tells everything. An
//! ensemble with an error is left out whole: half an ensemble is not what anybody wrote. A broken ensemble still hides
//! a farther one of its name, since falling back could mean falling back to looser permissions.

mod arguments;
mod command;
mod invokers;
mod needed;
mod pinning;
mod placeholders;
mod policies;
mod request;
mod secrets;
mod selection;
mod tools;
mod trials;
mod trust;

use std::collections::BTreeSet;

use converse_canister::EnsembleName;
use serde_json::{Map, Value};

use crate::Code;
use crate::connection::WayDescriptor;
use crate::diagnostic::{Diagnostic, Severity};
use crate::ensemble::EnsembleDescriptor;
use crate::environment::Environment;
use crate::escape::quoted;
use crate::oauth::OauthPlan;
use crate::plan::{ConnectionPlan, Effects, EnsemblePlan, Origin, Policy, Protocol, Scope, SecretRef, Way};
use crate::source::{SourceId, SourceMap, Span, Spanned};
use crate::table::suggested;
use crate::template::Template;

/// Names that one name is compared with, and diagnostics of one ensemble after which none is.
const MAX_SUGGESTED: usize = 200;
const MAX_COMPARED: usize = 200;
/// Unset variables of one text that are named.
const MAX_UNSET: usize = 32;

/// A tool in the binary, as far as descriptors are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinSpec<'a> {
    pub name: &'a str,
    pub effects: Effects,
}

/// What descriptors are judged against.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    pub builtins: &'a [BuiltinSpec<'a>],
    pub environment: &'a Environment,
    /// Has the user trusted what the project's ensembles declare?
    pub project_trusted: bool,
    /// Compile every schema (`ensembles check`). A run does so at a tool's first call.
    pub compile_schemas: bool,
    /// Is a variable that is not set an error (`ensembles check --require-env`)?
    pub require_env: bool,
}

/// What came of all descriptors.
#[derive(Debug)]
pub struct Resolved {
    /// By name, one of each. Those with `enabled = false` are here too.
    pub plans: Vec<EnsemblePlan>,
    /// Left out because of errors, or because a stranger says more than is taken.
    pub broken: Vec<Broken>,
    pub diagnostics: Vec<Diagnostic>,
}

/// An ensemble that was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    /// As written, if it could be read.
    pub name: Option<String>,
    pub scope: Scope,
    pub source: SourceId,
    /// As shown to people.
    pub file: String,
    /// The parts that stand, to be looked at and nothing else.
    pub rest: Option<EnsemblePlan>,
}

pub fn resolve(sources: &SourceMap, descriptors: &[EnsembleDescriptor], given: &Given<'_>) -> Resolved {
    let mut diagnostics = Vec::new();
    let mut candidates = Vec::new();
    for descriptor in descriptors {
        let mut resolver = Resolver::new(sources, descriptor, given);
        let (plan, rest) = match resolver.ensemble() {
            Some(Ok(plan)) => (Some(plan), None),
            Some(Err(rest)) => (None, Some(rest)),
            None => (None, None),
        };
        candidates.push(selection::Candidate { descriptor, plan, rest, trusted: resolver.trusted });
        diagnostics.append(&mut resolver.diagnostics);
    }
    selection::select(sources, candidates, diagnostics)
}

/// Works on one descriptor.
struct Resolver<'a> {
    sources: &'a SourceMap,
    descriptor: &'a EnsembleDescriptor,
    given: &'a Given<'a>,
    scope: Scope,
    trusted: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Resolver<'a> {
    fn new(sources: &'a SourceMap, descriptor: &'a EnsembleDescriptor, given: &'a Given<'a>) -> Self {
        let scope = sources.scope(descriptor.source);
        let trusted = scope != Scope::Project || given.project_trusted;
        Self { sources, descriptor, given, scope, trusted, diagnostics: Vec::new() }
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    /// Adds "did you mean", as long as there is not so much wrong that comparing names would cost.
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

    /// `Err`, what can be read of it, if there is any error in it; `None` if it has not even a name.
    fn ensemble(&mut self) -> Option<Result<EnsemblePlan, EnsemblePlan>> {
        let descriptor = self.descriptor;
        let name = self.name();
        let prefix = self.prefix();
        self.parts();
        self.unpinned();
        self.secrets_in_file();
        let defaults = descriptor.defaults.over(&Policy::default(), self.sources);
        let connection = self.connection();
        let invokers = self.invokers();
        let (tools, tests) = self.tools(&defaults);
        let filter = self.filter();
        self.sensible_defaults(&defaults);
        let configuration = match descriptor.configuration.as_ref().map(|table| &table.value) {
            Some(Value::Object(map)) => map.clone(),
            _ => Map::new(),
        };
        let mut plan = EnsemblePlan {
            name: name?,
            description: text(&descriptor.description),
            enabled: said(&descriptor.enabled, true),
            required: said(&descriptor.required, false),
            lazy: said(&descriptor.lazy, false),
            prefix: prefix.ok()?,
            connection,
            configuration,
            defaults,
            invokers,
            filter,
            tools,
            tests,
            trusted: self.trusted,
            origin: self.origin(descriptor.span),
        };
        self.distrust(&mut plan);
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

    /// Does it have what an ensemble needs, and nothing that excludes another part?
    fn parts(&mut self) {
        let descriptor = self.descriptor;
        let (connection, first) = (descriptor.has_connection, descriptor.invokers.first());
        match (connection, first) {
            (Some(_), Some(entry)) => {
                let message =
                    "an ensemble with a `[connection]` has no `[[invokers]]`: a connection stands alone";
                self.error(Code::MixedConnection, entry.span, message);
            }
            // With errors in the file the invokers may only have been lost.
            (None, None) if !descriptor.broken => {
                let message = "the ensemble has neither `[[invokers]]` nor a `[connection]`";
                self.error(Code::EmptyEnsemble, descriptor.span, message);
            }
            _ => {}
        }
        if let (None, Some(tools)) = (connection, &descriptor.tools) {
            let message =
                "`[tools]` is for the tools of a `[connection]`; say it of an invoker in its `[[invokers]]`";
            self.error(Code::ToolsWithoutConnection, tools.span, message);
        }
    }

    fn connection(&mut self) -> Option<ConnectionPlan> {
        let connection = self.descriptor.connection.as_ref()?;
        let mut named = |list: &[(String, Spanned<SecretRef>)]| {
            list.iter().map(|(name, secret)| (name.clone(), self.secret(secret))).collect::<Vec<_>>()
        };
        let way = match &connection.way {
            WayDescriptor::Stdio { command, environment, cwd } => {
                let environment = named(environment);
                let words: Vec<_> =
                    command.iter().map(|part| (Template::from(&part.value), part.span)).collect();
                self.one_word(words.iter().map(|(word, span)| (word, *span)));
                let command = command.iter().map(|part| self.secret(part)).collect();
                let cwd = cwd.as_ref().map(|cwd| cwd.value.as_str().into());
                Way::Stdio { command, environment, cwd }
            }
            WayDescriptor::Http { url, headers } => {
                let headers = named(headers);
                Way::Http { url: self.secret(url), headers }
            }
        };
        let connect_timeout = connection.connect_timeout.as_ref().map(|said| said.value);
        let auth = connection.auth.as_ref().map(|auth| OauthPlan {
            client_id: auth.client_id.as_ref().map(|id| self.secret(id)),
            client_secret: auth.client_secret.as_ref().map(|secret| self.secret(secret)),
            scopes: auth.scopes.clone(),
            client_metadata_url: auth.client_metadata_url.clone(),
            redirect_port: auth.redirect_port,
        });
        let (protocol, grants) = (said(&connection.protocol, Protocol::Auto), connection.grants.clone());
        Some(ConnectionPlan { way, connect_timeout, protocol, auth, grants })
    }

    /// The reference itself goes into the plan; here it is only looked whether it could be read.
    fn secret(&mut self, secret: &Spanned<SecretRef>) -> SecretRef {
        self.variables(secret.value.required(), secret.span);
        secret.value.clone()
    }

    fn variables<'n>(&mut self, names: impl IntoIterator<Item = &'n str>, span: Span) {
        let unset = names.into_iter().filter(|name| self.given.environment.get(name).is_none());
        let names: BTreeSet<&str> = unset.collect();
        for name in names.into_iter().take(MAX_UNSET) {
            let message = format!("the environment variable `{name}` is not set");
            // Beside a reference there may stand a secret in plain text.
            let mut diagnostic = Diagnostic::warning(Code::UnsetVariable, span, message).discreet();
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

fn said<T: Copy>(said: &Option<Spanned<T>>, default: T) -> T {
    said.as_ref().map_or(default, |said| said.value)
}

fn text(said: &Option<Spanned<String>>) -> String {
    said.as_ref().map(|text| text.value.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
