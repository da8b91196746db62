//! `converse ensembles logout`: the token of one server forgotten, here and, where that is offered, by whoever gave it.

use converse_mcp::Asked;

use super::login::{failed, oauth};
use crate::adapters::contents::Kept;
use crate::adapters::signals;
use crate::args::Places;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::lockfiles::Lockfiles;
use crate::manners::Manners;
use crate::render::output::write_stdout;
use crate::wiring::Wiring;
use crate::world::World;

pub(super) fn run(name: &str, places: &Places, manners: &Manners, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &places.ensembles);
    let plan = catalogue.named(name)?;
    manners.warn_all(catalogue.notes());
    let (connection, _) = oauth(plan)?;
    let (interrupt, contents) = (&signals::watch()?, &Kept::new(None));
    let (protected, lockfiles, asked) = (&[][..], Lockfiles::NONE, Asked::default());
    let wiring = Wiring { world, manners, interrupt, deadline: None, contents, protected, lockfiles, asked };
    let forgotten = crate::block_on(async {
        let server = wiring.stranger(plan, connection, None);
        tokio::select! {
            forgotten = server.log_out() => forgotten.map_err(|error| failed(error.to_string())),
            () = interrupt.token.cancelled() => Err(interrupt.failure()),
        }
    })??;
    let told = if forgotten { "its token is forgotten" } else { "there was no token" };
    Ok(write_stdout(&format!("{}: {told}\n", plan.name))?)
}
