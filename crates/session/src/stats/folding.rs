//! Collects statistics from journals.

use converse_canister::Cost;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::stats::day::Days;
use crate::stats::figures::{MOST_DAYS, OTHERS, name, place};
use crate::stats::{Day, Figures, Journal, Model, Pattern};

/// What to count.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The time zone of days.
    pub zone: TimeZone,
    /// The first day to count.
    pub since: Option<Date>,
    /// Only replies of these models, the messages that they answer, and the calls that they requested.
    pub model: Option<Pattern>,
    /// Only calls of these tools. All replies count.
    pub tool: Option<Pattern>,
}

/// Statistics that grow by one journal after another.
#[derive(Debug)]
pub struct Folding {
    pub(crate) wanted: Wanted,
    days: Days,
    pub(crate) figures: Figures,
}

impl Folding {
    pub fn new(wanted: Wanted) -> Self {
        let days = Days::new(wanted.zone.clone());
        Self { wanted, days, figures: Figures::default() }
    }

    /// Starts the next session.
    pub fn journal(&mut self) -> Journal<'_> {
        Journal::new(self)
    }

    /// Notes a session that could not be read, or not completely.
    pub fn unreadable(&mut self, session: impl Into<String>, problem: impl Into<String>) {
        self.figures.unreadable(session.into(), problem.into());
    }

    pub fn figures(self) -> Figures {
        self.figures
    }

    /// Returns the day, if it counts.
    pub(crate) fn date(&mut self, at: Timestamp) -> Option<Date> {
        let date = self.days.of(at);
        self.wanted.since.is_none_or(|since| since <= date).then_some(date)
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
