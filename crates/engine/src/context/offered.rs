//! Selects the tools that a model is shown.
//!
//! Where their declarations would fill more than a set share of the window, it is shown those that are built in, those
//! it has used, those it has found last, and a tool to find the others; where that may not run, as many others as there
//! is room for. All follows from the transcript, so a session
//! that is resumed shows them again.

use std::borrow::Cow;
use std::collections::HashSet;

use converse_canister::{Canister, Declaration};
use converse_ensemble::{Offer, SEARCH, Tool, search_matches};
use converse_provider::Facts;

use super::CompactionPolicy;
use super::ledger::{declared_tokens, window};
use super::room::share;
use super::weight::BYTES;

/// Where the window is not known: more than this is too much for most.
const UNKNOWN: u64 = 32_000;
/// Fewer tools than that are shown, however long their declarations are.
const FEW: usize = 10;
/// Of those that a search has found, the newest.
const FOUND: usize = 20;
/// Of those that were called, the newest.
const USED: usize = 100;

/// Returns the estimated tokens of the declarations of all tools.
pub fn tokens_of(offer: &Offer) -> u64 {
    (offer.bytes() as u64).div_ceil(BYTES)
}

/// Returns the part of the offer that is shown with this conversation: all of it, unless that is too much and there is a
/// search.
pub fn offered<'o>(
    offer: &'o Offer,
    canisters: &[Canister],
    policy: &CompactionPolicy,
    facts: &Facts,
) -> Cow<'o, [Declaration]> {
    let all = Cow::Borrowed(offer.declarations.as_slice());
    let most = window(facts).map_or(UNKNOWN, |window| share(window, policy.lazy_tools));
    if policy.lazy_tools <= 0.0 || offer.declarations.len() < FEW {
        return all;
    }
    // These are counted for the size of the request too, and are never fewer: each declaration is rounded up.
    let with_framing = offer.prepared.tokens(|| declared_tokens(&offer.declarations));
    if with_framing <= most || tokens_of(offer) <= most {
        return all;
    }
    let Some(search) = offer.search() else { return all };
    let mut wanted = reached(canisters);
    let mut left = most / 2 * BYTES;
    fill(&mut wanted, offer.tools().filter(|tool| tool.builtin), &mut left);
    let search = Some(&search.declaration).filter(|_| offer.can_search());
    if search.is_none() {
        let used = offer.tools().filter(|tool| wanted.contains(tool.declaration.name.as_str()));
        let used: u64 = used.map(|tool| tool.bytes() as u64).sum();
        fill(&mut wanted, offer.tools(), &mut (most * BYTES).saturating_sub(used));
    }
    let shown = offer.declarations.iter().filter(|one| wanted.contains(one.name.as_str()));
    // The search tool is not in an ensemble; its name is sorted like any other.
    let mut shown: Vec<Declaration> = shown.chain(search).cloned().collect();
    shown.sort_by(|a, b| a.name.cmp(&b.name));
    Cow::Owned(shown)
}

/// With those that there is room for.
fn fill<'o>(wanted: &mut HashSet<&'o str>, tools: impl Iterator<Item = &'o Tool>, left: &mut u64) {
    for tool in tools {
        let (name, bytes) = (tool.declaration.name.as_str(), tool.bytes() as u64);
        if bytes <= *left && wanted.insert(name) {
            *left -= bytes;
        }
    }
}

/// Names that were called or found, the newest of each.
fn reached(canisters: &[Canister]) -> HashSet<&str> {
    let (mut used, mut seen) = (HashSet::new(), HashSet::new());
    let searches: HashSet<_> = canisters
        .iter()
        .filter_map(|canister| match canister {
            Canister::Invocation(call) if call.tool == SEARCH => Some(&call.id),
            _ => None,
        })
        .collect();
    for canister in canisters.iter().rev() {
        match canister {
            Canister::Invocation(call) if used.len() < USED => {
                used.insert(call.tool.as_str());
            }
            Canister::Result(result) if searches.contains(&result.id) => {
                let room = FOUND.saturating_sub(seen.len());
                seen.extend(
                    search_matches(result).filter(|name| !seen.contains(name)).take(room).collect::<Vec<_>>(),
                );
            }
            _ => {}
        }
    }
    used.union(&seen).copied().collect()
}
