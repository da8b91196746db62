//! All runs against one server: it is met twice with an ear at the wire, its tools are used, and then the program is
//! ended while it starts it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::check::{Check, complains, says};
use super::install::done;
use super::leftovers::Traces;
use super::pages::Pages;
use super::process::Ran;
use super::relay::{Opening, Relay};
use super::remote::Remote;
use super::report::{Row, failure};
use super::servers::{Era, Plan, Server, Transport};
use super::site::{LIMIT, Site, Way};
use super::step::{Kind, Step, call};
use crate::Result;

/// For so long a server may be silent before it is taken for a legacy one: on a busy machine a modern one is, too.
const PROBE: Duration = Duration::from_secs(3);

pub(crate) struct Tour<'a> {
    server: &'a Server,
    site: Site,
    plan: Plan,
    program: PathBuf,
    /// Where the server is reached: without the ear, and with it.
    way: Way,
    heard: Way,
    relay: Relay,
    traces: Traces,
    row: Row,
    _remote: Option<Remote>,
}

impl<'a> Tour<'a> {
    /// Prepares everything; a server that is reached by HTTP is started.
    pub(crate) fn new(server: &'a Server, binary: &Path, kits: &Path, pages: &Pages) -> Result<Self> {
        let site = Site::new(binary)?;
        let mut plan = (server.plan)(&site, pages)?;
        plan.before.iter_mut().try_for_each(|command| done(command).map(drop))?;
        let program = server.kit.program(kits, server.program);
        let command = words(&program, &plan.arguments);
        let environment = plan.environment.clone();
        let (way, heard, relay, remote) = match server.transport {
            Transport::Stdio => {
                let (relay, listened) = Relay::pipe(&command, &site.path("heard"));
                let grants = plan.grants;
                let heard = Way::Stdio { command: listened, environment: environment.clone(), grants };
                (Way::Stdio { command, environment, grants }, heard, relay, None)
            }
            Transport::Http => {
                let remote = Remote::start(&command, &environment)?;
                let relay = Relay::socket(remote.address())?;
                let way = |address| Way::Http { url: format!("http://{address}/mcp") };
                let heard = way(relay.address().ok_or("the relay has no address")?);
                (way(remote.address()), heard, relay, Some(remote))
            }
        };
        let traces = site.traces(&program, remote.as_ref().map(Remote::id));
        let row = Row { server: server.name, ..Row::default() };
        Ok(Self { server, site, plan, program, way, heard, relay, traces, row, _remote: remote })
    }

    pub(crate) fn run(mut self) -> Result<Row> {
        if self.meet()? {
            self.probe()?;
            let ensembles = self.site.describe("ensembles", self.server.name, &self.way)?;
            for step in std::mem::take(&mut self.plan.steps) {
                self.step(&step, &ensembles)?;
            }
            if self.server.transport == Transport::Stdio {
                self.broken()?;
                // By the second nothing of ours can be done any more.
                self.ended("TERM", Some(143), &ensembles)?;
                self.ended("KILL", None, &ensembles)?;
            }
        }
        Ok(self.row)
    }

    /// Twice: the first time nobody knows its era. Is it worth going on?
    fn meet(&mut self) -> Result<bool> {
        let name = self.server.name;
        let ensembles = self.site.describe("heard-ensembles", name, &self.heard)?;

        let first = self.converse(&["ensembles", "check", "--connect", &ensembles])?;
        let era = met(self.server.era, &first);
        let tools = self.server.tools.len();
        let survey = [format!("{name}: "), format!("({})", era.word()), format!("{tools} tool")].map(says);
        let legacy = era == Era::Legacy;
        let wire = self.opened(Opening { discovers: true, initializes: legacy });
        let asked = wire.is_none();
        self.judge(&first, Some(0), &survey, wire)?;

        let second =
            self.converse(&["ensembles", "show", name, "--connect", "--json", "--ensembles", &ensembles])?;
        let wire = self.opened(Opening { discovers: !legacy, initializes: legacy });
        let known = asked && wire.is_none();
        let wire = wire.map(|wire| format!("{wire} (the second time: its era was known)"));
        let shown = second.json();
        self.row.tools = shown["tools"].as_array().and_then(|tools| u64::try_from(tools.len()).ok());
        let words = [shown["server"]["era"].as_str().unwrap_or("-"), if known { ", known" } else { "" }];
        self.row.era = words.concat();
        self.row.list.push(second.took);
        let problems = wire.into_iter().chain(missing(self.server.tools, &shown));
        self.judge(&second, Some(0), &[Check::Is("/server/era", era.word().into())], problems)?;
        Ok(first.code == Some(0) && second.code == Some(0))
    }

    /// Looked at by its command or its address alone, without a descriptor.
    fn probe(&mut self) -> Result<()> {
        let mut words = vec!["mcp", "probe", "--json"];
        match &self.way {
            Way::Stdio { command, .. } => {
                words.push("--");
                words.extend(command.iter().map(String::as_str));
            }
            Way::Http { url } => words.push(url),
        }
        let ran = self.converse(&words)?;
        let found = format!("({})", ran.json()["era"].as_str().unwrap_or_default());
        let era = met(self.server.era, &Ran { stdout: found, ..ran.clone() });
        let offered = Check::Is("/tools_offered", self.server.tools.len().into());
        self.judge(&ran, Some(0), &[Check::Is("/era", era.word().into()), offered], None)
    }

    /// What is wrong with what it said to the server at the beginning. A session over HTTP must be ended as well.
    fn opened(&self, wanted: Opening) -> Option<String> {
        let said = self.relay.take();
        let found = Opening::of(&said);
        let open =
            self.server.transport == Transport::Http && wanted.initializes && !said.contains("DELETE /mcp");
        match found == wanted {
            false => Some(format!("expected on the wire: {wanted:?}, and not {found:?}")),
            true => open.then(|| "expected on the wire: the session is deleted".to_owned()),
        }
    }

    fn step(&mut self, step: &Step, ensembles: &str) -> Result<()> {
        let arguments = step.arguments(self.server.name, ensembles);
        let mut ran = self.site.converse(&arguments)?;
        for _ in 1..step.tries {
            if step.holds(&ran) {
                break;
            }
            ran = self.site.converse(&arguments)?;
        }
        self.judge(&ran, Some(step.exit), &step.checks, None)?;
        // What fails may fail early: no measure of a call.
        if step.exit == 0 {
            match step.kind {
                Kind::Call => self.row.call.push(ran.took),
                Kind::Ask => self.row.ask.push(ran.took),
                Kind::Request => {}
            }
        }
        Ok(())
    }

    /// A server that does not start is given a hearing.
    fn broken(&mut self) -> Result<()> {
        let Some((arguments, last_words)) = self.plan.broken.take() else { return Ok(()) };
        let way = Way::Stdio { command: words(&self.program, &arguments), environment: vec![], grants: "" };
        let ensembles = self.site.describe("broken-ensembles", self.server.name, &way)?;
        let tool = self.server.tools.first().copied().unwrap_or_default();
        self.step(&call(tool, &[]).exits(10).with([complains(last_words)]), &ensembles)
    }

    /// Ends the program as soon as the server is there, by a signal.
    fn ended(&mut self, signal: &str, code: Option<i32>, ensembles: &str) -> Result<()> {
        let arguments = ["ensembles", "check", "--connect", ensembles].map(str::to_owned);
        let running = self.site.start(&arguments)?;
        let server = Traces { paths: vec![self.program.to_string_lossy().into_owned()], except: vec![] };
        let there = server.appear(LIMIT);
        running.signal(signal)?;
        let ran = running.end(LIMIT)?;
        let problems = [
            (!there).then(|| "expected: the server is started".to_owned()),
            ran.late.then(|| format!("expected: SIG{signal} ends it")),
        ];
        self.judge(&ran, code, &[], problems.into_iter().flatten())
    }

    fn converse(&self, arguments: &[&str]) -> Result<Ran> {
        let arguments: Vec<_> = arguments.iter().map(|word| (*word).to_owned()).collect();
        self.site.converse(&arguments)
    }

    /// The exit code, what was said, and that nobody is left. With another exit code all else is as expected.
    fn judge(
        &mut self,
        ran: &Ran,
        exit: Option<i32>,
        checks: &[Check],
        others: impl IntoIterator<Item = String>,
    ) -> Result<()> {
        let mut problems = if ran.code == exit {
            checks.iter().filter_map(|check| check.problem(ran)).chain(others).collect()
        } else {
            let wanted = exit.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit {code}"));
            vec![format!("expected: {wanted}")]
        };
        let left = self.traces.settle()?;
        problems.extend(left.into_iter().map(|process| format!("left behind: {process}")));
        if !problems.is_empty() {
            self.row.failures.push(failure(self.server.name, &problems.join("; "), ran));
        }
        Ok(())
    }
}

/// A command line.
fn words(program: &Path, arguments: &[String]) -> Vec<String> {
    std::iter::once(program.to_string_lossy().into_owned()).chain(arguments.iter().cloned()).collect()
}

/// The era in which a server of this one is met. A modern server that was slow to start may be met as a legacy one:
/// those here speak both.
fn met(era: Era, first: &Ran) -> Era {
    if first.took >= PROBE && first.stdout.contains("(legacy)") { Era::Legacy } else { era }
}

/// Which tools are shown that are not expected, or not shown that are.
fn missing(wanted: &[&str], shown: &Value) -> Option<String> {
    let tools = shown["tools"].as_array().into_iter().flatten();
    let mut found: Vec<&str> = tools.filter_map(|tool| tool["invoker"].as_str()).collect();
    found.sort_unstable();
    (found != wanted).then(|| format!("expected: the tools {wanted:?}, and not {found:?}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_tools_and_no_others_are_expected() {
        let shown = json!({ "tools": [{ "invoker": "b" }, { "invoker": "a" }] });
        assert_eq!(missing(&["a", "b"], &shown), None);
        for wanted in [&["a"][..], &["a", "b", "c"], &[]] {
            assert!(missing(wanted, &shown).is_some(), "{wanted:?}");
        }
        assert!(missing(&["a"], &Value::Null).is_some());
    }

    #[test]
    fn only_a_slow_server_may_be_met_in_the_other_era() {
        for (era, word, seconds, wanted) in [
            (Era::Modern, "(modern)", 5, Era::Modern),
            (Era::Modern, "(legacy)", 5, Era::Legacy),
            (Era::Modern, "(legacy)", 2, Era::Modern),
            (Era::Legacy, "(modern)", 5, Era::Legacy),
            (Era::Legacy, "(legacy)", 2, Era::Legacy),
        ] {
            let (stdout, took) = (word.to_owned(), Duration::from_secs(seconds));
            assert_eq!(met(era, &Ran { stdout, took, ..Ran::default() }), wanted, "{era:?} {word} {seconds}");
        }
    }
}
