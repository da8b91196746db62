//! `/api/comparisons`: several models on one question, over the same results of tools.

use super::*;

/// Tools that leave a trace of each run.
const LAB: &str = r#"
[ensemble]
name = "lab"
description = "Tools that leave a trace"

[[invokers]]
name = "mark"
description = "Writes a line"
effects = "write"
[invokers.command]
argv = ["sh", "-c", 'echo "$1" >> marks.txt; echo done', "sh", "{word}"]
[invokers.arguments]
type = "object"
required = ["word"]
properties = { word = { type = "string", description = "The word" } }
"#;

pub(super) fn models() -> (Provider, Provider) {
    let none = Vec::<crate::body::Says>::new;
    (Provider::new(Dialect::Chat, none()), Provider::new(Dialect::Anthropic, none()))
}

fn lab() -> (Provider, Provider, TestEnv) {
    let (one, two) = models();
    let env = two.env(one.env(TestEnv::new())).var("CONVERSE_SERVE_TOKEN", TOKEN);
    env.write("home/.config/converse/ensembles/lab.toml", LAB);
    (one, two, env)
}

fn mark(word: &str) -> crate::body::Says {
    calls([("lab__mark", json!({ "word": word }))])
}

pub(super) fn compare(gate: &Gate, models: [&Provider; 2]) -> (String, [String; 2]) {
    let models = models.map(Provider::model);
    let body = json!({ "question": "Leave a mark", "models": models });
    let made = json_of(send(gate, "POST", "/api/comparisons", TOKEN, &body));
    let session = |at: usize| made["sessions"][at]["id"].as_str().unwrap().to_owned();
    (made["id"].as_str().unwrap().to_owned(), [session(0), session(1)])
}

pub(super) fn answer(gate: &Gate, id: &Value, body: &Value) -> Value {
    json_of(send(gate, "POST", &format!("/api/approvals/{}", id.as_str().unwrap()), TOKEN, body))
}

fn outcome(events: &[(String, Value)]) -> &str {
    events.last().unwrap().1["outcome"]["type"].as_str().unwrap_or_else(|| panic!("{events:?}"))
}

fn marks(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path("work/marks.txt")).unwrap_or_default()
}

fn shared(events: &[(String, Value)]) -> usize {
    events.iter().filter(|(_, event)| event["value"]["shared"] == true).count()
}

#[test]
fn an_equal_call_of_compared_models_is_asked_about_once_and_runs_once() {
    let (one, two, env) = lab();
    one.plays([mark("x"), text("One.")]);
    two.plays([mark("x"), text("Two.")]);
    let gate = open(&env, &["-e", "lab"]);
    let (id, sessions) = compare(&gate, [&one, &two]);
    let asked = sessions.each_ref().map(|session| follow(&gate, session, "0.0.0"));
    assert_eq!(asked.each_ref().map(|events| outcome(events)), ["interrupt", "interrupt"]);
    let inbox = get(&gate, "/api/approvals")["items"].as_array().unwrap().clone();
    assert_eq!(inbox.len(), 1, "{inbox:?}");
    assert_eq!(answer(&gate, &inbox[0]["id"], &json!({ "decision": "once" }))["left"], 0);
    let ended: Vec<_> = sessions
        .iter()
        .zip(&asked)
        .map(|(session, asked)| follow(&gate, session, &asked.last().unwrap().0))
        .collect();
    assert_eq!(ended.iter().map(|events| words(events)).collect::<Vec<_>>(), ["One.", "Two."]);
    assert_eq!(ended.iter().map(|events| shared(events)).sum::<usize>(), 1, "{ended:?}");
    assert_eq!(marks(&env), "x\n", "it ran once");
    let shown = sessions.each_ref().map(|session| get(&gate, &format!("/api/sessions/{session}")));
    let is_marked = |shown: &&Value| shown["messages"][2]["shared"] == true;
    assert_eq!(shown.iter().filter(is_marked).count(), 1, "{shown:?}");
    assert_eq!(get(&gate, "/api/approvals")["items"], json!([]));

    let tagged = |tag: &str| get(&gate, &format!("/api/sessions?tag={tag}:{id}"))["items"].clone();
    assert_eq!(tagged("compare").as_array().map(Vec::len), Some(2));
    let take = json!({ "session": sessions[1] });
    let taken = json_of(send(&gate, "POST", &format!("/api/comparisons/{id}/take"), TOKEN, &take));
    assert_eq!((&taken["id"], &taken["tags"]), (&json!(sessions[1]), &json!([format!("compared:{id}")])));
    assert_eq!(tagged("compare").as_array().map(Vec::len), Some(1));
    let elsewhere = send(&gate, "POST", "/api/comparisons/nonesuch/take", TOKEN, &take);
    assert_eq!(elsewhere.0, 422, "{}", elsewhere.1);
}

#[test]
fn a_refusal_counts_for_all_compared_models() {
    let (one, two, env) = lab();
    one.plays([mark("x"), text("One.")]);
    two.plays([mark("x"), text("Two.")]);
    let gate = open(&env, &["-e", "lab"]);
    let (_, sessions) = compare(&gate, [&one, &two]);
    let asked = sessions.each_ref().map(|session| follow(&gate, session, "0.0.0"));
    // The second model's question is answered: neither is asked again.
    let id = &asked[1].last().unwrap().1["outcome"]["interrupts"][0]["id"];
    answer(&gate, id, &json!({ "decision": "deny", "comment": "not now" }));
    for ((session, asked), provider) in sessions.iter().zip(&asked).zip([&one, &two]) {
        assert_eq!(outcome(&follow(&gate, session, &asked.last().unwrap().0)), "success");
        assert!(provider.requests()[1].to_string().contains("refused by the user: not now"));
    }
    assert_eq!(marks(&env), "");
}

#[test]
fn a_model_that_comes_later_gets_the_result_also_after_a_restart() {
    for restarts in [false, true] {
        let (one, two, env) = lab();
        one.plays([mark("x"), text("One.")]);
        two.plays([mark("first"), mark("x"), text("Two.")]);
        let mut gate = open(&env, &["-e", "lab"]);
        let (_, sessions) = compare(&gate, [&one, &two]);
        let asked = sessions.each_ref().map(|session| follow(&gate, session, "0.0.0"));
        let id =
            |events: &[(String, Value)]| events.last().unwrap().1["outcome"]["interrupts"][0]["id"].clone();
        answer(&gate, &id(&asked[0]), &json!({ "decision": "once" }));
        assert_eq!(words(&follow(&gate, &sessions[0], &asked[0].last().unwrap().0)), "One.");
        if restarts {
            gate.child.kill().unwrap();
            gate.child.wait().unwrap();
            gate = open(&env, &["-e", "lab"]);
        }
        answer(&gate, &id(&asked[1]), &json!({ "decision": "once" }));
        let mut rest = follow(&gate, &sessions[1], &asked[1].last().unwrap().0);
        if restarts {
            // The answer is forgotten, the run is not.
            assert_eq!(outcome(&rest), "interrupt", "{rest:?}");
            answer(&gate, &id(&rest), &json!({ "decision": "once" }));
            rest = follow(&gate, &sessions[1], &rest.last().unwrap().0);
        }
        assert_eq!((words(&rest).as_str(), shared(&rest)), ("Two.", 1), "{rest:?}");
        assert_eq!(marks(&env), "x\nfirst\n", "restarts: {restarts}");
    }
}

#[test]
fn a_comparison_has_two_to_four_different_models() {
    let (one, _, env) = lab();
    let gate = open(&env, &["-e", "lab"]);
    let refused = |models: &[&str], more: Value| {
        let mut body = json!({ "question": "Hello", "models": models });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        send(&gate, "POST", "/api/comparisons", TOKEN, &body).0
    };
    assert_eq!(refused(&["understudy"], json!({})), 422);
    assert_eq!(refused(&["understudy", "understudy"], json!({})), 422);
    assert_eq!(refused(&["understudy", one.model(), "a/b", "c/d", "e/f"], json!({})), 422);
    assert_eq!(refused(&["understudy", "nobody/nothing"], json!({})), 422);
    assert_eq!(refused(&["understudy", one.model()], json!({ "question": " " })), 422);
    assert_eq!(refused(&["understudy", one.model()], json!({ "colour": 1 })), 400);
    assert_eq!(get(&gate, "/api/sessions")["items"], json!([]), "none has begun");
}
