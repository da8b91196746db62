//! Collects statistics from journals.

use converse_canister::Cost;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use uuid::Uuid;

use crate::stats::day::Days;
use crate::stats::figures::{MOST_DAYS, OTHERS, name, place};
use crate::stats::{Day, Figures, Journal, Model, Page, Pattern};
use crate::{SessionError, Store};

/// What to count.
#[derive(Debug, Clone)]
pub struct StatsFilter {
    /// The time zone of days.
    pub zone: TimeZone,
    /// The first day to count.
    pub since: Option<Date>,
    /// The last day to count.
    pub until: Option<Date>,
    /// Only replies of these models, the messages that they answer, and the calls that they requested.
    pub model: Option<Pattern>,
    /// Only calls of these tools. All replies count.
    pub tool: Option<Pattern>,
}

/// Statistics that grow by one journal after another.
#[derive(Debug)]
pub struct Folding {
    pub(crate) wanted: StatsFilter,
    days: Days,
    pub(crate) figures: Figures,
    pub(crate) page: Option<Page>,
    project: Option<String>,
}

impl Folding {
    pub fn new(wanted: StatsFilter) -> Self {
        let days = Days::new(wanted.zone.clone());
        Self { wanted, days, figures: Figures::default(), page: None, project: None }
    }

    /// Also collects a page of the calls behind the figures.
    #[must_use]
    pub fn listing(self, page: Page) -> Self {
        Self { page: Some(page), ..self }
    }

    /// Lets [`Folding::read_all`] read only the sessions that began in the directory of a project.
    #[must_use]
    pub fn of_project(self, project: Option<String>) -> Self {
        Self { project, ..self }
    }

    /// Reads the journal of a session.
    ///
    /// # Errors
    ///
    /// The session could not be read, or not completely. What was read is counted, and the session is noted.
    pub fn read(&mut self, store: &Store, id: Uuid) -> Result<(), SessionError> {
        if let Some(page) = &mut self.page {
            page.session = id;
        }
        let mut journal = self.journal();
        let walked = store.walk(id, |header, entry| journal.line(header, entry));
        journal.end();
        match walked {
            // The session never got a message.
            Ok(()) | Err(SessionError::Empty { .. } | SessionError::NotFound(_)) => Ok(()),
            Err(error) => {
                self.figures.unreadable(id.to_string(), error.to_string());
                Err(error)
            }
        }
    }

    /// Reads the sessions that may have something of the wanted days, the last written first, until a page is complete.
    /// Problems are noted in the figures.
    ///
    /// # Errors
    ///
    /// The sessions cannot be listed.
    pub fn read_all(&mut self, store: &Store) -> Result<(), SessionError> {
        let written = store.all()?.into_iter().filter_map(|id| Some((store.written(id)?, id)));
        let mut sessions: Vec<(Timestamp, Uuid)> = written.collect();
        sessions.sort_unstable_by(|one, other| other.cmp(one));
        for (written, id) in sessions {
            // A journal has no line that is later than its last write.
            let is_older = self.wanted.since.is_some_and(|since| self.days.of(written) < since);
            if is_older || self.page.as_ref().is_some_and(|page| page.is_complete(written)) {
                break;
            }
            if self.project.is_some() && store.metadata(id).ok().and_then(|one| one.project) != self.project {
                continue;
            }
            // Problems are in the figures.
            let _ = self.read(store, id);
        }
        Ok(())
    }

    /// Returns the page of calls.
    pub fn into_page(self) -> Option<Page> {
        self.page
    }

    /// Starts the next session.
    pub fn journal(&mut self) -> Journal<'_> {
        Journal::new(self)
    }

    pub fn figures(self) -> Figures {
        self.figures
    }

    /// Returns the day, if it counts.
    pub(crate) fn date(&mut self, at: Timestamp) -> Option<Date> {
        let date = self.days.of(at);
        let StatsFilter { since, until, .. } = &self.wanted;
        (since.is_none_or(|since| since <= date) && until.is_none_or(|until| date <= until)).then_some(date)
    }

    /// Returns whether a model counts. A pattern may omit the provider.
    pub(crate) fn wants_model(&self, model: Option<&str>) -> bool {
        let Some(wanted) = &self.wanted.model else { return true };
        let Some(model) = model else { return false };
        let alone = model.split_once('/').map(|(_, model)| model);
        wanted.matches(model) || alone.is_some_and(|model| wanted.matches(model))
    }

    pub(crate) fn wants_tool(&self, tool: &str) -> bool {
        self.wanted.tool.as_ref().is_none_or(|wanted| wanted.matches(tool))
    }

    /// Returns the statistics of a day; `None` if there are too many days.
    pub(crate) fn day(&mut self, date: Date) -> Option<&mut Day> {
        let days = &mut self.figures.days;
        let room = days.len() < MOST_DAYS || days.contains_key(&date);
        room.then(|| days.entry(date).or_default())
    }

    pub(crate) fn model(&mut self, model: &str) -> &mut Model {
        place(&mut self.figures.models, name(model), OTHERS.to_owned())
    }

    pub(crate) fn share(&mut self, date: Date, model: &str, tokens: u64, cost: Cost) {
        let Some(day) = self.day(date) else { return };
        let share = place(&mut day.models, name(model), OTHERS.to_owned());
        share.tokens = share.tokens.saturating_add(tokens);
        share.cost = share.cost.plus(cost);
    }
}
