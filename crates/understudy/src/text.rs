//! Free text out of a clause: what is quoted, what follows a colon or a marker ("with the text …"), and what is left
//! between the verb and the file, or after the verb of a search.
//!
//! A text that would have to be composed ("a poem about the sea") is not found: the router cannot write it.

use crate::clause::Clause;
use crate::evidence::Kind;
use crate::fill::Span;
use crate::tokens::{Shape, Token, path_shape, tokens};
use crate::tool::{Parameter, Takes, Tool};
use crate::words::{Word, among, concepts, identifier_words, is, is_done, is_stop, lower, means, related};

/// A piece of the clause's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether the text is the remainder of a clause, neither quoted nor marked.
    pub(crate) loose: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextSource {
    Piece(Piece),
    /// "it", «результат»: an earlier answer is meant.
    Reference,
    Nothing,
}

impl From<Option<Piece>> for TextSource {
    fn from(piece: Option<Piece>) -> Self {
        piece.map_or(Self::Nothing, Self::Piece)
    }
}

/// Returns the text for a parameter, outside of the words that are already used.
pub(crate) fn find(clause: &Clause, used: &[Span], tool: &Tool, parameter: &Parameter) -> TextSource {
    let finder = Finder { clause, used, tool };
    if !parameter.required {
        return finder.quoted_after_name(parameter).into();
    }
    match parameter.takes {
        Takes::Old => finder.replacement().map(|(old, _)| old).into(),
        Takes::New => finder.replacement().map(|(_, new)| new).into(),
        Takes::Nothing => TextSource::Nothing,
        // A pattern is only for a search.
        Takes::Pattern if !clause.words.iter().any(|word| means(&word.text, "search")) => TextSource::Nothing,
        takes => match (finder.quoted(0), takes) {
            (Some(piece), _) => TextSource::Piece(piece),
            (None, Takes::Text) => finder.content(parameter),
            (None, Takes::Query) => finder.after_colon().or_else(|| finder.query()).into(),
            (None, Takes::Pattern) => finder.pattern().into(),
            (None, Takes::Identifier) => finder.identifier().into(),
            _ => TextSource::Nothing,
        },
    }
}

const PREPOSITIONS: &str = "to in into as at on inside в во на к";
/// Words that may be between a text and its file.
const BEFORE_FILE: &str = "the a end of called named конец";
/// "Save the list to a.txt" means the list that was requested before.
const ANSWERS: &str = "list listing sum total contents time date number";

struct Finder<'a> {
    clause: &'a Clause,
    used: &'a [Span],
    tool: &'a Tool,
}

impl<'a> Finder<'a> {
    fn free(&self, start: usize, end: usize) -> bool {
        self.used.iter().all(|(from, to)| end <= *from || *to <= start)
    }

    /// The first free quoted text from this byte on.
    fn quoted(&self, from: usize) -> Option<Piece> {
        let mut all = self.clause.evidence.iter().filter(|one| one.kind == Kind::Quoted && one.start >= from);
        let one = all.find(|one| self.free(one.start, one.end))?;
        Some(Piece { text: one.value.clone(), start: one.start, end: one.end, loose: false })
    }

    /// `author "Ann"`.
    fn quoted_after_name(&self, parameter: &Parameter) -> Option<Piece> {
        let named = |word: &&Word| parameter.words.contains(&word.text) && self.free(word.start, word.end);
        let word = self.clause.words.iter().find(named)?;
        let piece = self.quoted(word.end)?;
        self.clause.text[word.end..piece.start].trim().is_empty().then_some(piece)
    }

    /// Returns the piece from the first of these words to the last, if it contains neither a file nor an address.
    fn piece(&self, words: &[&Word], loose: bool) -> Option<Piece> {
        let (start, last) = (words.first()?.start, words.last()?.end);
        let rest = &self.clause.text[last..];
        let end =
            last + rest.find(|c: char| !c.is_alphanumeric() && !")]}\"'»!".contains(c)).unwrap_or(rest.len());
        let other = |kind: &Kind| matches!(kind, Kind::Url | Kind::Path(_));
        let clash =
            self.clause.evidence.iter().any(|one| other(&one.kind) && start < one.end && one.start < end);
        let free = !clash && self.free(start, end);
        free.then(|| Piece { text: self.clause.text[start..end].trim_end().to_owned(), start, end, loose })
    }

    /// "Create a note: buy milk".
    fn after_colon(&self) -> Option<Piece> {
        let text = &self.clause.text;
        let inside = |at: usize| self.clause.evidence.iter().any(|one| one.start <= at && at < one.end);
        let at = text.match_indices(": ").map(|(at, _)| at).find(|at| !inside(*at))?;
        let end = text.trim_end().len();
        let start = end - text[at + 2..].trim().len();
        let piece = Piece { text: text[start..end].to_owned(), start, end, loose: false };
        (start < end && self.free(start, end)).then_some(piece)
    }

    /// A text to keep.
    fn content(&self, parameter: &Parameter) -> TextSource {
        if let Some(piece) = self.after_colon() {
            return TextSource::Piece(piece);
        }
        match self.marked(parameter) {
            Some(words) if composes(&words) => TextSource::Nothing,
            Some(words) => self.piece(&words, false).into(),
            None => self.before_file(),
        }
    }

    /// The words after "with the text", «с текстом», "containing".
    fn marked(&self, parameter: &Parameter) -> Option<Vec<&'a Word>> {
        let own = identifier_words(self.tool.own_name());
        let marks = |word: &&Word| {
            let mark = means(&word.text, "content") || parameter.words.contains(&word.text);
            mark && !own.contains(&word.text) && self.free(word.start, word.end)
        };
        let mark = self.clause.words.iter().find(marks)?;
        let next = self.used.iter().map(|(start, _)| *start).filter(|start| *start >= mark.end).min();
        let limit = next.unwrap_or(self.clause.text.len());
        let words = self.clause.words.iter().filter(|word| mark.end <= word.start && word.end <= limit);
        let words: Vec<&Word> = words.skip_while(|word| among(&word.text, "of is as the")).collect();
        let kept = if next.is_some() { words.len() - leading_to_file(&words) } else { words.len() };
        (kept > 0).then(|| words[..kept].to_vec())
    }

    /// "Write hello world to out.txt": the words between the verb and the preposition.
    fn before_file(&self) -> TextSource {
        let file = self.used.iter().map(|(start, _)| *start).min().unwrap_or(0);
        let words: Vec<&Word> = self.clause.words.iter().filter(|word| word.end <= file).collect();
        let verb = |word: &&Word| ["write", "append", "create"].iter().any(|deed| means(&word.text, deed));
        let Some(verb) = words.iter().position(verb) else { return TextSource::Nothing };
        let idle = |word: &&Word| is_stop(&word.text) || is(&word.text, "weak") || is(&word.text, "starters");
        let end = words.len() - leading_to_file(&words);
        let preposition = words.get(end).is_some_and(|word| among(&word.text, PREPOSITIONS));
        if !preposition || end <= verb + 1 || !words[..verb].iter().all(idle) {
            return TextSource::Nothing;
        }
        let kept = &words[verb + 1..end];
        let texts: Vec<&str> = kept.iter().map(|word| word.text.as_str()).collect();
        let reference = match texts.as_slice() {
            ["the", answer] => is(answer, "references") || among(answer, ANSWERS),
            [only] => is(only, "references"),
            _ => false,
        };
        match () {
            () if reference => TextSource::Reference,
            () if composes(kept) => TextSource::Nothing,
            () => self.piece(kept, true).into(),
        }
    }

    /// Returns the words of a search without its verb and the tool's own words.
    fn query(&self) -> Option<Piece> {
        let own = identifier_words(&self.tool.name);
        let of_tool = |word: &Word| {
            means(&word.text, "web")
                || own.iter().any(|mine| related(mine, &word.text))
                || is_stop(&word.text)
        };
        let lead = |word: &Word| of_tool(word) || leads(word);
        let words: Vec<&Word> = self.clause.words.iter().collect();
        let start = words.iter().take_while(|word| lead(word)).count();
        let behind = words[start..].iter().rev().take_while(|word| of_tool(word)).count();
        self.piece(&words[start..words.len() - behind], true)
    }

    /// One or two words that a search names: "find TODO in the files".
    fn pattern(&self) -> Option<Piece> {
        let places = ["file", "directory", "repository", "project", "code"];
        let idle = |word: &Word| is_stop(&word.text) || places.iter().any(|place| means(&word.text, place));
        let words: Vec<&Word> =
            self.clause.words.iter().filter(|word| self.free(word.start, word.end)).collect();
        let start = words.iter().take_while(|word| idle(word) || leads(word)).count();
        let behind = words[start..].iter().rev().take_while(|word| idle(word)).count();
        let kept = &words[start..words.len() - behind];
        let plain =
            |word: &&&Word| is_stop(&word.text) || (kept.len() > 1 && !concepts(&word.text).is_empty());
        let good = kept.len() <= 2 && !kept.iter().any(|word| plain(&word));
        good.then(|| self.piece(kept, true))?
    }

    /// The one token that is not a plain word: `HEAD~2`, `abc1234`, `owner/name`.
    fn identifier(&self) -> Option<Piece> {
        let number = |one: &Token<'_>| one.text.chars().all(|c| c.is_ascii_digit());
        let odd = |one: &Token<'_>| {
            let ascii =
                one.text.is_ascii() && one.text.len() > 1 && one.text.starts_with(char::is_alphanumeric);
            ascii && one.text.chars().any(|c| !c.is_ascii_lowercase() && c != '\'') && !is_title(one.text)
        };
        let other = |one: &Token<'_>| {
            let mut all =
                self.clause.evidence.iter().filter(|span| span.start < one.end && one.start < span.end);
            all.any(|span| !matches!(span.kind, Kind::Number | Kind::Path(Shape::Unknown)))
        };
        // "80 BPM" names a unit, "the MRI report" a thing of the tool.
        let own = identifier_words(self.tool.own_name());
        let known = |one: &Token<'_>| {
            let unit = self.clause.text[..one.start].trim_end().ends_with(|c: char| c.is_ascii_digit());
            unit || own.contains(&lower(one.text))
        };
        let candidate = |one: &Token<'_>| odd(one) && !number(one) && !other(one) && !known(one);
        let mut all = tokens(&self.clause.text).into_iter().filter(candidate);
        let one = all.find(|one| self.free(one.start, one.end))?;
        let piece = Piece { text: one.text.to_owned(), start: one.start, end: one.end, loose: false };
        all.next().is_none().then_some(piece)
    }

    /// "Replace A by B", «замени A на B»: each is quoted, or one word that is not a file.
    fn replacement(&self) -> Option<(Piece, Piece)> {
        let quoted = |one: &Token<'_>| {
            let mut quotes = self.clause.evidence.iter().filter(|span| span.kind == Kind::Quoted);
            quotes.any(|quote| quote.start <= one.start && one.end <= quote.end)
        };
        let all = tokens(&self.clause.text);
        let verb = |one: &Token<'_>| {
            let word = lower(one.text);
            means(&word, "update") && !is_done(&word) && !quoted(one)
        };
        let verb = all.iter().position(verb)?;
        let joint = |one: &Token<'_>| among(&lower(one.text), "with by to into на");
        let joint = verb + 2 + all.get(verb + 2..)?.iter().position(|one| joint(one) && !quoted(one))?;
        let piece = |side: &[Token<'_>]| {
            let (from, to) = (side.first()?.start, side.last()?.end);
            let mut quotes = self.clause.evidence.iter().filter(|span| span.kind == Kind::Quoted);
            if let Some(one) = quotes.find(|one| one.start < to && from < one.end) {
                let (text, start, end) = (one.value.clone(), one.start, one.end);
                return Some(Piece { text, start, end, loose: false });
            }
            let skipped = |one: &&Token<'_>| among(one.text, "the a an") || is(&lower(one.text), "every");
            let ends = |one: &&Token<'_>| among(&lower(one.text), "in of inside в из");
            let mut words = side.iter().skip_while(skipped).take_while(|one| !ends(one));
            let one = words.next().filter(|one| path_shape(one.text) != Some(Shape::File))?;
            let piece = Piece { text: one.text.to_owned(), start: one.start, end: one.end, loose: false };
            words.next().is_none().then_some(piece)
        };
        Some((piece(&all[verb + 1..joint])?, piece(&all[joint + 1..])?))
    }
}

/// The verb and the polite words of a search.
fn leads(word: &Word) -> bool {
    is(&word.text, "weak") || is(&word.text, "starters") || means(&word.text, "search")
}

/// Returns the number of words at the end that only lead to the following file: "to the end of the file".
fn leading_to_file(words: &[&Word]) -> usize {
    let leads = |word: &Word| {
        let text = word.text.as_str();
        among(text, PREPOSITIONS) || among(text, BEFORE_FILE) || means(text, "file")
    };
    words.iter().rev().take_while(|word| leads(word)).count()
}

fn composes(words: &[&Word]) -> bool {
    words.iter().filter(|word| !is_stop(&word.text)).take(2).any(|word| is(&word.text, "compositions"))
}

/// "Show", and not "HEAD".
fn is_title(text: &str) -> bool {
    text.starts_with(char::is_uppercase) && text.chars().skip(1).all(|c| c.is_lowercase() || c == '\'')
}
