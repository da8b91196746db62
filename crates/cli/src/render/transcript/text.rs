//! At the terminal, or through a pipe: who, what, and how each call ended.

use converse_canister::{Canister, Content, Invocation, InvocationResult};
use converse_screen::{Look as Screen, markdown};
use converse_session::{Document, Kept};

use super::{ended, facts, minute, title};
use crate::render::result_text;
use crate::render::safe::{safe, safe_line};

/// Of arguments and results, unless all is asked for.
const SHORT_LINE: usize = 160;
const SHORT_LINES: usize = 6;

/// How it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// What could act on a terminal is shown instead; through a pipe goes what was said.
    pub(crate) terminal: bool,
    pub(crate) colour: bool,
    pub(crate) full: bool,
    /// How answers are laid out, which are Markdown; else they stand as they were written.
    pub(crate) answers: Option<Screen>,
}

/// The whole of it.
pub(crate) fn text(document: &Document, look: Look) -> String {
    let mut out = look.painted("1", &safe_line(&title(document), 200)) + "\n";
    let facts = [vec![document.session.clone()], facts(document)].concat().join(" · ");
    out.push_str(&(look.painted("2", &safe_line(&facts, 400)) + "\n"));
    if !document.tags.is_empty() {
        out.push_str(&(look.painted("2", &safe_line(&document.tags.join(" "), 400)) + "\n"));
    }
    for (kept, number) in document.canisters.iter().zip(1..) {
        if let Some(condensed) =
            document.condensed.as_ref().filter(|condensed| condensed.covers + 1 == number)
        {
            let line = format!("\n— models are shown a summary of what is above, by {} —\n", condensed.model);
            out.push_str(&look.painted("2", &look.clean(&line)));
        }
        out.push_str(&look.message(kept, number));
    }
    out
}

impl Look {
    fn message(self, kept: &Kept, number: usize) -> String {
        match &kept.canister {
            Canister::Supervisor(supervisor) => self.said("system", "35", kept, number, &supervisor.text),
            Canister::User(user) => self.said("you", "36", kept, number, &content(&user.content)),
            Canister::Document(document) => {
                let line = format!(
                    "[{} ({}), {} characters]",
                    document.name,
                    document.mime,
                    size(&document.content)
                );
                self.said("you", "36", kept, number, &line)
            }
            Canister::Assistant(assistant) => {
                let words = content(&assistant.content);
                // A reply that says nothing but calls.
                if words.trim().is_empty() {
                    return String::new();
                }
                self.headed("model", "32", kept, number) + &self.answer(&assistant.content, &words)
            }
            Canister::Invocation(invocation) => self.call(invocation, number),
            Canister::Result(result) => self.result(result, number),
        }
    }

    fn said(self, who: &str, code: &str, kept: &Kept, number: usize, words: &str) -> String {
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
        let raw = invocation.arguments.raw.trim();
        let arguments = if self.full { self.clean(raw) } else { safe_line(raw, SHORT_LINE) };
        format!("\n{mark} {} {arguments}\n", self.painted("33", &format!("→ {tool}")))
    }

    fn result(self, result: &InvocationResult, number: usize) -> String {
        let (sign, word) = ended(result.outcome);
        let code = if result.outcome.is_success() { "32" } else { "31" };
        let mark = self.painted("2", &format!("[{number}]"));
        let words = result_text(result);
        let words = if self.full { words } else { self.short(&words) };
        let words: String =
            self.clean(words.trim_end()).lines().map(|line| format!("    {line}\n")).collect();
        format!("{mark} {}\n{words}", self.painted(code, &format!("{sign} {word}")))
    }

    fn short(self, words: &str) -> String {
        let cut = |line: &str| match line.char_indices().nth(SHORT_LINE) {
            Some((at, _)) => format!("{}…", line.get(..at).unwrap_or(line)),
            None => line.to_owned(),
        };
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
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
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
