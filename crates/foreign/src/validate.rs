//! Checks new descriptors like `ensembles check`.

use std::collections::BTreeSet;

use converse_config::{
    Checked, Diagnostic, Environment, ResolveInput, Scope, SourceMap, parse_ensemble, parse_invoker, resolve,
};

use crate::server::Server;
use crate::sketch::SketchFile;

/// Fails with the codes of errors only: messages may quote the file.
pub(crate) fn server(server: &Server) -> Result<(), String> {
    let diagnostics = diagnostics(&server.toml(), &[]);
    let codes: BTreeSet<&str> =
        diagnostics.iter().filter(|found| found.is_error()).map(|found| found.code.as_str()).collect();
    if codes.is_empty() {
        return Ok(());
    }
    let codes: Vec<&str> = codes.into_iter().collect();
    Err(format!("`ensembles check` would refuse it ({})", codes.join(", ")))
}

/// The messages of all errors in the files of one ensemble, the descriptor first.
pub(crate) fn errors(files: &[SketchFile]) -> Vec<String> {
    let Some((descriptor, invokers)) = files.split_first() else { return Vec::new() };
    let sources: Vec<(&str, &str)> =
        invokers.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let found = diagnostics(&descriptor.text, &sources);
    found.into_iter().filter(Diagnostic::is_error).map(|found| found.message).collect()
}

fn diagnostics(text: &str, invokers: &[(&str, &str)]) -> Vec<Diagnostic> {
    let mut sources = SourceMap::new();
    let id = sources.add("ensemble.toml", Scope::Explicit, text);
    let Checked { value: mut descriptor, mut diagnostics } = parse_ensemble(&sources, id);
    for entry in &mut descriptor.invokers {
        let path = entry.source.as_ref().map(|source| source.value.as_str());
        let Some((path, text)) = invokers.iter().find(|(known, _)| Some(*known) == path) else { continue };
        let id = sources.add(*path, Scope::Explicit, text);
        let Checked { value, diagnostics: found } = parse_invoker(&sources, id);
        entry.invoker = Some(value);
        diagnostics.extend(found);
    }
    let environment = Environment::default();
    let given = ResolveInput {
        builtins: &[],
        environment: &environment,
        project_trusted: true,
        compile_schemas: true,
        require_env: false,
    };
    diagnostics.extend(resolve(&sources, &[descriptor], &given).diagnostics);
    diagnostics
}
