//! What models that are compared have in common: that all begin or none does, what all are told, and who goes on.

use serde_json::{Value, json};

use crate::body::text;
use crate::compare::{Two, trace};
use crate::env::Ran;
use crate::records::fits;

/// Cannot be started, and nothing goes without it.
const REQUIRED: &str = "[ensemble]\nname = \"gone\"\ndescription = \"d\"\nrequired = true\n\
    [connection]\ntransport = \"stdio\"\ncommand = [\"/bin/false\"]\n";

/// Nobody was asked: no model, and why not.
#[track_caller]
fn begins_with_none(ran: Ran, exit: i32, code: &str, model: Option<&str>) {
    let all = ran.exits(exit).json();
    assert_eq!((&all["models"], &all["error"]["code"]), (&json!([]), &json!(code)), "{all}");
    assert_eq!(all["error"].get("model").and_then(Value::as_str), model, "{all}");
}

fn keyless<'a>(two: &'a Two, format: &'a str) -> Vec<&'a str> {
    vec!["ask", "x", "-m", two.chat.model(), "-m", "groq/x", "-o", format]
}

#[test]
fn one_without_a_key_is_named_and_nobody_is_asked() {
    let mut two = Two::says(vec![], vec![]);
    two.env = two.env.without("GROQ_API_KEY");
    begins_with_none(two.env.run(&keyless(&two, "json")), 4, "no-key", Some("groq/x"));
    let told = two.env.run(&keyless(&two, "text")).exits(4);
    assert_eq!(told.stdout, "");
    assert!(told.stderr.contains("error[no-key]: groq/x: no key for `groq`"), "{}", told.stderr);
    let records = two.env.run(&keyless(&two, "jsonl")).exits(4).records();
    fits(&records);
    assert_eq!((records.len(), &records[0]["error"]["model"]), (1, &json!("groq/x")), "{records:?}");
    assert_eq!(two.sessions(), 0);
    two.are_content();
}

#[test]
fn one_without_a_price_is_named_and_nobody_is_asked() {
    let two = Two::says(vec![text("One.")], vec![text("Two.")]);
    let price = "[models.\"openai-chat/stub\"]\nprice = { input = 15.0, output = 15.0 }\n";
    two.env.write("home/.config/converse/config.toml", price);
    let model = Some(two.anthropic.model());
    let limited = ["-o", "json", "--max-cost", "1"];
    begins_with_none(two.env.run(&two.args(&limited)), 2, "unknown-price", model);
    assert_eq!(two.sessions(), 0);
    two.env.run(&two.args(&[])).exits(0);
    // The same of one that goes on.
    begins_with_none(two.env.run(&[&["ask", "-c", "x"], &limited[..]].concat()), 2, "unknown-price", model);
    two.are_content();
}

#[test]
fn a_run_that_could_not_begin_leaves_nothing_to_go_on_with() {
    let two = Two::says(vec![text("One."), text("One, again.")], vec![text("Two."), text("Two, again.")]);
    two.env.write("work/broken/gone.toml", REQUIRED);
    let broken = ["IMPORTANT", "--ensembles", "broken", "-o", "json"];
    two.env.run(&two.args(&[])).exits(0);
    let models = ["ask", "-m", two.chat.model(), "-m", two.anthropic.model()];
    begins_with_none(two.env.run(&[&models, &broken[..]].concat()), 10, "required-ensemble", None);
    let alone = two.env.run(&[&["ask", "-m", "understudy"], &broken[..]].concat()).exits(10).json();
    assert_eq!(alone["session"], Value::Null);
    // Nor does a member leave the others for a turn that never began.
    let chosen = two.env.run(&[&["ask", "-c", "-m", two.chat.model()], &broken[..]].concat()).exits(10);
    assert!(chosen.json()["session"].is_string());
    assert_eq!(two.sessions(), 2);
    let again = two.env.run(&["ask", "-c", "hi"]).exits(0);
    assert!(again.stdout.contains("One, again.") && again.stdout.contains("Two, again."), "{}", again.stdout);
    two.are_content();
}

#[test]
fn a_session_that_is_gone_is_missed_and_the_rest_stays_together() {
    let two = Two::says(
        vec![text("One."), text("One, again."), text("One, at last.")],
        vec![text("Two."), text("Two, at last.")],
    );
    let all = two.env.run(&two.args(&["-o", "json"])).exits(0).json();
    let id = all["models"][1]["session"].as_str().unwrap();
    let session = two.env.path(&format!("home/.local/share/converse/sessions/{id}"));
    let aside = two.env.path("aside");
    std::fs::rename(&session, &aside).unwrap();
    let ran = two.env.run(&["ask", "-c", "again"]).exits(0);
    assert_eq!(ran.stdout, "One, again.\n");
    assert!(ran.stderr.contains("the session of `anthropic/stub` is gone"), "{}", ran.stderr);
    let named = two.env.run(&["ask", "-c", "again", "-m", two.anthropic.model()]).exits(2);
    assert!(named.stderr.contains("the session of `anthropic/stub` is gone"), "{}", named.stderr);
    std::fs::rename(&aside, &session).unwrap();
    let ran = two.env.run(&["ask", "-c", "at last"]).exits(0);
    assert!(ran.stdout.contains("One, at last.") && ran.stdout.contains("Two, at last."), "{}", ran.stdout);
    assert!(!ran.stderr.contains("gone"), "{}", ran.stderr);
    two.are_content();
}

#[test]
fn only_what_was_cut_is_broken_off() {
    let two = Two::says(vec![trace(1), text("All of it.")], vec![trace(1).with_text("Let me see.")]);
    let ran = two.env.run(&two.args(&["--ask", "own.*"])).exits(8);
    let (chat, _) = ran.stdout.split_once("## anthropic/stub").unwrap();
    assert!(chat.contains("All of it.\n\n(unapproved)\n"), "{}", ran.stdout);

    let two = Two::says(vec![text("All of it.")], vec![trace(1).with_text("Let me see.")]);
    let ran = two.env.run(&two.args(&["--max-iterations", "1"])).exits(7);
    assert!(ran.stdout.contains("Let me see.\n\n(broken off: limit)\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("All of it.\n\n> "), "{}", ran.stdout);
    two.are_content();
}

#[test]
fn each_answer_is_held_against_the_schema() {
    let city = || text("{\"city\":\"Oslo\"}");
    let two = Two::says(vec![text("Oslo."), city()], vec![text("Oslo."), text("Oslo!"), text("No.")]);
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}"#;
    two.env.write("work/answer.json", schema);
    let all = two.env.run(&two.args(&["--schema", "answer.json", "-o", "json"])).exits(6).json();
    let [chat, anthropic] = all["models"].as_array().unwrap().as_slice() else { panic!("{all}") };
    assert_eq!((&chat["exit"], &chat["value"]), (&json!(0), &json!({"city": "Oslo"})));
    assert_eq!((&anthropic["exit"], &anthropic["value"]), (&json!(6), &Value::Null));
    assert_eq!(
        (&all["error"]["code"], &all["error"]["model"]),
        (&json!("unfit-answer"), &anthropic["model"])
    );
    two.are_content();
}

#[test]
fn what_is_attached_reaches_all_and_stays_with_each() {
    let two = Two::says(vec![text("One."), text("One, again.")], vec![text("Two."), text("Two, again.")]);
    let pixel = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0x55; 1500]].concat();
    std::fs::write(two.env.path("work/pixel.png"), pixel).unwrap();
    two.env.run(&two.args(&["-a", "pixel.png"])).exits(0);
    std::fs::remove_file(two.env.path("work/pixel.png")).unwrap();
    two.env.run(&["ask", "-c", "and now?"]).exits(0);
    for requests in [two.chat.requests(), two.anthropic.requests()] {
        assert_eq!(requests.len(), 2);
        for request in requests {
            assert_eq!(request.to_string().matches("iVBORw0KGgpVVVVV").count(), 1, "{request:#}");
        }
    }
    two.are_content();
}

#[test]
fn a_limit_of_costs_is_for_each_of_them() {
    let two = Two::says(vec![text("One.")], vec![trace(1), text("Two.")]);
    let price = |model: &str| format!("[models.\"{model}\"]\nprice = {{ input = 15.0, output = 15.0 }}\n");
    let prices = [two.chat.model(), two.anthropic.model()].map(price).concat();
    two.env.write("home/.config/converse/config.toml", &prices);
    let all = two.env.run(&two.args(&["--max-cost", "0.0002", "-o", "json"])).exits(7).json();
    let [chat, anthropic] = all["models"].as_array().unwrap().as_slice() else { panic!("{all}") };
    assert_eq!((&chat["exit"], &anthropic["exit"]), (&json!(0), &json!(7)), "{all}");
    let message = anthropic["error"]["message"].as_str().unwrap();
    assert!(message.contains("0.0002 USD"), "{message}");
}
