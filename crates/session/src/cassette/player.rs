//! Answers from a cassette: the nth equal question gets the answer of the nth that was asked.

use std::collections::HashMap;
use std::path::Path;

use converse_canister::canonical;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::cassette::entry::{Call, Entry, Exchange, Offer, Reply};
use crate::cassette::miss::{Known, Miss};
use crate::cassette::{Cassette, Question};

/// A cassette that is being played. Shared by all who ask.
#[derive(Debug)]
pub struct Player {
    file: String,
    models: Vec<String>,
    offers: Vec<Offer>,
    replies: Deck<Reply>,
    calls: Deck<Call>,
    miss: Mutex<Option<Miss>>,
}

/// Answers in their order, found by what was asked.
#[derive(Debug)]
struct Deck<T> {
    cards: Vec<Card<T>>,
    /// Of each question those that were not dealt yet, the next one last.
    left: Mutex<HashMap<String, Vec<usize>>>,
}

#[derive(Debug)]
struct Card<T> {
    line: usize,
    began: u64,
    key: String,
    answer: T,
}

impl<T: Clone> Deck<T> {
    fn new(mut cards: Vec<Card<T>>) -> Self {
        // Among equal requests, the first one started is answered first. Entries without a number keep their order.
        cards.sort_by_key(|card| card.began);
        let mut left: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, card) in cards.iter().enumerate().rev() {
            left.entry(card.key.clone()).or_default().push(place);
        }
        Self { cards, left: Mutex::new(left) }
    }

    fn deal(&self, key: &str) -> Option<T> {
        let mut left = self.left.lock();
        let place = left.get_mut(key)?.pop()?;
        self.cards.get(place).map(|card| card.answer.clone())
    }

    /// All questions, those that are still to be asked first.
    fn known(&self) -> Vec<Known<'_>> {
        let left = self.left.lock();
        let cards = self.cards.iter().enumerate();
        let mut known: Vec<Known<'_>> = cards
            .map(|(place, card)| {
                let used = !left.get(&card.key).is_some_and(|places| places.contains(&place));
                Known { line: card.line, key: &card.key, used }
            })
            .collect();
        known.sort_by_key(|known| known.used);
        known
    }
}

impl Player {
    pub fn new(cassette: Cassette, path: &Path) -> Self {
        let mut models = cassette.header.models;
        let (mut offers, mut replies, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for (line, entry) in cassette.entries {
            match entry {
                Entry::Offer(offer) => offers.push(offer),
                Entry::Model(Exchange { model, request, began, reply, .. }) => {
                    if !models.contains(&model) {
                        models.push(model.clone());
                    }
                    let key = Question { model, request }.key();
                    replies.push(Card { line, began, key, answer: reply });
                }
                Entry::Invocation(call) => {
                    let key = called(&call.tool, &call.arguments);
                    calls.push(Card { line, began: call.began, key, answer: call });
                }
            }
        }
        let file = path.display().to_string();
        let (replies, calls) = (Deck::new(replies), Deck::new(calls));
        Self { file, models, offers, replies, calls, miss: Mutex::default() }
    }

    /// The possible models; the intended one is first.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// What an ensemble offered when it was looked at for the nth time; `None`: nothing that was new. Of several
    /// recorded connections the last one counts.
    pub fn offer(&self, ensemble: &str, look: u64) -> Option<&Offer> {
        self.offers.iter().rfind(|offer| offer.ensemble == ensemble && offer.look == look)
    }

    /// `Err`: it was never recorded, or something else was missed before.
    pub fn reply(&self, question: &Question) -> Result<Reply, Miss> {
        self.guard()?;
        let dealt = self.replies.deal(&question.key());
        dealt.ok_or_else(|| {
            let what = format!("this request of {}", question.model);
            self.missed(Miss::new(&self.file, &what, &question.value(), &self.replies.known()))
        })
    }

    /// `arguments` are compared as values.
    pub fn call(&self, tool: &str, arguments: &Value) -> Result<Call, Miss> {
        self.guard()?;
        let dealt = self.calls.deal(&called(tool, arguments));
        dealt.ok_or_else(|| {
            let what = format!("this invocation of {tool}");
            self.missed(Miss::new(&self.file, &what, &call_json(tool, arguments), &self.calls.known()))
        })
    }

    /// Nothing was missed so far.
    pub fn guard(&self) -> Result<(), Miss> {
        self.miss().map_or(Ok(()), Err)
    }

    /// Returns the first request without an answer; later misses follow from it.
    pub fn miss(&self) -> Option<Miss> {
        self.first().clone()
    }

    fn missed(&self, miss: Miss) -> Miss {
        self.first().get_or_insert(miss).clone()
    }

    fn first(&self) -> MutexGuard<'_, Option<Miss>> {
        self.miss.lock()
    }
}

fn call_json(tool: &str, arguments: &Value) -> Value {
    json!({ "tool": tool, "arguments": arguments })
}

fn called(tool: &str, arguments: &Value) -> String {
    canonical(&call_json(tool, arguments))
}
