//! What fits into a model's window: the older part is summarised, and tools are looked for.

use serde_json::{Value, json};

use crate::body::{Dialect, Says, calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};
use crate::records::fits;

/// Files `a0.txt` to `d9.txt`, each with a word of its own and 3,500 bytes.
fn env(provider: &Provider, settings: &str) -> TestEnv {
    let env = provider.env(TestEnv::new());
    for reply in 0..6 {
        for place in ["a", "b", "c", "d"] {
            let text = format!("MARK-{place}{reply} {}", "lorem ipsum ".repeat(290));
            env.write(&format!("work/{place}{reply}.txt"), &text);
        }
    }
    let model = provider.model();
    let settings = format!("{settings}\n[models.\"{model}\"]\nwindow = 8000\n");
    env.write("home/.config/converse/config.toml", &settings);
    env
}

fn reads(reply: usize) -> Says {
    let read = |place: &str| ("io__read_file", json!({ "path": format!("{place}{reply}.txt") }));
    calls([read("a"), read("b"), read("c"), read("d")]).thinking("hm")
}

fn is_summary(request: &Value) -> bool {
    request.to_string().contains("You condense the record")
}

const NO_SEARCH: &str = "[context]\nlazy_tools = 0\n";

#[test]
fn a_long_turn_is_condensed_and_goes_on_in_every_dialect() {
    for dialect in Dialect::ALL {
        let script =
            [reads(0), reads(1), reads(2), reads(3), text("Found: SUMMARY-7."), text("Done."), text("More.")];
        let provider = Provider::new(dialect, script);
        let env = env(&provider, NO_SEARCH);
        let args = ["ask", "THE-TASK", "-m", provider.model(), "-e", "io"];
        let records = env.run(&[&args[..], &["-o", "jsonl"]].concat()).exits(0).records();
        fits(&records);
        let condensed = records.iter().find(|record| record["type"] == "context.condensed").unwrap();
        assert!(condensed["tokens_after"].as_u64() < condensed["tokens_before"].as_u64(), "{condensed}");
        assert!(
            !records
                .iter()
                .any(|record| record["type"] == "message.delta" && record["text"] == "Found: SUMMARY-7.")
        );
        let spent = records.iter().filter(|record| record["type"] == "usage").count();
        assert_eq!(spent, 6, "the summary is paid for");
        // Another run knows it, and what would be sent is what is sent.
        let shown = env.run(&["ask", "-c", "NEXT", "-e", "io", "--dry-run"]).exits(0).json();
        env.run(&["ask", "-c", "NEXT", "-e", "io"]).exits(0);
        provider.is_content();
        let requests = provider.requests();
        assert_eq!(
            requests.iter().map(is_summary).collect::<Vec<_>>(),
            [false, false, false, false, true, false, false]
        );
        assert!(requests[4]["tools"].as_array().is_none_or(Vec::is_empty), "nothing is to be called for it");
        for request in [&requests[5], &requests[6], &shown["body"]] {
            let request = request.to_string();
            for stays in ["SUMMARY-7", "THE-TASK", "MARK-a3"] {
                assert!(request.contains(stays), "{dialect:?}: no {stays} in {request}");
            }
            assert!(!request.contains("MARK-a0"), "{dialect:?}");
        }
        assert_eq!(dialect.history(&shown["body"]), dialect.history(&requests[6]));
    }
}

#[test]
fn people_are_told_in_a_line_and_nobody_has_to_have_it() {
    let script = || [reads(0), reads(1), reads(2), reads(3), text("Found: SUMMARY-7."), text("Done.")];
    let provider = Provider::chat(script());
    let ran = env(&provider, NO_SEARCH).run(&["ask", "go", "-m", provider.model(), "-e", "io"]).exits(0);
    assert_eq!(ran.stdout, "Done.\n");
    assert!(ran.stderr.contains("note: the older part was summarised for the model: ~"), "{}", ran.stderr);
    provider.is_content();

    let script: Vec<Line> =
        script().into_iter().enumerate().filter(|(at, _)| *at != 4).map(|(_, one)| one.into()).collect();
    let provider = Provider::chat(script);
    let env = env(&provider, "[context]\nlazy_tools = 0\ncompact = false\n");
    env.run(&["ask", "go", "-m", provider.model(), "-e", "io"]).exits(0);
    provider.is_content();
    assert!(provider.requests().last().unwrap().to_string().contains("MARK-a0"));
}

#[test]
fn tools_that_would_fill_the_window_are_looked_for() {
    for dialect in Dialect::ALL {
        let search = calls([("tools__search", json!({ "query": "read a file", "limit": 3 }))]);
        let read = calls([("io__read_file", json!({ "path": "a0.txt" }))]);
        let provider = Provider::new(dialect, [search, read, text("Read."), text("Again.")]);
        let env = env(&provider, "[context]\nlazy_tools = 0.02\n");
        let ran = env.run(&["ask", "go", "-m", provider.model()]).exits(0);
        assert!(
            ran.stderr.contains("note: ")
                && ran.stderr.contains("tokens are offered by a search")
                && !ran.stderr.contains("warning: "),
            "{}",
            ran.stderr
        );
        let shown = env.run(&["ask", "-c", "again", "--dry-run"]).exits(0).json();
        env.run(&["ask", "-c", "again"]).exits(0);
        provider.is_content();
        let requests = provider.requests();
        let offered: Vec<String> = requests.iter().map(|request| request["tools"].to_string()).collect();
        assert!(
            offered[0].contains("tools__search") && !offered[0].contains("io__read_file"),
            "{}",
            offered[0]
        );
        for tools in [&offered[1], &offered[2], &offered[3], &shown["body"]["tools"].to_string()] {
            assert!(
                tools.contains("io__read_file") && tools.contains("tools__search"),
                "{dialect:?}: {tools}"
            );
        }
        assert!(requests[2].to_string().contains("MARK-a0"));
        // Nobody else is offered a search.
        let listed = env.run(&["ensembles", "list", "--json"]).exits(0);
        assert!(!listed.stdout.contains("tools.search"), "{}", listed.stdout);
    }
}

#[test]
fn a_prompt_that_is_too_long_for_an_unknown_window_is_made_shorter_once() {
    let refusal = || {
        let error = json!({ "error": { "message": "too long", "code": "context_length_exceeded" } });
        Line::Raw(crate::http::Answer::new(400, "application/json", error.to_string()))
    };
    for (refusals, exit) in [(1, 0), (2, 6)] {
        let first: Vec<Line> = [reads(0), reads(1)].map(Line::from).into();
        let rest = [text("Found: SUMMARY-7."), text("Done.")].map(Line::from);
        let mut script: Vec<Line> = first.into_iter().chain([refusal()]).chain(rest).collect();
        if refusals == 2 {
            script.pop();
            script.push(refusal());
        }
        let provider = Provider::chat(script);
        let env = env(&provider, NO_SEARCH);
        env.write("home/.config/converse/config.toml", "");
        let ran = env.run(&["ask", "go", "-m", provider.model(), "-e", "io"]).exits(exit);
        provider.is_content();
        assert_eq!(ran.stderr.contains("context-too-long"), exit == 6, "{}", ran.stderr);
        for way in ["once another one follows", "a larger window"] {
            assert_eq!(ran.stderr.contains(way), exit == 6, "{way}: {}", ran.stderr);
        }
    }
}
