//! What a run would find on this machine, without running anything of it.

mod directories;
mod ensembles;
mod finding;
mod model;
mod programs;
mod providers;
mod sandbox;
mod settings;

use crate::failure::Failure;
use crate::secrets::Redactor;
use crate::settings::Files;
use crate::world::World;

pub use finding::{Finding, Section, State};

/// Examines the machine. The network is used for one question, whether the providers answer and take their keys;
/// `offline` leaves it out.
///
/// # Errors
///
/// A key that cannot be read.
pub fn examine(world: &World, redactor: &Redactor, offline: bool) -> Result<Vec<Section>, Failure> {
    let files = Files::read(world);
    let of_settings = settings::look(world, &files);
    let files = files.checked().map(|(plan, _)| plan);
    let ensembles = ensembles::Ensembles::of(world);
    if let Ok(plan) = &files {
        redactor.learn(crate::model::keys(plan, world)?);
    }
    let clean = |text: String| redactor.clean(&text);
    let sections = [
        ("program", program()),
        ("directories", directories::look(world)),
        ("settings", of_settings),
        ("model", model::look(world, files.as_ref().ok())),
        ("providers", providers::look(world, files.as_ref().ok(), offline)),
        ("ensembles", ensembles.look()),
        ("sandbox", sandbox::look(world, files.as_ref().ok(), ensembles.need_a_sandbox())),
        ("programs", programs::look(world)),
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
