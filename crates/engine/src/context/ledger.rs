//! The estimated size of the parts of a request.
//!
//! A fourth of the bytes is taken for a token, which is right within a third or so for English words. What the provider
//! counted last corrects that ([`Scale`]), so that words in other scripts, schemas and code weigh what they do there.

use std::collections::{BTreeMap, HashMap};

use converse_canister::{
    Assistant, Blobs, Canister, Content, Declaration, InvocationId, TurnId, json_length,
};
use converse_provider::{Endpoint, Facts, Prompt, replays_reasoning};

use super::view::is_summary;
use super::weight::{AROUND, BYTES, content_weight};

/// A kind of content of a request. The order is that of the rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The system text and the notes of a run.
    System,
    /// The summary of the beginning of the conversation.
    Summary,
    /// The declaration of a tool; `ensemble` is the part before `__` in its name, or empty.
    Tool {
        ensemble: String,
        tool: String,
    },
    User,
    /// The text of documents.
    Document,
    /// Pictures, sound and PDF files, also in results.
    Attachment,
    Assistant,
    /// Reasoning that is sent back to the model.
    Reasoning,
    Invocation {
        tool: String,
    },
    Result {
        tool: String,
    },
}

/// The amount of one kind of content.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub part: Part,
    /// Number of messages, tools or pieces.
    pub count: usize,
    /// Estimated tokens.
    pub tokens: u64,
}

/// The parts of one request, by a local estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    /// In the order of [`Part`].
    pub rows: Vec<Row>,
    /// Tokens of input and output together, if known.
    pub window: Option<u64>,
}

/// How the estimates of one model's requests compare with what its provider counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scale {
    route: String,
    factor: Option<f64>,
}

impl Scale {
    /// One for a model that has not been heard yet.
    pub(crate) fn of(&self, route: &str) -> f64 {
        self.factor.filter(|_| self.route == route).unwrap_or(1.0)
    }

    /// Bounded: a server that counts only what it has not cached, or that cuts a prompt silently, must not mislead.
    pub(crate) fn learn(&mut self, route: &str, estimated: u64, counted: u64) {
        if estimated > 0 && counted > 0 {
            let factor = (counted as f64 / estimated as f64).clamp(0.5, 2.0);
            *self = Self { route: route.to_owned(), factor: Some(factor) };
        }
    }
}

impl Ledger {
    pub fn of(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Self {
        let mut sums = Sums::default();
        for declaration in prompt.tools {
            let name = declaration.name.as_str();
            let (ensemble, tool) = name.split_once("__").unwrap_or(("", name));
            let part = Part::Tool { ensemble: ensemble.to_owned(), tool: tool.to_owned() };
            sums.add(part, declared(declaration));
        }
        sums.extend(prompt, endpoint);
        let rows = sums.sums.into_iter();
        let row = |(part, (count, bytes)): (Part, (usize, u64))| Row { part, count, tokens: tokens(bytes) };
        Self { rows: rows.map(row).collect(), window: window(prompt.facts) }
    }

    /// Multiplies each row by the factor between the provider's counts and the estimates.
    #[must_use]
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        for row in &mut self.rows {
            row.tokens = (row.tokens as f64 * factor).round() as u64;
        }
        self
    }

    /// Adds a note, which counts as system text.
    #[must_use]
    pub(crate) fn with_note(mut self, note: Option<&str>) -> Self {
        let Some(note) = note else { return self };
        let more = note_tokens(note);
        match self.rows.iter_mut().find(|row| row.part == Part::System) {
            Some(row) => (row.count, row.tokens) = (row.count + 1, row.tokens + more),
            None => self.rows.insert(0, Row { part: Part::System, count: 1, tokens: more }),
        }
        self
    }

    /// Returns the tokens of the whole request.
    pub fn total(&self) -> u64 {
        self.rows.iter().map(|row| row.tokens).sum()
    }

    /// Returns the share of the window (0 to 1), or `None` if the window is unknown.
    pub fn share(&self) -> Option<f64> {
        self.window.filter(|window| *window > 0).map(|window| self.total() as f64 / window as f64)
    }

    /// Returns the tokens of the declarations of all tools.
    pub fn tools(&self) -> u64 {
        let tools = self.rows.iter().filter(|row| matches!(row.part, Part::Tool { .. }));
        tools.map(|row| row.tokens).sum()
    }
}

/// Returns the context window of this run, in tokens.
pub(crate) fn window(facts: &Facts) -> Option<u64> {
    facts.wanted_window.or(facts.window)
}

pub(super) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES)
}

/// Bytes of a declaration on the wire.
fn declared(declaration: &Declaration) -> u64 {
    let Declaration { name, description, arguments } = declaration;
    (name.as_str().len() + description.len() + json_length(arguments)) as u64 + AROUND
}

/// Returns the tokens of declarations, without their sum by ensemble and tool.
pub(crate) fn declared_tokens(declarations: &[Declaration]) -> u64 {
    declarations.iter().map(|declaration| tokens(declared(declaration))).sum()
}

/// Returns the tokens of a note, which counts as system text.
pub(crate) fn note_tokens(note: &str) -> u64 {
    tokens(note.len() as u64 + AROUND)
}

/// Returns the weight of one canister in bytes of text, to compare parts of one conversation.
pub(crate) fn weight(canister: &Canister, blobs: &dyn Blobs) -> u64 {
    let mut sums = Sums::default();
    // Of whoever made it: it may go back to it.
    sums.add_canister(canister, blobs, |words| words.native.is_some());
    sums.sums.values().map(|(_, bytes)| bytes).sum()
}

/// The sums of a view that grows from request to request: only what is new is weighed.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// Canisters that were weighed.
    canisters: usize,
    /// The index of the last question of the user.
    question: usize,
    /// The last reply whose reasoning the request contains.
    replayed: Option<TurnId>,
    tools: HashMap<InvocationId, String>,
    sums: BTreeMap<Part, (usize, u64)>,
}

impl Sums {
    /// Weighs the canisters of the prompt behind those that were weighed. Those must be the same as before, and the model
    /// and its endpoint too.
    pub(crate) fn extend(&mut self, prompt: &Prompt<'_>, endpoint: &Endpoint) {
        let is_user = |canister: &Canister| matches!(canister, Canister::User(_));
        let question = prompt.view.iter().rposition(is_user).unwrap_or(0);
        if self.canisters > 0 && question != self.question {
            // Reasoning of earlier turns may no longer go back.
            *self = Self::default();
        }
        self.question = question;
        for (place, canister) in prompt.view.iter().enumerate().skip(self.canisters) {
            self.add_canister(canister, prompt.blobs, |words| {
                replays_reasoning(words, endpoint, prompt.model, place > question)
            });
        }
        self.canisters = prompt.view.len();
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.sums.values().map(|(_, bytes)| tokens(*bytes)).sum()
    }

    fn add(&mut self, part: Part, bytes: u64) {
        let (count, sum) = self.sums.entry(part).or_default();
        *count += 1;
        *sum += bytes;
    }

    fn contents<'c>(
        &mut self,
        part: Part,
        contents: impl IntoIterator<Item = &'c Content>,
        blobs: &dyn Blobs,
    ) {
        let mut words = AROUND;
        for content in contents {
            let bytes = content_weight(content, blobs);
            match content {
                Content::Blob { .. } => self.add(Part::Attachment, bytes),
                _ => words += bytes,
            }
        }
        self.add(part, words);
    }

    /// `goes_back` says whether the request contains the reasoning of the reply that begins with a canister.
    fn add_canister(
        &mut self,
        canister: &Canister,
        blobs: &dyn Blobs,
        goes_back: impl FnOnce(&Assistant) -> bool,
    ) {
        match canister {
            Canister::Supervisor(supervisor) => {
                self.add(Part::System, supervisor.text.len() as u64 + AROUND);
            }
            Canister::User(user) => self.contents(Part::User, &user.content, blobs),
            Canister::Document(document) => {
                let part = if is_summary(document) { Part::Summary } else { Part::Document };
                self.contents(part, &document.content, blobs);
            }
            Canister::Assistant(assistant) => {
                if goes_back(assistant) {
                    self.replayed = Some(assistant.turn);
                }
                let thoughts = |content: &&Content| matches!(content, Content::Reasoning { .. });
                let (thought, visible): (Vec<_>, Vec<_>) = assistant.content.iter().partition(thoughts);
                self.contents(Part::Assistant, visible, blobs);
                // It goes back by the maker's own form only.
                if self.replayed == Some(assistant.turn) && !thought.is_empty() {
                    self.contents(Part::Reasoning, thought, blobs);
                }
            }
            Canister::Invocation(invocation) => {
                let tool = invocation.tool.clone();
                self.tools.insert(invocation.id.clone(), tool.clone());
                let bytes = (tool.len() + invocation.arguments.raw.len()) as u64;
                self.add(Part::Invocation { tool }, bytes + AROUND);
            }
            Canister::Result(result) => {
                let tool = self.tools.get(&result.id).cloned().unwrap_or_default();
                self.contents(Part::Result { tool }, &result.content, blobs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::{Native, NoBlobs, Stop, Supervisor, TurnId, User};
    use converse_provider::{Controls, row};
    use serde_json::json;

    use super::*;
    use crate::context::testing::{call, reply, result, user};

    fn ledger(view: &[Canister], tools: &[Declaration], window: Option<u64>) -> Ledger {
        let (controls, facts) = (Controls::default(), Facts { window, ..Facts::default() });
        let prompt = Prompt { model: "m", view, tools, controls: &controls, facts: &facts, blobs: &NoBlobs };
        Ledger::of(&prompt, &row("deepseek").unwrap().endpoint(None))
    }

    #[test]
    fn only_the_thoughts_that_are_sent_have_a_row() {
        let endpoint = row("deepseek").unwrap().endpoint(None);
        for (model, count) in [("m", Some(1)), ("other", None)] {
            let items = vec![json!({ "reasoning_content": "hm" })];
            let thought = Canister::Assistant(Assistant {
                turn: TurnId(1),
                content: vec![Content::Reasoning { text: "h".repeat(400), seal: None }],
                native: Some(Native { maker: endpoint.maker(model), items }),
                stop: Stop::End,
                response_id: None,
            });
            let counted = ledger(&[user("u"), thought], &[], None);
            let row = counted.rows.iter().find(|row| row.part == Part::Reasoning);
            assert_eq!(row.map(|row| row.count), count, "{model}");
        }
    }

    #[test]
    fn sums_of_a_growing_view_are_those_of_the_whole_view() {
        let endpoint = row("deepseek").unwrap().endpoint(None);
        let thought = |turn: u64| {
            Canister::Assistant(Assistant {
                turn: TurnId(turn),
                content: vec![Content::Reasoning { text: "h".repeat(401), seal: None }, Content::text("w")],
                native: Some(Native {
                    maker: endpoint.maker("m"),
                    items: vec![json!({ "reasoning_content": "hm" })],
                }),
                stop: Stop::End,
                response_id: None,
            })
        };
        let view = [
            Canister::Supervisor(Supervisor { text: "s".repeat(41) }),
            user("question"),
            thought(1),
            call(1, 0, "io__read", "{}"),
            result(1, 0, "result"),
            thought(2),
            call(2, 0, "io__write", "{}"),
            result(2, 0, "another"),
            user("more"),
            thought(3),
        ];
        for provider in ["deepseek", "vllm", "openai"] {
            let endpoint = row(provider).unwrap().endpoint(None);
            let mut sums = Sums::default();
            for end in 1..=view.len() {
                let (controls, facts) = (Controls::default(), Facts::default());
                let view = view.get(..end).unwrap_or_default();
                let prompt = Prompt {
                    model: "m",
                    view,
                    tools: &[],
                    controls: &controls,
                    facts: &facts,
                    blobs: &NoBlobs,
                };
                sums.extend(&prompt, &endpoint);
                assert_eq!(sums.tokens(), Ledger::of(&prompt, &endpoint).total(), "{provider} {end}");
            }
        }
    }

    #[test]
    fn each_part_has_its_row_and_the_rows_add_up() {
        let tool = |name: &str| Declaration {
            name: name.to_owned().try_into().unwrap(),
            description: "x".repeat(82),
            arguments: json!({}).into(),
        };
        let view = [
            Canister::Supervisor(Supervisor { text: "s".repeat(400) }),
            user(&"u".repeat(40)),
            reply(1, "hm"),
            call(1, 0, "io__read", r#"{"path":"a"}"#),
            result(1, 0, &"r".repeat(4_000)),
            Canister::User(User::text("ж".repeat(400))),
        ];
        let counted = ledger(&view, &[tool("io__read"), tool("bare")], Some(4_000));
        let rows: Vec<String> =
            counted.rows.iter().map(|row| format!("{:?} {} {}", row.part, row.count, row.tokens)).collect();
        assert_eq!(
            rows,
            [
                "System 1 104",
                r#"Tool { ensemble: "", tool: "bare" } 1 26"#,
                r#"Tool { ensemble: "io", tool: "read" } 1 27"#,
                // Twice as many bytes as letters.
                "User 2 218",
                "Assistant 1 5",
                r#"Invocation { tool: "io__read" } 1 9"#,
                r#"Result { tool: "io__read" } 1 1004"#,
            ]
        );
        assert_eq!((counted.total(), counted.tools()), (1_393, 53));
        assert_eq!(counted.share(), Some(1_393.0 / 4_000.0));
        assert_eq!(ledger(&view, &[], None).share(), None);
    }

    #[test]
    fn the_providers_count_corrects_the_estimate_within_bounds() {
        let mut scale = Scale::default();
        assert_eq!(scale.of("a/m"), 1.0);
        for (counted, factor) in [(150, 1.5), (1_000, 2.0), (1, 0.5), (0, 0.5)] {
            scale.learn("a/m", 100, counted);
            assert_eq!(scale.of("a/m"), factor, "{counted}");
        }
        assert_eq!(scale.of("b/m"), 1.0, "another model counts otherwise");
        let rows = ledger(&[user(&"u".repeat(384))], &[], None).scaled(1.5);
        assert_eq!(rows.total(), 150);
    }
}
