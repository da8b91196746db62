//! The cache as the vendor describes it, over conversations that grow.

use std::collections::HashSet;

use converse_canister::{
    Arguments, Assistant, Canister, Declaration, Invocation, InvocationId, InvocationResult, NoBlobs,
    Outcome, Stop, Supervisor, ToolName, TurnId, User,
};

use super::*;
use crate::rows::row;
use crate::{Controls, Dialect, Facts, Prompt, processor};

const LOOK_BACK: usize = 20;

/// Every block of a request in the cache's order, without its mark, and whether it is marked.
fn blocks(body: &Value) -> Vec<(String, bool)> {
    let mut blocks = Vec::new();
    let mut add = |place: &str, list: &Value| {
        for block in list.as_array().into_iter().flatten() {
            let mut plain = block.clone();
            let marked = plain.as_object_mut().unwrap().shift_remove(MARK).is_some();
            blocks.push((format!("{place} {plain}"), marked));
        }
    };
    add("tools", &body["tools"]);
    add("system", &body["system"]);
    for message in body["messages"].as_array().unwrap() {
        add(message["role"].as_str().unwrap(), &message["content"]);
    }
    blocks
}

/// Prefixes that requests have written.
#[derive(Default)]
struct Cache(HashSet<Vec<String>>);

impl Cache {
    /// The blocks that are read; then the marked prefixes are written.
    fn ask(&mut self, blocks: &[(String, bool)]) -> usize {
        let prefix = |end: usize| blocks[..end].iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
        let marks: Vec<usize> = (1..=blocks.len()).filter(|end| blocks[end - 1].1).collect();
        assert!(marks.len() <= 4, "{} marks", marks.len());
        let read = marks
            .iter()
            .flat_map(|mark| (mark.saturating_sub(LOOK_BACK - 1)..=*mark).filter(|end| *end > 0))
            .filter(|end| self.0.contains(&prefix(*end)))
            .max();
        self.0.extend(marks.iter().map(|mark| prefix(*mark)));
        read.unwrap_or(0)
    }
}

fn request(view: &[Canister], tools: &[Declaration], controls: &Controls) -> Value {
    let endpoint = row("anthropic").unwrap().endpoint(None);
    let facts = Facts::default();
    let prompt = Prompt { model: "m", view, tools, controls, facts: &facts, blobs: &NoBlobs };
    let request = processor(Dialect::AnthropicMessages).nativize(&prompt, &endpoint).unwrap();
    serde_json::from_slice(request.body()).unwrap()
}

fn tools() -> Vec<Declaration> {
    let tool = |name: &str| Declaration {
        name: ToolName::new(name).unwrap(),
        description: String::new(),
        arguments: json!({ "type": "object" }).into(),
    };
    vec![tool("a"), tool("b")]
}

fn reply(turn: u64, words: &str, calls: usize, stop: Stop) -> Vec<Canister> {
    let turn = TurnId(turn);
    let content = if words.is_empty() { Vec::new() } else { vec![converse_canister::Content::text(words)] };
    let mut view =
        vec![Canister::Assistant(Assistant { turn, content, native: None, stop, response_id: None })];
    view.extend((0..calls).map(|call| {
        Canister::Invocation(Invocation {
            turn,
            id: InvocationId::of(turn, call),
            wire_id: None,
            tool: "a".into(),
            arguments: Arguments::parse("{}"),
            seal: None,
        })
    }));
    view.extend((0..calls).map(|call| {
        Canister::Result(InvocationResult::new(InvocationId::of(turn, call), Outcome::Success, "r"))
    }));
    view
}

#[test]
fn every_request_reads_what_the_previous_one_wrote() {
    let (tools, controls, mut cache) = (tools(), Controls::default(), Cache::default());
    let user = |text: &str| Canister::User(User::text(text));
    let mut view = vec![Canister::Supervisor(Supervisor { text: "s".into() }), user("q")];
    let mut written = cache_end(&mut cache, &view, &tools, &controls, 0);
    for turn in 1..=30_u64 {
        // No call, few, and more than the look-back; sometimes nothing is said after results.
        let calls = [3, 0, 12, 1, 40, 0][(turn % 6) as usize];
        let words = if turn % 5 == 0 { "" } else { "w" };
        view.extend(reply(turn, words, calls, Stop::End));
        if calls == 0 {
            view.push(user("and then?"));
        }
        written = cache_end(&mut cache, &view, &tools, &controls, written);
    }
}

/// Asks, and says how many blocks the request has. All that the previous one had must be read.
fn cache_end(
    cache: &mut Cache,
    view: &[Canister],
    tools: &[Declaration],
    controls: &Controls,
    written: usize,
) -> usize {
    let blocks = blocks(&request(view, tools, controls));
    assert!(blocks.last().unwrap().1, "the end is written");
    assert_eq!(cache.ask(&blocks), written, "of {} blocks", blocks.len());
    blocks.len()
}

#[test]
fn a_paused_turn_reads_what_was_written_before_it() {
    let (tools, controls, mut cache) = (tools(), Controls::default(), Cache::default());
    let mut view = vec![Canister::User(User::text("q"))];
    let written = cache_end(&mut cache, &view, &tools, &controls, 0);
    view.extend(reply(1, "so far", 0, Stop::Paused));
    assert_eq!(cache.ask(&blocks(&request(&view, &tools, &controls))), written);
}

#[test]
fn a_single_question_and_a_users_own_marks_are_left_alone() {
    let view = [Canister::User(User::text("q"))];
    let count = |body: &Value| blocks(body).iter().filter(|(_, marked)| *marked).count();
    assert_eq!(count(&request(&view, &[], &Controls::default())), 0);
    assert_eq!(count(&request(&view, &tools(), &Controls::default())), 2);
    let mut controls = Controls::default();
    controls.extra.insert(MARK.into(), json!({ "type": "ephemeral" }));
    assert_eq!(count(&request(&view, &tools(), &controls)), 0);
}

#[test]
fn other_servers_get_no_marks_unless_they_know_them() {
    let (controls, facts, tools) = (Controls::default(), Facts::default(), tools());
    let view = [Canister::User(User::text("q"))];
    for (knows, marks) in [(false, 0), (true, 2)] {
        let mut endpoint = row("anthropic").unwrap().endpoint(Some("http://127.0.0.1:9"));
        endpoint.quirks.cache_control = knows;
        let prompt = Prompt {
            model: "m",
            view: &view,
            tools: &tools,
            controls: &controls,
            facts: &facts,
            blobs: &NoBlobs,
        };
        let request = processor(Dialect::AnthropicMessages).nativize(&prompt, &endpoint).unwrap();
        let text = String::from_utf8_lossy(request.body());
        assert_eq!(text.matches(MARK).count(), marks);
    }
}
