//! `converse ensembles import openapi`: writes the operations of a document as HTTP tools. Only the document is fetched.

use converse_config::{Finding, Severity};
use converse_foreign::{API_FILE, ApiOptions, MAX_DOCUMENT, SketchFile, read_openapi};
use converse_text::wording::counted;
use serde_json::{Value, json};

use super::{note_trust, print_new};
use crate::args::OpenapiArgs;
use converse_host::descriptor_dir::{DescriptorDir, NewFile};
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::document;
use converse_terminal::render::output::write_json;

pub(super) fn run(args: &OpenapiArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let bytes = document::read(&args.document, MAX_DOCUMENT, "openapi-document", world)?;
    let options = ApiOptions {
        name: args.name.clone(),
        tags: args.tags.clone(),
        paths: args.paths.clone(),
        operations: args.operations.clone(),
        server: args.server.clone(),
        security: args.security.clone(),
        result: args.result.clone(),
        address: document::url(&args.document).map(|_| document::shown(&args.document)),
    };
    let mut imported = read_openapi(&document::shown(&args.document), &bytes, &options);
    let dir = DescriptorDir::of(args.destination.into.as_deref(), world)?;
    let error = match imported.files.is_empty() {
        true => imported.findings.iter().rposition(|found| found.severity == Severity::Error),
        false => None,
    };
    let error = error.map(|at| imported.findings.remove(at));
    let dry = args.destination.dry_run;
    let file = |file: &SketchFile| NewFile { path: file.path.clone(), text: file.text.clone() };
    let files: Vec<NewFile> = imported.files.iter().map(file).collect();
    if error.is_some() || !args.json {
        console.warn_all(
            imported
                .findings
                .iter()
                .map(|found| format!("{}[{}]: {}", found.severity.as_str(), found.code, line(found))),
        );
    }
    if let Some(error) = error {
        let failure = Failure::new(Kind::Configuration, error.code.as_str(), line(&error));
        return Err(error.hint.into_iter().fold(failure, Failure::hint));
    }
    // Without this the tools of a wider import before this one would stay.
    let left = match args.destination.force {
        true => dir.left_behind(&format!("{}/invokers", imported.name), API_FILE, &files)?,
        false => Vec::new(),
    };
    if !dry {
        dir.write(&files, args.destination.force)?;
        dir.remove(&left)?;
    }
    let left: Vec<String> = left.iter().map(|file| dir.shown(file)).collect();
    if args.json {
        let file =
            |file: &NewFile| json!({ "file": dir.shown(&file.path), "toml": dry.then_some(&file.text) });
        let variable = |(name, holds): &(String, String)| json!({ "name": name, "holds": holds });
        return Ok(write_json(&json!({
            "name": imported.name,
            "written": !dry,
            "removed": left,
            "files": files.iter().map(file).collect::<Value>(),
            "servers": imported.servers,
            "variables": imported.variables.iter().map(variable).collect::<Value>(),
            "findings": imported.findings.iter().map(Finding::to_json).collect::<Value>(),
        }))?);
    }
    let servers = imported.servers.iter().map(|url| converse_text::safe(url)).collect::<Vec<_>>().join(", ");
    console.note(&format!("requests go to {servers}"));
    console.warn_all(imported.variables.iter().map(|(name, holds)| format!("note: set `{name}`: {holds}")));
    print_new(&files, &dir, &args.destination)?;
    let removed = if dry { "would be removed" } else { "removed" };
    console.warn_all(left.iter().map(|file| format!("note: {removed}: `{}`", converse_text::safe(file))));
    if !dry {
        let (flag, name) = (args.destination.flag(dir.of_project), &imported.name);
        let tools = counted(files.len() - 1, "tool");
        console.note(&format!(
            "{tools} written; try `converse ensembles check{flag}` and `converse ensembles show {name}{flag}`"
        ));
        note_trust(&dir, console);
    }
    Ok(())
}

/// The place and the message of a finding.
fn line(found: &Finding) -> String {
    let place = found.line.zip(found.column);
    let place = place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
    format!("{}{place}: {}", found.file, found.message)
}
