//! At the terminal, or through a pipe: who, what, and how each call ended.

use std::collections::HashMap;

use converse_canister::{Canister, Content, Invocation, InvocationId, InvocationResult};
use converse_screen::{Look as Screen, markdown};
use converse_session::{Document, Kept};

use super::edits::Edits;
use super::{CUT_SHORT, ended, facts, is_cut, minute, title};
use crate::render::output::painted;
use crate::render::result_text;
use converse_text::{safe, safe_line};

/// Of arguments and results, unless all is asked for.
const SHORT_LINE: usize = 160;
const SHORT_LINES: usize = 6;

/// How it is written.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// What could act on a terminal is shown instead; through a pipe goes what was said.
    pub terminal: bool,
    pub colour: bool,
    pub full: bool,
    /// The layout of answers, which are Markdown; without it they are shown as written.
    pub answers: Option<Screen>,
}

/// Finds the call of a result: several calls run at the same time, and their results are in the order of arrival.
struct Caller<'a> {
    tool: &'a str,
    /// Of its message, where its reply calls the tool more than once.
    number: Option<usize>,
}

type Callers<'a> = HashMap<&'a InvocationId, Caller<'a>>;

fn callers(document: &Document) -> Callers<'_> {
    let numbered = document.canisters.iter().zip(1..);
    let calls = numbered.filter_map(|(kept, number)| match &kept.canister {
        Canister::Invocation(invocation) => Some((invocation, number)),
        _ => None,
    });
    let calls: Vec<(&Invocation, usize)> = calls.collect();
    let mut counts = HashMap::new();
    for (call, _) in &calls {
        *counts.entry((call.turn, call.tool.as_str())).or_insert(0usize) += 1;
    }
    let mut callers = HashMap::new();
    for (call, number) in calls {
        let several = counts.get(&(call.turn, call.tool.as_str())).is_some_and(|count| *count > 1);
        callers.insert(&call.id, Caller { tool: &call.tool, number: several.then_some(number) });
    }
    callers
}

impl Caller<'_> {
    fn text(&self) -> String {
        let number = self.number.map(|number| format!(" [{number}]")).unwrap_or_default();
        format!(" · {}{number}", safe_line(self.tool, SHORT_LINE))
    }
}

/// The whole of it.
pub fn text(document: &Document, look: Look) -> String {
    let mut out = look.painted("1", &safe_line(&title(document), 200)) + "\n";
    let facts = [vec![document.session.clone()], facts(document)].concat().join(" · ");
    out.push_str(&(look.painted("2", &safe_line(&facts, 400)) + "\n"));
    if !document.tags.is_empty() {
        out.push_str(&(look.painted("2", &safe_line(&document.tags.join(" "), 400)) + "\n"));
    }
    let (callers, edits) = (callers(document), Edits::of(document));
    for (kept, number) in document.canisters.iter().zip(1..) {
        if let Some(condensed) =
            document.condensed.as_ref().filter(|condensed| condensed.covers + 1 == number)
        {
            let line = format!("\n— models are shown a summary of what is above, by {} —\n", condensed.model);
            out.push_str(&look.painted("2", &look.clean(&line)));
        }
        out.push_str(&match (edits.made(&kept.canister), &kept.canister) {
            (Some(made), Canister::Invocation(asked)) => look.call(&made, number) + &look.instead_of(asked),
            _ => look.message(kept, number, &callers),
        });
    }
    out
}

impl Look {
    fn message(self, kept: &Kept, number: usize, callers: &Callers<'_>) -> String {
        match &kept.canister {
            Canister::Supervisor(supervisor) => {
                self.text_message("system", "35", kept, number, &supervisor.text)
            }
            Canister::User(user) => self.text_message("you", "36", kept, number, &content(&user.content)),
            Canister::Document(document) => {
                let line = format!(
                    "[{} ({}), {} characters]",
                    document.name,
                    document.mime,
                    size(&document.content)
                );
                self.text_message("you", "36", kept, number, &line)
            }
            Canister::Assistant(assistant) => {
                let words = content(&assistant.content);
                // A reply that says nothing but calls.
                if words.trim().is_empty() {
                    return String::new();
                }
                let cut = self.painted("2", CUT_SHORT) + "\n";
                let cut = if is_cut(assistant) { cut } else { String::new() };
                self.headed("model", "32", kept, number) + &self.answer(&assistant.content, &words) + &cut
            }
            Canister::Invocation(invocation) => self.call(invocation, number),
            Canister::Result(result) => {
                let whose = callers.get(&result.id).map(Caller::text).unwrap_or_default();
                self.result(result, number, &whose)
            }
        }
    }

    fn text_message(self, who: &str, code: &str, kept: &Kept, number: usize, words: &str) -> String {
        self.headed(who, code, kept, number) + &self.clean(words.trim_end()) + "\n"
    }

    fn headed(self, who: &str, code: &str, kept: &Kept, number: usize) -> String {
        let (mark, time) = (format!("[{number}]"), minute(kept.at));
        let who = self.painted(code, who);
        format!("\n{} {who}  {}\n", self.painted("2", &mark), self.painted("2", &time))
    }

    /// As the REPL shows it; `words` is the same without Markdown.
    fn answer(self, pieces: &[Content], words: &str) -> String {
        let Some(look) = self.answers else { return self.clean(words.trim_end()) + "\n" };
        let laid_out = pieces.iter().map(|piece| match piece {
            Content::Text { text, .. } => {
                let lines = markdown(text.trim_matches('\n'), &look);
                lines.iter().map(|line| line.painted(&look) + "\n").collect()
            }
            other => match content(std::slice::from_ref(other)) {
                nothing if nothing.is_empty() => nothing,
                words => self.clean(&words) + "\n",
            },
        });
        laid_out.collect()
    }

    fn call(self, invocation: &Invocation, number: usize) -> String {
        let tool = safe_line(&invocation.tool, SHORT_LINE);
        let mark = self.painted("2", &format!("[{number}]"));
        let arguments = self.arguments(invocation);
        format!("\n{mark} {} {arguments}\n", self.painted("33", &format!("→ {tool}")))
    }

    /// Below a call that the user has changed.
    fn instead_of(self, asked: &Invocation) -> String {
        let line = format!("    edited by the user; the model asked for {}", self.arguments(asked));
        self.painted("2", &line) + "\n"
    }

    fn arguments(self, invocation: &Invocation) -> String {
        let raw = invocation.arguments.raw.trim();
        if self.full { self.clean(raw) } else { safe_line(raw, SHORT_LINE) }
    }

    fn result(self, result: &InvocationResult, number: usize, whose: &str) -> String {
        let (sign, word) = ended(result.outcome);
        let code = if result.outcome.is_success() { "32" } else { "31" };
        let mark = self.painted("2", &format!("[{number}]"));
        let words = result_text(result);
        let words = if self.full { words } else { self.short(&words) };
        let words: String =
            self.clean(words.trim_end()).lines().map(|line| format!("    {line}\n")).collect();
        format!("{mark} {}{whose}\n{words}", self.painted(code, &format!("{sign} {word}")))
    }

    fn short(self, words: &str) -> String {
        let cut = |line: &str| converse_text::shorten::chars(line, SHORT_LINE).into_owned();
        let count = words.lines().count();
        let mut lines: Vec<String> = words.lines().take(SHORT_LINES).map(cut).collect();
        if count > SHORT_LINES {
            lines.push(format!("… {} more lines (--full)", count - SHORT_LINES));
        }
        lines.join("\n")
    }

    fn clean(self, text: &str) -> String {
        if self.terminal { safe(text).into_owned() } else { text.to_owned() }
    }

    fn painted(self, code: &str, text: &str) -> String {
        painted(self.colour, code, text)
    }
}

/// Words as they are, the rest described; what was only thought is left out.
fn content(content: &[Content]) -> String {
    let pieces = content.iter().filter_map(|piece| match piece {
        Content::Text { text, .. } => Some(text.clone()),
        Content::Blob { mime, name, .. } => Some(format!("[{}{mime}]", named(name.as_ref()))),
        Content::Resource { uri, .. } => Some(format!("[{uri}]")),
        Content::Structured { value } => Some(value.to_string()),
        Content::Reasoning { .. } => None,
    });
    pieces.collect::<Vec<_>>().join("\n")
}

fn named(name: Option<&String>) -> String {
    name.map_or(String::new(), |name| format!("{name}: "))
}

fn size(content: &[Content]) -> usize {
    content.iter().filter_map(Content::as_text).map(|text| text.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use converse_canister::{Arguments, Outcome, TurnId};

    use super::*;
    use crate::render::transcript::tests::of;

    #[test]
    fn results_say_whose_they_are() {
        let call = |turn, index, tool: &str| {
            let (turn, arguments) = (TurnId(turn), Arguments::parse("{}"));
            let id = InvocationId::of(turn, index);
            Canister::Invocation(Invocation {
                turn,
                id,
                wire_id: None,
                tool: tool.into(),
                arguments,
                seal: None,
            })
        };
        let result = |turn, index, outcome| {
            Canister::Result(InvocationResult::new(InvocationId::of(TurnId(turn), index), outcome, "x"))
        };
        let document = of(vec![
            call(1, 0, "a"),
            call(1, 1, "b"),
            call(1, 2, "a"),
            result(1, 2, Outcome::Refused),
            result(1, 0, Outcome::Success),
            result(1, 1, Outcome::Success),
            call(2, 0, "a"),
            result(2, 0, Outcome::Success),
        ]);
        let look = Look { terminal: true, colour: false, full: false, answers: None };
        let text = text(&document, look);
        let heads: Vec<&str> = text.lines().filter(|line| line.contains(" · ")).skip(1).collect();
        assert_eq!(
            heads,
            ["[4] ⊘ refused · a [3]", "[5] ✓ success · a [1]", "[6] ✓ success · b", "[8] ✓ success · a"],
            "{text}"
        );
    }
}
