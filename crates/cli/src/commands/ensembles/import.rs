//! `converse ensembles import`: converts the MCP servers in the configuration of another program, or in a package, to
//! descriptors.
//!
//! Nothing is started or contacted. No secret is written; what is left out is reported on stderr.

mod openapi;

use std::path::Path;

use converse_config::Code;
use converse_foreign::{Format, Imported, Note, Package, Server, Source};
use serde_json::{Value, json};

use super::{note_trust, print_new};
use crate::args::{ImportArgs, ImportOf};
use converse_host::descriptor_dir::{DescriptorDir, NewFile};
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_session::pinned;
use converse_terminal::console::Console;
use converse_terminal::document;
use converse_terminal::render::output::write_json;

pub(crate) fn run(args: &ImportArgs, console: &Console, world: &World) -> Result<(), Failure> {
    if let Some(ImportOf::Openapi(args)) = &args.of {
        return openapi::run(args, console, world);
    }
    let path = args.file.as_deref().unwrap_or(Path::new("-"));
    let source = source(path, world)?;
    let data = world.data_dir();
    if data.is_none() && matches!(source, Source::Package(_)) {
        return Err(Failure::usage("nowhere", "without `HOME` there is no place for the files of a package"));
    }
    let store = data.unwrap_or_default().join(pinned::STORE);
    let read = source.read(args.format, &store.display().to_string());
    let mut imported = read.map_err(|error| {
        let message = format!("{}: {error}", path.display());
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
    console.warn_all(imported.notes.iter().map(|note| match note.code {
        Some(code) => format!("warning[{code}]: {note}\n  = hint: {}", code.hint()),
        None => format!("note: {note}"),
    }));
    if imported.servers.is_empty() {
        let message = format!("{}: no server in it can be imported", path.display());
        return Err(Failure::new(Kind::Configuration, "nothing-imported", message));
    }
    let files: Vec<NewFile> = imported.servers.iter().map(file).collect();
    let dry = args.destination.dry_run;
    if !dry {
        dir.write(&files, args.destination.force)?;
        if let Source::Package(package) = &source {
            unpack(package, &store.join(package.directory()), console)?;
        }
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

fn source(file: &Path, world: &World) -> Result<Source, Failure> {
    let path = world.cwd.join(file);
    let source = if path.is_dir() {
        let found = pinned::files_below(&path, Package::MAX_FILES, Package::MAX_BYTES);
        found.map_err(|error| error.to_string()).and_then(Source::of_directory)
    } else {
        Source::of_bytes(document::read_file(file, Package::MAX_BYTES, "foreign-file", world)?)
    };
    source.map_err(|why| {
        let message = format!("{} cannot be read: {why}", file.display());
        Failure::new(Kind::Configuration, "foreign-file", message)
    })
}

/// Writes the files of a package, pinned by their digests.
fn unpack(package: &Package, directory: &Path, console: &Console) -> Result<(), Failure> {
    let files =
        package.files().iter().map(|file| (file.path.as_str(), file.executable, file.bytes.as_slice()));
    pinned::write(directory, &package.digests(), files).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", directory.display());
        Failure::new(Kind::Output, "write-failed", message)
    })?;
    console.note(&format!("its files are in {} and are compared before each start", directory.display()));
    Ok(())
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
    let note = |note: &Note| json!({ "server": note.server, "code": note.code.map(Code::as_str), "message": note.message });
    json!({
        "format": imported.format.name(),
        "servers": imported.servers.iter().map(server).collect::<Value>(),
        "notes": imported.notes.iter().map(note).collect::<Value>(),
    })
}
