//! `converse ensembles import`: the servers of another program's configuration as descriptors.
//!
//! Starts nothing and contacts nothing. What is written holds no secret; what is not taken over is told on stderr.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use converse_foreign::{Format, Found, MAX_BYTES, Note, Server, read};
use serde_json::{Value, json};

use super::placing::{New, Place};
use crate::args::{ForeignFormat, ImportArgs};
use crate::stdin::{Bounds, whole};
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::signals;

pub(crate) fn run(args: &ImportArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let text = text(&args.file, world)?;
    let found = read(&text, args.format.map(format)).map_err(|error| {
        let message = format!("{}: {error}", args.file.display());
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        Failure::new(Kind::Configuration, "foreign-file", message)
            .hint(format!("`--format` says whose file it is: {}", names.join(", ")))
    })?;
    let chosen = chosen(&found, &args.names)?;
    let place = Place::of(&args.destination, world)?;
    let notes = concerning(&found, &chosen, &args.names);
    console.warn_all(notes.iter().map(|note| format!("note: {note}")));
    if chosen.is_empty() {
        let message = format!("{}: there is no server in it that can be taken over", args.file.display());
        return Err(Failure::new(Kind::Configuration, "nothing-imported", message));
    }
    let files: Vec<New> = chosen.iter().map(|server| new(server)).collect();
    let dry = args.destination.dry_run;
    if !dry {
        place.write(&files, args.destination.force)?;
    }
    if args.json {
        return Ok(write_json(&told(&found, &chosen, &notes, &place, dry))?);
    }
    if dry {
        let shown = |file: &New| format!("# {}\n{}", place.shown(&file.path), file.text);
        let texts: Vec<String> = files.iter().map(shown).collect();
        return Ok(write_stdout(&texts.join("\n"))?);
    }
    let lines: String = files.iter().map(|file| format!("{}\n", place.shown(&file.path))).collect();
    write_stdout(&lines)?;
    next(&place, args, console);
    Ok(())
}

fn next(place: &Place, args: &ImportArgs, console: &Console) {
    let flag = place.flag(&args.destination);
    console.note(&format!(
        "written; `converse ensembles check{flag}` looks at it, and with `--connect` it tries the servers"
    ));
    if place.of_project {
        console.note("this is a project: it is used once you have said `converse ensembles trust`");
    }
}

fn format(format: ForeignFormat) -> Format {
    match format {
        ForeignFormat::McpServers => Format::McpServers,
        ForeignFormat::Gemini => Format::Gemini,
        ForeignFormat::Vscode => Format::VsCode,
        ForeignFormat::Codex => Format::Codex,
        ForeignFormat::Opencode => Format::OpenCode,
        ForeignFormat::Zed => Format::Zed,
        ForeignFormat::List => Format::List,
    }
}

fn text(file: &Path, world: &World) -> Result<String, Failure> {
    let unreadable = |why: String| {
        Failure::new(Kind::Configuration, "foreign-file", format!("{} cannot be read: {why}", file.display()))
    };
    let bytes = if file == Path::new("-") {
        let interrupt = signals::watch()?;
        whole(Bounds { deadline: None, interrupt: &interrupt })?
    } else {
        let path = world.cwd.join(file);
        let kind = path.metadata().map_err(|error| unreadable(error.to_string()))?;
        if !kind.is_file() {
            return Err(unreadable("it is no regular file; `-` reads standard input".to_owned()));
        }
        let mut bytes = Vec::new();
        let most = MAX_BYTES as u64 + 1;
        let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
        read.map_err(|error| unreadable(error.to_string()))?;
        bytes
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        unreadable(format!("it is not UTF-8 from byte {} on", at + 1))
    })
}

/// Those that were named, by their names there or here; all if none was.
fn chosen<'f>(found: &'f Found, names: &[String]) -> Result<Vec<&'f Server>, Failure> {
    let called = |server: &Server, name: &String| server.theirs == *name || server.name == *name;
    for name in names {
        let left_out = found.notes.iter().any(|note| note.server.as_ref() == Some(name));
        if !left_out && !found.servers.iter().any(|server| called(server, name)) {
            let known = found.servers.iter().map(|server| server.theirs.as_str());
            let failure =
                Failure::usage("no-such-server", format!("there is no server `{name}` in the file"));
            return Err(failure.did_you_mean(name, known, "`--dry-run` without names shows all of them"));
        }
    }
    let wanted = |server: &&Server| names.is_empty() || names.iter().any(|name| called(server, name));
    Ok(found.servers.iter().filter(wanted).collect())
}

/// Of servers that nobody asked for nothing is told.
fn concerning<'f>(found: &'f Found, chosen: &[&Server], names: &[String]) -> Vec<&'f Note> {
    let theirs: BTreeSet<&str> = chosen.iter().map(|server| server.theirs.as_str()).collect();
    let concerns = |note: &&Note| match &note.server {
        Some(server) => names.is_empty() || theirs.contains(server.as_str()) || names.contains(server),
        None => true,
    };
    found.notes.iter().filter(concerns).collect()
}

fn new(server: &Server) -> New {
    New { path: format!("{}.toml", server.name), text: server.toml() }
}

fn told(found: &Found, chosen: &[&Server], notes: &[&Note], place: &Place, dry: bool) -> Value {
    let server = |server: &&Server| {
        let file = new(server);
        json!({
            "name": server.name,
            "from": server.theirs,
            "enabled": server.enabled,
            "file": place.shown(&file.path),
            "written": !dry,
            "variables": server.lifted,
            "toml": dry.then_some(file.text),
        })
    };
    json!({
        "format": found.format.name(),
        "servers": chosen.iter().map(server).collect::<Value>(),
        "notes": notes.iter().map(|note| json!({ "server": note.server, "message": note.message })).collect::<Value>(),
    })
}
