//! `sessions import`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use converse_session::{Document, ImportError, MAX_IMPORT_BYTES, drop_invalid_labels, new_id};

use super::{PROGRAM, SessionCommands};
use crate::args::SessionsImportArgs;
use converse_host::failure::{Failure, Kind};
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_terminal::poll_io::PollIo;
use converse_terminal::render::output::write_stdout;
use converse_text::wording::counted;

impl SessionCommands<'_> {
    pub(super) fn import(&self, args: &SessionsImportArgs) -> Result<(), Failure> {
        let name = args.file.display().to_string();
        let bytes = self
            .bytes(&args.file)
            .map_err(|error| Failure::usage("unreadable", format!("{name}: {error}")))?;
        let mut document = Document::read_any(&bytes).map_err(|error| refused(&name, &error))?;
        for left_out in drop_invalid_labels(&mut document) {
            self.console.warn(&format!("warning: {left_out}"));
        }
        let now = World::now();
        let id = new_id(now, &World::random_bytes());
        let missing = self.store.import(document, id, PROGRAM, now).map_err(Failure::of_session)?;
        // It was made here, as far as `-c` and lists are concerned.
        let project = sessions::project(self.world);
        self.store.describe(id, |metadata| metadata.project = project).map_err(Failure::of_session)?;
        if !missing.is_empty() {
            self.console.warn(&format!(
                "warning: the file lacks content of messages: {} missing",
                counted(missing.len(), "piece")
            ));
        }
        Ok(write_stdout(&format!("{id}\n"))?)
    }

    fn bytes(&self, file: &Path) -> std::io::Result<Vec<u8>> {
        let (most, mut bytes) = (MAX_IMPORT_BYTES as u64 + 1, Vec::new());
        if file == Path::new("-") {
            PollIo(std::io::stdin().lock()).take(most).read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        let path = self.world.cwd.join(file);
        if !path.metadata()?.is_file() {
            return Err(std::io::Error::other("it is not a regular file; `-` reads standard input"));
        }
        File::open(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn refused(name: &str, error: &ImportError) -> Failure {
    let failure = Failure::new(Kind::Configuration, "not-a-session", format!("{name}: {error}"));
    match error {
        ImportError::Newer(_) => failure.hint("import it with a newer version of converse"),
        _ => failure.hint("expected a file that `converse sessions export --format json` has written"),
    }
}
