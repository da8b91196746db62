//! The directory of one server's runs: a home nobody has used, a place to work in, descriptors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::leftovers::Traces;
use super::process::{self, Ran, Running};
use crate::Result;

/// One run of the program; all its own limits are shorter.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// In the program's environment, and to be in no child's.
pub(crate) const CANARY: (&str, &str) = ("INTEROP_CANARY", "a-secret-of-the-parent");

/// How the program reaches a server.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    Stdio { command: Vec<String>, environment: Vec<(&'static str, String)>, grants: &'static str },
    Http { url: String },
}

#[derive(Debug)]
pub(crate) struct Site {
    scratch: TempDir,
    binary: PathBuf,
}

impl Site {
    pub(crate) fn new(binary: &Path) -> Result<Self> {
        let scratch = TempDir::with_prefix("converse-interop-")?;
        for dir in ["home", "work"] {
            fs::create_dir(scratch.path().join(dir))?;
        }
        Ok(Self { scratch, binary: binary.to_owned() })
    }

    /// A path in the directory that the program is started in.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Writes the descriptor of a server into a directory of that name, and says where that is.
    pub(crate) fn describe(&self, dir: &str, server: &str, way: &Way) -> Result<String> {
        let dir = self.path(dir);
        fs::create_dir_all(&dir)?;
        fs::write(dir.join(format!("{server}.toml")), descriptor(server, way))?;
        Ok(dir.to_string_lossy().into_owned())
    }

    /// Runs the program in an environment with nothing in it.
    pub(crate) fn converse(&self, arguments: &[String]) -> Result<Ran> {
        process::run(&mut self.command(arguments), LIMIT)
    }

    /// Starts the same.
    pub(crate) fn start(&self, arguments: &[String]) -> Result<Running> {
        Running::start(&mut self.command(arguments))
    }

    fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.path("work")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.path("home"));
        command.env(CANARY.0, CANARY.1);
        command
    }

    /// By what the processes of its runs are known.
    pub(crate) fn traces(&self, program: &Path, except: Option<u32>) -> Traces {
        let paths =
            [self.scratch.path(), program, &self.binary].map(|path| path.to_string_lossy().into_owned());
        Traces { paths: paths.to_vec(), except: except.into_iter().collect() }
    }
}

fn descriptor(server: &str, way: &Way) -> String {
    // A JSON text of such words is a TOML text as well.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let connection = match way {
        Way::Http { url } => format!("transport = \"http\"\nurl = {}\n", text(url)),
        Way::Stdio { command, environment, grants } => {
            let command: Vec<_> = command.iter().map(|word| text(word)).collect();
            let environment: Vec<_> =
                environment.iter().map(|(name, value)| format!("{name} = {}", text(value))).collect();
            format!(
                "transport = \"stdio\"\ncommand = [{}]\nenvironment = {{ {} }}\n{grants}",
                command.join(", "),
                environment.join(", ")
            )
        }
    };
    format!(
        "[ensemble]\nname = \"{server}\"\ndescription = \"A server of others\"\n\n[connection]\n{connection}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_say_how_a_server_is_reached() {
        let http = descriptor("far", &Way::Http { url: "http://127.0.0.1:1/mcp".to_owned() });
        assert!(
            http.contains("name = \"far\"") && http.ends_with("url = \"http://127.0.0.1:1/mcp\"\n"),
            "{http}"
        );
        let command = ["/bin/x", "a \"b\""].map(str::to_owned).to_vec();
        let environment = vec![("A", "1".to_owned()), ("B", "2".to_owned())];
        let stdio = Way::Stdio { command, environment, grants: "roots = [\".\"]\n" };
        let wanted = "command = [\"/bin/x\", \"a \\\"b\\\"\"]\nenvironment = { A = \"1\", B = \"2\" }\nroots = [\".\"]\n";
        assert!(descriptor("near", &stdio).ends_with(wanted));
    }

    #[test]
    fn the_program_runs_in_a_bare_environment() {
        let site = Site::new(Path::new("/usr/bin/env")).unwrap();
        let ran = site.converse(&[]).unwrap();
        let mut names: Vec<_> = ran.stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["HOME", CANARY.0, "PATH"], "{ran:?}");
        let dir = site.describe("ensembles", "x", &Way::Http { url: String::new() }).unwrap();
        assert!(Path::new(&dir).join("x.toml").is_file());
    }
}
