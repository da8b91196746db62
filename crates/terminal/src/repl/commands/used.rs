//! `/usage`, `/cost`, `/compact`: what the conversation takes.

use std::sync::Arc;

use converse_engine::{CondenseOutcome, Ledger, Part};
use converse_project::{InstructionFile, Origin, Skill};
use futures_util::FutureExt as _;

use crate::repl::commands::whose;
use crate::repl::session::ReplSession;
use crate::repl::turn::with_stop_notice;
use converse_host::failure::{Failure, Kind};
use converse_host::instructions::reads_skills;
use converse_host::interrupt::Interrupt;
use converse_host::turn;
use converse_text::safe_line;
use converse_text::wording::{grouped, tool_name};

/// Maximum characters of a path.
const PATH: usize = 300;

impl ReplSession<'_> {
    /// What fills the next request, and what all of them took.
    pub(super) fn usage(&mut self) {
        let filled = self.filled();
        self.view.say(&shown(&filled, |rows| self.view.table(rows)));
        for InstructionFile { origin, path, text, .. } in &self.options.instructions.files {
            let whose = if *origin == Origin::User { "your" } else { "the project's" };
            let (path, bytes) = (safe_line(path, PATH), grouped(text.len() as u64));
            self.view.say(&format!("in the system text: {whose} {path}, {bytes} bytes"));
        }
        if reads_skills(&self.connected.roster) {
            for line in self.options.instructions.skills_for_models().into_iter().map(of_skill) {
                self.view.say(&line);
            }
        }
        for command in self.own_commands() {
            let (path, bytes) = (safe_line(&command.path, PATH), grouped(command.text().len() as u64));
            self.view.say(&format!(
                "when used: /{} ({}), {path}, {bytes} bytes",
                command.name,
                whose(command)
            ));
        }
        let waiting = self.waiting.sizes();
        if !waiting.is_empty() {
            self.view.say(&format!("with the next message: {waiting}"));
        }
        self.view.say(&self.tally.tokens());
        self.view.note(&format!("permission mode: {} (`/mode`)", self.mode_name()));
    }

    /// What fills the next request.
    pub(in crate::repl) fn filled(&mut self) -> Ledger {
        let history = self.conversation.lend();
        let mut conversation = self.conversing(&self.attention.end, None).resume(history);
        let filled = conversation.ledger();
        let history = conversation.into_history();
        self.conversation.go_on(history);
        filled
    }

    pub(super) fn cost(&self) {
        self.view.say(&self.tally.cost());
    }

    pub(super) async fn compact(&mut self, focus: Option<&str>) -> Result<(), Failure> {
        let attended = self.attention.to_turn();
        let view = Arc::clone(&self.view);
        view.begin_turn();
        let done = self.condensed(&attended.interrupt, focus).boxed_local();
        let done = view.during(with_stop_notice(&view, &attended, done)).await;
        let after = self.after_turn(done);
        self.recalls();
        after
    }

    async fn condensed(&mut self, interrupt: &Interrupt, focus: Option<&str>) -> Result<(), Failure> {
        let meter = self.spent.meter(0, self.conversation.transcript().next_turn());
        let history = self.conversation.lend();
        let mut conversation = self.conversing(interrupt, None).sink(&meter).resume(history);
        let condensing = conversation.condense(focus).await;
        let history = conversation.into_history();
        self.conversation.go_on(history);
        self.conversation.settled()?;
        match condensing? {
            // The view has shown it.
            CondenseOutcome::Done { .. } => Ok(()),
            CondenseOutcome::Nothing => {
                self.view.note("there is nothing old enough to summarize");
                Ok(())
            }
            CondenseOutcome::Failed(why) => {
                let message = format!("could not summarize: {why}; nothing was changed");
                Err(Failure::new(Kind::ProviderNonsense, "no-summary", message))
            }
            CondenseOutcome::Ended(ended) => turn::outcome(ended, interrupt),
        }
    }
}

/// What a skill takes: its line in the list, and its files if they are read.
fn of_skill(skill: &Skill) -> String {
    let listed = grouped((skill.name().len() + skill.command.description.len()) as u64);
    let read = grouped(skill.files.iter().map(|file| file.bytes as u64).sum());
    let (name, path) = (skill.name(), safe_line(&skill.shown, PATH));
    format!("listed as a skill: {name} ({path}), {listed} bytes; {read} bytes in its files")
}

fn shown(ledger: &Ledger, table: impl Fn(&[Vec<String>]) -> String) -> String {
    let total = ledger.total();
    let share = |tokens: u64| format!("{:.0} %", tokens as f64 * 100.0 / total.max(1) as f64);
    let mut rows = vec![["next request", "", "tokens~", "", ""].map(str::to_owned).to_vec()];
    rows.extend(ledger.rows.iter().map(|row| {
        let (kind, name) = words(&row.part);
        vec![kind.to_owned(), row.count.to_string(), grouped(row.tokens), share(row.tokens), name]
    }));
    let window = ledger.window.map_or_else(
        || "; the window is not known".to_owned(),
        |window| {
            let share = ledger.share().unwrap_or_default() * 100.0;
            format!(" of a context window of {} ({share:.0} %)", grouped(window))
        },
    );
    format!("{}total: about {} tokens{window}", table(&rows), grouped(total))
}

fn words(part: &Part) -> (&'static str, String) {
    match part {
        Part::System => ("system text", String::new()),
        Part::Summary => ("summary", String::new()),
        Part::Tool { ensemble, tool } => ("tool", format!("{ensemble}.{tool}").trim_matches('.').to_owned()),
        Part::User => ("your words", String::new()),
        Part::Document => ("documents", String::new()),
        Part::Attachment => ("attachments", String::new()),
        Part::Assistant => ("answers", String::new()),
        Part::Reasoning => ("reasoning", String::new()),
        Part::Invocation { tool } => ("calls", tool_name(tool)),
        Part::Result { tool } => ("results", tool_name(tool)),
    }
}
