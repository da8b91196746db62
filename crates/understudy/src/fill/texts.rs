//! Free text: what is named or quoted, else what is left of the clause.

use super::Filling;
use crate::evidence::{Evidence, Kind};
use crate::lexicon::lexicon;
use crate::remainder::{Found, Piece, Purpose, named, remainder};
use crate::swap::{self, Side};
use crate::tool::{Parameter, Wants};
use crate::value::fitting;
use crate::words::Word;

/// Words of a pattern that is not quoted.
const PATTERN: usize = 2;

impl Filling<'_> {
    pub(super) fn text(&mut self, parameter: &Parameter) -> bool {
        let long = parameter.wants == Wants::Prose;
        if let Some(side) = swap::side(parameter, self.tool) {
            return self.swapped(parameter, side);
        }
        if long && parameter.required && self.empty(parameter) {
            return true;
        }
        if let Some(piece) = named(self.clause, &self.filled.used, self.tool, parameter, long) {
            return self.take_text(parameter, &piece, 1.0, false);
        }
        let quoted =
            self.clause.evidence.iter().find(|one| one.kind == Kind::Quoted && self.free(one.start, one.end));
        if let Some(one) = quoted.filter(|_| parameter.required || parameter.wants == Wants::Query) {
            let piece = Piece { text: one.value.clone(), start: one.start, end: one.end };
            // "How do you say «cat» in French": a text and a language leave no doubt.
            let spoken = |other: &&Parameter| {
                other.wants == Wants::Language && other.required && self.arguments.contains_key(&other.name)
            };
            self.filled.firm |= long && self.tool.parameters.iter().any(|other| spoken(&other));
            return self.take_text(parameter, &piece, 1.0, false);
        }
        if let Some(one) = self.slug(parameter) {
            let piece = Piece { text: one.value.clone(), start: one.start, end: one.end };
            return self.take_text(parameter, &piece, 1.5, false);
        }
        if !parameter.required || (parameter.wants == Wants::Label && !self.stands_alone(parameter)) {
            return false;
        }
        let purpose = match () {
            () if long => Purpose::Text,
            () if is_pattern(parameter) => Purpose::Pattern,
            () if parameter.wants == Wants::Query => Purpose::Query,
            () => Purpose::Name,
        };
        match remainder(self.clause, &self.filled.used, self.tool, purpose) {
            Found::Piece(piece) if purpose == Purpose::Pattern && is_a_phrase(&piece.text) => false,
            Found::Piece(piece) => {
                // The words of a question belong into a query, and into a pattern or a name for want of one only.
                let bonus = if parameter.wants == Wants::Label { 0.1 } else { 0.4 };
                self.take_text(parameter, &piece, bonus, true)
            }
            Found::Reference if long => {
                self.filled.carry = Some(parameter.name.clone());
                true
            }
            _ => false,
        }
    }

    /// "Replace A by B": one of the two texts.
    fn swapped(&mut self, parameter: &Parameter, side: Side) -> bool {
        let Some(swap) = swap::swap(self.clause) else { return false };
        let piece = if side == Side::Old { swap.old } else { swap.new };
        self.free(piece.start, piece.end) && self.take_text(parameter, &piece, 1.0, false)
    }

    /// "An empty file": a text of nothing.
    fn empty(&mut self, parameter: &Parameter) -> bool {
        let mut pairs = self.clause.words.iter().zip(self.clause.words.iter().skip(1));
        let said = pairs.find(|(word, next)| {
            let empty = ["empty", "blank"].contains(&word.text.as_str()) || word.text.starts_with("пуст");
            empty && lexicon().means(&next.text, "file")
        });
        let Some((word, _)) = said else { return false };
        let value = fitting(&parameter.schema, parameter.kind(), "");
        value.is_some_and(|value| self.take(parameter, value, (word.start, word.end), 0.3))
    }

    /// `owner/name` for a repository.
    fn slug(&self, parameter: &Parameter) -> Option<&Evidence> {
        let repository = parameter.words.iter().any(|word| lexicon().means(word, "repository"));
        let evidence = self.clause.evidence.iter();
        evidence.filter(|_| repository).find(|one| {
            let pair = one.value.split('/').filter(|part| !part.is_empty()).count() == 2;
            matches!(one.kind, Kind::Path(_)) && pair && self.free(one.start, one.end)
        })
    }

    /// Free text may go to a label only if nothing else wants it and it is no identifier.
    fn stands_alone(&self, parameter: &Parameter) -> bool {
        let texts =
            self.tool.parameters.iter().filter(|one| {
                one.required && matches!(one.wants, Wants::Label | Wants::Prose | Wants::Query)
            });
        let opaque = ["id", "ids", "uuid", "hash", "sha", "token", "key", "owner", "repo", "repository"];
        // What is looked for may be a pattern; what is read or listed is none.
        let pattern = is_pattern(parameter);
        let searched = || self.clause.words.iter().any(|word| lexicon().means(&word.text, "search"));
        let named = parameter.words.iter().any(|word| opaque.contains(&word.as_str()));
        texts.count() == 1 && !named && (!pattern || searched())
    }

    fn take_text(&mut self, parameter: &Parameter, piece: &Piece, bonus: f32, loose: bool) -> bool {
        let Some(value) = fitting(&parameter.schema, parameter.kind(), &piece.text) else { return false };
        if loose {
            self.filled.loose.push((piece.start, piece.end));
        }
        self.take(parameter, value, (piece.start, piece.end), bonus)
    }
}

/// No line will match what is said in so many words, or in such.
fn is_a_phrase(text: &str) -> bool {
    let words = crate::words::words(text);
    let many = text.split_whitespace().count();
    let elsewhere =
        |word: &Word| lexicon().is_stop(&word.text) || (many > 1 && lexicon().is_subject(&word.text));
    many > PATTERN || words.iter().any(elsewhere)
}

fn is_pattern(parameter: &Parameter) -> bool {
    parameter.words.iter().any(|word| ["pattern", "regex"].contains(&word.as_str()))
}
