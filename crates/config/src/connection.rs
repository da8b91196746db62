//! `[connection]` and `[tools]`, as written: how a server is reached and what is kept of its tools.

use std::time::Duration;

use globset::Glob;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::escape::{bounded, escape, quoted};
use crate::grants::Grants;
use crate::oauth::OauthDescriptor;
use crate::plan::{Protocol, SecretRef};
use crate::policy::{MAX_TIMEOUT, PolicyDescriptor};
use crate::program::{MAX_WORDS, secret, secrets};
use crate::source::{Span, Spanned};
use crate::table::Table;
use crate::trial::{self, TestDescriptor};
use crate::{address, header, program};

pub(crate) const TRANSPORTS: [(&str, Transport); 2] =
    [("stdio", Transport::Stdio), ("http", Transport::Http)];

/// Keys that only one of them has.
const OF_STDIO: [&str; 3] = ["command", "environment", "cwd"];
const OF_HTTP: [&str; 4] = ["url", "headers", "auth", "oauth"];

pub(crate) const PROTOCOLS: [(&str, Protocol); 3] =
    [("auto", Protocol::Auto), ("modern", Protocol::Modern), ("legacy", Protocol::Legacy)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionDescriptor {
    pub span: Span,
    pub way: WayDescriptor,
    pub connect_timeout: Option<Spanned<Duration>>,
    pub protocol: Option<Spanned<Protocol>>,
    /// For `http`.
    pub auth: Option<OauthDescriptor>,
    pub grants: Grants,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WayDescriptor {
    Stdio {
        command: Vec<Spanned<SecretRef>>,
        environment: Vec<(String, Spanned<SecretRef>)>,
        cwd: Option<Spanned<String>>,
    },
    Http {
        url: Spanned<SecretRef>,
        headers: Vec<(String, Spanned<SecretRef>)>,
    },
}

impl ConnectionDescriptor {
    /// `None` when it is too broken to mean anything; the problems have been told.
    pub(crate) fn read(table: Table<'_, '_>) -> Option<Self> {
        let span = table.span;
        let connect_timeout = table.duration("connect_timeout", MAX_TIMEOUT);
        let protocol = table.choice("protocol", &PROTOCOLS);
        let grants = Grants::read(&table);
        if !table.has("transport") {
            table.missing("transport");
        }
        let mut auth = None;
        let way = match table.choice("transport", &TRANSPORTS).map(|transport| transport.value) {
            Some(Transport::Stdio) => {
                of_other(&table, &OF_HTTP, "http");
                stdio(&table)
            }
            Some(Transport::Http) => {
                of_other(&table, &OF_STDIO, "stdio");
                auth = OauthDescriptor::read(&table);
                http(&table)
            }
            // Which of these belong to it cannot be said; what belongs to neither can.
            None => {
                table.knows(&OF_STDIO);
                table.knows(&OF_HTTP);
                None
            }
        };
        table.finish();
        way.map(|way| Self { span, way, connect_timeout, protocol, auth, grants })
    }
}

/// Keys that are there and are those of the transport that this one does not have.
fn of_other(table: &Table<'_, '_>, keys: &[&'static str], transport: &str) {
    for key in keys {
        let Some(span) = table.key_span(key) else { continue };
        table.knows(&[key]);
        let message = format!("`{key}` is a key of `transport = \"{transport}\"`, which this is not");
        let hint = format!("remove it, or write `transport = \"{transport}\"`");
        table.problems.push(Diagnostic::error(Code::UnknownKey, span, message).hint(hint));
    }
}

fn stdio(table: &Table<'_, '_>) -> Option<WayDescriptor> {
    if !table.has("command") {
        table.missing("command");
    }
    let environment = program::environment(table);
    let cwd = program::cwd(table);
    let before = table.problems.count();
    let command = table.strings("command")?;
    if table.problems.count() > before {
        return None;
    }
    if command.value.first().is_none_or(|program| program.value.trim().is_empty()) {
        table.problems.error(Code::BadValue, command.span, "`command` must name a program");
        return None;
    }
    if let Some(beyond) = command.value.get(MAX_WORDS) {
        let message = format!("more than {MAX_WORDS} words in one command line");
        table.problems.error(Code::TooMany, beyond.span, message);
        return None;
    }
    let sound = |part: Spanned<String>| {
        if part.value.contains('\0') {
            table.problems.error(Code::BadValue, part.span, "an element of `command` holds a zero byte");
            return None;
        }
        secret(table, part)
    };
    let command = command.value.into_iter().filter_map(sound).collect();
    Some(WayDescriptor::Stdio { command, environment, cwd })
}

fn http(table: &Table<'_, '_>) -> Option<WayDescriptor> {
    let headers = secrets(table, "headers", header::fault_for_server);
    header::check(table, &headers, |value, is| value.holds(is));
    let url = secret(table, table.required_string("url")?)?;
    if let Some(fault) = address::fault_for_server(&url.value) {
        // An address may hold a key.
        table.problems.push(Diagnostic::error(Code::BadValue, url.span, fault).discreet());
    }
    if table.has("auth")
        && let Some((name, value)) =
            headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    {
        let message = format!("{} is what `auth` sends: one of them has to go", quoted(name));
        table.problems.push(Diagnostic::error(Code::BadValue, value.span, message).discreet());
    }
    Some(WayDescriptor::Http { url, headers })
}

/// `[tools]` with its `[tools.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolsDescriptor {
    pub span: Span,
    pub include: Vec<Spanned<String>>,
    pub exclude: Vec<Spanned<String>>,
    pub tools: Vec<ToolDescriptor>,
}

/// `[tools.NAME]`, of a tool yet to be discovered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescriptor {
    pub name: Spanned<String>,
    pub policy: PolicyDescriptor,
    pub tests: Vec<TestDescriptor>,
}

impl ToolsDescriptor {
    pub(crate) fn read(table: Table<'_, '_>) -> Self {
        let span = table.span;
        let include = patterns(&table, "include");
        let exclude = patterns(&table, "exclude");
        let mut tools = Vec::new();
        for (name, tool) in table.named_tables() {
            let policy = PolicyDescriptor::read(&tool);
            let tests = trial::tests(&tool);
            tool.finish();
            tools.push(ToolDescriptor { name, policy, tests });
        }
        table.finish_but(|value| value.is_table());
        Self { span, include, exclude, tools }
    }
}

fn patterns(table: &Table<'_, '_>, key: &'static str) -> Vec<Spanned<String>> {
    let patterns = table.strings(key).map(|patterns| patterns.value).unwrap_or_default();
    let good = |pattern: &Spanned<String>| match Glob::new(&pattern.value) {
        Ok(_) => true,
        Err(error) => {
            let reason = bounded(&escape(&error.kind().to_string()), 200);
            let message = format!("{} is not a pattern: {reason}", quoted(&pattern.value));
            table.problems.error(Code::BadPattern, pattern.span, message);
            false
        }
    };
    patterns.into_iter().filter(good).collect()
}
