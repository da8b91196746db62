//! Clients that others wrote, pointed at `converse serve` with a server of others behind it: over stdio and HTTP.
//!
//! Each is a small script (`xtask/interop/scripts`) that does the same steps with its library and tells what it saw;
//! what should have been seen is in `judge.rs`.

mod judge;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) use self::report::{Seen, table};
use super::install::{self, CLIENTS, Kit, NPM};
use super::leftovers::Traces;
use super::process::{self, Ran};
use super::remote::Remote;
use super::report::failure;
use super::site::{Site, Way};
use crate::Result;

/// All that one client does over one transport.
const LIMIT: Duration = Duration::from_secs(120);
const TOKEN: &str = "a-token-of-interop";
/// Whose tools they all see.
const UPSTREAM: &str = "everything";

const SCRIPTS: [(&str, &str); 7] = [
    ("steps.mjs", include_str!("../../../interop/scripts/steps.mjs")),
    ("steps.py", include_str!("../../../interop/scripts/steps.py")),
    ("inspector.mjs", include_str!("../../../interop/scripts/inspector.mjs")),
    ("typescript-1.mjs", include_str!("../../../interop/scripts/typescript-1.mjs")),
    ("typescript-2.mjs", include_str!("../../../interop/scripts/typescript-2.mjs")),
    ("python-1.py", include_str!("../../../interop/scripts/python-1.py")),
    ("python-2.py", include_str!("../../../interop/scripts/python-2.py")),
];

/// One client library, or program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    script: &'static str,
    kit: Kit,
    interpreter: &'static str,
    /// The newest revision that it and the gateway share.
    revision: &'static str,
    /// Whether it hands on progress.
    progress: bool,
}

/// The Python ones use what a server of the same library was installed with.
pub(crate) const ALL: [Client; 5] = [
    TYPESCRIPT,
    Client { name: "typescript-2", script: "typescript-2.mjs", revision: "2026-07-28", ..TYPESCRIPT },
    Client {
        name: "python-1",
        script: "python-1.py",
        kit: install::SQLITE,
        interpreter: "python",
        ..TYPESCRIPT
    },
    Client {
        name: "python-2",
        script: "python-2.py",
        kit: install::TIME,
        interpreter: "python",
        revision: "2026-07-28",
        ..TYPESCRIPT
    },
    Client { name: "inspector", script: "inspector.mjs", progress: false, ..TYPESCRIPT },
];

const TYPESCRIPT: Client = Client {
    name: "typescript-1",
    script: "typescript-1.mjs",
    kit: CLIENTS,
    interpreter: "node",
    revision: "2025-11-25",
    progress: true,
};

impl Client {
    /// What it and the server behind the gateway need.
    pub(crate) fn kits(&self) -> [Kit; 2] {
        [self.kit, NPM]
    }

    pub(crate) fn visit(&self, binary: &Path, kits: &Path) -> Result<Vec<Seen>> {
        let scripts = lay_out(kits)?;
        ["stdio", "http"].iter().map(|way| self.meet(way, binary, kits, &scripts)).collect()
    }

    fn meet(&self, way: &'static str, binary: &Path, kits: &Path, scripts: &Path) -> Result<Seen> {
        let (site, began) = (Site::new(binary)?, Instant::now());
        let upstream = NPM.program(kits, "mcp-server-everything");
        let command = vec![upstream.to_string_lossy().into_owned(), "stdio".to_owned()];
        let ensembles = site.describe(
            "ensembles",
            UPSTREAM,
            &Way::Stdio { command, environment: Vec::new(), grants: "" },
        )?;
        let gateway = words(binary, &ensembles);
        let mut problems = Vec::new();
        let ran = if way == "stdio" {
            self.run(&site, kits, scripts, &json!({ "command": gateway }))?
        } else {
            let remote = over_http(&site, gateway)?;
            let url = format!("http://{}/mcp", remote.address());
            let ran = self.run(&site, kits, scripts, &json!({ "url": url, "token": TOKEN }))?;
            problems.extend(remote.end()?);
            ran
        };
        let traces: Traces = site.traces(&upstream, None);
        problems.extend(traces.settle()?.into_iter().map(|process| format!("left behind: {process}")));
        let said: Value = ran
            .stdout
            .lines()
            .last()
            .map(serde_json::from_str)
            .and_then(|read| read.ok())
            .unwrap_or_default();
        problems.extend(judge::problems(&said, self.revision, self.progress, way == "http"));
        let name = format!("{} over {way}", self.name);
        let failures = problems.first().map(|_| failure(&name, &problems.join("; "), &ran));
        Ok(Seen {
            client: self.name,
            way,
            said,
            took: began.elapsed(),
            failures: failures.into_iter().collect(),
        })
    }

    fn run(&self, site: &Site, kits: &Path, scripts: &Path, asked: &Value) -> Result<Ran> {
        let mut command = Command::new(self.kit.program(kits, self.interpreter));
        command.arg(scripts.join(self.script)).arg(asked.to_string()).current_dir(site.path("work"));
        command.env_clear().env("HOME", site.path("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // The scripts' directory is not theirs to write to.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        process::run(&mut command, LIMIT)
    }
}

/// Beside the libraries, where Node looks for them.
fn lay_out(kits: &Path) -> Result<PathBuf> {
    let dir = kits.join(CLIENTS.name).join("scripts");
    fs::create_dir_all(&dir)?;
    for (name, text) in SCRIPTS {
        fs::write(dir.join(name), text)?;
    }
    Ok(dir)
}

/// The gateway as a command line.
fn words(binary: &Path, ensembles: &str) -> Vec<String> {
    let allowed = format!("{UPSTREAM}.*");
    let binary = binary.to_string_lossy();
    [&*binary, "serve", "--ensembles", ensembles, "--ensemble", UPSTREAM, "--allow", &allowed]
        .map(str::to_owned)
        .into()
}

fn over_http(site: &Site, mut gateway: Vec<String>) -> Result<Remote> {
    let tokens = site.path("tokens");
    fs::write(&tokens, format!("{TOKEN}\n"))?;
    #[cfg(unix)]
    fs::set_permissions(&tokens, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let tokens = tokens.to_string_lossy();
    gateway.extend(["--http", "127.0.0.1:{port}", "--token-file", &*tokens].map(str::to_owned));
    Remote::start(&gateway, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_its_script_and_its_kit() {
        for client in ALL {
            assert!(SCRIPTS.iter().any(|(name, _)| *name == client.script), "{client:?}");
            assert!(client.kits().contains(&NPM), "{client:?}");
        }
        let mut names = ALL.map(|client| client.name).to_vec();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn scripts_are_laid_out_beside_the_libraries() {
        let kits = tempfile::tempdir().unwrap();
        let dir = lay_out(kits.path()).unwrap();
        assert!(dir.join("steps.py").is_file() && dir.starts_with(kits.path().join("clients")));
        let words = words(Path::new("/b"), "DIR");
        assert_eq!(words.join(" "), "/b serve --ensembles DIR --ensemble everything --allow everything.*");
    }
}
