//! The program as a server: `converse serve` against the suite's client.
//!
//! The tools that the suite asks for are those of `converse fake-server --conformance`, the one ensemble behind the
//! gateway: what the suite sees has been through all of it.

use std::fs;
use std::path::{Path, PathBuf};

use super::exceptions::Exceptions;
use super::outcome::Outcome;
use super::suite::Suite;
use super::{Options, REVISIONS};
use crate::interop;
use crate::interop::remote::Remote;
use crate::interop::site::{Site, Way};
use crate::{Result, built};

/// How many scenarios each revision requires of servers.
const REQUIRED: [(&str, usize); 2] = [(REVISIONS[0], 30), (REVISIONS[1], 37)];
/// Such as the suite runs with a revision and does not score: held to the same here.
const UNSCORED: [(&str, &str); 5] = [
    (REVISIONS[0], "json-schema-2020-12"),
    (REVISIONS[0], "server-session-lifecycle"),
    (REVISIONS[1], "json-schema-2020-12"),
    (REVISIONS[1], "http-header-validation"),
    (REVISIONS[1], "http-custom-header-server-validation"),
];
const ENSEMBLE: &str = "suite";

pub(super) fn run(options: &Options, suite: &Suite) -> Result<Vec<Outcome>> {
    let fakes = interop::own(&built::program(&["--features", "test-fakes"])?, &suite.dir)?;
    let binary = options.binary.clone().unwrap_or_else(|| fakes.clone());
    let exceptions = Exceptions::known()?;
    let mut outcomes = Vec::new();
    for revision in options.revisions() {
        let mut required = suite.required("server", revision)?;
        if !REQUIRED.contains(&(revision, required.len())) {
            return Err(format!("the suite requires {} scenarios of {revision}", required.len()).into());
        }
        let unscored = UNSCORED.iter().filter(|(known, _)| *known == revision);
        required.extend(unscored.map(|(_, scenario)| (*scenario).to_owned()));
        if let Some(idle) = exceptions.idle(revision, &required).first() {
            return Err(idle.clone().into());
        }
        let gateway = Gateway::start(&binary, &fakes)?;
        let found = drive(options, suite, revision, &required, &gateway.url())?;
        outcomes.extend(found.into_iter().map(|mut outcome| {
            exceptions.apply(&mut outcome);
            outcome
        }));
        if let Some(problem) = gateway.end()? {
            return Err(format!("the gateway, after {revision}: {problem}").into());
        }
    }
    Ok(outcomes)
}

fn drive(
    options: &Options,
    suite: &Suite,
    revision: &'static str,
    required: &[String],
    url: &str,
) -> Result<Vec<Outcome>> {
    let results = suite.dir.join(format!("server-{revision}"));
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    let place = results.to_string_lossy().into_owned();
    let named = options.scenarios();
    let meant = required.iter().filter(|one| named.is_empty() || named.contains(&one.as_str()));
    let meant: Vec<&String> = meant.collect();
    if named.is_empty() {
        suite.run(&["server", "--url", url, "--requirements", revision, "-o", &place])?;
    }
    for scenario in meant.iter().filter(|_| !named.is_empty()) {
        let one = ["--scenario", scenario.as_str(), "--spec-version", revision, "-o", &place];
        suite.run(&[&["server", "--url", url][..], &one].concat())?;
    }
    meant.into_iter().map(|scenario| outcome(&results, revision, scenario)).collect()
}

/// The suite names the directories of servers `server-SCENARIO-TIMESTAMP`.
fn outcome(results: &Path, revision: &'static str, scenario: &str) -> Result<Outcome> {
    let outcome = Outcome::read(results, "server", revision, &format!("server-{scenario}"))?;
    Ok(Outcome { scenario: scenario.to_owned(), ..outcome })
}

/// `converse serve` over HTTP, with the suite's tools behind it.
struct Gateway {
    remote: Remote,
    _site: Site,
}

impl Gateway {
    fn start(binary: &Path, fakes: &Path) -> Result<Self> {
        let site = Site::new(binary)?;
        let upstream: PathBuf = fakes.to_owned();
        let command = [&*upstream.to_string_lossy(), "fake-server", "--conformance"].map(str::to_owned);
        let way = Way::Stdio { command: command.into(), environment: Vec::new(), grants: "" };
        let ensembles = site.describe("ensembles", ENSEMBLE, &way)?;
        Ok(Self { remote: Remote::start(&words(binary, &ensembles), &[])?, _site: site })
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.remote.address())
    }

    fn end(self) -> Result<Option<String>> {
        self.remote.end()
    }
}

/// The suite's client says that it is a page of this very address; no page may call unless it is named.
fn words(binary: &Path, ensembles: &str) -> Vec<String> {
    let binary = binary.to_string_lossy();
    let place = ["--http", "127.0.0.1:{port}", "--allowed-origin", "http://127.0.0.1:{port}"];
    let what = ["--ensembles", ensembles, "--ensemble", ENSEMBLE, "--allow", "suite.*", "--bare-names"];
    let words = [&[&*binary, "serve"][..], &place, &what].concat();
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_is_started_at_a_port_that_is_known() {
        let words = words(Path::new("/b"), "DIR").join(" ");
        assert!(words.starts_with("/b serve --http 127.0.0.1:{port} "), "{words}");
        assert!(words.contains("--allow suite.*") && ENSEMBLE == "suite", "{words}");
    }
}
