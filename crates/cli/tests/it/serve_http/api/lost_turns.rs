//! Answers whose turn could not begin, or did not, because the server ended in between.

use converse_testkit::hang_guard::wait_until;

use super::comparisons::answer;
use super::*;

/// A turn that waits for an answer: its session, the question, and where it is kept.
struct Asked {
    session: String,
    question: Value,
    position: String,
    file: std::path::PathBuf,
}

fn asked(env: &TestEnv, gate: &Gate) -> Asked {
    let mut body = question("@io.write_file path=note.txt content=hello");
    body["forwardedProps"]["ensembles"] = json!(["io"]);
    let events = run(gate, &body);
    let session = session_of(&events);
    let (position, last) = events.last().unwrap().clone();
    let question = last["outcome"]["interrupts"][0]["id"].clone();
    let file = env.path("home/.local/share/converse/waiting").join(format!("{session}.json"));
    assert!(file.exists() && question.is_string(), "{last}");
    Asked { session, question, position, file }
}

impl Asked {
    /// What a server leaves that ends between saving the answer and the turn.
    fn is_answered(&self, decision: &str) {
        let mut waiting: Value = serde_json::from_str(&std::fs::read_to_string(&self.file).unwrap()).unwrap();
        waiting["answers"][self.question.as_str().unwrap()] = json!({ "decision": decision });
        std::fs::write(&self.file, waiting.to_string()).unwrap();
    }

    fn answer(&self, gate: &Gate, decision: &str) -> (u16, String) {
        let path = format!("/api/approvals/{}", self.question.as_str().unwrap());
        send(gate, "POST", &path, TOKEN, &json!({ "decision": decision }))
    }

    fn ends(&self, env: &TestEnv, gate: &Gate) {
        let rest = follow(gate, &self.session, &self.position);
        assert_eq!(rest.last().unwrap().1["outcome"]["type"], "success", "{rest:?}");
        assert_eq!(std::fs::read_to_string(env.path("work/note.txt")).unwrap(), "hello");
        assert!(!self.file.exists(), "the answers are used up");
    }
}

#[test]
fn a_turn_that_was_answered_continues_when_the_server_starts() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let mut gate = open(&env, &[]);
    let asked = asked(&env, &gate);
    gate.child.kill().unwrap();
    gate.child.wait().unwrap();
    asked.is_answered("once");
    let gate = open(&env, &[]);
    wait_until("the file is written", || env.path("work/note.txt").exists());
    asked.ends(&env, &gate);
}

#[test]
fn the_same_answer_again_begins_a_turn_that_was_lost() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let asked = asked(&env, &gate);
    asked.is_answered("once");
    assert_eq!(asked.answer(&gate, "deny").0, 409, "another answer");
    assert_eq!(answer(&gate, &asked.question, &json!({ "decision": "once" }))["left"], 0);
    asked.ends(&env, &gate);
    assert_eq!(asked.answer(&gate, "once").0, 404, "it was used");
}

#[test]
fn an_answer_is_not_taken_if_its_turn_cannot_continue() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let mut gate = open(&env, &[]);
    let asked = asked(&env, &gate);
    gate.child.kill().unwrap();
    gate.child.wait().unwrap();
    let mut gate = Gate::open(&env, &["--panel", "-e", "essentials"]);
    let (status, refused) = asked.answer(&gate, "once");
    assert!(status == 422 && refused.contains("named-ensemble"), "{refused}");
    assert_eq!(get(&gate, "/api/approvals")["items"][0]["id"], asked.question, "it is still open");
    gate.child.kill().unwrap();
    gate.child.wait().unwrap();
    let gate = open(&env, &[]);
    assert_eq!(answer(&gate, &asked.question, &json!({ "decision": "once" }))["left"], 0);
    asked.ends(&env, &gate);
}

#[test]
fn a_run_that_resumes_with_too_few_answers_takes_none() {
    let write = |path: &str| ("io__write_file", json!({ "path": path, "content": "x" }));
    let provider = Provider::new(Dialect::Chat, [calls([write("a.txt"), write("b.txt")]), text("Done.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let mut body = question("Write them");
    body["forwardedProps"] = json!({ "model": provider.model() });
    let asked = run(&gate, &body);
    let interrupts = asked.last().unwrap().1["outcome"]["interrupts"].clone();
    let resume = |count: usize| {
        let answers = interrupts.as_array().unwrap().iter().take(count);
        let payload = json!({ "decision": "once" });
        let answers =
            answers.map(|one| json!({ "interruptId": one["id"], "status": "resolved", "payload": payload }));
        json!({ "threadId": session_of(&asked), "runId": "r2", "messages": [], "resume": answers.collect::<Vec<_>>() })
    };
    let (status, refused) = send(&gate, "POST", "/api/runs", TOKEN, &resume(1));
    assert!(status == 409 && refused.contains("unanswered"), "{refused}");
    assert_eq!(get(&gate, "/api/approvals")["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(words(&run(&gate, &resume(2))), "Done.");
    assert!(env.path("work/a.txt").exists() && env.path("work/b.txt").exists());
}
