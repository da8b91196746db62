//! `converse ensembles logout`: the token of one server forgotten, here and, where that is offered, by whoever gave it.

use converse_mcp::LoggedOut;

use super::login::{failed, oauth};
use crate::args::Places;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::Failure;
use converse_host::wiring::Wiring;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stdout;
use converse_terminal::signals;
use converse_text::safe_line;

pub(super) fn run(name: &str, places: &Places, console: &Console, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &places.ensembles);
    let plan = catalogue.named(name)?;
    console.warn_all(catalogue.notes());
    let (connection, _) = oauth(plan)?;
    let (interrupt, contents) = (&signals::watch()?, &Kept::new(None));
    let wiring = Wiring::looking(world, &console.context, interrupt, contents);
    // It is forgotten first; after a Ctrl-C only nobody else is told.
    let server = wiring.stranger(plan, connection, None);
    let out = converse_host::runtime::block_on(server.log_out(&interrupt.token))?
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
