//! `[connection]` and `[tools]` as written: how to reach a server, and which of its tools to use.

use std::time::Duration;

use globset::Glob;

use crate::Code;
use crate::diagnostic::{Diagnostic, bounded, quoted};
use crate::grants::Grants;
use crate::oauth::OauthDescriptor;
use crate::plan::{Protocol, SecretRef};
use crate::policy::{MAX_TIMEOUT, PolicyDescriptor};
use crate::program::{MAX_WORDS, secret, secrets};
use crate::source::{Span, Spanned};
use crate::table::Table;
use crate::tool_test::{self, TestDescriptor};
use crate::{address, header, program};
use converse_text::escape::escape;

pub(crate) const TRANSPORTS: [(&str, TransportKind); 2] =
    [("stdio", TransportKind::Stdio), ("http", TransportKind::Http)];

/// Keys of one transport only.
const OF_STDIO: [&str; 3] = ["command", "environment", "cwd"];
const OF_HTTP: [&str; 4] = ["url", "headers", "auth", "oauth"];

pub(crate) const PROTOCOLS: [(&str, Protocol); 3] =
    [("auto", Protocol::Auto), ("modern", Protocol::Modern), ("legacy", Protocol::Legacy)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportKind {
    Stdio,
    Http,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionDescriptor {
    pub span: Span,
    pub transport: TransportDescriptor,
    pub connect_timeout: Option<Spanned<Duration>>,
    pub protocol: Option<Spanned<Protocol>>,
    /// For `http`.
    pub auth: Option<OauthDescriptor>,
    pub grants: Grants,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TransportDescriptor {
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
    /// Returns `None` if the table is too damaged to use; the problems are reported.
    pub(crate) fn read(table: Table<'_, '_>) -> Option<Self> {
        let span = table.span;
        let connect_timeout = table.duration("connect_timeout", MAX_TIMEOUT);
        let protocol = table.choice("protocol", &PROTOCOLS);
        let grants = Grants::read(&table);
        if !table.has("transport") {
            table.missing_or("transport", transport_hint(&table));
        }
        let mut auth = None;
        let transport = match table.choice("transport", &TRANSPORTS).map(|transport| transport.value) {
            Some(TransportKind::Stdio) => {
                of_other(&table, &OF_HTTP, "http");
                stdio(&table)
            }
            Some(TransportKind::Http) => {
                of_other(&table, &OF_STDIO, "stdio");
                auth = OauthDescriptor::read(&table);
                http(&table)
            }
            None => {
                let transport = of_unknown(&table);
                table.accept_keys(&OF_STDIO);
                table.accept_keys(&OF_HTTP);
                transport
            }
        };
        table.finish();
        transport.map(|transport| Self { span, transport, connect_timeout, protocol, auth, grants })
    }
}

/// Reads the keys of a connection whose transport is missing or wrong, so that their problems are reported too.
fn of_unknown(table: &Table<'_, '_>) -> Option<TransportDescriptor> {
    let command = if table.has("command") { stdio(table) } else { None };
    let address = if table.has("url") { http(table) } else { None };
    command.or(address)
}

fn transport_hint(table: &Table<'_, '_>) -> &'static str {
    match (table.has("command"), table.has("url")) {
        (true, false) => "add `transport = \"stdio\"`",
        (false, true) => "add `transport = \"http\"`",
        _ => "add `transport = \"stdio\"` for a command, or `transport = \"http\"` for a URL",
    }
}

/// Reports keys that belong to the other transport.
fn of_other(table: &Table<'_, '_>, keys: &[&'static str], transport: &str) {
    for key in keys {
        let Some(span) = table.key_span(key) else { continue };
        table.accept_keys(&[key]);
        let message = format!(
            "`{key}` is a key of `transport = \"{transport}\"`, but this connection has another transport"
        );
        let hint = format!("remove it, or write `transport = \"{transport}\"`");
        table.problems.push(Diagnostic::error(Code::UnknownKey, span, message).hint(hint));
    }
}

fn stdio(table: &Table<'_, '_>) -> Option<TransportDescriptor> {
    if !table.has("command") {
        table.missing("command");
    }
    let environment = program::environment(table);
    let cwd = program::cwd(table);
    let before = table.problems.count();
    let command = table.command_line("command")?;
    let all_valid = table.problems.count() == before;
    if all_valid && command.value.first().is_none_or(|program| program.value.trim().is_empty()) {
        let hint = "for example: `command = [\"npx\", \"-y\", \"@scope/server@1.2.3\"]`";
        table.problems.bad_value(command.span, "`command` must name a program", hint);
        return None;
    }
    if let Some(beyond) = command.value.get(MAX_WORDS) {
        let message = format!("more than {MAX_WORDS} words in one command line");
        table.problems.error(Code::TooMany, beyond.span, message);
        return None;
    }
    let checked = |part: Spanned<String>| {
        if part.value.contains('\0') {
            let message = "an element of `command` contains a NUL byte";
            table.problems.bad_value(part.span, message, "remove `\\u0000` from the element");
            return None;
        }
        secret(table, part)
    };
    let command = command.value.into_iter().filter_map(checked).collect();
    Some(TransportDescriptor::Stdio { command, environment, cwd })
}

fn http(table: &Table<'_, '_>) -> Option<TransportDescriptor> {
    let headers = secrets(table, "headers", header::fault_for_server);
    header::check(table, &headers, |value, is| value.holds(is));
    let url = secret(table, table.required_string("url")?)?;
    if let Some(fault) = address::fault_for_server(&url.value) {
        table.problems.push(fault.diagnostic(url.span));
    }
    if table.has("auth")
        && let Some((name, value)) =
            headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    {
        let message = format!("`auth` sets the header {}; remove one of them", quoted(name));
        let hint = format!("remove `{name}` from `headers` to sign in with OAuth, or remove `auth`");
        table.problems.push(Diagnostic::bad_value(value.span, message, hint).without_excerpt());
    }
    Some(TransportDescriptor::Http { url, headers })
}

/// `[tools]` with its `[tools.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolsDescriptor {
    pub span: Span,
    pub include: Vec<Spanned<String>>,
    pub exclude: Vec<Spanned<String>>,
    pub tools: Vec<ToolDescriptor>,
}

/// `[tools.NAME]`: policy and tests of a tool that the server will announce.
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
            let tests = tool_test::tests(&tool);
            tool.finish();
            tools.push(ToolDescriptor { name, policy, tests });
        }
        table.finish_except(|value| value.is_table());
        Self { span, include, exclude, tools }
    }
}

fn patterns(table: &Table<'_, '_>, key: &'static str) -> Vec<Spanned<String>> {
    let patterns = table.strings(key).map(|patterns| patterns.value).unwrap_or_default();
    let is_valid = |pattern: &Spanned<String>| match Glob::new(&pattern.value) {
        Ok(_) => true,
        Err(error) => {
            let reason = bounded(&escape(&error.kind().to_string()), 200);
            let message = format!("{} is not a valid glob: {reason}", quoted(&pattern.value));
            table.problems.error(Code::BadPattern, pattern.span, message);
            false
        }
    };
    patterns.into_iter().filter(is_valid).collect()
}
