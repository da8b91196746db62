//! Collects statistics from one session, line by line.

use std::collections::{BTreeSet, HashMap};

use crate::{Body, Entry, Header};
use converse_canister::{Canister, Cost, Invocation, InvocationId, InvocationResult, Outcome, Stop, Usage};
use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::Value;

use crate::stats::figures::{MOST_DAYS, OTHERS, name, place};
use crate::stats::folding::Folding;
use crate::stats::page::brief;
use crate::stats::{ListedCall, tool_name};

/// Limit on the remembered calls without a result.
const MOST_OPEN: usize = 10_000;

/// A session that is being read.
#[derive(Debug)]
pub struct Journal<'f> {
    folding: &'f mut Folding,
    /// The lines that were copied from another session are over.
    own: bool,
    /// When the work on the next reply began. `None` if nothing waits for a reply, because the user may have been away
    /// since.
    since: Option<Timestamp>,
    reply: Reply,
    open: HashMap<InvocationId, Open>,
    /// The number of messages of the conversation after each line, and the last reply's message. Only for a list.
    messages: Vec<usize>,
    reply_at: usize,
    /// Nothing has replied to the last message of the user.
    is_new: bool,
    /// Messages of the user without a reply so far, if only some models count.
    unanswered: u64,
    /// A reply without canisters: it broke off, unless the next line is a summary.
    bare: Option<Bare>,
    days: BTreeSet<Date>,
    counted: bool,
}

/// The reply whose canisters are being read.
#[derive(Debug, Default)]
struct Reply {
    began: bool,
    calls: Vec<RequestedCall>,
    stop: Option<Stop>,
}

#[derive(Debug)]
struct RequestedCall {
    id: InvocationId,
    tool: String,
    /// The message of the reply.
    index: usize,
    arguments: Option<Value>,
}

#[derive(Debug)]
struct Bare {
    model: String,
    took: Option<u64>,
}

#[derive(Debug)]
struct Open {
    tool: String,
    index: usize,
    arguments: Option<Value>,
    model: Option<String>,
    started: Option<Timestamp>,
}

impl<'f> Journal<'f> {
    pub(crate) fn new(folding: &'f mut Folding) -> Self {
        Self {
            folding,
            own: false,
            since: None,
            reply: Reply::default(),
            open: HashMap::new(),
            messages: Vec::new(),
            reply_at: 0,
            is_new: false,
            unanswered: 0,
            bare: None,
            days: BTreeSet::new(),
            counted: false,
        }
    }

    /// Adds the next line, from the second on.
    pub fn line(&mut self, header: &Header, entry: Entry) {
        if self.folding.page.is_some() {
            self.count_messages(&entry);
        }
        self.own |= is_own(header, &entry);
        if !self.own {
            return;
        }
        let Entry { at, body, seq } = entry;
        // A summary is on the next line; any other reply without canisters broke off.
        let bare = self.bare.take().filter(|_| !matches!(body, Body::Condensed { .. }));
        self.broke_off(bare);
        match body {
            Body::Canister { canister } => self.add_canister(at, seq, canister),
            Body::Started { id } => {
                if let Some(open) = self.open.get_mut(&id) {
                    open.started = Some(at);
                }
            }
            Body::Used { usage, cost, model, provider } => {
                self.used(at, &usage, cost, &full(provider.as_deref(), &model));
            }
            // Within a turn the next reply follows. After a summary that a person requested, nothing waits.
            Body::Condensed { .. } => self.since = self.since.map(|_| at),
            _ => {}
        }
    }

    /// Follows the conversation, because messages are numbered in it.
    fn count_messages(&mut self, entry: &Entry) {
        let before = self.messages.last().copied().unwrap_or(0);
        let after = match &entry.body {
            Body::Canister { canister } => {
                if matches!(canister, Canister::Assistant(_)) {
                    self.reply_at = before;
                }
                before + 1
            }
            // The first line here is the second of the journal.
            Body::Rewound { to } => {
                let line = usize::try_from(*to).unwrap_or(usize::MAX).checked_sub(2);
                line.and_then(|line| self.messages.get(line).copied()).unwrap_or(0)
            }
            _ => before,
        };
        self.messages.push(after);
    }

    /// Ends the session.
    pub fn end(mut self) {
        let bare = self.bare.take();
        self.broke_off(bare);
    }

    fn broke_off(&mut self, bare: Option<Bare>) {
        let Some(Bare { model, took }) = bare else { return };
        let of = self.folding.model(&model);
        of.broken += 1;
        took.into_iter().for_each(|took| of.time.add(took));
    }

    fn add_canister(&mut self, at: Timestamp, seq: u64, canister: Canister) {
        if matches!(canister, Canister::User(_) | Canister::Document(_) | Canister::Result(_)) {
            self.since = Some(at);
        }
        match canister {
            Canister::User(_) => {
                self.reply = Reply::default();
                self.is_new = true;
                if self.folding.wanted.model.is_some() {
                    self.unanswered = 1;
                } else {
                    self.turns(at, 1);
                }
            }
            Canister::Assistant(assistant) => {
                self.reply.began = true;
                self.reply.stop.get_or_insert(assistant.stop);
            }
            Canister::Invocation(invocation) => {
                self.reply.began = true;
                if self.reply.calls.len() < MOST_OPEN {
                    let Invocation { id, tool, arguments, .. } = invocation;
                    let arguments = self.folding.page.as_ref().map(|_| brief(&arguments.object));
                    let (tool, index) = (tool_name(&tool), self.reply_at);
                    self.reply.calls.push(RequestedCall { id, tool, index, arguments });
                }
            }
            Canister::Result(result) => {
                // Without its `used` line, the model of the reply is not known.
                self.end_reply(None);
                self.answered(at, seq, &result);
            }
            Canister::Supervisor(_) | Canister::Document(_) => {}
        }
    }

    fn used(&mut self, at: Timestamp, usage: &Usage, cost: Option<Cost>, model: &str) {
        let stop = self.reply.stop.take();
        let began = self.reply.began;
        let took = self.since.and_then(|since| milliseconds(since, at));
        let goes_on = !began || stop == Some(Stop::Paused);
        self.since = self.since.filter(|_| goes_on).map(|_| at);
        self.end_reply(Some(model));
        if !self.folding.wants_model(Some(model)) {
            return;
        }
        let is_new = std::mem::take(&mut self.is_new);
        let Some(date) = self.counts(at) else { return };
        let unanswered = std::mem::take(&mut self.unanswered);
        self.turns(at, unanswered);
        let timed = took.filter(|_| began);
        let figures = &mut self.folding.figures;
        figures.spent.add(usage, cost);
        timed.into_iter().for_each(|took| figures.time.add(took));
        if let Some(day) = self.folding.day(date) {
            day.spent.add(usage, cost);
            timed.into_iter().for_each(|took| day.time.add(took));
        }
        let tokens = usage.input.unwrap_or(0).saturating_add(usage.output.unwrap_or(0));
        self.folding.share(date, model, tokens, cost.unwrap_or_default());
        let of = self.folding.model(model);
        of.spent.add(usage, cost);
        of.turns += u64::from(is_new);
        match stop {
            Some(Stop::Cut) => of.broken += 1,
            Some(Stop::Truncated) => of.truncated += 1,
            Some(Stop::Refused { .. }) => of.refused += 1,
            _ => {}
        }
        if began {
            took.into_iter().for_each(|took| of.time.add(took));
        } else {
            // Between turns it is not known when a summary was requested.
            self.bare = Some(Bare { model: model.to_owned(), took });
        }
    }

    /// Ends a reply: its calls wait for results.
    fn end_reply(&mut self, model: Option<&str>) {
        for RequestedCall { id, tool, index, arguments } in std::mem::take(&mut self.reply).calls {
            if self.open.len() < MOST_OPEN {
                let model = model.map(str::to_owned);
                self.open.insert(id, Open { tool, index, arguments, model, started: None });
            }
        }
    }

    fn answered(&mut self, at: Timestamp, seq: u64, result: &InvocationResult) {
        let Some(open) = self.open.remove(&result.id) else { return };
        let Open { tool, index, arguments, model, started } = open;
        let model = model.as_deref();
        if !self.folding.wants_model(model) || !self.folding.wants_tool(&tool) {
            return;
        }
        let Some(date) = self.counts(at) else { return };
        self.folding.figures.calls.add(result);
        if let Some(day) = self.folding.day(date) {
            day.calls.add(result);
        }
        let invalid = u64::from(result.outcome == Outcome::Invalid);
        if let Some(model) = model {
            self.folding.model(model).calls.add(result);
            let others = (OTHERS.to_owned(), OTHERS.to_owned());
            let pair = place(&mut self.folding.figures.pairs, (name(model), name(&tool)), others);
            pair.calls += 1;
            pair.invalid += invalid;
        }
        let of = place(&mut self.folding.figures.tools, name(&tool), OTHERS.to_owned());
        of.calls.add(result);
        // A repair writes the result of an interrupted call much later.
        let answered = result.outcome != Outcome::Interrupted;
        let took = started.filter(|_| answered).and_then(|started| milliseconds(started, at));
        took.into_iter().for_each(|took| of.time.add(took));
        if let Some(page) = &mut self.folding.page {
            let (id, model) = (result.id.clone(), model.map(str::to_owned));
            let (outcome, arguments) = (result.outcome, arguments.unwrap_or_default());
            page.add(at, seq, ListedCall { index, id, model, tool, outcome, milliseconds: took, arguments });
        }
    }

    fn turns(&mut self, at: Timestamp, turns: u64) {
        let Some(date) = self.counts(at).filter(|_| turns > 0) else { return };
        self.folding.figures.turns += turns;
        if let Some(day) = self.folding.day(date) {
            day.turns += turns;
        }
    }

    /// Counts the session and the day of a line; `None` if the day does not count.
    fn counts(&mut self, at: Timestamp) -> Option<Date> {
        let date = self.folding.date(at)?;
        self.folding.figures.sessions += u64::from(!std::mem::replace(&mut self.counted, true));
        if self.days.len() < MOST_DAYS
            && self.days.insert(date)
            && let Some(day) = self.folding.day(date)
        {
            day.sessions += 1;
        }
        Some(date)
    }
}

/// Returns `provider/model`, or the model alone if the provider is not known.
pub(crate) fn full(provider: Option<&str>, model: &str) -> String {
    match provider {
        Some(provider) if provider != model => format!("{provider}/{model}"),
        _ => model.to_owned(),
    }
}

/// Returns whether a line, and so every later line, belongs to the session itself. Copied lines keep their time: those of
/// a fork are older than it, and those of an import end with a note.
pub(crate) fn is_own(header: &Header, entry: &Entry) -> bool {
    match (&header.forked, &header.imported) {
        (_, Some(from)) => {
            matches!(&entry.body, Body::Note { text } if *text == format!("taken in from {from}"))
        }
        (Some(_), None) => entry.at >= header.created,
        (None, None) => true,
    }
}

/// Returns the milliseconds, or `None` if the clock went back.
pub(crate) fn milliseconds(from: Timestamp, to: Timestamp) -> Option<u64> {
    u64::try_from(to.as_millisecond() - from.as_millisecond()).ok()
}

#[cfg(test)]
mod tests;
