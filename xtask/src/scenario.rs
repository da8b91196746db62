//! What the stub answers: Chat Completions streams, made before anything is measured.

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
    pub(crate) const ALL: [Self; 3] = [Self::OneShot, Self::Long, Self::Paced];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneShot => "one-shot",
            Self::Long => "long",
            Self::Paced => "paced",
        }
    }

    /// Words of the answer; each is one token.
    pub(crate) fn words(self) -> usize {
        match self {
            Self::OneShot => 50,
            Self::Long => 20_000,
            Self::Paced => 10,
        }
    }

    /// The whole response after its head, each event a chunk of its own as servers send it.
    pub(crate) fn parts(self) -> Vec<Part> {
        let mut events: Vec<Vec<u8>> = (0..self.words()).map(word).collect();
        if let Some(first) = events.first_mut() {
            // The role comes with the first word: a client that shows the first byte shows a word.
            first.splice(0..0, chunk(&delta(&json!({"role": "assistant", "content": ""}))));
        }
        events.push(ending(self.words()));
        if self == Self::Paced {
            let pauses = std::iter::once(FIRST_BYTE).chain(std::iter::repeat(PAUSE));
            return events.into_iter().zip(pauses).map(|(bytes, pause)| Part { pause, bytes }).collect();
        }
        vec![Part { pause: Duration::ZERO, bytes: events.concat() }]
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

fn ending(words: usize) -> Vec<u8> {
    let stop = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": "stop"}]);
    let usage = json!({"prompt_tokens": 8, "completion_tokens": words, "total_tokens": words + 8});
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

    #[test]
    fn every_stream_is_chunked_events_with_its_words() {
        for scenario in Scenario::ALL {
            let bytes: Vec<u8> = scenario.parts().into_iter().flat_map(|part| part.bytes).collect();
            let text = String::from_utf8(unchunked(&bytes)).unwrap();
            let events: Vec<_> = text.split_terminator("\n\n").collect();
            assert_eq!(events.last(), Some(&"data: [DONE]"));
            let words = events[..events.len() - 1].iter().filter(|event| {
                let value: serde_json::Value =
                    serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
                value["choices"][0]["delta"]["content"].as_str().is_some_and(|text| text.ends_with(' '))
            });
            assert_eq!(words.count(), scenario.words(), "{}", scenario.name());
            let middle = events[events.len() / 2].len() + 2;
            assert!((180..=200).contains(&middle), "{middle}");
        }
    }
}
