//! `converse ensembles trust`: shows what a project declares, and records that the user trusts exactly that.
//!
//! Showing, hashing and recording use one reading of the files. The declarations are shown on stderr, together with the
//! question. Without a terminal, only the typed hash counts as "yes", since a bare flag would trust whatever the files
//! contain at that time.

use converse_config::{EnsemblePlan, Scope, Steer};
use converse_ensemble::disclosure::{self, Line};
use serde_json::{Value, json};

use crate::approver::says_yes;
use crate::console::Console;
use crate::render::output::{write_json, write_stderr, write_stdout};
use converse_host::catalogue::Catalogue;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::trust::{Changes, Declaration, Entry, Steering, Store, StoreError, Texts};
use converse_host::world::World;
use converse_project::Instructions;
use converse_text::safe_line;
use converse_text::wording::grouped;

/// Number of lines that still fit on the screen above a question.
const SHORT: usize = 16;
/// Characters of a line on a narrow screen.
const WIDTH: usize = 80;

pub struct Trust<'a> {
    pub hash: Option<&'a str>,
    pub as_json: bool,
    pub console: &'a Console,
    pub world: &'a World,
    /// Takes the question back; without it a signal ends the program.
    pub interrupt: Option<&'a Interrupt>,
}

converse_host::opaque_debug!(Trust<'_>);

/// The question of the REPL: shown in full, asked once, recorded if the answer is yes. `false`: it is not trusted.
pub(crate) fn asked_in_passing(
    console: &Console,
    world: &World,
    interrupt: &Interrupt,
) -> Result<bool, Failure> {
    let trust = Trust { hash: None, as_json: false, console, world, interrupt: Some(interrupt) };
    match trust.run() {
        Ok(()) => Ok(true),
        Err(failure) if failure.code == "untrusted" => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// What the answer is about.
struct Case {
    root: String,
    declaration: Declaration,
    plans: Vec<EnsemblePlan>,
    /// As it was trusted before, if ever.
    before: Option<Entry>,
    /// What its settings say to models.
    steers: Vec<Steer>,
    instructions: Instructions,
    /// The user's and the shipped ones, which these may replace.
    farther: Vec<EnsemblePlan>,
}

impl Trust<'_> {
    pub fn run(&self) -> Result<(), Failure> {
        let store = self.store()?;
        let case = self.case(&store)?;
        let current = case.declaration.hash.as_str();
        let known = case.before.as_ref().is_some_and(|before| before.hash == current);
        let asks = self.hash.is_none() && !known && !self.as_json && self.console.context.can_ask;
        match (self.as_json, asks) {
            (true, _) => {}
            (false, true) => write_stderr(&case.text(self.interrupt.is_some(), self.world)),
            (false, false) => write_stdout(&case.text(false, self.world))?,
        }
        let consent = match self.hash {
            Some(hash) => hash == current,
            None => known || (asks && self.confirmed()?),
        };
        if consent && !known {
            store.record(case.entry()).map_err(failed)?;
            if let Some(texts) = Texts::of(self.world) {
                texts.keep(&self.world.cwd, &case.declaration.files);
                case.instructions.texts().for_each(|(_, text)| texts.keep_text(text));
                forget_texts(&store, &texts);
            }
        }
        if self.as_json {
            write_json(&case.json(consent || known, self.world))?;
        }
        if !consent {
            return Err(self.refusal(current, asks));
        }
        if self.as_json { Ok(()) } else { Ok(write_stdout(&format!("\ntrusted: {current}\n"))?) }
    }

    pub fn revoke(&self) -> Result<(), Failure> {
        let root = self.root()?;
        let store = self.store()?;
        let revoked = store.forget(&root).map_err(failed)?;
        if let Some(texts) = Texts::of(self.world) {
            forget_texts(&store, &texts);
        }
        let text = match (self.as_json, revoked) {
            (true, _) => return Ok(write_json(&json!({ "root": root, "revoked": revoked }))?),
            (false, true) => format!("no longer trusted: {}\n", safe_line(&root, usize::MAX)),
            (false, false) => format!("was not trusted: {}\n", safe_line(&root, usize::MAX)),
        };
        Ok(write_stdout(&text)?)
    }

    fn case(&self, store: &Store) -> Result<Case, Failure> {
        let catalogue = Catalogue::as_if_trusted(self.world);
        let none = || {
            Failure::usage(
                "no-project-ensembles",
                "there is nothing to trust: no ensembles in `ensembles/`, no `AGENTS.md`, no commands or skills, and no model, system text or presets in `converse.toml`",
            )
        };
        let declaration = catalogue.declaration()?.ok_or_else(none)?;
        catalogue.stop_for_errors_of_the_project()?;
        self.console.warn_all(catalogue.lines());
        let root = self.root()?;
        let before = store.find(&root).map_err(|unsound| failed(unsound.into()))?;
        let farther = Catalogue::without_project(self.world).plans;
        let Steering { steers, instructions, .. } = catalogue.steering().cloned().unwrap_or_default();
        let plans = catalogue.plans.into_iter().filter(|plan| plan.origin.scope == Scope::Project).collect();
        Ok(Case { root, declaration, plans, before, steers, instructions, farther })
    }

    fn confirmed(&self) -> Result<bool, Failure> {
        let asking = says_yes(&self.console.progress, "\\n", "trust exactly this?", None);
        let Some(interrupt) = self.interrupt else { return converse_host::runtime::block_on(asking) };
        converse_host::runtime::block_on(async {
            tokio::select! {
                yes = asking => Ok(yes),
                () = interrupt.token.cancelled() => Err(interrupt.failure()),
            }
        })?
    }

    fn refusal(&self, current: &str, asked: bool) -> Failure {
        let untrusted = |message: String| Failure::new(Kind::Configuration, "untrusted", message);
        let way = format!("once that is read: `converse ensembles trust --hash {current}`");
        match self.hash {
            Some(_) => {
                untrusted(format!("the hash does not match the current declarations, {current}")).hint(way)
            }
            None if asked => untrusted("this project is not trusted: the answer was not yes".to_owned()),
            None => untrusted(format!(
                "this project is not trusted and nobody is asked here; its hash is {current}"
            ))
            .hint(way),
        }
    }

    fn store(&self) -> Result<Store, Failure> {
        let none = || Failure::new(Kind::Output, "trust", "without `HOME` trust cannot be stored");
        Store::of(self.world).ok_or_else(none)
    }

    fn root(&self) -> Result<String, Failure> {
        let root = self.world.cwd.to_str().map(str::to_owned);
        root.ok_or_else(|| {
            let message = "a project whose path is not UTF-8 cannot be trusted";
            Failure::new(Kind::Configuration, "untrusted", message)
        })
    }
}

impl Case {
    fn entry(&self) -> Entry {
        Entry {
            root: self.root.clone(),
            hash: self.declaration.hash.clone(),
            without_instructions: self.declaration.without_instructions.clone(),
            at: World::now().to_string(),
            files: self.declaration.files.clone(),
        }
    }

    fn changes(&self) -> Option<Changes> {
        self.before.as_ref().map(|before| self.declaration.since(&before.files))
    }

    /// Of each file that is not as it was trusted, as far as that is still known.
    fn diffs(&self, world: &World) -> Vec<String> {
        let (Some(before), Some(texts)) = (&self.before, Texts::of(world)) else { return Vec::new() };
        let changed = self.declaration.files.iter().filter_map(|now| {
            let before = before.files.iter().find(|before| before.path == now.path)?;
            let instructions = self.instructions.texts().find(|(path, _)| *path == now.path);
            (before.sha256 != now.sha256).then(|| match instructions {
                Some((_, text)) => texts.diff_to(before, now, text),
                None => texts.diff(&world.cwd, before, now),
            })?
        });
        changed.collect()
    }

    /// `once`: what fits a screen is not summed up.
    fn text(&self, once: bool, world: &World) -> String {
        let line = |text: &str| safe_line(text, usize::MAX);
        let mut text = String::new();
        let mut acts = String::new();
        let outward = world.outward();
        for plan in &self.plans {
            let replaces = self.farther.iter().find(|farther| plan.name == farther.name);
            let replaces = replaces.map(|farther| farther.origin.file.as_str());
            let lines = disclosure::lines(plan, replaces, &outward);
            let heading = disclosure::heading(plan);
            text.push_str(&format!("{heading}\n"));
            lines.iter().for_each(|line| text.push_str(&format!("{}\n", line.text())));
            text.push('\n');
            let acting: Vec<&Line> = lines.iter().filter(|line| line.acts).collect();
            if !acting.is_empty() {
                acts.push_str(&format!("  {heading}\n"));
            }
            acting.iter().for_each(|line| acts.push_str(&format!("  {}\n", line.alone())));
        }
        for Steer { key, value } in &self.steers {
            let said = format!("converse.toml sets {}: {}\n", line(key), line(value));
            text.push_str(&said);
            acts.push_str(&format!("  {said}"));
        }
        for (path, said) in self.instructions.texts() {
            let bytes = grouped(said.len() as u64);
            let heading = format!("{} instructs models ({bytes} bytes)\n", line(path));
            text.push_str(&heading);
            said.lines().for_each(|said| text.push_str(&format!("  | {}\n", line(said))));
            acts.push_str(&format!("  {heading}"));
        }
        text.push_str(&format!("project {}\n", line(&self.root)));
        for file in &self.declaration.files {
            text.push_str(&format!("  {}  {}\n", file.sha256, line(&file.path)));
        }
        text.push_str(&format!("sha256 of all  {}\n", self.declaration.hash));
        if let (Some(before), Some(changes)) = (&self.before, self.changes()) {
            text.push_str(&format!("last trusted {}\n", line(&before.at)));
            for (what, paths) in
                [("changed", changes.changed), ("new", changes.added), ("gone", changes.removed)]
            {
                paths.iter().for_each(|path| text.push_str(&format!("  {what}: {}\n", line(path))));
            }
            for diff in self.diffs(world) {
                diff.lines().for_each(|changed| text.push_str(&format!("    {}\n", line(changed))));
            }
        }
        let rows: usize = text.lines().map(|line| line.chars().count() / WIDTH + 1).sum();
        if once && !acts.is_empty() && rows <= SHORT {
            return text;
        }
        // Last, where the question is read: what is above may be of any length.
        text.push_str("\nWhat this would do:\n");
        text.push_str(if acts.is_empty() {
            "  it starts, contacts, opens, replaces and allows nothing\n"
        } else {
            &acts
        });
        text
    }

    fn json(&self, trusted: bool, world: &World) -> Value {
        let before = self.before.as_ref();
        let outward = world.outward();
        json!({
            "root": self.root,
            "sha256": self.declaration.hash,
            "trusted": trusted,
            "files": self.declaration.files,
            "before": before.map(|before| json!({ "at": before.at, "sha256": before.hash })),
            "changes": self.changes(),
            "diffs": self.diffs(world),
            "settings": self.steers.iter().map(|steer| json!({ "key": steer.key, "value": steer.value })).collect::<Vec<_>>(),
            "instructions": self.instructions.texts().map(|(path, text)| json!({ "path": path, "text": text })).collect::<Vec<_>>(),
            "ensembles": self.plans.iter().map(|plan| disclosure::json(plan, &outward)).collect::<Vec<_>>(),
        })
    }
}

/// Removes stored texts that are no longer referenced, since they may contain what the user wanted removed. If the
/// record cannot be read, nothing is removed.
fn forget_texts(store: &Store, texts: &Texts) {
    if let Ok(named) = store.digests() {
        texts.keep_only(&named);
    }
}

fn failed(error: StoreError) -> Failure {
    match error {
        StoreError::Unsound(unsound) => Failure::new(Kind::Configuration, "trust", unsound.to_string())
            .hint("examine the file; if you remove it, no project is trusted any more"),
        StoreError::Unwritten(message) => Failure::new(Kind::Output, "trust", message),
    }
}
