//! The options of a question, and how they are drawn below it.

use std::time::Instant;

use converse_editor::{Choosing, Picked};
use converse_screen::{Line, Look, Tone, wrapped};
use converse_text::{safe_line, width};

use super::asking::Options;
use crate::view::end_of;

/// One answer that has a letter.
#[derive(Debug, Clone)]
pub(super) struct Choice<A> {
    /// Lower case; the first one is shown.
    pub(super) letters: &'static str,
    pub(super) label: String,
    /// What stays on the screen behind the question; `None` if it ends nothing.
    pub(super) done: Option<&'static str>,
    pub(super) answer: A,
}

impl<A> Choice<A> {
    pub(super) fn new(
        letters: &'static str,
        label: impl Into<String>,
        done: Option<&'static str>,
        answer: A,
    ) -> Self {
        Self { letters, label: label.into(), done, answer }
    }
}

/// Reads a line.
pub(super) type Parse<A> = dyn Fn(&str) -> Option<A> + Send + Sync;

/// What can be answered to a question.
pub(super) struct Menu<A> {
    /// What was asked, for the line that stays with the decision.
    pub(super) title: String,
    /// The title is drawn above the options.
    pub(super) is_headed: bool,
    pub(super) choices: Vec<Choice<A>>,
    /// What is selected first; `None`: the refusal.
    pub(super) first: Option<A>,
    /// What else can be done, below the options.
    pub(super) hint: String,
    /// All of it in words, for a terminal that gives lines.
    pub(super) legend: String,
    pub(super) reminder: String,
    /// What a line means; `None` if it is not clear.
    pub(super) parse: Box<Parse<A>>,
    /// A refusal with these words, and the words of a refusal. Where a refusal has none, words that mean nothing are not
    /// clear.
    pub(super) refuse: fn(Option<String>) -> A,
    pub(super) reason: fn(&A) -> Option<&str>,
}

/// Characters of words in the line that stays.
const SAID: usize = 400;

impl<A: Clone + PartialEq> Menu<A> {
    fn begun(&self, after: Option<Instant>) -> Choosing {
        let first = self.first.clone().unwrap_or_else(|| (self.refuse)(None));
        let letters = self.choices.iter().map(|choice| choice.letters).collect();
        Choosing::new(letters, self.place(&first).unwrap_or_default(), after)
    }

    fn place(&self, answer: &A) -> Option<usize> {
        self.choices.iter().position(|choice| choice.answer == *answer)
    }

    /// What was answered, and in which words; `None` if it is not clear.
    fn meant<'p>(&self, picked: &'p Picked) -> (Option<A>, &'p str) {
        match picked {
            Picked::Option(at) | Picked::Letter(at) => {
                (self.choices.get(*at).map(|choice| choice.answer.clone()), "")
            }
            Picked::Words(words) => (self.meaning(words), words),
            Picked::Nothing | Picked::Suspend => (Some((self.refuse)(None)), ""),
        }
    }

    /// What words mean that were typed as an answer. Words that are no answer are a reason to refuse; a letter alone or a
    /// number is not.
    fn meaning(&self, words: &str) -> Option<A> {
        let refuses = words.chars().filter(|c| c.is_alphabetic()).count() > 1;
        let refusal = || (self.refuse)(Some(words.trim().to_owned()));
        let refusal = || refuses.then(refusal).filter(|refusal| (self.reason)(refusal).is_some());
        (self.parse)(words).or_else(refusal)
    }

    /// The line that stays: the question and its answer, which was typed in these words if it has no letter. `None` if it
    /// ends nothing.
    fn decision(&self, answer: &A, words: &str) -> Option<Line> {
        let choice = self.choices.iter().find(|choice| choice.answer == *answer);
        let said = match (choice, (self.reason)(answer)) {
            (Some(choice), _) => choice.done?.to_owned(),
            (None, Some(reason)) => format!("{}: {}", self.careful_label(), safe_line(reason, SAID)),
            (None, None) => safe_line(words, SAID),
        };
        Some(Line::plain(&format!("{} ", self.title)).with(Tone::Strong, &said))
    }

    fn drawn(&self, choosing: &Choosing, look: &Look, most: usize) -> Vec<Line> {
        let below = match choosing.words() {
            "" => hint_rows(&self.hint, look),
            words => self.words_rows(words, look),
        };
        let title = self.is_headed.then(|| Line::toned(Tone::Strong, &self.title));
        let head: Vec<Line> = title.iter().flat_map(|title| wrapped(title, look.width.max(8))).collect();
        let room = most.saturating_sub(head.len() + below.len()).max(1);
        let first = (choosing.selected() + 1).saturating_sub(room);
        let marked = |(at, choice): (usize, &Choice<A>)| {
            let is_selected = at == choosing.selected() && choosing.words().is_empty();
            let (sign, tone) = match is_selected {
                true => (look.either("❯", ">"), Tone::Accent),
                false if choosing.words().is_empty() => (" ", Tone::Plain),
                false => (" ", Tone::Dim),
            };
            let letter = choice.letters.chars().next().map(String::from).unwrap_or_default();
            Line::toned(tone, &format!("{sign} {letter}  {}", choice.label))
        };
        let rows = self.choices.iter().enumerate().skip(first).take(room).map(marked);
        head.into_iter().chain(rows).chain(below).collect()
    }

    fn words_rows(&self, words: &str, look: &Look) -> Vec<Line> {
        let is_reason = self.meaning(words).is_some_and(|answer| (self.reason)(&answer).is_some());
        let sign = match is_reason {
            true => format!("  {}, because: ", self.careful_label()),
            false => "  answer: ".to_owned(),
        };
        let room = look.width.saturating_sub(width(&sign) + 2).max(8);
        let line = Line::toned(Tone::Dim, &sign).with(Tone::Plain, &end_of(words, room));
        let mut rows = vec![line.with(Tone::Accent, look.either("▏", "_"))];
        rows.extend(hint_rows("Enter sends it; Esc goes back", look));
        rows
    }

    fn careful_label(&self) -> &str {
        let careful = self.place(&(self.refuse)(None)).and_then(|at| self.choices.get(at));
        careful.map_or("", |choice| &choice.label)
    }
}

impl<A: Clone + PartialEq> Options for Menu<A> {
    type Answer = A;

    fn choosing(&mut self, after: Option<Instant>) -> Choosing {
        self.begun(after)
    }

    fn rows(&mut self, choosing: &mut Choosing, look: &Look, most: usize) -> Vec<Line> {
        self.drawn(choosing, look, most)
    }

    fn answer(&mut self, picked: &Picked) -> Option<(A, Option<Line>)> {
        let (answer, words) = self.meant(picked);
        let Some(answer) = answer else {
            self.hint = self.reminder.trim().trim_end_matches(':').to_owned();
            return None;
        };
        let stays = self.decision(&answer, words);
        Some((answer, stays))
    }
}

/// Words of ours below options.
pub(super) fn hint_rows(hint: &str, look: &Look) -> Vec<Line> {
    let rows = wrapped(&Line::toned(Tone::Dim, hint), look.width.saturating_sub(4).max(8)).into_iter();
    rows.map(|row| {
        let mut line = Line::plain("  ");
        line.append(row);
        line
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use converse_host::approvals::{Offered, Reach};

    use super::super::answers::{Answer, Choices, Chosen, several};
    use super::*;

    fn menu() -> Menu<Answer> {
        let offered = Offered { arguments: true, pattern: true, tool: true, run: true };
        Choices { offered, edit: true, view: true }.menu("allow io.x?".to_owned(), "io.x")
    }

    fn drawn<A: Clone + PartialEq>(menu: &Menu<A>, typed: &[&[u8]], look: &Look, most: usize) -> Vec<String> {
        let mut choosing = menu.begun(None);
        typed.iter().for_each(|bytes| assert_eq!(choosing.hears(bytes, Instant::now()), None));
        menu.drawn(&choosing, look, most).iter().map(Line::text).collect()
    }

    #[test]
    fn the_options_are_rows_and_the_careful_one_is_selected() {
        let rows = drawn(&menu(), &[], &Look::plain(80), 20);
        let expected = [
            "  y  yes, run io.x",
            "❯ n  no",
            "  v  view all",
            "  e  edit the arguments",
            "  a  always, with just these arguments",
            "  p  always, where a pattern fits",
            "  t  always, whatever its arguments",
            "  r  yes, for the rest of this run",
            "  Enter, arrows or a letter; Esc = no; words = no, and why",
        ];
        assert_eq!(rows, expected);
        let rows = drawn(&several("allow these 3 calls?".to_owned(), 3), &[b"\x1b[B"], &Look::plain(80), 20);
        let expected = [
            "  y  all of them",
            "  n  none",
            "❯ o  one by one",
            "  v  view all",
            "  Enter, arrows or a letter; 1,3 = these; Esc = none; words = none, and why",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn rows_fit_into_a_small_screen_and_ascii() {
        let look = Look { unicode: false, ..Look::plain(40) };
        let words = [b'x'; 200];
        for typed in [&b""[..], b"\x1b[A", b"y", b"r", &words] {
            for most in [3, 6, 20] {
                let rows = drawn(&menu(), &[typed], &look, most);
                assert!(
                    rows.len() <= most && rows.iter().all(|row| row.len() < 40 && row.is_ascii()),
                    "{rows:#?}"
                );
                let selected = rows.iter().filter(|row| row.starts_with('>')).count();
                assert_eq!(selected, usize::from(typed != words), "{rows:#?}");
            }
        }
    }

    #[test]
    fn words_say_what_they_would_do() {
        for (typed, row) in [
            (&b"you should not"[..], "  no, because: you should not▏"),
            (b"n not\nhere", "  no, because: n not\\nhere▏"),
            (b"yes", "  answer: yes▏"),
            (b"1,3", "  answer: 1,3▏"),
            (b"a\x1b[2Jb\x07", "  no, because: ab▏"),
        ] {
            let rows = drawn(&menu(), &[typed], &Look::plain(80), 20);
            let at = rows.len() - 2;
            assert_eq!(rows.get(at).map(String::as_str), Some(row), "{rows:#?}");
            assert_eq!(rows.last().unwrap(), "  Enter sends it; Esc goes back");
        }
    }

    #[test]
    fn an_answer_stays_in_one_line() {
        let (one, more) = (menu(), several("allow these 3 calls?".to_owned(), 3));
        let words = |words: &str| Picked::Words(words.to_owned());
        for (picked, answer, line) in [
            (Picked::Letter(0), Answer::Yes, Some("allow io.x? yes")),
            (words("yes"), Answer::Yes, Some("allow io.x? yes")),
            (Picked::Nothing, Answer::No(None), Some("allow io.x? no")),
            (
                words("no, not so"),
                Answer::No(Some("no, not so".to_owned())),
                Some("allow io.x? no: no, not so"),
            ),
            (words("n not so"), Answer::No(Some("not so".to_owned())), Some("allow io.x? no: not so")),
            (
                words("you\n\u{202e}"),
                Answer::No(Some("you\n\u{202e}".to_owned())),
                Some("allow io.x? no: you\\n\\u{202e}"),
            ),
            (Picked::Option(2), Answer::View, None),
            (Picked::Option(3), Answer::Edit, None),
            (words("t"), Answer::Further(Reach::Tool), Some("allow io.x? always, whatever its arguments")),
        ] {
            let (answered, said) = one.meant(&picked);
            assert_eq!(answered.as_ref(), Some(&answer), "{picked:?}");
            assert_eq!(one.decision(&answer, said).map(|line| line.text()).as_deref(), line, "{picked:?}");
        }
        for unclear in ["1", "x", "?", "1,4"] {
            assert_eq!(one.meant(&words(unclear)).0, None, "{unclear}");
        }
        for (picked, line) in [
            (Picked::Option(0), "allow these 3 calls? all of them"),
            (words("1,2,3"), "allow these 3 calls? all of them"),
            (words("1, 3"), "allow these 3 calls? 1, 3"),
            (words("only the first"), "allow these 3 calls? none: only the first"),
        ] {
            let (answered, said) = more.meant(&picked);
            let decision = answered.and_then(|answer: Chosen| more.decision(&answer, said));
            assert_eq!(decision.map(|line| line.text()).as_deref(), Some(line), "{picked:?}");
        }
        assert_eq!(more.meant(&words("0")).0, None);
    }
}
