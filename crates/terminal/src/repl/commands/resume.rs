//! `/resume`, `/sessions`, `/transcript`: selects another conversation, and shows what was said.

use std::collections::HashMap;

use converse_canister::Canister;
use converse_editor::paged;
use converse_session::{Document, Kept, Query, Store, Summary, Uuid, Within};
use jiff::Timestamp;

use super::sessions::{NAME, short};
use crate::approver::{Listing, Pick};
use crate::render::output::columns;
use crate::render::transcript::{Look, minute, text};
use crate::repl::session::ReplSession;
use crate::repl::{installed, internal};
use crate::view::answers;
use converse_host::failure::Failure;
use converse_host::secrets::Redactor;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_text::safe_line;
use converse_text::shorten::within_chars;
use converse_text::wording::counted;

/// Characters of a question and an answer in a list.
const PREVIEW: usize = 70;
/// Characters of the last question, and of the last answer, that are shown again.
const EXCHANGE: usize = 256 * 1024;
const EVERYWHERE: &str = "--all";

impl ReplSession<'_> {
    /// Lists the last sessions of this project, or those that contain the words, and continues the selected one.
    pub(super) async fn resume(&mut self, asked: &str) -> Result<(), Failure> {
        let store = sessions::required(self.world)?;
        let mut sessions = Sessions {
            all: self.others(&store)?,
            store: &store,
            here: sessions::project(self.world),
            everywhere: false,
            redactor: &self.console.context.redactor,
            previews: HashMap::new(),
            last: None,
        };
        match self.picks(&mut sessions, asked).await? {
            Pick::Entry(one) => {
                let session = sessions::open(one.id, &self.console.context, self.world)?;
                self.turn_to(session)?;
            }
            Pick::Words(words) => self.view.note(&sessions.nothing(&words)),
            Pick::Nothing => self.view.note("no session selected"),
        }
        Ok(())
    }

    /// The sessions that can be continued, the last one first.
    fn others(&self, store: &Store) -> Result<Vec<Summary>, Failure> {
        let all = store.list().map_err(Failure::of_session)?.into_iter();
        let all = all.filter(|one| one.problem.is_none() && one.canisters > 0);
        Ok(all.filter(|one| Some(one.id) != self.conversation.id()).collect())
    }

    /// Shows the name of the continued session, and its last exchange in full.
    pub(in crate::repl) fn resumed(&self) {
        self.recalls();
        let Some(id) = self.conversation.id() else { return };
        let count = self.conversation.transcript().as_slice().len();
        let name =
            self.conversation.name().map(|name| format!(" · {}", safe_line(&name, NAME))).unwrap_or_default();
        self.view.note(&format!("session {}{name} · {}", short(id), counted(count, "message")));
        let (asked, answer) = super::last_exchange(self.conversation.transcript().as_slice());
        if let Some(asked) = asked {
            self.view.echo_up_to(usize::MAX, &within_chars(&asked, EXCHANGE));
        }
        if let Some(answer) = answer {
            self.view.markdown(&within_chars(answer.trim(), EXCHANGE));
        }
        match self.conversation.unanswered() {
            0 => {}
            count => {
                let questions = counted(count, "unanswered question");
                self.view.note(&format!("{questions} at its end; `/undo` removes one"));
            }
        }
    }

    /// Shows the whole conversation in the user's pager, or prints it where there is none.
    pub(super) async fn transcript(&self) -> Result<(), Failure> {
        if self.conversation.transcript().as_slice().is_empty() {
            return Err(Failure::usage("no-turn", "there is no message yet"));
        }
        let document = self.console.context.redactor.clean_session(self.document()?)?;
        let width = columns(std::io::stdout());
        let light = self.view.is_light();
        let answers = answers(self.console, self.world, width).filter(|_| !self.view.is_plain());
        let answers = answers.map(|look| converse_screen::Look { light, ..look });
        let look = Look { terminal: true, colour: self.view.look().colour, full: true, answers };
        let text = text(&document, look);
        let Some(command) = pager(self.world).filter(|_| !self.view.is_plain()) else {
            return Ok(crate::render::output::write_stdout(&text)?);
        };
        // Ctrl-C is the pager's while it runs.
        let _attended = self.attention.to_program();
        let paging = tokio::task::spawn_blocking(move || paged(&command, &text));
        paging.await.map_err(internal)?.map_err(|why| Failure::usage("pager", why))
    }

    /// The session as it is kept; of a conversation that is not, what was said.
    fn document(&self) -> Result<Document, Failure> {
        let program = concat!("converse ", env!("CARGO_PKG_VERSION"));
        if let Some(id) = self.conversation.id() {
            self.conversation.settled()?;
            return sessions::required(self.world)?.document(id, program).map_err(Failure::of_session);
        }
        let at = World::now();
        let kept = |canister: &Canister| Kept { at, canister: canister.clone() };
        Ok(Document {
            program: program.to_owned(),
            session: String::new(),
            created: at,
            name: None,
            tags: Vec::new(),
            model: Some(self.settings.model.id.clone()),
            usage: Default::default(),
            cost: Default::default(),
            condensed: None,
            canisters: self.conversation.transcript().as_slice().iter().map(kept).collect(),
            decisions: Vec::new(),
            contents: Default::default(),
        })
    }
}

/// Sessions to continue.
struct Sessions<'s> {
    all: Vec<Summary>,
    store: &'s Store,
    here: Option<String>,
    /// Also those of other projects, once that is asked for.
    everywhere: bool,
    redactor: &'s Redactor,
    previews: HashMap<Uuid, Vec<String>>,
    /// What was found last, with its words: longer words find only some of it.
    last: Option<(String, bool, Vec<Summary>)>,
}

impl Sessions<'_> {
    /// The last question and the beginning of its answer, a line each.
    fn last_exchange(&self, one: &Summary) -> Vec<String> {
        let Ok(loaded) = self.store.read(one.id) else { return Vec::new() };
        let (asked, answer) = super::last_exchange(loaded.transcript.as_slice());
        // Redacted before it is shortened: half a secret is not recognised.
        let line = |sign: &str, text: String| {
            let clean = self.redactor.clean(&text);
            let words: Vec<&str> = clean.split_whitespace().take(PREVIEW).collect();
            format!("{sign} {}", safe_line(&words.join(" "), PREVIEW))
        };
        asked
            .map(|asked| line("❯", asked))
            .into_iter()
            .chain(answer.map(|answer| line(" ", answer)))
            .collect()
    }
}

impl Listing for Sessions<'_> {
    type Item = Summary;
    const QUESTION: &'static str = "which one?";
    const LEGEND: &'static str = "its number, or words to search for; Enter: none";

    fn found(&mut self, words: &str) -> Vec<Summary> {
        self.everywhere |= words.split_whitespace().any(|word| word == EVERYWHERE);
        let words = without_everywhere(words);
        let query = Query::new(words.split_whitespace(), Within::All);
        let folded = words.to_lowercase();
        let is_named = |one: &Summary| {
            one.metadata.name.as_ref().is_some_and(|name| name.to_lowercase().contains(&folded))
        };
        let has = |one: &&Summary| {
            query.as_ref().is_none_or(|query| is_named(one) || self.store.is_in(one.id, query))
        };
        let narrower = self.last.as_ref().filter(|(before, everywhere, _)| {
            *everywhere == self.everywhere && words.starts_with(before.as_str())
        });
        let all = narrower.map_or(&self.all, |(.., found)| found).iter();
        let all = all.filter(|one| self.everywhere || one.metadata.project == self.here);
        let found: Vec<Summary> = all.filter(has).cloned().collect();
        self.last = Some((words, self.everywhere, found.clone()));
        found
    }

    fn nothing(&self, words: &str) -> String {
        let said = match (without_everywhere(words).is_empty(), self.everywhere) {
            (true, true) => "there is no other session",
            (true, false) => {
                "there is no other session of this project; `/resume --all` looks in all projects"
            }
            (false, true) => "no session contains these words",
            (false, false) => {
                "no session of this project contains these words; `/resume --all WORDS` looks in all projects"
            }
        };
        said.to_owned()
    }

    fn heading(&self) -> Vec<String> {
        let mut heading = vec!["last used", "messages", "name"];
        heading.extend(self.everywhere.then_some("project"));
        heading.into_iter().map(str::to_owned).collect()
    }

    fn cells(&self, one: &Summary) -> Vec<String> {
        let name = one.metadata.name.clone().unwrap_or_else(|| one.words.clone());
        let mut cells = vec![ago(World::now(), one.updated), one.canisters.to_string()];
        cells.push(safe_line(&self.redactor.clean(&name), NAME));
        // What may be cut off comes last.
        let project = one.metadata.project.as_deref().unwrap_or_default();
        cells.extend(self.everywhere.then(|| safe_line(project, NAME)));
        cells
    }

    fn preview(&mut self, one: &Summary) -> Vec<String> {
        if let Some(known) = self.previews.get(&one.id) {
            return known.clone();
        }
        let preview = self.last_exchange(one);
        self.previews.insert(one.id, preview.clone());
        preview
    }
}

fn without_everywhere(words: &str) -> String {
    words.split_whitespace().filter(|word| *word != EVERYWHERE).collect::<Vec<_>>().join(" ")
}

/// The pager that is set, else `less` if it is installed. An empty `$PAGER` means none.
fn pager(world: &World) -> Option<Vec<String>> {
    match world.var("PAGER") {
        Some(named) => {
            let words: Vec<String> = named.split_whitespace().map(str::to_owned).collect();
            (!words.is_empty()).then_some(words)
        }
        None => installed(&["less"], world),
    }
}

/// How long ago it was; after a week, the time in UTC.
fn ago(now: Timestamp, then: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = now.as_second().saturating_sub(then.as_second());
    match seconds {
        // A clock may have been set back.
        ..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        DAY..604_800 => format!("{} ago", counted(usize::try_from(seconds / DAY).unwrap_or(0), "day")),
        _ => minute(then),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_for_a_week() {
        let then: Timestamp = "2026-11-22T13:30:00Z".parse().unwrap();
        for (seconds, told) in [
            (-5, "just now"),
            (59, "just now"),
            (60, "1 min ago"),
            (3599, "59 min ago"),
            (3600, "1 h ago"),
            (86_399, "23 h ago"),
            (86_400, "1 day ago"),
            (604_799, "6 days ago"),
            (604_800, "2026-11-22 13:30"),
        ] {
            let now = Timestamp::from_second(then.as_second() + seconds).unwrap();
            assert_eq!(ago(now, then), told, "{seconds}");
        }
    }
}
