//! `converse ensembles export`: the servers as `mcpServers`, or the entry with which another program uses the gateway.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use converse_config::{EnsemblePlan, Scope};
use converse_foreign::{Client, ClientPlace, GatewayAddress, MAX_BYTES, MergeError, Merged, export};
use converse_host::catalogue::Catalogue;
use converse_host::failure::{Failure, Kind};
use converse_host::settings::{PROJECT_FILE, leads_out};
use converse_host::wiring::variables_of_builtins;
use converse_host::world::World;
use converse_session::files::{self, Durability, Mode, Replace};
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};

use crate::args::{ExportArgs, Rules};

/// Prints the servers as `mcpServers`, and reports on stderr what that format cannot express.
pub(super) fn run(args: &ExportArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &args.places.ensembles);
    console.warn_all(catalogue.lines());
    let names: Vec<String> = args.names.iter().chain(&args.ensemble).cloned().collect();
    let plans: Vec<&EnsemblePlan> = if names.is_empty() {
        catalogue.plans.iter().collect()
    } else {
        names.iter().map(|name| catalogue.named(name)).collect::<Result<_, _>>()?
    };
    let Rules { allow, ask, deny } = &args.rules;
    let shown = |path: PathBuf| path.display().to_string();
    let has_rules = !(allow.is_empty() && ask.is_empty() && deny.is_empty());
    if let Some(client) = args.client {
        let gateway = match &args.url {
            Some(_) if has_rules => {
                let text = "the rules of a gateway that runs elsewhere are its own";
                let hint = "start it with them: `converse serve --http … --allow …`";
                return Err(Failure::usage("bad-option", text).hint(hint));
            }
            Some(url) => GatewayAddress::Url(url.clone()),
            None => {
                let places: Vec<String> =
                    args.places.ensembles.iter().map(|dir| shown(world.absolute(dir))).collect();
                let project: Vec<String> =
                    uses_project(&plans, world).then(|| shown(world.cwd.clone())).into_iter().collect();
                let options: [(&str, &[String]); 6] = [
                    ("--project", &project),
                    ("--ensembles", &places),
                    ("-e", &names),
                    ("--allow", allow),
                    ("--ask", ask),
                    ("--deny", deny),
                ];
                GatewayAddress::command(shown(world.program()), &options, variables(&plans, world))
            }
        };
        let entry = client.entry(&gateway).map_err(|why| Failure::usage("bad-option", why))?;
        let done = match &args.write {
            Some(file) => merge(client, &gateway, file.as_deref(), args.force, world)?,
            None => format!("add this to {}", client.file()),
        };
        write_stdout(&entry)?;
        console.note(&done);
        return Ok(());
    }
    if has_rules {
        let text = "`mcpServers` has no rules: they belong to an entry for the gateway";
        return Err(Failure::usage("bad-option", text).hint("add `--client NAME`, such as `--client codex`"));
    }
    let exported = export(plans, !names.is_empty());
    console.warn_all(exported.notes.iter().map(|note| format!("note: {note}")));
    write_json(&exported.value)?;
    catalogue.stop_for_own_errors()
}

/// Returns whether the gateway needs the project of the current directory: for its ensembles, or for its settings.
fn uses_project(plans: &[&EnsemblePlan], world: &World) -> bool {
    let has_settings = world.cwd.join(PROJECT_FILE).exists();
    has_settings || plans.iter().any(|plan| plan.origin.scope == Scope::Project)
}

/// Returns the variables that the tools read: those that descriptors name, and of the others those that are set.
fn variables(plans: &[&EnsemblePlan], world: &World) -> Vec<String> {
    let used = || plans.iter().filter(|plan| plan.enabled && plan.trusted);
    let named = used().flat_map(|plan| plan.variables()).map(str::to_owned);
    let of_builtins = used().flat_map(|plan| variables_of_builtins(plan)).map(|variable| variable.name);
    let set = of_builtins.filter(|name| world.env.contains_key(*name)).map(str::to_owned);
    let names: BTreeSet<String> = named.chain(set).collect();
    names.into_iter().collect()
}

/// Writes the entry to the client's file, and returns what was done.
fn merge(
    client: Client,
    gateway: &GatewayAddress,
    file: Option<&Path>,
    force: bool,
    world: &World,
) -> Result<String, Failure> {
    let path = match (file, client.place()) {
        (Some(file), _) => world.cwd.join(file),
        (None, ClientPlace::Project(file)) => in_project(world.cwd.join(file), world)?,
        (None, ClientPlace::Home(file)) => {
            let none =
                || Failure::usage("nowhere", "without `HOME` there is no file; name it: `--write=FILE`");
            world.home().ok_or_else(none)?.join(file)
        }
    };
    // A link of the user, such as into a repository of settings, stays a link.
    let path = path.canonicalize().unwrap_or(path);
    let shown = path.display();
    let unwritten = |error| {
        let message = format!("`{shown}` cannot be written: {error}");
        Failure::new(Kind::Output, "write-failed", message)
    };
    let old = read(&path).map_err(unwritten)?;
    let text = old.as_ref().map_or("", |(text, _)| text.as_str());
    let (new, done) = match client.merged(text, gateway, force) {
        Ok(Merged::Added(new)) => (new, "added this to"),
        Ok(Merged::Replaced(new)) => (new, "replaced this in"),
        Ok(Merged::Unchanged) => return Ok(format!("{shown} has this entry already")),
        Err(MergeError::Unusable(why)) => return Err(Failure::usage("bad-option", why)),
        Err(error @ MergeError::Differs(_)) => {
            let failure = Failure::usage("already-there", format!("{shown}: {error}"));
            return Err(
                failure.hint("`--force` replaces it; without `--write` the new entry is only printed")
            );
        }
        Err(error) => {
            let failure = Failure::new(Kind::Configuration, "foreign-file", format!("{shown}: {error}"));
            return Err(failure.hint("leave `--write` out, and add the printed entry by hand"));
        }
    };
    fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(unwritten)?;
    let mode = old.as_ref().map_or(Mode::Umasked(0o666), |(_, mode)| Mode::Exact(*mode));
    let how = Replace { mode, durability: Durability::Content, only_new: old.is_none(), ..Replace::PRIVATE };
    files::replace(&path, new.as_bytes(), how).map_err(unwritten)?;
    Ok(format!("{done} {shown}"))
}

/// A link in a project was made by whoever made the project.
fn in_project(path: PathBuf, world: &World) -> Result<PathBuf, Failure> {
    let project = world.cwd.canonicalize().unwrap_or_else(|_| world.cwd.clone());
    let mut way = path.ancestors().take_while(|place| *place != world.cwd);
    let Some(link) = way.find(|place| leads_out(place, &project)) else { return Ok(path) };
    let message = format!("`{}` is a link to another place; nothing is written through it", link.display());
    Err(Failure::usage("leads-out", message).hint("name the target: `--write=FILE`"))
}

/// The text of a regular file and its mode; `None` if there is none.
fn read(path: &Path) -> std::io::Result<Option<(String, u32)>> {
    let file = match files::open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let (mode, mut text) = (file.metadata()?.permissions().mode() & 0o777, String::new());
    file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(Some((text, mode)))
}
