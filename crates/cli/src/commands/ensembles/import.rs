//! `converse ensembles import`: converts the MCP servers in the configuration of another program to descriptors.
//!
//! Nothing is started or contacted. No secret is written; what is left out is reported on stderr.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use converse_foreign::{Format, Imported, MAX_BYTES, Server, read};
use serde_json::{Value, json};

use super::new_files::{DescriptorDir, NewFile};
use super::{note_trust, print_new};
use crate::args::{ForeignFormat, ImportArgs};
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::write_json;
use converse_terminal::signals;
use converse_terminal::stdin::{Bounds, whole};

pub(crate) fn run(args: &ImportArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let text = text(&args.file, world)?;
    let mut imported = read(&text, args.format.map(format)).map_err(|error| {
        let message = format!("{}: {error}", args.file.display());
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        Failure::new(Kind::Configuration, "foreign-file", message)
            .hint(format!("use `--format` with one of: {}", names.join(", ")))
    })?;
    imported.select(&args.names).map_err(|unknown| {
        let known = imported.servers.iter().map(|server| server.original.as_str());
        Failure::usage("no-such-server", format!("there is no server `{unknown}` in the file")).did_you_mean(
            &unknown,
            known,
            "`--dry-run` without names shows all of them",
        )
    })?;
    let dir = DescriptorDir::of(args.destination.into.as_deref(), world)?;
    console.warn_all(imported.notes.iter().map(|note| format!("note: {note}")));
    if imported.servers.is_empty() {
        let message = format!("{}: no server in it can be imported", args.file.display());
        return Err(Failure::new(Kind::Configuration, "nothing-imported", message));
    }
    let files: Vec<NewFile> = imported.servers.iter().map(file).collect();
    let dry = args.destination.dry_run;
    if !dry {
        dir.write(&files, args.destination.force)?;
    }
    if args.json {
        return Ok(write_json(&as_json(&imported, &dir, dry))?);
    }
    print_new(&files, &dir, &args.destination)?;
    if !dry {
        let flag = args.destination.flag(dir.of_project);
        console.note(&format!(
            "written; check with `converse ensembles check{flag}`, and with `--connect` to try the servers"
        ));
        note_trust(&dir, console);
    }
    Ok(())
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
            return Err(unreadable("it is not a regular file; `-` reads standard input".to_owned()));
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

fn file(server: &Server) -> NewFile {
    NewFile { path: format!("{}.toml", server.name), text: server.toml() }
}

fn as_json(imported: &Imported, dir: &DescriptorDir, dry: bool) -> Value {
    let server = |server: &Server| {
        let file = file(server);
        json!({
            "name": server.name,
            "from": server.original,
            "enabled": server.enabled,
            "file": dir.shown(&file.path),
            "written": !dry,
            "variables": server.variables,
            "toml": dry.then_some(file.text),
        })
    };
    let notes = imported.notes.iter();
    json!({
        "format": imported.format.name(),
        "servers": imported.servers.iter().map(server).collect::<Value>(),
        "notes": notes.map(|note| json!({ "server": note.server, "message": note.message })).collect::<Value>(),
    })
}
