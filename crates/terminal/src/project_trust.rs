//! `converse ensembles trust`: shows what a project declares, and records that the user trusts exactly that.
//!
//! Showing, hashing and recording use one reading of the files. The question, on stderr, has a row for each file and what the
//! project would do; everything else is shown on demand. Without a terminal, only the typed hash counts as "yes", since a
//! bare flag would trust whatever the files contain at that time.

use converse_config::{EnsemblePlan, Scope, Steer};
use converse_ensemble::disclosure::{self, Line};
use serde_json::{Value, json};

use crate::approver::says_yes;
use crate::console::Console;
use crate::render::output::{write_json, write_stdout};
use crate::render::quoted::columns;
use crate::render::table;
use converse_host::catalogue::Catalogue;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::trust::{Changes, Declaration, Entry, FileDigest, Steering, Store, StoreError, Texts};
use converse_host::world::World;
use converse_project::Instructions;
use converse_screen::{Line as ScreenLine, broken};
use converse_text::safe_line;
use converse_text::wording::grouped;

/// What does not fit goes on behind this: a line that the terminal breaks could look like one of ours.
const BROKEN: &str = "  | ";
/// The settings of a project.
const SETTINGS: &str = "converse.toml";

pub struct Trust<'a> {
    pub hash: Option<&'a str>,
    pub as_json: bool,
    pub console: &'a Console,
    pub world: &'a World,
    /// Takes the question back; without it a signal ends the program.
    pub interrupt: Option<&'a Interrupt>,
}

converse_host::opaque_debug!(Trust<'_>);

/// The question of the REPL: shown in short, in full on demand, asked once, recorded if the answer is yes. `false`: it is not trusted.
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
        if !self.as_json && !asks {
            write_stdout(&case.text(self.world))?;
        }
        let consent = match self.hash {
            Some(hash) => hash == current,
            None => known || (asks && self.confirmed(&case)?),
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

    fn confirmed(&self, case: &Case) -> Result<bool, Failure> {
        let short = fitted(&format!("\n{}\n", case.short(self.world)));
        let whole = fitted(&format!("\n{}\n", case.text(self.world)));
        let asking = says_yes(&self.console.progress, &short, "trust exactly this?", Some(&whole));
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

    /// A row for each file, and what acts.
    fn short(&self, world: &World) -> String {
        let mut text = format!("project {}\n", safe_line(&self.root, usize::MAX));
        let changes = self.changes();
        let of_file = |file: &FileDigest| {
            let news = match &changes {
                None => "",
                Some(changes) if changes.added.contains(&file.path) => "new",
                Some(changes) if changes.changed.contains(&file.path) => "changed",
                Some(_) => "",
            };
            let row = [format!("  {}", file.path), self.kind(&file.path, world), news.to_owned()];
            row.map(|cell| safe_line(&cell, usize::MAX)).to_vec()
        };
        let gone = changes.iter().flat_map(|changes| &changes.removed);
        let gone = gone.map(|path| vec![format!("  {path}"), String::new(), "gone".to_owned()]);
        let rows: Vec<Vec<String>> = self.declaration.files.iter().map(of_file).chain(gone).collect();
        table::within(&rows, 0).iter().for_each(|row| text.push_str(&format!("{}\n", row.trim_end())));
        let acts = self.acts(world);
        if !acts.is_empty() {
            text.push_str(&format!("What this would do:\n{acts}"));
        }
        text
    }

    /// What a file is, and its size.
    fn kind(&self, path: &str, world: &World) -> String {
        if let Some((_, said)) = self.instructions.texts().find(|(named, _)| *named == path) {
            return format!("instructs models ({} bytes)", grouped(said.len() as u64));
        }
        let names = self.plans.iter().filter(|plan| plan.origin.file == path).map(|plan| plan.name.as_str());
        let names: Vec<&str> = names.collect();
        let kind = match names.as_slice() {
            _ if path == SETTINGS => "settings".to_owned(),
            [] => "a file of it".to_owned(),
            [one] => format!("ensemble {one}"),
            several => format!("ensembles {}", several.join(", ")),
        };
        // The file as it is now; what it was when it was read, its digest says.
        match world.cwd.join(path).metadata() {
            Ok(file) => format!("{kind} ({} bytes)", grouped(file.len())),
            Err(_) => kind,
        }
    }

    /// What it would start, contact, replace, allow and say.
    fn acts(&self, world: &World) -> String {
        let mut acts = String::new();
        for plan in &self.plans {
            let lines = self.lines(plan, world);
            let acting: Vec<&Line> = lines.iter().filter(|line| line.acts).collect();
            if !acting.is_empty() {
                acts.push_str(&format!("  {}\n", disclosure::heading(plan)));
            }
            acting.iter().for_each(|line| acts.push_str(&format!("  {}\n", line.alone())));
        }
        self.steers.iter().for_each(|steer| acts.push_str(&format!("  {}", sets(steer))));
        acts
    }

    fn lines(&self, plan: &EnsemblePlan, world: &World) -> Vec<Line> {
        let replaces = self.farther.iter().find(|farther| plan.name == farther.name);
        let replaces = replaces.map(|farther| farther.origin.file.as_str());
        disclosure::lines(plan, replaces, &world.outward())
    }

    /// All that it declares, with the digests and what has changed.
    fn text(&self, world: &World) -> String {
        let line = |text: &str| safe_line(text, usize::MAX);
        let mut text = String::new();
        for plan in &self.plans {
            text.push_str(&format!("{}\n", disclosure::heading(plan)));
            self.lines(plan, world).iter().for_each(|line| text.push_str(&format!("{}\n", line.text())));
            text.push('\n');
        }
        self.steers.iter().for_each(|steer| text.push_str(&sets(steer)));
        let mut instructs = String::new();
        for (path, said) in self.instructions.texts() {
            let bytes = grouped(said.len() as u64);
            let heading = format!("{} instructs models ({bytes} bytes)\n", line(path));
            text.push_str(&heading);
            said.lines().for_each(|said| text.push_str(&format!("  | {}\n", line(said))));
            instructs.push_str(&format!("  {heading}"));
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
        // Last, where the question is read: what is above may be of any length.
        text.push_str("\nWhat this would do:\n");
        let acts = self.acts(world) + &instructs;
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

fn sets(Steer { key, value }: &Steer) -> String {
    format!("{SETTINGS} sets {}: {}\n", safe_line(key, usize::MAX), safe_line(value, usize::MAX))
}

/// Broken where the terminal would break it.
fn fitted(text: &str) -> String {
    let rows =
        text.lines().flat_map(|line| broken(&ScreenLine::plain(line), columns(), &ScreenLine::plain(BROKEN)));
    rows.map(|row| row.text() + "\n").collect()
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
