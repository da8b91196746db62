//! The ensembles that a run would find, and their state.

use converse_config::{Code, EnsemblePlan, InvokerKind, SandboxLevel, Scope};

use super::finding::Finding;
use converse_host::catalogue::Catalogue;
use converse_host::lockfiles::{Locked, State};
use converse_host::world::World;

pub(super) struct Ensembles(Catalogue);

impl Ensembles {
    pub(super) fn of(world: &World) -> Self {
        Self(Catalogue::find(world, &[]))
    }

    /// Commands that do not run without.
    pub(super) fn need_a_sandbox(&self) -> usize {
        let plans = self.0.plans.iter().filter(|plan| plan.enabled);
        let commands = plans.flat_map(|plan| &plan.invokers).filter(|invoker| {
            matches!(invoker.kind, InvokerKind::Command(_)) && invoker.policy.sandbox == SandboxLevel::Require
        });
        commands.count()
    }

    pub(super) fn look(&self) -> Vec<Finding> {
        let plans = &self.0.plans;
        let count = |chosen: fn(&&EnsemblePlan) -> bool| plans.iter().filter(chosen).count();
        let (on, inert) = (count(|plan| plan.enabled), count(|plan| plan.reaches_out() && !plan.trusted));
        let mut findings =
            vec![Finding::fine("found", format!("{}, of which {on} are enabled", plans.len()))];
        findings.push(match self.0.has_errors() {
            true => Finding::broken("contents", "with errors: `converse ensembles check` shows them"),
            false => Finding::fine("contents", "without errors"),
        });
        findings.push(match inert {
            0 => Finding::fine("trust", "nothing is held back"),
            held => {
                let how = "`converse ensembles trust` shows what they would run";
                Finding::note("trust", format!("{held} of this project are not trusted and not used: {how}"))
            }
        });
        findings.extend(self.0.lockfiles().iter().filter_map(of_lockfile));
        findings
    }
}

fn of_lockfile(locked: &Locked) -> Option<Finding> {
    let name = match locked.scope {
        Scope::Project => "lockfile of the project",
        Scope::User => "your lockfile",
        Scope::Shipped | Scope::Explicit => return None,
    };
    let path = locked.path.display();
    Some(match &locked.state {
        State::Sound(_) => Finding::fine(name, path.to_string()),
        State::Absent => {
            Finding::fine(name, format!("{path} (does not exist: changes of tools are not detected)"))
        }
        State::Damaged(why) => {
            let held = "all tools of its ensembles are held back";
            Finding::broken(
                name,
                format!("{path} is damaged, so {held}: {why}; {}", Code::LockDamaged.hint()),
            )
        }
    })
}
