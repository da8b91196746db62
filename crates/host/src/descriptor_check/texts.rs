//! Findings about the front matter of commands and skills, and about their size.

use std::path::PathBuf;

use converse_config::{Code, Finding, Severity};
use converse_project::{Instructions, Problem, ProblemKind};

use super::{RenderedFinding, project};
use crate::instructions::{of_project, of_user, read_text};
use crate::world::World;

/// Returns the commands and skills that a run would use; of named directories those of the projects that they are in.
pub(super) fn found(directories: &[PathBuf], world: &World) -> Instructions {
    if directories.is_empty() {
        return of_user(world).and(of_project(world));
    }
    let roots = directories.iter().filter_map(|directory| project(&world.cwd.join(directory)));
    let roots = roots.filter_map(|root| root.canonicalize().ok());
    let mut found = Instructions::default();
    for root in roots {
        let of_root = Instructions::of_project(&root, &root, &read_text);
        let path = |problem: &Problem| {
            let path = root.join(&problem.path);
            path.strip_prefix(&world.cwd).unwrap_or(&path).display().to_string()
        };
        let problems =
            of_root.problems.iter().map(|one| Problem { path: path(one), ..one.clone() }).collect();
        found = found.and(Instructions { problems, ..of_root });
    }
    found
}

pub(super) fn findings(found: &Instructions) -> Vec<RenderedFinding> {
    let problems = found.problems.iter().cloned().chain(found.problem_of_listing());
    problems.map(|problem| RenderedFinding::from(finding(problem))).collect()
}

fn finding(problem: Problem) -> Finding {
    let Problem { kind, path, place, message, is_error } = problem;
    let code = match kind {
        ProblemKind::Syntax => Code::Syntax,
        ProblemKind::BadName => Code::BadName,
        ProblemKind::BadValue => Code::BadValue,
        ProblemKind::MissingKey => Code::MissingKey,
        ProblemKind::UnknownKey => Code::UnknownKey,
        ProblemKind::TooLarge => Code::TooLarge,
        ProblemKind::NotUtf8 => Code::NotUtf8,
        ProblemKind::Unreadable => Code::Unreadable,
    };
    let severity = if is_error { Severity::Error } else { Severity::Warning };
    let (line, column) = (Some(place.line), Some(place.column));
    Finding { code, severity, message, file: path, line, column, hint: None }
}
