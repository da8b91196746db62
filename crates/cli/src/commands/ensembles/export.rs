//! `converse ensembles export`: the servers as `mcpServers`, on stdout. What cannot be said in it is told on stderr.

use converse_config::EnsemblePlan;
use converse_foreign::export;

use crate::args::ExportArgs;
use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::write_json;

pub(crate) fn run(args: &ExportArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &args.places.ensembles);
    console.warn_all(catalogue.lines());
    let plans: Vec<&EnsemblePlan> = if args.names.is_empty() {
        catalogue.plans.iter().collect()
    } else {
        args.names.iter().map(|name| catalogue.named(name)).collect::<Result<_, _>>()?
    };
    let exported = export(plans, !args.names.is_empty());
    console.warn_all(exported.notes.iter().map(|note| format!("note: {note}")));
    write_json(&exported.value)?;
    catalogue.stop_for_own_errors()
}
