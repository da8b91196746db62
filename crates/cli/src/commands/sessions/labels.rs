//! `sessions rename` and `tag`.

use converse_session::{MOST_TAGS, Metadata, Uuid, is_reserved_tag, label_tag};

use super::SessionCommands;
use crate::args::TagArgs;
use converse_host::failure::Failure;
use converse_host::turn::sessions;
use converse_terminal::render::output::write_stdout;
use converse_text::safe_line;

impl SessionCommands<'_> {
    pub(super) fn rename(&self, session: &str, given: &str) -> Result<(), Failure> {
        let id = self.named(session)?;
        let name = sessions::name(given)?;
        self.describe(id, |metadata| {
            metadata.nameless = name.is_none();
            metadata.name.clone_from(&name);
        })?;
        let shown =
            name.as_deref().map_or("without a name".to_owned(), |name| format!("“{}”", safe_line(name, 200)));
        Ok(write_stdout(&format!("{id} is now {shown}\n"))?)
    }

    pub(super) fn tag(&self, args: &TagArgs) -> Result<(), Failure> {
        let id = self.named(&args.session)?;
        let (mut add, mut remove) = (Vec::new(), args.remove.clone());
        for word in &args.tags {
            match (word.strip_prefix('-'), word.strip_prefix('+')) {
                (Some(tag), _) => remove.push(tag.to_owned()),
                (None, tag) => add.push(checked_tag(tag.unwrap_or(word))?),
            }
        }
        if let Some(reserved) = remove.iter().find(|tag| is_reserved_tag(tag)) {
            return checked_tag(reserved).map(drop);
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
        tags.retain(|tag| !is_reserved_tag(tag));
        let shown = if tags.is_empty() { "no tags".to_owned() } else { tags.join(" ") };
        Ok(write_stdout(&format!("{id}: {}\n", safe_line(&shown, usize::MAX)))?)
    }

    fn describe(&self, id: Uuid, change: impl FnOnce(&mut Metadata)) -> Result<(), Failure> {
        let repair = self.store.describe(id, change).map_err(Failure::of_session)?;
        self.console.warn_all(repair.map(|repair| format!("warning: session {id}: {repair}")));
        Ok(())
    }
}

fn checked_tag(given: &str) -> Result<String, Failure> {
    label_tag(given).map_err(|why| Failure::usage("bad-tag", why))
}
