//! `converse ensembles check`: every problem of every descriptor; with `--connect` those of the servers as well.

use std::path::PathBuf;

use converse_config::{Code, EnsemblePlan, Finding, Severity};
use serde_json::Value;

use super::survey;
use crate::adapters::contents::Kept;
use crate::adapters::signals;
use crate::catalogue::Catalogue;
use crate::failure::{Failure, Kind};
use crate::manners::Manners;
use crate::render::output::{write_json, write_stdout};
use crate::render::safe::safe;
use crate::wiring::Wiring;
use crate::world::World;

pub(super) struct Check<'a> {
    pub(super) directories: &'a [PathBuf],
    pub(super) connect: bool,
    pub(super) require_env: bool,
    pub(super) as_json: bool,
    pub(super) manners: &'a Manners,
    pub(super) world: &'a World,
}

/// What connecting brought to light.
#[derive(Default)]
struct Met {
    findings: Vec<Finding>,
    /// Of each server in a line.
    lines: Vec<String>,
    failed: usize,
    tools: usize,
}

impl Check<'_> {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let catalogue = Catalogue::check(self.world, self.directories, self.require_env);
        self.manners.warn_all(catalogue.notes());
        let met = if self.connect { self.met(&catalogue)? } else { Met::default() };
        if self.as_json {
            let findings = catalogue.findings();
            write_json(&findings.iter().chain(&met.findings).map(Finding::to_json).collect::<Value>())?;
        } else {
            self.tell(&catalogue, &met)?;
        }
        if catalogue.has_errors() {
            return Err(Failure::new(Kind::Configuration, "ensembles", "there are errors in ensembles"));
        }
        catalogue.stop_for_untrusted()?;
        match met.failed {
            0 => Ok(()),
            failed => {
                let message = format!("{failed} ensemble(s) could not be connected");
                Err(Failure::new(Kind::Ensemble, "ensemble", message))
            }
        }
    }

    fn tell(&self, catalogue: &Catalogue, met: &Met) -> Result<(), Failure> {
        let mut text: String = catalogue.pictures().into_iter().map(|picture| picture + "\n").collect();
        text.extend(met.findings.iter().map(|finding| told(finding) + "\n"));
        text.extend(met.lines.iter().map(|line| format!("{line}\n")));
        let declared: usize = catalogue.plans.iter().map(|plan| plan.invokers.len()).sum();
        let tools = declared + met.tools;
        let (sound, findings) = (catalogue.plans.len(), catalogue.findings().len() + met.findings.len());
        text.push_str(&format!(
            "{sound} ensemble(s) with {tools} tool(s) are sound; {findings} finding(s)\n"
        ));
        Ok(write_stdout(&text)?)
    }

    /// Connects what is enabled and may be, servers only, and ends it again.
    fn met(&self, catalogue: &Catalogue) -> Result<Met, Failure> {
        let plans: Vec<&EnsemblePlan> = catalogue
            .plans
            .iter()
            .filter(|plan| plan.enabled && plan.trusted && plan.connection.is_some())
            .collect();
        let interrupt = signals::watch()?;
        let contents = Kept::new(None);
        let (world, manners) = (self.world, self.manners);
        // No tool is called here, so nothing has to be protected from one.
        let (interrupt, contents) = (&interrupt, &contents);
        let wiring = Wiring { world, manners, interrupt, deadline: None, contents, protected: &[] };
        // What is required is told like all others, and what is lazy is started as well.
        let eager = |plan: &&EnsemblePlan| EnsemblePlan { required: false, lazy: false, ..(*plan).clone() };
        let optional: Vec<EnsemblePlan> = plans.iter().map(eager).collect();
        crate::runtime()?.block_on(async {
            let connected = wiring.connect(&optional.iter().collect::<Vec<_>>(), Vec::new()).await?;
            let mut met = Met::default();
            for plan in plans {
                let name = plan.name.as_str();
                for failure in connected.failures.iter().filter(|failure| failure.ensemble == name) {
                    met.failed += 1;
                    met.findings.push(finding(plan, Code::ConnectFailed, Severity::Error, &failure.reason));
                }
            }
            for (name, survey) in connected.surveys() {
                let plan = catalogue.plans.iter().find(|plan| plan.name == *name);
                let left_out = survey.skipped.iter().zip(plan.into_iter().cycle());
                met.findings.extend(
                    left_out.map(|(why, plan)| finding(plan, Code::ToolLeftOut, Severity::Warning, why)),
                );
                met.tools += survey.kept;
                met.lines.push(format!("{name}: {}", survey::line(&survey)));
            }
            connected.disconnect(manners).await;
            Ok(met)
        })
    }
}

fn finding(plan: &EnsemblePlan, code: Code, severity: Severity, message: &str) -> Finding {
    Finding {
        code,
        severity,
        message: format!("`{}`: {message}", plan.name),
        file: plan.origin.file.clone(),
        line: Some(plan.origin.line),
        column: Some(1),
        hint: Some(code.hint().to_owned()),
    }
}

fn told(finding: &Finding) -> String {
    let (severity, code) = (finding.severity.as_str(), finding.code.as_str());
    let line = finding.line.unwrap_or(1);
    let hint = finding.hint.as_deref().unwrap_or_default();
    let message = safe(&finding.message);
    format!("{severity}[{code}]: {message}\n  --> {}:{line}\n  = help: {hint}", safe(&finding.file))
}
