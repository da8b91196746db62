//! `sessions fork`.

use converse_session::{Fork, Metadata, new_id};

use super::label::is_ours;
use super::{PROGRAM, Shelf, failed};
use crate::args::ForkArgs;
use converse_host::failure::Failure;
use converse_host::turn::sessions::name;
use converse_host::world::World;
use converse_terminal::render::output::write_stdout;

impl Shelf<'_> {
    pub(super) fn fork(&self, args: &ForkArgs) -> Result<(), Failure> {
        let source = self.named(&args.session)?;
        let now = World::now();
        let of = self.store.metadata(source).map_err(failed)?;
        let name = match &args.name {
            Some(given) => name(given)?,
            None => of.name.map(|name| format!("{name} (fork)")),
        };
        // One of a comparison is alone now.
        let tags = of.tags.into_iter().filter(|tag| !is_ours(tag)).collect();
        let metadata = Metadata { name, model: of.model, tags, ..Metadata::default() };
        let id = new_id(now, &World::random_bytes());
        let fork = Fork { id, program: PROGRAM.to_owned(), upto: args.at, metadata };
        self.store.fork(source, fork, now).map_err(failed)?;
        Ok(write_stdout(&format!("{id}\n"))?)
    }
}
