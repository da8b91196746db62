//! `sessions import`.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use converse_session::{Document, ImportError, MAX_IMPORT_BYTES, new_id};

use super::label::{self, MOST_TAGS, is_ours};
use super::{PROGRAM, Shelf, failed};
use crate::args::SessionsImportArgs;
use converse_host::failure::{Failure, Kind};
use converse_host::turn::sessions;
use converse_host::wording::counted;
use converse_host::world::World;
use converse_terminal::poll_io::Patient;
use converse_terminal::render::output::write_stdout;
use converse_text::safe_line;

impl Shelf<'_> {
    pub(super) fn import(&self, args: &SessionsImportArgs) -> Result<(), Failure> {
        let name = args.file.display().to_string();
        let bytes = self
            .bytes(&args.file)
            .map_err(|error| Failure::usage("unreadable", format!("{name}: {error}")))?;
        let mut document = Document::read(&bytes).map_err(|error| refused(&name, &error))?;
        for left_out in shelved(&mut document) {
            self.console.warn(&format!("warning: {left_out}"));
        }
        let now = World::now();
        let id = new_id(now, &World::random_bytes());
        let missing = self.store.import(document, id, PROGRAM, now).map_err(failed)?;
        if !missing.is_empty() {
            self.console.warn(&format!(
                "warning: content of messages is not in the file: {} missing",
                counted(missing.len(), "piece")
            ));
        }
        Ok(write_stdout(&format!("{id}\n"))?)
    }

    fn bytes(&self, file: &Path) -> std::io::Result<Vec<u8>> {
        let (most, mut bytes) = (MAX_IMPORT_BYTES as u64 + 1, Vec::new());
        if file == Path::new("-") {
            Patient(std::io::stdin().lock()).take(most).read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        let path = self.world.cwd.join(file);
        if !path.metadata()?.is_file() {
            return Err(std::io::Error::other("it is no regular file; `-` reads standard input"));
        }
        File::open(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Leaves out the name and the tags that could not be given here, and says which.
fn shelved(document: &mut Document) -> Vec<String> {
    let mut left_out = Vec::new();
    let mut without = |kind: &str, text: &str, failure: Failure| {
        left_out.push(format!("the {kind} `{}` is left out: {}", safe_line(text, 60), failure.message));
    };
    document.name = document.name.take().and_then(|name| {
        let kept = sessions::name(&name);
        kept.unwrap_or_else(|failure| {
            without("name", &name, failure);
            None
        })
    });
    // It belongs to no comparison here.
    document.tags.retain(|tag| !is_ours(tag));
    document.tags.retain(|tag| label::checked(tag).map_err(|failure| without("tag", tag, failure)).is_ok());
    let mut seen = HashSet::new();
    document.tags.retain(|tag| seen.insert(tag.clone()));
    if document.tags.len() > MOST_TAGS {
        left_out.push(format!("only {MOST_TAGS} of its {} tags are kept", document.tags.len()));
        document.tags.truncate(MOST_TAGS);
    }
    left_out
}

fn refused(name: &str, error: &ImportError) -> Failure {
    let failure = Failure::new(Kind::Configuration, "not-a-session", format!("{name}: {error}"));
    match error {
        ImportError::Newer(_) => failure.hint("a later version of converse takes it in"),
        _ => failure
            .hint("what `converse sessions export --format json` writes is taken in; nothing was written"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_given_here_is_left_out_and_told() {
        let read = |name: &str, tags: &[&str]| {
            let json = serde_json::json!({ "format": 1, "program": "p", "created": "2026-01-01T00:00:00Z",
                "name": name, "tags": tags, "canisters": [] });
            Document::read(json.to_string().as_bytes()).unwrap()
        };
        for bad in ["last", "a\nb", "a\u{1b}[31m", &"x".repeat(121)] {
            let mut document = read(bad, &["work", "work", "a b", "a\u{1b}[31m", "compare:1", "-x"]);
            let told = shelved(&mut document);
            assert_eq!((document.name, &document.tags[..]), (None, &["work".to_owned()][..]), "{bad:?}");
            assert_eq!(told.len(), 4, "{told:?}");
            assert!(told[0].starts_with("the name `") && !told.concat().contains('\u{1b}'), "{told:?}");
        }
        let many: Vec<String> = (0..60).map(|number| number.to_string()).collect();
        let mut document = read("tax 2026", &many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(shelved(&mut document), ["only 50 of its 60 tags are kept"]);
        assert_eq!((document.name.as_deref(), document.tags.len()), (Some("tax 2026"), 50));
    }
}
