//! `[providers.NAME]`: the user's own servers, and changes to known providers. Every difference that code can express is a
//! key here, so an unusual server needs no new version of the program.

mod patches;
mod quirks;

use converse_canister::ProviderName;
use converse_text::suggest::nearest;
use std::collections::BTreeMap;

use crate::Code;
use crate::address;
use crate::diagnostic::{Diagnostic, quoted};
use crate::header;
use crate::source::Spanned;
use crate::table::Table;

pub use patches::{ChangePlan, PatchPlan};
pub use quirks::{QuirksPlan, ReasoningReplay, Structured};

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `anthropic`
    Anthropic,
    /// `openai-chat`
    OpenAiChat,
    /// `openai-responses`
    OpenAiResponses,
    /// `gemini`
    Gemini,
    /// `ollama`
    Ollama,
}

const DIALECTS: [(&str, Dialect); 5] = [
    ("anthropic", Dialect::Anthropic),
    ("openai-chat", Dialect::OpenAiChat),
    ("openai-responses", Dialect::OpenAiResponses),
    ("gemini", Dialect::Gemini),
    ("ollama", Dialect::Ollama),
];

/// How a key is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthPlan {
    /// `none`: not sent.
    None,
    /// `bearer`
    Bearer,
    /// In the header of this name, in lower case.
    Header(String),
}

/// How models of the provider get tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolsPlan {
    /// `native`
    Native,
    /// `prompted`: as text in the prompt.
    Prompted,
}

/// A provider in the settings; `None` for a key that is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderPlan {
    pub base_url: Option<String>,
    pub dialect: Option<Dialect>,
    /// Name of the variable that holds the key.
    pub key_env: Option<String>,
    pub default_model: Option<String>,
    /// Runs on this machine, so it can be chosen without a key.
    pub local: bool,
    /// The known provider that this one resembles.
    pub like: Option<Spanned<String>>,
    pub auth: Option<AuthPlan>,
    /// Version of the API.
    pub version: Option<String>,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    /// Sent with every request: names of headers, and of the variables that hold their secret values.
    pub secret_headers: Vec<(String, String)>,
    pub tools: Option<ToolsPlan>,
    /// The provider may store replies, so that the next request refers to the last one instead of repeating it.
    pub store: Option<bool>,
    pub quirks: QuirksPlan,
    pub patches: Vec<PatchPlan>,
}

/// Reads `[providers]`.
pub(super) fn providers(file: &Table<'_, '_>) -> BTreeMap<ProviderName, ProviderPlan> {
    let mut providers = BTreeMap::new();
    let Some(table) = file.table("providers") else { return providers };
    for (name, entry) in table.named_tables() {
        let plan = provider(&entry);
        entry.finish();
        match ProviderName::new(name.value.as_str()) {
            Ok(checked) => drop(providers.insert(checked, plan)),
            Err(error) => {
                let message =
                    format!("{} is not a valid {}: {}", quoted(&name.value), error.kind, error.rule);
                table.problems.error(Code::BadName, name.span, message);
            }
        }
    }
    table.finish_except(|value| value.is_table());
    providers
}

fn provider(table: &Table<'_, '_>) -> ProviderPlan {
    let tools = [("native", ToolsPlan::Native), ("prompted", ToolsPlan::Prompted)];
    let (secret_headers, headers) = headers(table);
    ProviderPlan {
        base_url: base_url(table),
        dialect: table.choice("dialect", &DIALECTS).map(|dialect| dialect.value),
        key_env: key_env(table),
        default_model: table.string("default_model").map(|model| model.value),
        local: table.boolean("local").is_some_and(|local| local.value),
        like: table.string("like"),
        auth: auth(table),
        version: version(table),
        headers,
        secret_headers,
        tools: table.choice("tools", &tools).map(|tools| tools.value),
        store: table.boolean("store").map(|store| store.value),
        quirks: quirks::quirks(table),
        patches: patches::patches(table),
    }
}

fn base_url(table: &Table<'_, '_>) -> Option<String> {
    let url = table.string("base_url")?;
    let Some(fault) = address::base_url_fault(&url.value) else { return Some(url.value) };
    table.problems.push(fault.diagnostic(url.span));
    None
}

fn key_env(table: &Table<'_, '_>) -> Option<String> {
    let name = table.string("key_env")?;
    if is_variable(&name.value) {
        return Some(name.value);
    }
    // The value may be the key itself, so it is not repeated.
    let message = "`key_env` must be the name of the variable that holds the key, not the key";
    let hint =
        "put the key into a variable of the environment, and write its name: `key_env = \"EXAMPLE_API_KEY\"`";
    table.problems.push(Diagnostic::bad_value(name.span, message, hint).without_excerpt());
    None
}

fn is_variable(name: &str) -> bool {
    (1..=256).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Reads `auth`. Header names must contain `-`, so that a typing error is not taken for one.
fn auth(table: &Table<'_, '_>) -> Option<AuthPlan> {
    let auth = table.string("auth")?;
    match auth.value.as_str() {
        "none" => return Some(AuthPlan::None),
        "bearer" => return Some(AuthPlan::Bearer),
        name if name.contains('-') && name.len() <= 64 && header::fault(name).is_none() => {
            return Some(AuthPlan::Header(name.to_ascii_lowercase()));
        }
        _ => {}
    }
    let message = "`auth` must be `bearer`, `none`, or the name of a header, such as `api-key`";
    // The value may be the key itself.
    let hint = match nearest(&auth.value, ["none", "bearer"].into_iter()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "for example: `auth = \"bearer\"`, with the key in the variable that `key_env` names".to_owned()
        }
    };
    table.problems.push(Diagnostic::bad_value(auth.span, message, hint).without_excerpt());
    None
}

fn version(table: &Table<'_, '_>) -> Option<String> {
    let version = table.string("version")?;
    let is_valid = (1..=64).contains(&version.value.len())
        && version.value.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    if is_valid {
        return Some(version.value);
    }
    let message =
        format!("{} is not a version: expected letters, digits, `-`, `.` and `_`", quoted(&version.value));
    table.problems.bad_value(version.span, message, "for example: `version = \"2024-10-21\"`");
    None
}

/// Headers that describe the request itself.
const OF_THE_REQUEST: [&str; 3] = ["accept", "accept-encoding", "content-type"];

/// Parts of names of headers that may carry secrets. False alarms are acceptable: any header may name a variable.
const TELLTALE: [&str; 6] = ["key", "auth", "token", "secret", "cookie", "credential"];

/// Prefix of a value that names a variable.
const FROM_VARIABLE: &str = "env:";

type Headers = Vec<(String, String)>;

/// Returns the secret headers with the variables that hold their values, and all other headers.
fn headers(table: &Table<'_, '_>) -> (Headers, Headers) {
    let Some(table) = table.table("headers") else { return Default::default() };
    let mut headers: Vec<(String, Spanned<String>)> = Vec::new();
    for (name, value) in table.named() {
        let span = table.problems.span(value.span());
        let Some(text) = value.get_ref().as_str() else {
            table.wrong_type(&name.value, "a string", value.get_ref(), span);
            continue;
        };
        match fault_of_header(&name.value, text) {
            Some((fault, hint)) => {
                let message = format!("the header {}: {fault}", quoted(&name.value));
                table.problems.push(Diagnostic::bad_value(name.span, message, hint).without_excerpt());
            }
            None => headers.push((name.value, Spanned { value: text.to_owned(), span })),
        }
    }
    header::check(&table, &headers, |value, is| value.chars().any(is));
    table.finish_except(|_| true);
    let variable = |value: &str| value.strip_prefix(FROM_VARIABLE).map(str::to_owned);
    let (secret, open): (Vec<_>, Vec<_>) =
        headers.into_iter().partition(|(_, value)| variable(&value.value).is_some());
    (
        secret.into_iter().filter_map(|(name, value)| Some((name, variable(&value.value)?))).collect(),
        open.into_iter().map(|(name, value)| (name, value.value)).collect(),
    )
}

/// Returns what is wrong with a header, and what to write instead.
fn fault_of_header(name: &str, value: &str) -> Option<(&'static str, String)> {
    let lower = name.to_ascii_lowercase();
    if OF_THE_REQUEST.contains(&lower.as_str()) {
        return Some((header::SET_LATER, header::hint(name)));
    }
    if let Some(fault) = header::fault(name) {
        return Some((fault, header::hint(name)));
    }
    let is_secret = TELLTALE.iter().any(|part| lower.contains(part));
    let fault = match value.strip_prefix(FROM_VARIABLE) {
        Some(variable) if !is_variable(variable) => "`env:` must be followed by the name of a variable",
        None if is_secret => "a header that may carry a secret must name a variable: `env:VARIABLE`",
        _ => return None,
    };
    let variable = name.to_ascii_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let shown = quoted(name);
    let line = format!("`{} = \"env:{variable}\"`", shown.trim_matches('`'));
    Some((fault, format!("put the whole value into a variable, and write {line}")))
}
