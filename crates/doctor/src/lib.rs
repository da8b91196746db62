//! What a run would find on this machine, without running anything of it.

mod directories;
mod ensembles;
mod finding;
mod providers;
mod sandbox;

use converse_config::{SettingsPlan, Severity};

use converse_host::confined;
use converse_host::failure::Failure;
use converse_host::model::choose;
use converse_host::secrets::Redactor;
use converse_host::settings::Files;
use converse_host::world::World;

pub use finding::{Finding, Section, State};

/// Programs that descriptors often start.
const PROGRAMS: [&str; 6] = ["node", "npx", "uvx", "python3", "git", "bwrap"];

/// Examines the machine. The network is used for one question, whether the providers answer and take their keys;
/// `offline` leaves it out.
///
/// # Errors
///
/// A key that cannot be read.
pub fn examine(world: &World, redactor: &Redactor, offline: bool) -> Result<Vec<Section>, Failure> {
    let files = Files::read(world);
    let of_settings = settings(world, &files);
    let files = files.checked().map(|(plan, _)| plan);
    let ensembles = ensembles::Ensembles::of(world);
    if let Ok(plan) = &files {
        redactor.learn(converse_host::model::keys(plan, world)?);
    }
    let clean = |text: String| redactor.clean(&text);
    let sections = [
        ("program", program()),
        ("directories", directories::look(world)),
        ("settings", of_settings),
        ("model", model(world, files.as_ref().ok())),
        ("providers", providers::look(world, files.as_ref().ok(), offline)),
        ("ensembles", ensembles.look()),
        ("sandbox", sandbox::look(world, files.as_ref().ok(), ensembles.need_a_sandbox())),
        ("programs", programs(world)),
    ];
    let section = |(name, findings): (&'static str, Vec<Finding>)| Section {
        name,
        findings: findings.into_iter().map(|finding| finding.cleaned(clean)).collect(),
    };
    Ok(sections.into_iter().map(section).collect())
}

fn program() -> Vec<Finding> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    vec![
        Finding::fine("version", env!("CARGO_PKG_VERSION")),
        Finding::fine("platform", format!("{os} {} {arch}", kernel.trim())),
    ]
}

/// Reports which settings files there are, and their errors.
fn settings(world: &World, files: &Files) -> Vec<Finding> {
    let user = world.config_dir().map(|dir| dir.join("config.toml"));
    let project = Some(world.cwd.join("converse.toml"));
    let mut findings: Vec<Finding> = [("user", user), ("project", project)]
        .into_iter()
        .filter_map(|(name, path)| {
            let path = path?;
            let there = path.symlink_metadata().is_ok();
            Some(Finding::fine(
                name,
                format!("{}{}", path.display(), if there { "" } else { " (not there)" }),
            ))
        })
        .collect();
    let found = files.findings();
    if found.is_empty() {
        findings.push(Finding::fine("contents", "without errors"));
    }
    findings.extend(found.into_iter().map(|(one, _)| {
        let place = [one.line, one.column].into_iter().flatten().map(|number| format!(":{number}"));
        let hint = one.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        let told = format!("{}{}: {}{hint}", one.file, place.collect::<String>(), one.message);
        match one.severity {
            Severity::Error => Finding::broken("contents", told),
            Severity::Warning => Finding::note("contents", told),
        }
    }));
    findings
}

/// Reports which model a run would ask, and whether its key is set.
fn model(world: &World, files: Option<&SettingsPlan>) -> Vec<Finding> {
    let Some(files) = files else { return vec![Finding::note("chosen", "the settings have errors")] };
    let named = world.var("CONVERSE_MODEL").or(files.model.as_deref());
    let model = match choose(named, files, world) {
        Ok(model) => model,
        Err(failure) => return vec![Finding::broken("chosen", failure.message)],
    };
    let why = match named {
        Some(_) if world.var("CONVERSE_MODEL").is_some() => "set by CONVERSE_MODEL",
        Some(_) => "set in the settings",
        None => "chosen automatically",
    };
    let key = match model.require_key() {
        Err(failure) => Finding::broken("key", failure.message),
        Ok(()) if model.credentials.are_set() => Finding::fine("key", "set"),
        Ok(()) => Finding::fine("key", "none needed"),
    };
    vec![Finding::fine("chosen", format!("{} ({why})", model.id)), key]
}

fn programs(world: &World) -> Vec<Finding> {
    let finding = |name| match confined::program(world, name) {
        Some(path) => Finding::fine(name, path.display().to_string()),
        None => Finding::fine(name, "not found"),
    };
    PROGRAMS.into_iter().map(finding).collect()
}
