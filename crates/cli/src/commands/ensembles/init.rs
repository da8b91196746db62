//! `converse ensembles init`: a new descriptor, from flags or from questions on the terminal.

mod questions;

use converse_config::shipped;
use converse_foreign::{BadSketch, Sketch, SketchKind};

use super::placing::{New, Place};
use crate::args::InitArgs;
use converse_host::failure::Failure;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stdout;

use questions::Questions;

pub(crate) fn run(args: &InitArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let sketch = sketch(args, console)?;
    let (files, notes) = sketch.files().map_err(refused)?;
    let place = Place::of(&args.destination, world)?;
    let files: Vec<New> = files.into_iter().map(|file| New { path: file.path, text: file.text }).collect();
    console.warn_all(notes.iter().map(|note| format!("note: {note}")));
    if args.destination.dry_run {
        let shown = |file: &New| format!("# {}\n{}", place.shown(&file.path), file.text);
        let texts: Vec<String> = files.iter().map(shown).collect();
        return Ok(write_stdout(&texts.join("\n"))?);
    }
    place.write(&files, args.destination.force)?;
    let lines: String = files.iter().map(|file| format!("{}\n", place.shown(&file.path))).collect();
    write_stdout(&lines)?;
    let name = &sketch.name;
    let flag = place.flag(&args.destination);
    console.note(&match sketch.kind {
        SketchKind::Server(_) | SketchKind::Url(..) => {
            format!("written; `converse ensembles check --connect{flag}` tries it")
        }
        SketchKind::Command(_) | SketchKind::Http(..) => {
            let run = format!("`converse ensembles check{flag}` and `converse ensembles test {name}{flag}`");
            format!("written; say in it what its arguments are, then {run}")
        }
    });
    let ships = |name: &str| shipped().iter().any(|(path, _)| path.strip_suffix(".toml") == Some(name));
    if ships(name) {
        console
            .note(&format!("note: converse brings an ensemble named `{name}`; this one stands in its place"));
    }
    if place.of_project {
        console.note("this is a project: it is used once you have said `converse ensembles trust`");
    }
    Ok(())
}

fn refused(bad: BadSketch) -> Failure {
    Failure::usage("bad-sketch", bad.to_string())
}

/// From the flags, and from somebody at a terminal where they say too little.
fn sketch(args: &InitArgs, console: &Console) -> Result<Sketch, Failure> {
    let kind = kind(args)?;
    if let (Some(name), Some(kind)) = (&args.name, &kind) {
        return Ok(Sketch { name: name.clone(), description: args.description.clone(), kind: kind.clone() });
    }
    if !console.context.can_ask {
        let missing = if args.name.is_none() { "a name" } else { "what kind it is" };
        return Err(Failure::usage(
            "not-enough",
            format!("{missing} is missing, and nobody can be asked here"),
        )
        .hint("converse ensembles init NAME --server -- COMMAND…: an MCP server that is started")
        .hint("converse ensembles init NAME --url URL: an MCP server at an address")
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
        || Failure::usage("stray-words", "a command line behind `--` is for `--server` and `--command`");
    let no_words = |flag: &str| {
        let message = format!("`{flag}` needs a command line behind `--`");
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

/// `Name: value`. The value is not shown: it may be a key.
fn header_of(header: &str) -> Result<(String, String), Failure> {
    let (name, value) = header
        .split_once(':')
        .ok_or_else(|| Failure::usage("bad-header", "a header is `NAME: VALUE`, with a colon"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
