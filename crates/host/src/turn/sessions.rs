//! Where a conversation is kept: the sessions of this user, opened and begun.

use std::collections::HashSet;

use converse_canister::Canister;
use converse_session::{Clean, Document, Repair, Session, Store, Uuid, new_id};
use jiff::Timestamp;

use crate::context::RunContext;
use crate::failure::Failure;
use crate::wording::tool_name;
use crate::world::World;
use converse_text::{is_unsafe, safe_line};

/// Characters of a repair that is told.
const REPAIR: usize = 400;

/// `None` without a home.
pub fn store(world: &World) -> Option<Store> {
    world.data_dir().map(|dir| Store::new(dir.join("sessions")))
}

/// The same, for who writes: no name, and no first words, with a secret in them are kept beside the journal.
pub fn cleaned(store: Store, context: &RunContext) -> Store {
    let redactor = context.redactor.clone();
    store.cleaned(Clean::new(move |text| redactor.clean(text)))
}

/// For what there is no way without.
pub fn required(world: &World) -> Result<Store, Failure> {
    let none = || Failure::usage("no-such-session", "without a home there are no sessions");
    store(world).ok_or_else(none)
}

/// The session, repaired; what was repaired is told.
pub fn open(id: Uuid, context: &RunContext, world: &World) -> Result<Session, Failure> {
    let store = cleaned(required(world)?, context);
    let session = store.open(id, World::now()).map_err(Failure::of_session)?;
    let canisters = session.loaded.transcript.as_slice();
    let repairs = session.loaded.repairs.iter().map(|repair| told(repair, canisters));
    context.warn_all(repairs.map(|repair| format!("warning: session {id}: {}", safe_line(&repair, REPAIR))));
    Ok(session)
}

/// What was repaired; a call by the name of its tool too, for nobody knows it by its number.
fn told(repair: &Repair, canisters: &[Canister]) -> String {
    let (Repair::Interrupted { id } | Repair::NotStarted { id }) = repair else { return repair.to_string() };
    let tool = canisters.iter().rev().find_map(|one| match one {
        Canister::Invocation(invocation) if invocation.id == *id => Some(invocation.tool.as_str()),
        _ => None,
    });
    match tool {
        Some(tool) => format!("`{}`, {repair}", tool_name(tool)),
        None => repair.to_string(),
    }
}

/// A new one. Where there is no place for it, the conversation goes on unkept, and the user is told.
pub fn create(now: Timestamp, context: &RunContext, world: &World) -> Option<Session> {
    let Some(store) = store(world) else {
        context.warn("warning: no home directory: this session is not kept");
        return None;
    };
    let program = concat!("converse ", env!("CARGO_PKG_VERSION"));
    let created = cleaned(store, context).create(new_id(now, &World::random_bytes()), program, now);
    let warn = |error: &_| context.warn(&format!("warning: this session is not kept: {error}"));
    created.inspect_err(warn).ok().map(Session::fleeting)
}

/// Characters of a name.
const LONGEST_NAME: usize = 120;

/// The name of a session as it is kept. None for an empty one. `last` means another thing wherever a session is named.
pub fn name(given: &str) -> Result<Option<String>, Failure> {
    let name = given.trim();
    let bad = |why: String| Err(Failure::usage("bad-name", why));
    if name.is_empty() {
        return Ok(None);
    }
    if name == "last" {
        return bad("`last` is what the latest session is called".to_owned());
    }
    if name.chars().count() > LONGEST_NAME {
        return bad(format!("a name has at most {LONGEST_NAME} characters"));
    }
    if name.chars().any(|c| is_unsafe(c) || c == '\n' || c == '\t') {
        return bad("a name is one line of characters that can be seen".to_owned());
    }
    Ok(Some(name.to_owned()))
}

/// The longest tag, in characters.
const LONGEST_TAG: usize = 40;
/// The largest number of tags of a session.
pub const MOST_TAGS: usize = 50;

/// Whether the program itself puts this tag on sessions that are compared. People cannot change such tags.
pub fn is_reserved_tag(tag: &str) -> bool {
    tag.starts_with("compare:") || tag.starts_with("compared:")
}

/// Checks a tag: one word of visible characters.
pub fn tag(given: &str) -> Result<String, Failure> {
    let bad = |why: String| Err(Failure::usage("bad-tag", why));
    if is_reserved_tag(given) {
        return bad(format!("`{given}` is reserved: converse adds and removes it"));
    }
    if given.is_empty() || given.chars().count() > LONGEST_TAG {
        return bad(format!("a tag has 1 to {LONGEST_TAG} characters"));
    }
    if given.chars().any(|c| is_unsafe(c) || c.is_whitespace()) || given.starts_with(['+', '-']) {
        let shown = safe_line(given, LONGEST_TAG);
        return bad(format!("`{shown}` is not a tag: expected one word without a leading + or -"));
    }
    Ok(given.to_owned())
}

/// Removes the name and the tags that are not valid here from an imported document. Returns a message for each.
pub fn drop_invalid_labels(document: &mut Document) -> Vec<String> {
    let mut left_out = Vec::new();
    let mut without = |kind: &str, text: &str, failure: Failure| {
        left_out.push(format!("the {kind} `{}` is left out: {}", safe_line(text, 60), failure.message));
    };
    document.name = document.name.take().and_then(|given| {
        name(&given).unwrap_or_else(|failure| {
            without("name", &given, failure);
            None
        })
    });
    // The imported session belongs to no comparison here.
    document.tags.retain(|tag| !is_reserved_tag(tag));
    document.tags.retain(|given| tag(given).map_err(|failure| without("tag", given, failure)).is_ok());
    let mut seen = HashSet::new();
    document.tags.retain(|tag| seen.insert(tag.clone()));
    if document.tags.len() > MOST_TAGS {
        left_out.push(format!("only {MOST_TAGS} of its {} tags are kept", document.tags.len()));
        document.tags.truncate(MOST_TAGS);
    }
    left_out
}

#[cfg(test)]
mod tests {
    use converse_canister::{Arguments, Invocation, InvocationId, TurnId};

    use super::*;

    #[test]
    fn a_call_is_named_by_its_tool() {
        let id = InvocationId::of(TurnId(7), 0);
        let call = Canister::Invocation(Invocation {
            turn: TurnId(7),
            id: id.clone(),
            wire_id: None,
            tool: "io__write_file".into(),
            arguments: Arguments::parse("{}"),
            seal: None,
        });
        let repair = Repair::NotStarted { id };
        assert_eq!(told(&repair, &[call]), "`io.write_file`, `inv_7_0` was never run");
        assert_eq!(told(&repair, &[]), "`inv_7_0` was never run");
    }

    #[test]
    fn names_and_tags_can_be_seen_and_typed() {
        assert_eq!(name("  tax 2026 ").unwrap(), Some("tax 2026".into()));
        assert_eq!(name(" ").unwrap(), None);
        for bad in ["last", "a\nb", "a\u{1b}[31m", "\u{202e}x", &"x".repeat(121)] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(tag("work").unwrap(), "work");
        for bad in ["", "a b", "+x", "-x", "a\u{7}", "compare:1", "compared:1", &"x".repeat(41)] {
            assert!(tag(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn invalid_labels_of_a_document_are_left_out_and_reported() {
        let read = |name: &str, tags: &[&str]| {
            let json = serde_json::json!({ "format": 1, "program": "p", "created": "2026-01-01T00:00:00Z",
                "name": name, "tags": tags, "canisters": [] });
            Document::read(json.to_string().as_bytes()).unwrap()
        };
        for bad in ["last", "a\nb", "a\u{1b}[31m", &"x".repeat(121)] {
            let mut document = read(bad, &["work", "work", "a b", "a\u{1b}[31m", "compare:1", "-x"]);
            let messages = drop_invalid_labels(&mut document);
            assert_eq!((document.name, &document.tags[..]), (None, &["work".to_owned()][..]), "{bad:?}");
            assert_eq!(messages.len(), 4, "{messages:?}");
            assert!(
                messages[0].starts_with("the name `") && !messages.concat().contains('\u{1b}'),
                "{messages:?}"
            );
        }
        let many: Vec<String> = (0..60).map(|number| number.to_string()).collect();
        let mut document = read("tax 2026", &many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(drop_invalid_labels(&mut document), ["only 50 of its 60 tags are kept"]);
        assert_eq!((document.name.as_deref(), document.tags.len()), (Some("tax 2026"), 50));
    }
}
