//! The suite as it is installed: what it requires, and how it is run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Result;
use crate::interop::install::{self, Kit};
use crate::interop::process::{self, Ran};

/// One run of the suite. Each scenario has its own, shorter limit.
const LIMIT: Duration = Duration::from_secs(300);
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";

const KIT: Kit = install::npm(
    "npm",
    include_str!("../../conformance/npm/package.json"),
    include_str!("../../conformance/npm/package-lock.json"),
);

#[derive(Debug)]
pub(super) struct Suite {
    /// Where it is installed, and where its results go.
    pub(super) dir: PathBuf,
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    pub(super) fn install(kits: &Path) -> Result<Self> {
        let began = Instant::now();
        if KIT.install(kits)? {
            eprintln!("installed the suite in {} s", began.elapsed().as_secs());
        }
        let node = KIT.program(kits, "node");
        let script = KIT.program(kits, &format!("../{SUITE}"));
        if !node.exists() {
            return Err("there is no Node 22 for this machine among its packages".into());
        }
        Ok(Self { dir: kits.to_owned(), node, script })
    }

    /// The scenarios of one side (`client`, `server`) that a revision requires, in the suite's order.
    pub(super) fn required(&self, side: &str, revision: &str) -> Result<Vec<String>> {
        let ran = self.run(&["list", "--requirements", revision])?;
        match ran.code {
            Some(0) => Ok(required(&ran.stdout, side)),
            _ => Err(format!("`{}` failed: {}", ran.command, ran.stderr).into()),
        }
    }

    /// Runs it to its end, which says little: what was found is in the files that it writes.
    pub(super) fn run(&self, words: &[&str]) -> Result<Ran> {
        self.run_with(words, &[])
    }

    /// The same, with variables for whatever the suite starts.
    pub(super) fn run_with(&self, words: &[&str], variables: &[(&str, &OsStr)]) -> Result<Ran> {
        let mut command = Command::new(&self.node);
        command.arg(&self.script).args(words).env("NO_COLOR", "1").envs(variables.iter().copied());
        let ran = process::run(&mut command, LIMIT)?;
        if ran.late {
            return Err(format!("`{}` did not end within {} s", ran.command, LIMIT.as_secs()).into());
        }
        Ok(ran)
    }
}

/// `  - NAME` lines below the heading of the side, up to the next heading.
fn required(listed: &str, side: &str) -> Vec<String> {
    let heading = format!("{side} scenarios");
    let is_heading = |line: &str| line.to_lowercase().starts_with(&heading);
    let below = listed.lines().skip_while(|line| !is_heading(line)).skip(1);
    let names = below.map_while(|line| line.trim().strip_prefix("- "));
    names.map(|name| name.split_whitespace().next().unwrap_or_default().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_read_from_its_list() {
        let listed = "Required for X (3 scenarios):\n\nServer scenarios (test against a server):\n  - ping\n\n\
                      Client scenarios (test against a client):\n  - initialize\n  - auth/basic-cimd\n\n\
                      Run and reported, but never scored:\n  extension (6):\n    - auth/dpop [client]\n";
        assert_eq!(required(listed, "client"), ["initialize", "auth/basic-cimd"]);
        assert_eq!(required(listed, "server"), ["ping"]);
        assert!(required("", "client").is_empty());
    }

    #[test]
    fn every_version_is_exact() {
        let package: serde_json::Value =
            serde_json::from_str(include_str!("../../conformance/npm/package.json")).unwrap();
        let lock: serde_json::Value =
            serde_json::from_str(include_str!("../../conformance/npm/package-lock.json")).unwrap();
        for kind in ["dependencies", "optionalDependencies"] {
            assert_eq!(package[kind], lock["packages"][""][kind]);
            let versions = package[kind].as_object().unwrap().values();
            for version in versions {
                assert!(version.as_str().unwrap().starts_with(|c: char| c.is_ascii_digit()), "{version}");
            }
        }
        let packages = lock["packages"].as_object().unwrap().iter().filter(|(path, _)| !path.is_empty());
        for (path, package) in packages {
            assert!(package["integrity"].is_string() && package["resolved"].is_null(), "{path}");
        }
    }
}
