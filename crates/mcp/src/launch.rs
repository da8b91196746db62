//! [`Launch`]: starts the process of a stdio server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use converse_config::{SecretRef, UnsetVariable};
use converse_ensemble::StartCheck;
use converse_process::{Child, Spawn, find_program};

use crate::Surroundings;
use crate::error::Failure;

/// Programs that may download the server first.
const LAUNCHERS: [&str; 13] =
    ["npx", "uvx", "npm", "pnpm", "yarn", "bunx", "bun", "uv", "pipx", "docker", "podman", "deno", "nerdctl"];
const LAUNCHER_TIMEOUT: Duration = Duration::from_secs(30);
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(10);

/// The planned command of a server.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) command: Vec<SecretRef>,
    pub(crate) environment: Vec<(String, SecretRef)>,
    pub(crate) cwd: Option<PathBuf>,
    /// Whether the project declares the server. Then a bare program name is not resolved inside the project.
    pub(crate) of_project: bool,
    pub(crate) start_check: StartCheck,
}

impl Launch {
    pub(crate) fn start(&self, surroundings: &Surroundings) -> Result<Child, Failure> {
        let spawn = self.spawn(surroundings)?;
        self.start_check.run().map_err(|why| Failure::Unusable(format!("not started: {why}")))?;
        Ok(spawn.start(&surroundings.guardian)?)
    }

    fn spawn(&self, surroundings: &Surroundings) -> Result<Spawn, Failure> {
        let read = |secret: &SecretRef| secret.read(&surroundings.environment);
        let mut command =
            self.command.iter().map(read).collect::<Result<Vec<_>, UnsetVariable>>()?.into_iter();
        let Some(program) = command.next().filter(|program| !program.is_empty()) else {
            return Err(Failure::Unusable("`command` is empty".to_owned()));
        };
        let mut environment = surroundings.inherited.clone();
        for (name, secret) in &self.environment {
            environment.retain(|(inherited, _)| inherited != name);
            environment.push((name.clone(), read(secret)?));
        }
        let cwd = match &self.cwd {
            Some(cwd) => surroundings.workspace.join(cwd),
            None => surroundings.workspace.clone(),
        };
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        let avoid = surroundings.project.as_deref().filter(|_| self.of_project);
        let program = find_program(&program, path, &cwd, avoid)?;
        Ok(Spawn { program, arguments: command.collect(), environment, cwd, stdin: true })
    }

    /// Returns the default of `connect_timeout`.
    pub(crate) fn default_timeout(&self) -> Duration {
        if self.is_launcher() { LAUNCHER_TIMEOUT } else { PROGRAM_TIMEOUT }
    }

    /// Returns whether the command may download the server first.
    pub(crate) fn is_launcher(&self) -> bool {
        let program = match self.command.first() {
            Some(SecretRef::Literal(program)) => {
                Path::new(program).file_name().and_then(|name| name.to_str())
            }
            _ => None,
        };
        program.is_some_and(|name| LAUNCHERS.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_get_more_time() {
        let timeout = |program: &str| {
            let command = vec![SecretRef::Literal(program.to_owned())];
            Launch {
                command,
                environment: vec![],
                cwd: None,
                of_project: false,
                start_check: StartCheck::default(),
            }
            .default_timeout()
            .as_secs()
        };
        for (program, seconds) in [
            ("npx", 30),
            ("/usr/bin/docker", 30),
            ("./uvx", 30),
            ("npx2", 10),
            ("/opt/npx/server", 10),
            ("python3", 10),
            ("", 10),
        ] {
            assert_eq!(timeout(program), seconds, "{program}");
        }
    }
}
