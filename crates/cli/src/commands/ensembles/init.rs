//! `converse ensembles init`: writes a new descriptor from flags or from answers on the terminal.

mod questions;

use converse_config::shipped;
use converse_foreign::{Sketch, SketchKind};

use super::{note_trust, print_new};
use crate::args::InitArgs;
use converse_host::descriptor_dir::{DescriptorDir, NewFile};
use converse_host::failure::Failure;
use converse_host::world::World;
use converse_terminal::console::Console;

use questions::Questions;

pub(crate) fn run(args: &InitArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let sketch = sketch(args, console)?;
    let (files, notes) = sketch.files().map_err(|bad| Failure::usage("bad-sketch", bad.to_string()))?;
    let dir = DescriptorDir::of(args.destination.into.as_deref(), world)?;
    let files: Vec<NewFile> =
        files.into_iter().map(|file| NewFile { path: file.path, text: file.text }).collect();
    console.warn_all(notes.iter().map(|note| format!("note: {note}")));
    if args.destination.dry_run {
        return print_new(&files, &dir, &args.destination);
    }
    dir.write(&files, args.destination.force)?;
    print_new(&files, &dir, &args.destination)?;
    let (name, flag) = (&sketch.name, args.destination.flag(dir.of_project));
    console.note(&match sketch.kind {
        SketchKind::Server(_) | SketchKind::Url(..) => {
            format!("written; try it with `converse ensembles check --connect{flag}`")
        }
        SketchKind::Command(_) | SketchKind::Http(..) => {
            let run = format!("`converse ensembles check{flag}` and `converse ensembles test {name}{flag}`");
            format!("written; describe its arguments in the file, then run {run}")
        }
    });
    if shipped().iter().any(|(path, _)| path.strip_suffix(".toml") == Some(name)) {
        console.note(&format!("note: this ensemble replaces the built-in ensemble `{name}`"));
    }
    note_trust(&dir, console);
    Ok(())
}

/// The sketch from the flags; what is missing is asked on the terminal.
fn sketch(args: &InitArgs, console: &Console) -> Result<Sketch, Failure> {
    let kind = kind(args)?;
    if let (Some(name), Some(kind)) = (&args.name, &kind) {
        return Ok(Sketch { name: name.clone(), description: args.description.clone(), kind: kind.clone() });
    }
    if !console.context.can_ask {
        let missing = if args.name.is_none() { "the name" } else { "the kind" };
        return Err(Failure::usage(
            "not-enough",
            format!("{missing} of the ensemble is missing, and nobody can be asked here"),
        )
        .hint("converse ensembles init NAME --server -- COMMAND…: an MCP server that converse starts")
        .hint("converse ensembles init NAME --url URL: an MCP server at a URL")
        .hint("converse ensembles init NAME --command -- COMMAND…: a program as a tool")
        .hint("converse ensembles init NAME --http URL: an HTTP request as a tool"));
    }
    let questions = Questions { console };
    let name = args.name.clone();
    converse_host::runtime::block_on(async {
        let name = match name {
            Some(name) => name,
            None => questions.name().await?,
        };
        let kind = match kind {
            Some(kind) => kind,
            None => questions.kind().await?,
        };
        let description = match &args.description {
            Some(description) => Some(description.clone()),
            None => questions.description().await?,
        };
        Ok(Sketch { name, description, kind })
    })?
}

fn kind(args: &InitArgs) -> Result<Option<SketchKind>, Failure> {
    let headers = args.headers.iter().map(|header| header_of(header)).collect::<Result<Vec<_>, _>>()?;
    let words = args.words.clone();
    let for_addresses = || Failure::usage("stray-flags", "`--header` is for `--url` and `--http`");
    let for_programs =
        || Failure::usage("stray-words", "a command line after `--` is for `--server` and `--command`");
    let no_words = |flag: &str| {
        let message = format!("`{flag}` needs a command line after `--`");
        Failure::usage("no-command", message)
            .hint(format!("converse ensembles init NAME {flag} -- PROGRAM ARGUMENTS…"))
    };
    match (args.server, args.command, &args.url, &args.http) {
        (true, ..) | (_, true, ..) if !headers.is_empty() => Err(for_addresses()),
        (true, ..) if words.is_empty() => Err(no_words("--server")),
        (_, true, ..) if words.is_empty() => Err(no_words("--command")),
        (true, ..) => Ok(Some(SketchKind::Server(words))),
        (_, true, ..) => Ok(Some(SketchKind::Command(words))),
        _ if !words.is_empty() => Err(for_programs()),
        (_, _, Some(url), _) => Ok(Some(SketchKind::Url(url.clone(), headers))),
        (_, _, _, Some(url)) => {
            Ok(Some(SketchKind::Http(args.method.to_ascii_uppercase(), url.clone(), headers)))
        }
        _ if !headers.is_empty() => Err(for_addresses()),
        _ => Ok(None),
    }
}

/// Parses `NAME: VALUE`. The text is not shown in the error: it may hold a key.
fn header_of(header: &str) -> Result<(String, String), Failure> {
    let (name, value) = header
        .split_once(':')
        .ok_or_else(|| Failure::usage("bad-header", "expected a header as `NAME: VALUE`"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
