//! A program in a sandbox: converse starts its own binary, which enters the sandbox and becomes the program.
//!
//! A report in a file says how far it came. Only a program that started in its sandbox has an answer. With `require`, a
//! program runs fully confined or not at all. With `best-effort`, a warning says what is missing, once for each reason.

use std::path::Path;

use converse_config::{SandboxLevel, Scope};
use converse_process::sandbox::{Confinement, Limits, Report, Strictness, Survey, bubblewrap, survey};
use converse_process::{NO_DESCRIPTORS, ScratchDir, Spawn, counting_method, lacks_descriptors};

use super::openings::{Open, Places};
use super::outputs::protected_from;
use super::{Command, Prepared};
use crate::surroundings::{SandboxKind, SandboxLauncher};
use crate::{Answer, Context, InvokeError};

/// Variables that point to the scratch directory, unless the descriptor sets them.
const OWN: [&str; 2] = ["HOME", "TMPDIR"];

/// One way to confine a program.
#[derive(Debug, Clone, Copy)]
enum Way<'a> {
    Own,
    Bubblewrap(&'a Path),
}

pub(super) async fn run(
    command: &Command,
    level: SandboxLevel,
    prepared: Prepared,
    context: &Context,
) -> Result<Answer, InvokeError> {
    let Some(launcher) = &command.surroundings.sandbox_launcher else {
        return Err(InvokeError::Unsandboxed("no sandbox is available here".to_owned()));
    };
    let attempt = Attempt { command, launcher, required: level == SandboxLevel::Require, context };
    let survey = survey().map_err(|error| error.to_string());
    let ways = attempt.ways()?;
    let Some((last, others)) = ways.split_last() else { return Err(unsandboxed("there is no way into it")) };
    for way in others {
        match attempt.by(*way, &survey, prepared.clone()).await {
            // Nothing has run, and there is another way.
            Err(InvokeError::Unsandboxed(why)) => attempt.warn(&why),
            ended => return ended,
        }
    }
    attempt.by(*last, &survey, prepared).await
}

struct Attempt<'a> {
    command: &'a Command,
    launcher: &'a SandboxLauncher,
    required: bool,
    context: &'a Context,
}

impl<'a> Attempt<'a> {
    fn ways(&self) -> Result<Vec<Way<'a>>, InvokeError> {
        match &*self.launcher.method {
            SandboxKind::Own => Ok(vec![Way::Own]),
            SandboxKind::Bubblewrap(Some(program)) if self.required => Ok(vec![Way::Bubblewrap(program)]),
            SandboxKind::Bubblewrap(Some(program)) => Ok(vec![Way::Bubblewrap(program), Way::Own]),
            SandboxKind::Bubblewrap(None) => {
                let missing = "the settings choose bubblewrap, but `bwrap` is not in PATH";
                if self.required {
                    return Err(unsandboxed(missing));
                }
                self.warn(missing);
                Ok(vec![Way::Own])
            }
        }
    }

    async fn by(
        &self,
        way: Way<'_>,
        survey: &Result<Survey, String>,
        prepared: Prepared,
    ) -> Result<Answer, InvokeError> {
        self.suffices(way, survey)?;
        let cannot = |why: String| unsandboxed(&format!("it cannot be made: {why}"));
        let scratch = ScratchDir::make(&self.launcher.temporary).map_err(|error| {
            if lacks_descriptors(&error) {
                return InvokeError::NoDescriptors(format!("not run: {NO_DESCRIPTORS}"));
            }
            cannot(error.to_string())
        })?;
        let confinement = self.confinement(way, &prepared.spawn, &scratch).map_err(cannot)?;
        let limits = confinement.limits;
        let spawn = self.confined_spawn(way, prepared.spawn, &confinement, &scratch).map_err(cannot)?;
        let guardian = &self.command.surroundings.guardian;
        let prepared = Prepared { spawn, stdin: prepared.stdin };
        let ended = prepared.run(guardian, Some(limits), self.context).await;
        let report = scratch.read_report();
        if let Err(why) = scratch.remove().await {
            (self.launcher.warn)(format!("{}: {why}", self.context.invoker));
        }
        answer_by_report(report, ended)
    }

    fn suffices(&self, way: Way<'_>, survey: &Result<Survey, String>) -> Result<(), InvokeError> {
        let mut lacks = match (survey, way) {
            (Ok(survey), Way::Own) => survey.lacks(),
            (Ok(survey), Way::Bubblewrap(_)) => survey.lacks_but_files(),
            (Err(why), _) => vec![why.clone()],
        };
        lacks.extend(counting_method().lack().map(str::to_owned));
        match lacks.as_slice() {
            [] => Ok(()),
            lacks if self.required => Err(unsandboxed(&lacks.join("; "))),
            lacks => {
                lacks.iter().for_each(|lack| self.warn(lack));
                Ok(())
            }
        }
    }

    fn confinement(&self, way: Way<'_>, spawn: &Spawn, scratch: &ScratchDir) -> Result<Confinement, String> {
        let surroundings = &self.command.surroundings;
        let (plan, workspace) = (&self.command.plan, &surroundings.workspace);
        let protected = protected_from(&surroundings.protected, plan, [workspace, &spawn.cwd]);
        let places = Places {
            workspace,
            inside: self.command.scope == Scope::Project,
            scratch: Some(scratch),
            protected: &protected,
            private: &self.launcher.private,
        };
        let openings = &plan.sandbox_access;
        let Open { mut reads, mut writes } = places.declared(openings)?;
        reads.extend(places.unasked(&spawn.cwd, &spawn.program));
        writes.push(scratch.home());
        let strictness = match way {
            _ if !self.required => Strictness::WhatIsThere,
            Way::Own => Strictness::Everything,
            Way::Bubblewrap(_) => Strictness::EverythingButFiles,
        };
        let (network, report) = (openings.network, scratch.report_path());
        Ok(Confinement { strictness, reads, writes, network, limits: Limits::default(), report })
    }

    /// The command line that leads there.
    fn confined_spawn(
        &self,
        way: Way<'_>,
        spawn: Spawn,
        confinement: &Confinement,
        scratch: &ScratchDir,
    ) -> Result<Spawn, String> {
        let unsaid = || "a path is not UTF-8".to_owned();
        let SandboxLauncher { program, words, .. } = self.launcher;
        let mut arguments = words.clone();
        arguments.push(serde_json::to_string(confinement).map_err(|_| unsaid())?);
        arguments.push(spawn.program.to_str().ok_or_else(unsaid)?.to_owned());
        arguments.extend(spawn.arguments);
        let mut program = program.clone();
        if let Way::Bubblewrap(bwrap) = way {
            // Inside there is another /proc, in which our name means another process.
            let own = program.canonicalize();
            let own = own.map_err(|error| format!("{} cannot be found: {error}", program.display()))?;
            let mut outer = bubblewrap(confinement, &own, &spawn.cwd).ok_or_else(unsaid)?;
            outer.push(own.to_str().ok_or_else(unsaid)?.to_owned());
            outer.append(&mut arguments);
            (program, arguments) = (bwrap.to_owned(), outer);
        }
        let declared = |name: &str| self.command.plan.environment.iter().any(|(other, _)| other == name);
        let home = scratch.home().to_str().ok_or_else(unsaid)?.to_owned();
        let mut environment = spawn.environment;
        for name in OWN.into_iter().filter(|name| !declared(name)) {
            environment.retain(|(other, _)| other != name);
            environment.push((name.to_owned(), home.clone()));
        }
        Ok(Spawn { program, arguments, environment, ..spawn })
    }

    fn warn(&self, why: &str) {
        (self.launcher.warn)(format!("{} runs in less than its sandbox: {why}", self.context.invoker));
    }
}

fn answer_by_report(report: Report, ended: Result<Answer, InvokeError>) -> Result<Answer, InvokeError> {
    match (report, ended) {
        (Report::Entered, ended) => ended,
        // The program was stopped, or could not be started.
        (_, Err(error)) => Err(error),
        (Report::Unstarted(why), Ok(_)) => {
            let message = format!("the program cannot be started in its sandbox: {why}");
            Err(InvokeError::Unreachable { message, sent: false })
        }
        (Report::Refused(why), Ok(_)) => Err(unsandboxed(&why)),
        (Report::Silent, Ok(answer)) => {
            let words: Vec<&str> = answer.content.iter().filter_map(|content| content.as_text()).collect();
            Err(unsandboxed(&format!("it was never reached: {}", words.join("\n"))))
        }
    }
}

fn unsandboxed(why: &str) -> InvokeError {
    InvokeError::Unsandboxed(format!("not run: its sandbox is not available: {why}"))
}
