//! `[[providers.NAME.patch]]`: changes to the body of every request.

use serde_json::Value;

use crate::Code;
use crate::diagnostic::quoted;
use crate::source::{Span, Spanned};
use crate::table::Table;

/// Limits on the patches of one provider, on the changes of one patch, and on pointers.
const MAX_PATCHES: usize = 100;
const MAX_POINTER: usize = 256;
/// Keys that every request needs, whatever the wire format.
const KEPT_HINT: &str =
    "name a part of it, such as `/messages/*/name`, or another key, such as `/options/num_ctx`";

const KEPT: [&str; 5] = ["model", "messages", "contents", "input", "tools"];

/// Changes for all models, or for those that match the pattern: first removals, then renames, then new values.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchPlan {
    pub models: Option<String>,
    pub changes: Vec<ChangePlan>,
}

/// Places are JSON pointers.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangePlan {
    Remove { at: String },
    Rename { at: String, to: String },
    Set { at: String, value: Value },
}

pub(super) fn patches(provider: &Table<'_, '_>) -> Vec<PatchPlan> {
    let tables = provider.tables("patch");
    if let Some(first) = tables.get(MAX_PATCHES) {
        let message = format!("more than {MAX_PATCHES} patches for one provider");
        first.problems.error(Code::TooMany, first.span, message);
    }
    tables.into_iter().take(MAX_PATCHES).map(patch).collect()
}

fn patch(table: Table<'_, '_>) -> PatchPlan {
    let models = table.string("models").map(|pattern| pattern.value);
    let mut changes = removed(&table);
    changes.extend(renamed(&table));
    changes.extend(set(&table));
    if changes.is_empty() && !["set", "remove", "rename"].iter().any(|key| table.has(key)) {
        table.missing_or("set", "add `set`, `remove` or `rename`");
    }
    if changes.len() > MAX_PATCHES {
        let message = format!("more than {MAX_PATCHES} changes in one patch");
        table.problems.error(Code::TooMany, table.span, message);
        changes.truncate(MAX_PATCHES);
    }
    table.finish();
    PatchPlan { models, changes }
}

fn removed(table: &Table<'_, '_>) -> Vec<ChangePlan> {
    let places = table.strings("remove").map(|places| places.value).unwrap_or_default();
    let valid = places.into_iter().filter(|Spanned { value, span }| is_place(table, value, *span));
    valid.map(|place| ChangePlan::Remove { at: place.value }).collect()
}

fn renamed(table: &Table<'_, '_>) -> Vec<ChangePlan> {
    let Some(names) = table.table("rename") else { return Vec::new() };
    let mut changes = Vec::new();
    for (place, value) in names.named() {
        let span = names.problems.span(value.span());
        match value.get_ref().as_str() {
            Some(to) if to.is_empty() || to.len() > MAX_POINTER || to.contains('/') => {
                let message = "the new name must be a key of the same object, not a pointer";
                let hint = "for example: `rename = { \"/max_tokens\" = \"max_completion_tokens\" }`";
                names.problems.bad_value(span, message, hint);
            }
            Some(to) if is_kept(to) && !place.value.get(1..).is_some_and(|at| at.contains('/')) => {
                let message =
                    format!("{} is an essential part of a request and cannot be replaced", quoted(to));
                names.problems.bad_value(span, message, KEPT_HINT);
            }
            Some(to) if is_place(&names, &place.value, place.span) => {
                changes.push(ChangePlan::Rename { at: place.value, to: to.to_owned() });
            }
            Some(_) => {}
            None => names.wrong_type(&place.value, "a string", value.get_ref(), span),
        }
    }
    names.finish_except(|_| true);
    changes
}

fn set(table: &Table<'_, '_>) -> Vec<ChangePlan> {
    let Some((Spanned { value, span }, places)) = table.json_table("set") else { return Vec::new() };
    let Value::Object(values) = value else { return Vec::new() };
    let mut changes = Vec::new();
    for (at, value) in values {
        let escaped = at.replace('~', "~0").replace('/', "~1");
        if is_place(table, &at, places.place(&format!("/{escaped}")).unwrap_or(span)) {
            changes.push(ChangePlan::Set { at, value });
        }
    }
    changes
}

fn is_kept(key: &str) -> bool {
    KEPT.contains(&key)
}

/// Returns whether a pointer is a required key, all its entries, or a wildcard at the root.
fn means_what_is_kept(pointer: &str) -> bool {
    let mut parts = pointer.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("*"), ..) => true,
        (Some(key), None | Some("*"), None) => is_kept(key),
        _ => false,
    }
}

fn is_place(table: &Table<'_, '_>, pointer: &str, span: Span) -> bool {
    let shown = quoted(pointer);
    if !pointer.starts_with('/') || pointer.len() > MAX_POINTER {
        let message = format!("{shown} is not a JSON pointer into a request, such as `/options/num_ctx`");
        let is_name = !pointer.is_empty() && pointer.len() < MAX_POINTER && !pointer.contains(['/', '~']);
        let hint = match is_name {
            true => format!("write {}", quoted(&format!("/{pointer}"))),
            false => "write `/` before each key: `/options/num_ctx`".to_owned(),
        };
        table.problems.bad_value(span, message, hint);
    } else if means_what_is_kept(pointer) {
        let message = format!("{shown} is an essential part of a request; only parts of it can be changed");
        table.problems.bad_value(span, message, KEPT_HINT);
    } else {
        return true;
    }
    false
}
