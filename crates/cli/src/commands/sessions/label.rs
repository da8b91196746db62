//! `sessions rename` and `tag`.

use converse_session::{Metadata, Uuid};

use super::{Shelf, failed};
use crate::args::TagArgs;
use converse_host::failure::Failure;
use converse_host::turn::sessions::name;
use converse_terminal::render::output::write_stdout;
use converse_text::{is_unsafe, safe_line};

const LONGEST_TAG: usize = 40;
pub(super) const MOST_TAGS: usize = 50;

/// A tag that the program puts on sessions itself: what it says of a comparison is not for people to change.
pub(super) fn is_ours(tag: &str) -> bool {
    tag.starts_with("compare:") || tag.starts_with("compared:")
}

impl Shelf<'_> {
    pub(super) fn rename(&self, session: &str, given: &str) -> Result<(), Failure> {
        let id = self.named(session)?;
        let name = name(given)?;
        self.describe(id, |metadata| {
            metadata.nameless = name.is_none();
            metadata.name.clone_from(&name);
        })?;
        let said =
            name.as_deref().map_or("without a name".to_owned(), |name| format!("“{}”", safe_line(name, 200)));
        Ok(write_stdout(&format!("{id} is now {said}\n"))?)
    }

    pub(super) fn tag(&self, args: &TagArgs) -> Result<(), Failure> {
        let id = self.named(&args.session)?;
        let (mut add, mut remove) = (Vec::new(), args.remove.clone());
        for word in &args.tags {
            match (word.strip_prefix('-'), word.strip_prefix('+')) {
                (Some(tag), _) => remove.push(tag.to_owned()),
                (None, tag) => add.push(checked(tag.unwrap_or(word))?),
            }
        }
        if let Some(ours) = remove.iter().find(|tag| is_ours(tag)) {
            return Err(Failure::usage(
                "bad-tag",
                format!("`{ours}` is put there and taken away by the program"),
            ));
        }
        let mut tags = Vec::new();
        let change = |metadata: &mut Metadata| {
            metadata.tags.retain(|tag| !remove.contains(tag));
            let new: Vec<_> = add.into_iter().filter(|tag| !metadata.tags.contains(tag)).collect();
            metadata.tags.extend(new);
            metadata.tags.dedup();
            metadata.tags.truncate(MOST_TAGS);
            tags.clone_from(&metadata.tags);
        };
        self.describe(id, change)?;
        tags.retain(|tag| !is_ours(tag));
        let said = if tags.is_empty() { "no tags".to_owned() } else { tags.join(" ") };
        Ok(write_stdout(&format!("{id}: {}\n", safe_line(&said, usize::MAX)))?)
    }
}

impl Shelf<'_> {
    fn describe(&self, id: Uuid, change: impl FnOnce(&mut Metadata)) -> Result<(), Failure> {
        let repair = self.store.describe(id, change).map_err(failed)?;
        self.console.warn_all(repair.map(|repair| format!("warning: session {id}: {repair}")));
        Ok(())
    }
}

pub(super) fn checked(tag: &str) -> Result<String, Failure> {
    let bad = |why: String| Err(Failure::usage("bad-tag", why));
    if is_ours(tag) {
        return bad(format!("`{tag}` is put there and taken away by the program"));
    }
    if tag.is_empty() || tag.chars().count() > LONGEST_TAG {
        return bad(format!("a tag has 1 to {LONGEST_TAG} characters"));
    }
    if tag.chars().any(|c| is_unsafe(c) || c.is_whitespace()) || tag.starts_with(['+', '-']) {
        return bad(format!(
            "`{}` is no tag: one word, without + or - before it",
            safe_line(tag, LONGEST_TAG)
        ));
    }
    Ok(tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_can_be_seen_and_typed() {
        assert_eq!(name("  tax 2026 ").unwrap(), Some("tax 2026".into()));
        assert_eq!(name(" ").unwrap(), None);
        for bad in ["last", "a\nb", "a\u{1b}[31m", "\u{202e}x", &"x".repeat(121)] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(checked("work").unwrap(), "work");
        for bad in ["", "a b", "+x", "-x", "a\u{7}", "compare:1", "compared:1", &"x".repeat(41)] {
            assert!(checked(bad).is_err(), "{bad:?}");
        }
    }
}
