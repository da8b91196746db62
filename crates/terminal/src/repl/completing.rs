//! What can be typed next: commands and what they take, prompts of servers, `@` files.

mod finder;
mod fuzzy;
pub(super) mod paths;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use converse_editor::{Complete, Mark, Nature, Redraw, Suggestion};
use converse_ensemble::Mode;

use super::pictures::Pictures;
use super::slash::{ROWS, Row, Takes};
use finder::Finder;
use paths::{Mention, Place};

/// The possible completions, as a snapshot: nothing is requested while the user types.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// `provider/model`.
    pub models: Vec<Named>,
    pub ensembles: Vec<Named>,
    /// `ensemble.invoker`.
    pub tools: Vec<Named>,
    pub prompts: Vec<KnownPrompt>,
    /// Commands and skills of files, with the hint at their arguments.
    pub commands: Vec<(Named, String)>,
    /// By name, or by id without a name.
    pub sessions: Vec<Named>,
    /// Against which `@` paths are read.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
}

/// A name, and a few words about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub name: String,
    pub about: String,
}

impl Named {
    pub(crate) fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self { name: name.into(), about: about.into() }
    }
}

/// A prompt of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KnownPrompt {
    /// `ensemble.name`.
    pub name: String,
    pub about: String,
    pub arguments: Vec<Named>,
}

/// Files that a line mentions are looked at up to this many, at each key.
const MOST_MENTIONS: usize = 8;

/// Completes from what is known.
#[derive(Debug)]
pub(super) struct Completing {
    known: Arc<Mutex<Known>>,
    pictures: Pictures,
    finder: Finder,
}

impl Completing {
    pub(crate) fn new(known: Arc<Mutex<Known>>, pictures: Pictures) -> Self {
        Self { known, pictures, finder: Finder::default() }
    }

    fn known<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.lock())
    }

    /// Where paths are read, without the lock: a directory may take its time.
    fn place(&self) -> Place {
        self.known(|known| Place { cwd: known.cwd.clone(), home: known.home.clone() })
    }
}

impl Complete for Completing {
    fn complete(&self, line: &str, at: usize) -> Vec<Suggestion> {
        let before = line.get(..at).unwrap_or(line);
        let Some(first) = command_word(line) else { return self.mention(before) };
        if before.len() <= first.len() {
            return self.known(|known| names_of_commands(known, before));
        }
        let from = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        let offers = |names: &[Named]| offers(names, before, from);
        match row_of(first) {
            None => self.known(|known| arguments(known, first, before, from)),
            Some(row) => match row.takes {
                Takes::Nothing => Vec::new(),
                Takes::Models => self.known(|known| offers(&known.models)),
                Takes::Ensembles => {
                    let sign =
                        before.get(from..).and_then(|word| word.get(..1)).filter(|c| ["+", "-"].contains(c));
                    self.known(|known| signed(&known.ensembles, sign.unwrap_or_default(), &offers))
                }
                Takes::Tools => self.known(|known| offers(&known.tools)),
                Takes::Sessions => self.known(|known| offers(&known.sessions)),
                Takes::Files if ["attach", "export"].contains(&row.name) => {
                    self.place().complete(before, first.len() + 1, "")
                }
                Takes::Files => self.mention(before),
                Takes::Commands => offers(&commands()),
                Takes::Modes => offers(&Mode::WORDS.map(|(word, _)| Named::new(word, ""))),
                Takes::OnOff => offers(&[Named::new("on", ""), Named::new("off", "")]),
            },
        }
    }

    fn hint(&self, line: &str) -> Option<String> {
        if let Some(hint) = self.known(|known| hint_at_arguments(known, line)) {
            return Some(hint);
        }
        let typed = command_word(line).filter(|first| first.len() == line.len() && line.len() > 1)?;
        let rest = |name: &str| name.strip_prefix(typed.get(1..)?).map(str::to_owned);
        let row = ROWS.iter().find_map(|row| rest(row.name));
        let of_known = |known: &Known| {
            let own = known.commands.iter().find_map(|(command, _)| rest(&command.name));
            own.or_else(|| known.prompts.iter().find_map(|prompt| rest(&prompt.name)))
        };
        let hint = row.or_else(|| self.known(of_known));
        hint.filter(|hint| !hint.is_empty())
    }

    fn find(&self, line: &str, at: usize, within: Duration) -> Option<Vec<Suggestion>> {
        let before = line.get(..at).unwrap_or(line);
        let Some(mention) = self.sought(before) else { return Some(Vec::new()) };
        let names = self.finder.find(&self.place().cwd, mention.name, within)?;
        let is_quoted = before.get(mention.from..).is_some_and(|typed| typed.starts_with("@\""));
        let suggestion = |path: String| {
            let value = paths::written(&path, "@", is_quoted);
            let space = !path.ends_with('/');
            Suggestion { value, about: String::new(), from: mention.from, to: at, space }
        };
        Some(names.into_iter().map(suggestion).collect())
    }

    fn redraws_by(&self, redraw: Redraw) {
        self.finder.redraws_by(redraw);
    }

    fn marks(&self, line: &str) -> Vec<Mark> {
        let mark = |from, to, nature| Mark { from, to, nature };
        let command = command_word(line).and_then(|first| {
            let is_prompt = |first: &str| self.known(|known| prompt_of(known, first).is_some());
            let is_own = |first: &str| self.known(|known| own_of(known, first).is_some());
            if row_of(first).is_some() || is_own(first) || is_prompt(first) {
                return Some(mark(0, first.len(), Nature::Command));
            }
            // What may still become a command is not called wrong.
            let may_become =
                first.len() == line.len() && self.known(|known| !names_of_commands(known, first).is_empty());
            (!may_become).then_some(mark(0, first.len(), Nature::Unknown))
        });
        let place = self.place();
        let files = paths::mentions(line).take(MOST_MENTIONS);
        let exist = files.filter(|mention| !mention.name.is_empty() && place.of(mention.name).exists());
        let files = exist.map(|file| mark(file.from, file.to, Nature::File));
        let pictures = self.pictures.marks(line).into_iter();
        let pictures = pictures.map(|(from, to)| mark(from, to, Nature::Picture));
        command.into_iter().chain(files).chain(pictures).collect()
    }
}

impl Completing {
    /// The word behind which names of files are offered of themselves. Not for what is there as it is written, so that Enter
    /// sends it, and not for hidden files and those elsewhere, which Tab completes.
    fn sought<'l>(&self, before: &'l str) -> Option<Mention<'l>> {
        let takes_files = match command_word(before).and_then(row_of) {
            Some(row) => matches!(row.takes, Takes::Files) && !["attach", "export"].contains(&row.name),
            None => !before.starts_with('!'),
        };
        let mention = paths::mentions(before).last().filter(|mention| mention.is_open && takes_files)?;
        let begins = before.get(..mention.from)?.chars().next_back();
        if begins.is_some_and(|c| !c.is_whitespace() && !"([{<'\"".contains(c)) {
            return None;
        }
        let name = mention.name;
        let is_tool = || self.known(|known| known.tools.iter().any(|tool| tool.name == name));
        let is_elsewhere = name.starts_with(['/', '~', '.']);
        (!is_elsewhere && !self.place().is_whole(name) && !is_tool()).then_some(mention)
    }

    /// The path after an `@` that the cursor is in.
    fn mention(&self, before: &str) -> Vec<Suggestion> {
        match paths::mentions(before).last().filter(|mention| mention.is_open) {
            Some(mention) => self.place().complete(before, mention.from, "@"),
            None => Vec::new(),
        }
    }
}

/// `/name`, where the line begins with what could be a command.
fn command_word(line: &str) -> Option<&str> {
    let first = line.split(char::is_whitespace).next()?;
    first.strip_prefix('/').filter(|name| !name.contains('/')).map(|_| first)
}

fn row_of(first: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| first.strip_prefix('/') == Some(row.name))
}

fn prompt_of<'k>(known: &'k Known, first: &str) -> Option<&'k KnownPrompt> {
    known.prompts.iter().find(|prompt| first.strip_prefix('/') == Some(prompt.name.as_str()))
}

fn own_of<'k>(known: &'k Known, first: &str) -> Option<&'k (Named, String)> {
    known.commands.iter().find(|(command, _)| first.strip_prefix('/') == Some(command.name.as_str()))
}

/// What a command of a file says about its arguments, where none is typed yet.
fn hint_at_arguments(known: &Known, line: &str) -> Option<String> {
    let (_, hint) = own_of(known, line.strip_suffix(' ')?)?;
    Some(hint.clone()).filter(|hint| !hint.is_empty())
}

fn commands() -> Vec<Named> {
    ROWS.iter().map(|row| Named::new(row.name, row.help)).collect()
}

fn names_of_commands(known: &Known, before: &str) -> Vec<Suggestion> {
    let typed = before.trim_start_matches('/').to_lowercase();
    let prompts = known.prompts.iter().map(|prompt| Named::new(prompt.name.clone(), prompt.about.clone()));
    let own = known.commands.iter().map(|(command, _)| command.clone());
    let fitting = commands().into_iter().chain(own).chain(prompts);
    let fitting = fitting.filter(|one| one.name.to_lowercase().starts_with(&typed));
    fitting
        .map(|one| Suggestion {
            value: format!("/{}", one.name),
            about: one.about,
            from: 0,
            to: before.len(),
            space: true,
        })
        .collect()
}

/// The names with the possible prefixes of each.
fn signed(names: &[Named], sign: &str, offers: &impl Fn(&[Named]) -> Vec<Suggestion>) -> Vec<Suggestion> {
    let named = |one: &Named| Named::new(format!("{sign}{}", one.name), one.about.clone());
    offers(&names.iter().map(named).collect::<Vec<_>>())
}

/// Those that begin with what is typed; where none does, those that hold it.
fn offers(names: &[Named], before: &str, from: usize) -> Vec<Suggestion> {
    let typed = before.get(from..).unwrap_or_default().to_lowercase();
    let begin = |one: &&Named| one.name.to_lowercase().starts_with(&typed);
    let hold = |one: &&Named| one.name.to_lowercase().contains(&typed);
    let suggestion = |one: &Named| Suggestion {
        value: one.name.clone(),
        about: one.about.clone(),
        from,
        to: before.len(),
        space: true,
    };
    let found: Vec<Suggestion> = names.iter().filter(begin).map(suggestion).collect();
    if found.is_empty() { names.iter().filter(hold).map(suggestion).collect() } else { found }
}

/// `key=` of a prompt's arguments that are not given yet.
fn arguments(known: &Known, first: &str, before: &str, from: usize) -> Vec<Suggestion> {
    let Some(prompt) = prompt_of(known, first) else { return Vec::new() };
    let is_given = |name: &str| {
        before.split_whitespace().any(|word| word.strip_prefix(name).is_some_and(|w| w.starts_with('=')))
    };
    let missing = prompt.arguments.iter().filter(|one| !is_given(&one.name));
    let keys: Vec<Named> =
        missing.map(|one| Named::new(format!("{}=", one.name), one.about.clone())).collect();
    offers(&keys, before, from).into_iter().map(|offer| Suggestion { space: false, ..offer }).collect()
}

#[cfg(test)]
mod tests;
