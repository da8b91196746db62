//! Servers that ask something back: on a terminal, where nobody is, and for a model.

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::fake_server::{FakeServer, ask, at_once, brief, outcomes};
use crate::provider::{Line, Provider};
use crate::terminal::{ASKED, Terminal};

const NAME: &str = "asking";
const PRICE: &str = "[models.\"openai-chat/stub\"]\nprice = { input = 15.0, output = 15.0 }\n";
const ERAS: [&str; 2] = ["--era=legacy", "--era=modern"];

fn server(era: &str, what: &str) -> FakeServer {
    FakeServer::new(NAME, &[era, &format!("--ask={what}")])
}

/// What the server got, of an answer `got …`.
#[track_caller]
fn got(said: &str) -> Value {
    let said = said.strip_prefix("got ").unwrap_or_else(|| panic!("{said:?}"));
    let kept = said.strip_suffix(" and true").unwrap_or(said);
    serde_json::from_str(kept).unwrap_or_else(|_| panic!("{said:?}"))
}

#[test]
fn where_nobody_is_everything_is_declined() {
    let cases = ERAS.iter().flat_map(|era| ["form", "secret", "url"].map(|what| (*era, what)));
    at_once(cases, |(era, what)| {
        let said = server(era, what).call(&TestEnv::new(), "ask", json!({})).is("success");
        assert_eq!(got(&said), json!({ "action": "decline" }), "{era} {what}: {said}");
        assert_eq!(said.ends_with("and true"), era.ends_with("modern"), "its state came back: {said}");
    });
}

#[test]
fn roots_are_told_if_they_are_granted_and_are_within() {
    at_once(ERAS, |era| {
        let env = TestEnv::new();
        env.write("work/src/x", "");
        let granted = server(era, "roots").connection("roots = [\"src\", \"..\", \"/\"]");
        let got = got(&granted.call(&env, "ask", json!({})).is("success"));
        let roots = got["roots"].as_array().unwrap();
        assert!(roots.len() == 1 && roots[0]["uri"].as_str().unwrap().ends_with("/src"), "{got}");
        let none = server(era, "roots").call(&TestEnv::new(), "ask", json!({}));
        assert!(brief(&none.0.ran).contains("no roots are given"), "{}", brief(&none.0.ran));
    });
}

fn on_a_terminal(era: &str, what: &str) -> Terminal {
    let env = TestEnv::new();
    server(era, what).write(&env);
    let directory = env.path("servers");
    let terminal = Terminal::run(
        &env,
        &["ensembles", "call", "asking.ask", "{}", "--ensembles", directory.to_str().unwrap()],
    );
    // The directory must outlive the run.
    std::mem::forget(env);
    terminal
}

#[test]
fn a_form_is_filled_in_on_a_terminal() {
    at_once(ERAS, |era| {
        let mut terminal = on_a_terminal(era, "form");
        let question = terminal.shows("c = cancel").to_owned();
        assert!(
            question.contains("the server of `asking` asks you:")
                && question.contains("it asks for: city, nights")
        );
        assert!(question.contains("Where\\x1b[2J to?") && !question.contains("\u{1b}[2J to"), "{question:?}");
        terminal.types("y\n");
        terminal.shows("city (text, at most 20 characters, required): ");
        terminal.types("Paris\n");
        terminal.shows("nights (a whole number, at least 1) [2]: ");
        terminal.types("0\n");
        terminal.shows("at least 1: ");
        terminal.types("\n");
        terminal.shows("city = \"Paris\"");
        terminal.shows("fill it in again");
        terminal.types("y\n");
        terminal.shows(r#"got {"action":"accept","content":{"city":"Paris","nights":2}}"#);
        assert_eq!(terminal.ends(), 0);
    });
}

#[test]
fn an_address_is_shown_and_not_opened_on_a_terminal() {
    at_once(ERAS, |era| {
        let mut terminal = on_a_terminal(era, "url");
        let question = terminal.shows("c = cancel").to_owned();
        for part in
            ["host:    login.example", "address: https://login.example/grant?for=you", "does not open it"]
        {
            assert!(question.contains(part), "no {part:?} in {question:?}");
        }
        terminal.types("n\n");
        terminal.shows(r#"got {"action":"decline"}"#);
        assert_eq!(terminal.ends(), 0);
    });
}

#[test]
fn a_secret_is_declined_without_a_question() {
    at_once(ERAS, |era| {
        let mut terminal = on_a_terminal(era, "secret");
        terminal.shows(r#"got {"action":"decline"}"#);
        let screen = terminal.shows("not allowed in forms").to_owned();
        assert!(
            screen.contains("`apiKey` looks like a secret") && !screen.contains("asks you"),
            "{screen:?}"
        );
        assert_eq!(terminal.ends(), 0);
    });
}

/// A run in which the server asks the model, which says `Hello.` to it.
///
/// One reply costs 0.000225 USD.
fn sampled(
    era: &str,
    granted: bool,
    script: &[&'static str],
    extra: &[&str],
) -> (TestEnv, Provider, crate::env::Ran) {
    let called = calls([("asking__ask", json!({}))]);
    let provider = Provider::chat([called].into_iter().chain(script.iter().map(|words| text(words))));
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/config.toml", PRICE);
    server(era, "sample").connection(if granted { "sampling = true" } else { "" }).write(&env);
    let ran = ask(&provider, &env, extra);
    (env, provider, ran)
}

#[test]
fn a_model_is_asked_if_that_is_allowed_and_it_is_audited() {
    at_once(ERAS, |era| {
        let allow = ["--allow", "asking.sampling/*"];
        let (env, provider, ran) = sampled(era, true, &["Hello.", "Done."], &allow);
        let [(outcome, said)] = <[_; 1]>::try_from(outcomes(&ran)).unwrap();
        assert_eq!(outcome, "success", "{}", brief(&ran));
        assert_eq!(got(&said)["content"]["text"], "Hello.", "{said}");
        provider.is_content();
        let asked = &provider.requests()[1];
        assert_eq!(asked["messages"].as_array().unwrap().len(), 2, "{asked}");
        assert!(asked["tools"].is_null(), "{asked}");
        let tokens = asked.get("max_tokens").or(asked.get("max_completion_tokens")).unwrap();
        assert_eq!(*tokens, 4096, "no more, whatever it asks for");
        env.run(&["audit", "verify"]).exits(0);
        let log = std::fs::read_to_string(env.path("home/.local/state/converse/audit.jsonl")).unwrap();
        assert!(log.contains("asking__sampling") && log.contains("Be brief"), "{log}");
        let ids = |tool: &str| -> std::collections::BTreeSet<String> {
            let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let of = records.filter(|record| record["tool"] == tool);
            of.map(|record| record["invocation"].as_str().unwrap().to_owned()).collect()
        };
        let (call, sampling) = (ids("asking__ask"), ids("asking__sampling"));
        assert!(call.is_disjoint(&sampling) && sampling.len() == 1, "{log}");
    });
}

#[test]
fn what_a_server_asks_the_model_is_paid_by_the_call() {
    let allow = ["--allow", "asking.sampling/*"];
    let (_env, _provider, ran) = sampled("--era=modern", true, &["Hello.", "Done."], &allow);
    assert_eq!(ran.json()["cost"], 0.000675, "{}", brief(&ran));
    at_once(ERAS, |era| {
        let limited = [&allow[..], &["--max-cost", "0.0004"]].concat();
        let (_env, provider, ran) = sampled(era, true, &["Hello.", "Done."], &limited);
        assert_eq!((ran.code, provider.requests().len()), (7, 2), "{}", brief(&ran));
        assert_eq!(ran.json()["cost"], 0.00045, "{}", brief(&ran));
    });
}

#[test]
fn what_a_model_is_asked_for_in_vain_is_paid_too() {
    let allow = ["--allow", "asking.sampling/*"];
    at_once(ERAS, |era| {
        let (_env, _provider, ran) = sampled(era, true, &["", "", "", "Done."], &allow);
        assert!(outcomes(&ran)[0].1.contains("reply is empty"), "{}", brief(&ran));
        assert_eq!(ran.json()["cost"], 0.001125, "{}", brief(&ran));
        let limited = [&allow[..], &["--max-cost", "0.0004"]].concat();
        let (_env, provider, ran) = sampled(era, true, &["", "Done."], &limited);
        assert_eq!((ran.code, provider.requests().len()), (7, 2), "{}", brief(&ran));
    });
}

#[test]
fn what_the_turn_has_spent_counts_for_servers_too() {
    let called = calls([("asking__ask", json!({}))]);
    let provider = Provider::chat([called, text("Hello."), text("Done.")]);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/config.toml", PRICE);
    server("--era=modern", "sample-twice").connection("sampling = true").write(&env);
    let ran = ask(&provider, &env, &["--allow", "asking.sampling/*", "--max-cost", "0.0004"]);
    assert_eq!((ran.code, provider.requests().len()), (7, 2), "{}", brief(&ran));
    assert!(outcomes(&ran)[0].1.contains("the cost limit is reached"), "{}", brief(&ran));
    assert_eq!(ran.json()["cost"], 0.00045, "{}", brief(&ran));
}

#[test]
fn what_a_server_takes_back_is_paid() {
    let called = calls([("asking__ask", json!({}))]).into();
    let stalled = Line::Bent(text("Hello."), |answer| (answer.stall, answer.cut_at) = (true, Some(8)));
    let provider = Provider::chat([called, stalled, text("Done.").into()]);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/config.toml", PRICE);
    let until = env.path("until");
    let flags = ["--era=legacy", "--ask=sample-back", &format!("--until={}", until.display())];
    FakeServer::new(NAME, &flags).connection("sampling = true").write(&env);
    let ran = std::thread::scope(|scope| {
        let ran =
            scope.spawn(|| ask(&provider, &env, &["--allow", "asking.sampling/*", "--max-cost", "0.01"]));
        while provider.requests().len() < 2 && !ran.is_finished() {
            std::thread::yield_now();
        }
        std::fs::write(&until, "").unwrap();
        ran.join().unwrap()
    });
    let cost = ran.json()["cost"].as_f64().unwrap();
    assert!(cost > 4096.0 * 15e-6, "the most it can have cost: {cost}, {}", brief(&ran));
    assert_eq!((ran.code, provider.requests().len()), (7, 2), "{}", brief(&ran));
}

#[test]
fn a_model_is_not_asked_unless_it_is_granted_and_allowed() {
    at_once(ERAS, |era| {
        for (granted, extra, word) in [
            (true, &[][..], "needs an approval and nobody can be asked"),
            (true, &["--deny", "asking.sampling/*"], "not allowed by the rule"),
            // Its tools are meant.
            (true, &["--allow", "asking.*"], "needs an approval and nobody can be asked"),
            (true, &["--allow", "asking", "--allow", "*"], "needs an approval and nobody can be asked"),
            (false, &["--allow", "asking.sampling/*"], "may not ask the model"),
        ] {
            let (_env, provider, ran) = sampled(era, granted, &["Done."], extra);
            let told = outcomes(&ran);
            assert!(told[0].1.contains(word), "{era} {word}: {told:?}");
            assert_eq!(provider.requests().len(), 2, "{}", brief(&ran));
        }
    });
}

#[test]
fn what_a_server_asks_the_model_is_shown_whole() {
    let called = calls([("asking__ask", json!({}))]);
    let provider = Provider::chat([called, text("Hello."), text("All done.")]);
    let env = provider.env(TestEnv::new());
    server("--era=modern", "sample").connection("sampling = true").write(&env);
    let directory = env.path("servers");
    let args =
        ["ask", "go", "-m", provider.model(), "--ephemeral", "--ensembles", directory.to_str().unwrap()];
    let mut terminal = Terminal::run(&env, &args);
    let question = terminal.shows(ASKED).to_owned();
    for part in ["allow asking.sampling/createMessage?", "Be brief", "Say hello", "4096"] {
        assert!(question.contains(part), "no {part:?} in {question:?}");
    }
    terminal.types("y\n");
    terminal.shows("All done.");
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
}
