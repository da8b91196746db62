//! What an ensemble would start or contact: command lines with the programs they would run, addresses, and the values
//! passed to them.

use std::path::{Path, PathBuf};

use converse_config::{
    ArgvPart, CommandPlan, ConnectionPlan, EnsemblePlan, Environment, InvokerKind, Protocol, SandboxAccess,
    SecretRef, Template, TransportPlan,
};
use converse_process::find_program;
use serde_json::{Value, json};

use super::parts::{
    Values, argv_json, argv_text, grants_json, grants_lines, header_lines, named_json, oauth_json,
    oauth_line, request_json, request_lines, source_text, variable_lines,
};
use super::{Line, plain, quoted};
use crate::{Scripts, leads_to};

/// Describes commands and addresses, with programs resolved as they would be now.
#[derive(Debug)]
pub struct Outward<'a> {
    cwd: &'a Path,
    project: Option<&'a Path>,
    environment: Environment,
    values: Values,
}

impl<'a> Outward<'a> {
    /// `project` is the directory in which programs are not searched by their names; see [`find_program`].
    pub fn new(environment: Environment, cwd: &'a Path, project: Option<&'a Path>) -> Self {
        Self { cwd, project, environment, values: Values::Shown }
    }

    /// Leaves out the values of headers and variables: in the user's own files they may be keys.
    pub fn discreet(self) -> Self {
        Self { values: Values::Hidden, ..self }
    }

    pub fn connection_json(&self, connection: &ConnectionPlan) -> Value {
        let mut json = match &connection.transport {
            TransportPlan::Stdio { command, environment, cwd } => json!({
                "command": command.iter().map(source_text).collect::<Vec<_>>(),
                "program": self.program_of(command, environment, cwd.as_ref()).ok(),
                "environment": named_json(environment, self.values),
                "cwd": cwd,
            }),
            TransportPlan::Http { url, headers } => {
                json!({ "url": source_text(url), "headers": named_json(headers, self.values) })
            }
        };
        json["connect_timeout"] = json!(connection.connect_timeout.map(|timeout| timeout.as_secs_f64()));
        json["protocol"] = json!(protocol(connection.protocol));
        json["auth"] = json!(connection.auth.as_ref().map(oauth_json));
        json["grants"] = grants_json(&connection.grants);
        json
    }

    pub fn connection_lines(&self, connection: &ConnectionPlan) -> Vec<Line> {
        let mut lines = match &connection.transport {
            TransportPlan::Stdio { command, environment, cwd } => {
                let words: Vec<String> = command.iter().map(|word| quoted(&source_text(word))).collect();
                let named = command.first().map(source_text).unwrap_or_default();
                let program = self.program_of(command, environment, cwd.as_ref());
                self.starts(&words, &named, program, cwd.as_ref(), environment)
            }
            TransportPlan::Http { url, headers } => {
                let mut lines = vec![Line::acting(format!("CONNECTS TO {}", quoted(&source_text(url))))];
                lines.extend(header_lines(headers, self.values));
                lines
            }
        };
        let timeout = connection.connect_timeout.map(|timeout| timeout.as_secs_f64());
        lines.extend(timeout.map(|timeout| Line::telling(format!("connect_timeout = {timeout} s"))));
        if connection.protocol != Protocol::default() {
            lines.push(Line::telling(format!("protocol = {}", protocol(connection.protocol))));
        }
        lines.extend(connection.auth.as_ref().map(oauth_line));
        lines.extend(grants_lines(&connection.grants));
        lines
    }

    /// Returns the key of the kind and its value.
    pub(super) fn kind_json(&self, kind: &InvokerKind) -> (&'static str, Value) {
        match kind {
            InvokerKind::Builtin(name) => ("builtin", json!(name)),
            InvokerKind::Command(plan) => {
                let what = json!({
                    "argv": plan.argv.iter().map(argv_json).collect::<Vec<_>>(),
                    "program": self.program_of_command(plan).ok(),
                    "environment": named_json(&plan.environment, self.values),
                    "cwd": plan.cwd,
                    "stdin": plan.stdin.as_ref().map(Template::to_string),
                    "reads": plan.sandbox_access.reads,
                    "writes": plan.sandbox_access.writes,
                    "network": plan.sandbox_access.network,
                });
                ("command", what)
            }
            InvokerKind::Http(plan) => ("http", request_json(plan)),
        }
    }

    pub(super) fn kind_lines(&self, kind: &InvokerKind) -> Vec<Line> {
        match kind {
            InvokerKind::Builtin(_) => Vec::new(),
            InvokerKind::Command(plan) => self.command_lines(plan),
            InvokerKind::Http(plan) => request_lines(plan),
        }
    }

    /// Warns about commands whose files may change unnoticed: those that get the whole project, and outputs.
    pub(super) fn unpinned_lines(&self, plan: &EnsemblePlan) -> Vec<Line> {
        let scripts = self.scripts(plan);
        let whole = "IS GIVEN THE WHOLE PROJECT: a change of its files is not asked about";
        let mut lines: Vec<Line> =
            scripts.whole.then(|| Line::acting(whole.to_owned())).into_iter().collect();
        lines.extend(scripts.outputs().map(|path| {
            let path = quoted(&path.to_string_lossy());
            Line::acting(format!("CHANGES {path}: not pinned, a change of it is not asked about"))
        }));
        lines
    }

    /// Returns the files and directories that its commands name and change: the hash does not cover them.
    pub(super) fn unpinned(&self, plan: &EnsemblePlan) -> Vec<PathBuf> {
        self.scripts(plan).outputs().map(Path::to_path_buf).collect()
    }

    fn scripts(&self, plan: &EnsemblePlan) -> Scripts {
        Scripts::of([plan], self.cwd, &self.environment)
    }

    /// Returns what its configuration opens to built-in tools.
    pub(super) fn configured_lines(&self, plan: &EnsemblePlan) -> Vec<Line> {
        let mut lines = Vec::new();
        if let Some(root) = plan.outer_root() {
            lines.push(Line::acting(format!("OPENS FILES BELOW {}", quoted(root))));
            let leads_to = leads_to(root);
            if leads_to != root {
                lines.push(Line::acting(format!("which is {} now", quoted(&leads_to))));
            }
        }
        if let Some(Value::Array(hosts)) = plan.configuration.get("allow_private")
            && !hosts.is_empty()
        {
            let hosts: Vec<String> = hosts.iter().map(|host| plain(&host.to_string())).collect();
            lines.push(Line::acting(format!("OPENS YOUR NETWORK: {}", hosts.join(", "))));
        }
        lines
    }

    fn command_lines(&self, plan: &CommandPlan) -> Vec<Line> {
        let words: Vec<String> = plan.argv.iter().map(argv_text).collect();
        let named = match plan.argv.first() {
            Some(ArgvPart::One(first)) => first.to_string(),
            _ => String::new(),
        };
        let program = self.program_of_command(plan);
        let mut lines = self.starts(&words, &named, program, plan.cwd.as_ref(), &plan.environment);
        let reading = |stdin: &Template| Line::telling(format!("reading {}", quoted(&stdin.to_string())));
        lines.extend(plan.stdin.iter().map(reading));
        lines.extend(opened(&plan.sandbox_access).map(Line::telling));
        lines
    }

    fn program_of(
        &self,
        command: &[SecretRef],
        environment: &[(String, SecretRef)],
        cwd: Option<&PathBuf>,
    ) -> Result<PathBuf, String> {
        let first = command.first().ok_or("no program is named")?;
        let name = first.read(&self.environment).map_err(|unset| unset.to_string())?;
        self.find_program_for(&name, environment, cwd)
    }

    fn program_of_command(&self, plan: &CommandPlan) -> Result<PathBuf, String> {
        let Some(ArgvPart::One(first)) = plan.argv.first() else {
            return Err("no program is named".to_owned());
        };
        let name = first.fill(&serde_json::Map::new(), &self.environment, |_, value| value.to_string());
        let name = name.map_err(|unset| unset.to_string())?.unwrap_or_default();
        self.find_program_for(&name, &plan.environment, plan.cwd.as_ref())
    }

    /// Finds a program as at its start: with the declared `PATH`, if there is one.
    fn find_program_for(
        &self,
        name: &str,
        environment: &[(String, SecretRef)],
        cwd: Option<&PathBuf>,
    ) -> Result<PathBuf, String> {
        let dir = cwd.map_or_else(|| self.cwd.to_path_buf(), |cwd| self.cwd.join(cwd));
        let declared = environment.iter().rfind(|(variable, _)| variable == "PATH");
        let declared = declared.map(|(_, path)| path.read(&self.environment)).transpose();
        let declared = declared.map_err(|unset| unset.to_string())?;
        let path = declared.as_deref().or(self.environment.get("PATH"));
        find_program(name, path, &dir, self.project).map_err(|error| error.to_string())
    }

    fn starts(
        &self,
        words: &[String],
        named: &str,
        program: Result<PathBuf, String>,
        cwd: Option<&PathBuf>,
        environment: &[(String, SecretRef)],
    ) -> Vec<Line> {
        let mut lines = vec![Line::acting(format!("STARTS {}", words.join(" ")))];
        lines.extend(program_line(named, program));
        lines.extend(cwd.map(|cwd| Line::telling(format!("in {}", quoted(&cwd.to_string_lossy())))));
        lines.extend(variable_lines(environment, self.values));
        lines
    }
}

/// Returns `None` if the program is named by its whole path.
fn program_line(named: &str, program: Result<PathBuf, String>) -> Option<Line> {
    match program {
        Ok(path) if path == Path::new(named) => None,
        Ok(path) => Some(Line::acting(format!("which is {} now", quoted(&path.to_string_lossy())))),
        Err(why) => Some(Line::telling(format!("which is not there now: {}", plain(&why)))),
    }
}

fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Auto => "auto",
        Protocol::Modern => "modern",
        Protocol::Legacy => "legacy",
    }
}

/// Returns what its sandbox would allow.
fn opened(openings: &SandboxAccess) -> impl Iterator<Item = String> {
    let paths = |what: &str, paths: &[PathBuf]| {
        let paths: Vec<_> = paths.iter().map(|path| quoted(&path.to_string_lossy())).collect();
        (!paths.is_empty()).then(|| format!("its sandbox lets it {what} {}", paths.join(", ")))
    };
    let network = openings.network.then(|| "its sandbox lets it open connections".to_owned());
    [paths("read", &openings.reads), paths("change", &openings.writes), network].into_iter().flatten()
}
