use std::collections::HashSet;

use super::*;
use crate::rows;

const TODAY: &str = "2026-11-22";

fn providers() -> Vec<&'static str> {
    TABLE.lines().filter_map(|line| line.strip_prefix('@')?.split(' ').next()).collect()
}

#[test]
fn every_word_of_the_table_is_understood() {
    let mut seen = HashSet::new();
    let mut provider = "";
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix('@') {
            let parts: Vec<&str> = head.split(' ').collect();
            assert!(
                matches!(parts[..], [_, url, day] if url.starts_with("https://") && is_day(day)),
                "{line}"
            );
            provider = parts[0];
            continue;
        }
        let mut words = line.split(' ');
        for name in words.next().unwrap().split('|') {
            assert!(!name.is_empty() && seen.insert((provider, name)), "twice or empty: {line}");
        }
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let good = match key {
                "window" | "max" => value.parse::<u64>().is_ok_and(|tokens| tokens >= 1000),
                "takes" | "lacks" => value.split(',').all(|m| ["image", "document", "audio"].contains(&m)),
                "thinks" => thinking(value).is_some(),
                "price" => rates(value).is_some_and(|price| price.input > 0 && price.output >= price.input),
                "above" => above(value).is_some() && line.contains(" price="),
                "until" | "ends" => is_day(value),
                "tools" | "no-tools" | "sampling" | "no-sampling" | "schema" | "no-schema" | "responses" => {
                    value.is_empty()
                }
                _ => false,
            };
            assert!(good, "{word} of {line}");
        }
    }
}

fn is_day(text: &str) -> bool {
    matches!(text.as_bytes(), [b'2', b'0', _, _, b'-', _, _, b'-', _, _])
}

#[test]
fn all_models_of_all_providers_are_found() {
    assert_eq!(
        providers(),
        ["anthropic", "openai", "gemini", "openrouter", "groq", "mistral", "deepseek", "xai"]
    );
    for provider in providers() {
        assert!(rows::row(provider).is_some(), "{provider}");
        let all: Vec<KnownModel> = known_models(provider, TODAY).collect();
        assert!(all.len() > 1, "{provider}");
        for model in all {
            assert_eq!(known(provider, model.name, TODAY), Some(model));
        }
    }
    assert_eq!(known("groq", "gpt-6-luna", TODAY), None, "of another provider");
    assert_eq!(known("nobody", "gpt-6-luna", TODAY), None);
    assert_eq!(known("anthropic", "", TODAY), None);
}

#[test]
fn a_line_says_what_it_says() {
    let haiku = known("anthropic", "claude-haiku-5-5", TODAY).unwrap();
    assert_eq!(
        haiku.facts,
        Facts {
            window: Some(1_000_000),
            wanted_window: None,
            max_output: Some(128_000),
            takes: AcceptedMedia { images: Some(true), documents: Some(true), audio: Some(false) },
            tools: Some(true),
            sampling: Some(false),
            structured: Some(true),
            thinking: Some(Thinking::Effort),
            needs_responses: false,
            price: Some(Price {
                input: 100_000,
                output: 500_000,
                cache_read: Some(10_000),
                cache_write: Some(125_000),
                above: Some(LongPromptPrice {
                    tokens: 100_000,
                    input: 500_000,
                    output: 2_500_000,
                    cache_read: Some(50_000),
                    cache_write: Some(625_000),
                }),
            }),
        }
    );
    let mini = known("openai", "gpt-4o-mini-2024-07-18", TODAY).unwrap();
    assert_eq!(
        (mini.name, mini.ends, mini.facts.needs_responses),
        ("gpt-4o-mini", Some("2027-01-14"), false)
    );
    assert_eq!(mini.facts.price.unwrap().cache_write, None);
    assert!(known("openai", "gpt-6-luna", TODAY).unwrap().facts.needs_responses);
    assert_eq!(known("mistral", "mistral-small-latest", TODAY).unwrap().name, "mistral-small-2603");
}

#[test]
fn a_price_that_held_until_a_day_is_not_known_after_it() {
    let price = |today| known("gemini", "gemini-3.8-flash", today).unwrap().facts.price;
    assert!(price("2026-12-31").is_some());
    assert_eq!(price("2027-01-01"), None);
}

#[test]
fn a_snapshot_is_known_by_the_name_before_its_date() {
    for (model, name) in [
        ("claude-haiku-4-5-20251001", Some("claude-haiku-4-5")),
        ("gpt-5.4-2026-03-05", Some("gpt-5.4")),
        ("mistral-small-2603", None),
        ("claude-haiku-4-5", None),
        ("x", None),
        ("", None),
        ("a-2026-3-05", None),
        ("a-19991231", None),
    ] {
        assert_eq!(undated(model), name, "{model}");
    }
}

#[test]
fn decimals_are_exact() {
    for (text, value) in [
        ("0.1", Some(100_000)),
        ("12.5", Some(12_500_000)),
        ("0.0375", Some(37_500)),
        ("3", Some(3_000_000)),
        ("0.0000001", Some(0)),
        ("-", None),
        ("", None),
        (".5", None),
        ("1e3", None),
        ("-1", None),
        ("99999999999999999999", None),
    ] {
        assert_eq!(per_million(text), value, "{text}");
    }
}

#[test]
fn no_default_model_is_about_to_be_shut_down() {
    for row in rows::rows() {
        let Some(model) = row.default_model else { continue };
        if let Some(known) = known(row.vendor(), model, TODAY) {
            assert_eq!(known.ends, None, "{}/{model}", row.name);
        }
    }
}
