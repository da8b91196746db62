//! `converse ensembles logout`: the token of one server forgotten, here and, where that is offered, by whoever gave it.

use converse_mcp::LoggedOut;

use super::login::{failed, oauth};
use crate::adapters::contents::Kept;
use crate::adapters::signals;
use crate::args::Places;
use crate::catalogue::Catalogue;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::output::write_stdout;
use crate::render::safe::safe_line;
use crate::wiring::Wiring;
use crate::world::World;

pub(super) fn run(name: &str, places: &Places, console: &Console, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &places.ensembles);
    let plan = catalogue.named(name)?;
    console.warn_all(catalogue.notes());
    let (connection, _) = oauth(plan)?;
    let (interrupt, contents) = (&signals::watch()?, &Kept::new(None));
    let wiring = Wiring::looking(world, &console.context, interrupt, contents);
    // It is forgotten first; after a Ctrl-C only nobody else is told.
    let server = wiring.stranger(plan, connection, None);
    let out = crate::runtime::block_on(server.log_out(&interrupt.token))?
        .map_err(|error| failed(error.to_string()))?;
    let told = match out {
        LoggedOut::Nothing => "there was no token".to_owned(),
        LoggedOut::Forgotten => "its token is forgotten".to_owned(),
        LoggedOut::Unrevoked(why) => {
            format!("its token is forgotten here, but could not be revoked: {}", safe_line(&why, 400))
        }
    };
    write_stdout(&format!("{}: {told}\n", plan.name))?;
    if interrupt.token.is_cancelled() { Err(interrupt.failure()) } else { Ok(()) }
}
