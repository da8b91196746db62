//! What the stub answers: Chat Completions streams, made before anything is measured.
//!
//! Tools are asked for by the names that the program and the floor both show for server `s0`.

use std::time::Duration;

use serde_json::json;

/// A kind of answer, chosen by the first part of the path that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Fifty words at once.
    OneShot,
    /// Twenty thousand.
    Long,
    /// Nothing for 200 ms, then words one by one.
    Paced,
    /// Asks for `s0__echo`; when it has the result, fifty words.
    Trip,
    /// The same twenty times, one after another.
    Chain,
    /// Asks for `s0__sleep` five times in one reply, a second each.
    FiveSleeps,
    TwentySleeps,
}

const WORDS: [&str; 9] = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"];
const FIRST_BYTE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(10);

/// Bytes to write, and how long to wait before.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) pause: Duration,
    pub(crate) bytes: Vec<u8>,
}

impl Scenario {
    pub(crate) const ALL: [Self; 7] = [
        Self::OneShot,
        Self::Long,
        Self::Paced,
        Self::Trip,
        Self::Chain,
        Self::FiveSleeps,
        Self::TwentySleeps,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneShot => "one-shot",
            Self::Long => "long",
            Self::Paced => "paced",
            Self::Trip => "trip",
            Self::Chain => "chain",
            Self::FiveSleeps => "five-sleeps",
            Self::TwentySleeps => "twenty-sleeps",
        }
    }

    /// Words of the answer; each is one token.
    pub(crate) fn words(self) -> usize {
        match self {
            Self::Long => 20_000,
            Self::Paced => 10,
            Self::OneShot | Self::Trip | Self::Chain | Self::FiveSleeps | Self::TwentySleeps => 50,
        }
    }

    /// Tools it asks for before it answers.
    pub(crate) fn invocations(self) -> usize {
        match self {
            Self::OneShot | Self::Long | Self::Paced => 0,
            Self::Trip => 1,
            Self::FiveSleeps => 5,
            Self::Chain | Self::TwentySleeps => 20,
        }
    }

    /// Tools it asks for in one reply.
    pub(crate) fn at_once(self) -> usize {
        if self == Self::Chain { 1 } else { self.invocations() }
    }

    /// Replies of a run: those that ask for tools, and the answer.
    pub(crate) fn replies(self) -> usize {
        self.invocations().checked_div(self.at_once()).unwrap_or(0) + 1
    }

    /// What each of them must have answered: it is only in a result.
    pub(crate) fn result(self) -> &'static str {
        if matches!(self, Self::Trip | Self::Chain) { "heard: hello" } else { "slept 1 s" }
    }

    /// The reply to a request with the results of `before` earlier replies.
    pub(crate) fn reply(self, before: usize) -> Vec<Part> {
        if before + 1 >= self.replies() {
            return self.answer();
        }
        let calls = (0..self.at_once()).flat_map(|index| chunk(&self.invocation(before, index)));
        let mut events: Vec<u8> = calls.collect();
        events.extend(ending("tool_calls", self.at_once()));
        vec![Part { pause: Duration::ZERO, bytes: events }]
    }

    /// The words: the whole response after its head, each event a chunk of its own as servers send it.
    fn answer(self) -> Vec<Part> {
        let mut events: Vec<Vec<u8>> = (0..self.words()).map(word).collect();
        if let Some(first) = events.first_mut() {
            // The role comes with the first word: a client that shows the first byte shows a word.
            first.splice(0..0, chunk(&delta(&json!({"role": "assistant", "content": ""}))));
        }
        events.push(ending("stop", self.words()));
        if self == Self::Paced {
            let pauses = std::iter::once(FIRST_BYTE).chain(std::iter::repeat(PAUSE));
            return events.into_iter().zip(pauses).map(|(bytes, pause)| Part { pause, bytes }).collect();
        }
        vec![Part { pause: Duration::ZERO, bytes: events.concat() }]
    }

    /// The same twice would be odd of a model: each has a label.
    fn invocation(self, before: usize, index: usize) -> String {
        let (name, arguments) = match self {
            Self::Trip => ("s0__echo", json!({"text": "hello"})),
            Self::Chain => ("s0__echo", json!({"text": format!("hello {before}")})),
            _ => ("s0__sleep", json!({"seconds": 1, "label": index.to_string()})),
        };
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let id = format!("call_{}", before + index);
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        delta(&json!({"role": "assistant", "content": null, "tool_calls": [call]}))
    }
}

fn word(index: usize) -> Vec<u8> {
    let text = WORDS.get(index % WORDS.len()).copied().unwrap_or_default();
    chunk(&delta(&json!({ "content": format!("{text} ") })))
}

fn delta(delta: &serde_json::Value) -> String {
    completion(&json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]), &json!(null))
}

fn completion(choices: &serde_json::Value, usage: &serde_json::Value) -> String {
    let value = json!({
        "id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "stub",
        "choices": choices, "usage": usage,
    });
    format!("data: {value}\n\n")
}

fn ending(reason: &str, tokens: usize) -> Vec<u8> {
    let stop = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason}]);
    let usage = json!({"prompt_tokens": 8, "completion_tokens": tokens, "total_tokens": tokens + 8});
    let events =
        [completion(&stop, &json!(null)), completion(&json!([]), &usage), "data: [DONE]\n\n".to_owned()];
    let mut bytes: Vec<u8> = events.iter().flat_map(|event| chunk(event)).collect();
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// A chunk of HTTP/1.1 (RFC 9112, section 7.1).
fn chunk(event: &str) -> Vec<u8> {
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let end = bytes.windows(2).position(|pair| pair == b"\r\n").unwrap();
            let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
            all.extend(&bytes[end + 2..end + 2 + size]);
            bytes = &bytes[end + size + 4..];
            if size == 0 {
                assert!(bytes.is_empty());
                return all;
            }
        }
    }

    /// Without the last, which says that it is done.
    fn events(parts: Vec<Part>) -> Vec<serde_json::Value> {
        let bytes: Vec<u8> = parts.into_iter().flat_map(|part| part.bytes).collect();
        let text = String::from_utf8(unchunked(&bytes)).unwrap();
        let text = text.strip_suffix("data: [DONE]\n\n").unwrap();
        let data = text.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap());
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    #[test]
    fn every_answer_is_chunked_events_with_its_words() {
        for scenario in Scenario::ALL {
            let events = events(scenario.reply(scenario.replies() - 1));
            let words = events.iter().filter(|event| {
                event["choices"][0]["delta"]["content"].as_str().is_some_and(|text| text.ends_with(' '))
            });
            assert_eq!(words.count(), scenario.words(), "{}", scenario.name());
            let middle = "data: \n\n".len() + events[events.len() / 2].to_string().len();
            assert!((180..=200).contains(&middle), "{middle}");
        }
    }

    #[test]
    fn what_is_asked_for_comes_before_the_answer() {
        for scenario in Scenario::ALL {
            let opening = events(scenario.reply(0));
            let calls =
                opening.iter().filter_map(|event| event["choices"][0]["delta"]["tool_calls"].as_array());
            let mut ids: Vec<_> = calls.flatten().map(|call| call["id"].to_string()).collect();
            ids.dedup();
            assert_eq!(ids.len(), scenario.at_once(), "{}", scenario.name());
            let reason = if ids.is_empty() { "stop" } else { "tool_calls" };
            let ending = &opening[opening.len() - 2]["choices"][0]["finish_reason"];
            assert_eq!(ending, reason, "{}", scenario.name());
        }
    }
}
