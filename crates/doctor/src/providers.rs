//! Which providers answer, and whether they take the key: the list of their models is asked for, all at the same time.
//!
//! Asked are the one of the chosen model and every other whose key is set or that the settings say runs here. What the
//! chosen one cannot do is broken; what others cannot do is worth knowing.

use std::time::Duration;

use converse_config::SettingsPlan;
use futures_util::future::join_all;

use super::finding::Finding;
use converse_host::model::{self, Reach, choose};
use converse_host::model_lists::{Unlisted, ask};
use converse_host::world::World;

/// For each of them.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn look(world: &World, files: Option<&SettingsPlan>, offline: bool) -> Vec<Finding> {
    let Some(files) = files else { return vec![Finding::note("providers", "the settings have errors")] };
    let named = world.var("CONVERSE_MODEL").or(files.model.as_deref());
    let chosen = choose(named, files, world).ok().map(|model| model.endpoint.provider);
    let asked = providers_to_check(files, world, chosen.as_ref().map(|name| name.as_str()));
    let mut findings = unusable(files, world);
    if asked.is_empty() {
        if findings.is_empty() {
            findings.push(Finding::fine("providers", "no provider is set up"));
        }
        return findings;
    }
    if offline {
        let names: Vec<&str> = asked.iter().map(|reach| reach.endpoint.provider.as_str()).collect();
        findings.push(Finding::note("providers", format!("not contacted (--offline): {}", names.join(", "))));
        return findings;
    }
    let answers = asked.iter().map(|reach| async move {
        let first_page = 1;
        (reach, ask(&reach.signed(), reach.credentials.clone(), first_page, TIMEOUT).await)
    });
    match converse_host::runtime::block_on(join_all(answers)) {
        Ok(answers) => findings.extend(answers.into_iter().map(|(reach, answer)| {
            let is_chosen = chosen.as_ref() == Some(&reach.endpoint.provider);
            finding(reach, is_chosen, answer.map(|offered| offered.models.len()))
        })),
        Err(failure) => findings.push(Finding::broken("providers", failure.message)),
    }
    findings
}

/// Base URLs that are not valid, each reported once. That of the chosen model is reported elsewhere.
fn unusable(files: &SettingsPlan, world: &World) -> Vec<Finding> {
    let mut told: Vec<(String, Finding)> = Vec::new();
    for reach in model::all(files, world) {
        if let Some((from, why)) = reach.unusable
            && !told.iter().any(|(known, _)| *known == from)
        {
            let detail = format!("{from} cannot be used: {why}");
            told.push((from, Finding::note(reach.endpoint.provider.as_str(), detail)));
        }
    }
    told.into_iter().map(|(_, finding)| finding).collect()
}

/// Several names for one server and key are one.
fn providers_to_check(files: &SettingsPlan, world: &World, chosen: Option<&str>) -> Vec<Reach> {
    let mut asked: Vec<Reach> = Vec::new();
    for reach in model::all(files, world) {
        let is_chosen = chosen == Some(reach.endpoint.provider.as_str());
        let wanted = is_chosen || reach.credentials.are_set() || reach.local;
        if !wanted || reach.endpoint.base_url.is_empty() || model::require_key(&reach).is_err() {
            continue;
        }
        let same = |known: &Reach| {
            known.endpoint.base_url == reach.endpoint.base_url
                && known.key_variables == reach.key_variables
                && known.credentials.variables().eq(reach.credentials.variables())
        };
        match asked.iter_mut().find(|known| same(known)) {
            Some(known) if is_chosen => *known = reach,
            Some(_) => {}
            None => asked.push(reach),
        }
    }
    asked
}

fn finding(reach: &Reach, is_chosen: bool, answer: Result<usize, Unlisted>) -> Finding {
    let name = reach.endpoint.provider.as_str();
    let bad = |detail: String| {
        if is_chosen { Finding::broken(name, detail) } else { Finding::note(name, detail) }
    };
    match answer {
        Ok(models) if !reach.credentials.are_set() => {
            Finding::fine(name, format!("answers; needs no key ({models} models)"))
        }
        Ok(models) if reach.row.is_some_and(|row| row.has_open_list()) => Finding::fine(
            name,
            format!("answers ({models} models); the list does not show whether the key is accepted"),
        ),
        Ok(models) => Finding::fine(name, format!("answers and accepts the key ({models} models)")),
        Err(Unlisted::Status(401 | 403)) if !reach.credentials.are_set() => {
            bad("answers and requires a key".to_owned())
        }
        Err(Unlisted::Status(401 | 403)) => {
            bad(format!("does not accept the key of {}", reach.key_variable()))
        }
        Err(Unlisted::Wire(error)) => bad(format!("cannot be reached: {}", error.message)),
        Err(Unlisted::Late) => bad(format!("did not answer within {} seconds", TIMEOUT.as_secs())),
        // The server answers. Not every server lists its models, and a run does not need the list.
        Err(Unlisted::Status(status)) => {
            Finding::note(name, format!("answers, but does not list its models (status {status})"))
        }
        Err(Unlisted::Nonsense(why)) => {
            Finding::note(name, format!("answers, but does not list its models: {why}"))
        }
    }
}
