//! [`LockNotices`]: messages about tools held back by a lockfile, each shown once.

use std::collections::BTreeSet;
use std::sync::Arc;

use converse_canister::EnsembleName;
use converse_config::{Code, EnsemblePlan};
use converse_ensemble::{Ensemble, HoldReason, Offer};
use parking_lot::Mutex;

use crate::context::RunContext;
use crate::lockfiles::{Lockfiles, State};
use converse_text::safe_line;

/// Number of tool names in one message; the rest is counted.
const MAX_NAMES: usize = 10;
/// Characters of a tool name.
const NAME: usize = 64;

/// The ensembles of a lockfile.
#[derive(Debug)]
pub(super) struct LockNotices {
    lock_notices: Vec<LockNotice>,
    told: Mutex<BTreeSet<(String, HoldReason)>>,
    told_instructions: Mutex<BTreeSet<EnsembleName>>,
}

#[derive(Debug)]
struct LockNotice {
    ensemble: String,
    /// The directory of the descriptor.
    place: String,
    lockfile: String,
    damage: Option<String>,
    flag: String,
}

impl LockNotices {
    pub(super) fn of(plans: &[&EnsemblePlan], lockfiles: &Lockfiles) -> Self {
        let notice = |plan: &&EnsemblePlan| {
            let locked = lockfiles.of(plan)?;
            let damage = match &locked.state {
                State::Absent => return None,
                State::Sound(_) => None,
                State::Damaged(why) => Some(why.clone()),
            };
            Some(LockNotice {
                ensemble: plan.name.to_string(),
                place: plan.origin.to_string(),
                lockfile: locked.shown.clone(),
                damage,
                flag: locked.flag(),
            })
        };
        Self {
            lock_notices: plans.iter().filter_map(notice).collect(),
            told: Mutex::default(),
            told_instructions: Mutex::default(),
        }
    }

    /// Returns the messages that were not shown yet.
    pub(super) fn tell(&self, offer: &Offer, context: &RunContext) {
        let mut told = self.told.lock();
        for notice in &self.lock_notices {
            for why in [HoldReason::Changed, HoldReason::New, HoldReason::Unknown] {
                let fresh = offer.held_back().filter(|tool| {
                    let of_this = tool.qualified.split('.').next() == Some(notice.ensemble.as_str());
                    of_this && tool.held == Some(why) && told.insert((tool.qualified.clone(), why))
                });
                let names: Vec<&str> = fresh.map(|tool| tool.invoker.as_str()).collect();
                if !names.is_empty() {
                    context.warn(&notice.line(why, &names));
                }
            }
        }
    }

    /// Shows once which servers have instructions that were not accepted. A damaged lockfile is named with its tools.
    pub(super) fn tell_instructions(&self, ensembles: &[Arc<Ensemble>], context: &RunContext) {
        let held = ensembles.iter().filter(|ensemble| ensemble.holds_instructions());
        for name in held.map(|ensemble| &ensemble.name) {
            if !self.told_instructions.lock().insert(name.clone()) {
                continue;
            }
            let notice = self.lock_notices.iter().find(|notice| notice.ensemble == name.as_str());
            let Some(LockNotice { ensemble, place, lockfile, damage: None, flag }) = notice else { continue };
            context.warn(&format!(
                "{place}: warning[{}]: `{ensemble}`: the instructions of its server differ from {lockfile} and are not shown to \
                 models; `converse ensembles lock {ensemble}{flag}` shows the changes, and `--accept` accepts them",
                Code::LockDrift
            ));
        }
    }
}

impl LockNotice {
    fn line(&self, why: HoldReason, names: &[&str]) -> String {
        let Self { ensemble, place, lockfile, damage, flag } = self;
        let mut shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| safe_line(name, NAME)).collect();
        shown.extend((names.len() > MAX_NAMES).then(|| format!("and {} more", names.len() - MAX_NAMES)));
        let (tools, code) =
            (shown.join(", "), if damage.is_some() { Code::LockDamaged } else { Code::LockDrift });
        let connection_notices = match why {
            HoldReason::Changed => {
                format!("these tools differ from {lockfile} and are held back: {tools}")
            }
            HoldReason::New => format!("these tools are not in {lockfile} and are held back: {tools}"),
            HoldReason::Unknown => {
                let damage = damage.as_deref().unwrap_or_default();
                return format!(
                    "{place}: warning[{code}]: `{ensemble}`: all its tools are held back, because {lockfile} is damaged: \
                     {damage}; restore it, or write it anew: `converse ensembles lock{flag} --accept`"
                );
            }
        };
        format!(
            "{place}: warning[{code}]: `{ensemble}`: {connection_notices}; `converse ensembles lock {ensemble}{flag}` shows the changes, \
             and `--accept` accepts them"
        )
    }
}
