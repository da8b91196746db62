//! The servers: what each is, what it offers, and what is tried with it.

mod everything;
mod more;
mod node;
mod python;

use std::process::Command;

use super::install::Kit;
use super::pages::Pages;
use super::site::Site;
use super::step::Step;
use crate::Result;

/// One server of somebody else's.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its name here, and that of its ensemble.
    pub(crate) name: &'static str,
    pub(crate) kit: Kit,
    pub(crate) program: &'static str,
    pub(crate) transport: Transport,
    pub(crate) era: Era,
    /// All tools it offers to a client that can do nothing in return.
    pub(crate) tools: &'static [&'static str],
    /// Prepares the place and says what is tried there.
    pub(crate) plan: fn(&Site, &Pages) -> Result<Plan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

/// Which of the two protocols a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy,
}

impl Era {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }
}

/// What a server is started with, and the steps in order: later ones build on what earlier ones left.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Run once before all, each with success.
    pub(crate) before: Vec<Command>,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// What it may ask of its client: lines of `[connection]`.
    pub(crate) grants: &'static str,
    pub(crate) steps: Vec<Step>,
    /// Arguments with which it does not start, and what it says then.
    pub(crate) broken: Option<(Vec<String>, &'static str)>,
}

/// What the clients of others must see behind the gateway.
pub(crate) const EVERYTHING: &[&str] = everything::STDIO.tools;

pub(crate) const ALL: [Server; 15] = [
    everything::STDIO,
    everything::HTTP,
    node::FILESYSTEM,
    node::ROOTS,
    node::MEMORY,
    node::THINKING,
    python::TIME,
    python::GIT,
    python::FETCH,
    python::SQLITE,
    python::CALCULATOR,
    more::PLAYWRIGHT,
    more::CHROME,
    more::CONTEXT7,
    more::CONTEXT7_HTTP,
];

/// Servers that are known and not tried, and why.
pub(crate) const SKIPPED: [(&str, &str); 1] = [("markitdown", "its packages are 500 MB")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tools_are_there_once() {
        let unique = |names: &[&str]| {
            let mut sorted = names.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len() == names.len() && !names.is_empty()
        };
        assert!(unique(&ALL.map(|server| server.name)));
        for server in ALL {
            assert!(unique(server.tools), "{}", server.name);
        }
    }

    #[test]
    fn each_is_called_and_asked() {
        let (site, pages) = (Site::new("converse".as_ref()).unwrap(), Pages::start().unwrap());
        for server in ALL {
            let plan = (server.plan)(&site, &pages).unwrap();
            for kind in [super::super::step::Kind::Call, super::super::step::Kind::Ask] {
                assert!(plan.steps.iter().any(|step| step.kind == kind), "{} {kind:?}", server.name);
            }
            assert!(
                plan.steps.iter().all(|step| step.exit != 0 || !step.checks.is_empty()),
                "{}",
                server.name
            );
        }
    }
}
