//! The labels of a result: where it comes from, and what in it is private.

use std::path::Path;

use converse_canister::{Content, Labels, Origin};
use converse_config::{Effects, InvokerKind};
use converse_text::secrets::known_secret;
use serde_json::Value;

use crate::named_path::{NamedPath, PathUse};
use crate::path_class::class_of;
use crate::rules::Rules;
use crate::tool::Tool;
use crate::verdict::Approved;

/// Returns the labels of a result, or `None` if nobody else can have written it and nothing in it is private. A tool
/// without effects only computes; what its arguments held the model has seen before.
pub(crate) fn labels(approved: &Approved, content: &[Content], rules: &Rules) -> Option<Labels> {
    let tool = &approved.tool;
    if tool.policy.effects == Effects::None {
        return None;
    }
    let texts: Vec<String> = content.iter().filter_map(text).collect();
    let mut private: Vec<String> =
        approved.named.iter().flat_map(|named| private_files(named, &texts, rules)).collect();
    private.extend(texts.iter().filter_map(|text| known_secret(text)).map(str::to_owned));
    private.dedup();
    let from = origin(approved);
    (from.is_foreign() || !private.is_empty()).then_some(Labels { from, private })
}

/// Returns the private files that a file tool has read: the one that the call names, and those that lines of a search
/// begin with. A search does not open files with credentials.
fn private_files(named: &NamedPath, texts: &[String], rules: &Rules) -> Vec<String> {
    let is_private = |path: &Path| {
        rules.is_private_file(path)
            || class_of(path, PathUse::Read).is_some_and(|class| class.holds_credentials())
    };
    if named.used == PathUse::Read && is_private(&named.path) {
        return vec![format!("`{}`", named.written)];
    }
    if !rules.has_private_files() {
        return Vec::new();
    }
    let begins = texts.iter().flat_map(|text| text.lines()).filter_map(|line| Some(line.split_once(':')?.0));
    let mut found: Vec<&str> = begins
        .filter(|path| {
            rules.is_private_file(&named.path.join(path)) || rules.is_private_file(Path::new(path))
        })
        .collect();
    found.dedup();
    found.into_iter().map(|path| format!("`{path}`")).collect()
}

fn text(content: &Content) -> Option<String> {
    match content {
        Content::Text { text, .. } => Some(text.clone()),
        Content::Structured { value } => Some(value.to_string()),
        _ => None,
    }
}

fn origin(approved: &Approved) -> Origin {
    let tool = &approved.tool;
    let external = tool.policy.effects == Effects::External;
    let argument = || host(approved.arguments.object.get("url").and_then(Value::as_str)?);
    match tool.kind() {
        None => Origin::server(ensemble(tool)),
        Some(InvokerKind::Builtin(_)) if external => {
            Origin::web(&argument().unwrap_or_else(|| "search".to_owned()))
        }
        Some(InvokerKind::Builtin(_)) => Origin::workspace(),
        Some(InvokerKind::Command(_)) if external => Origin::program(&tool.qualified),
        Some(InvokerKind::Command(_)) => Origin::machine(),
        Some(InvokerKind::Http(plan)) => {
            let address: String = plan.url.literals().take(1).collect();
            Origin::web(&host(&address).unwrap_or_else(|| tool.qualified.clone()))
        }
    }
}

fn ensemble(tool: &Tool) -> &str {
    let name = tool.qualified.strip_suffix(tool.invoker.as_str());
    name.map_or(&*tool.qualified, |name| name.trim_end_matches('.'))
}

fn host(url: &str) -> Option<String> {
    url.parse::<http::Uri>().ok()?.host().map(str::to_owned)
}
