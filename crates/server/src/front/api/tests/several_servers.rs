//! What a server does while others with the same sessions fail, or while the database does.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::{
    Arguments, Assistant, Canister, Content, Decision, Invocation, InvocationId, Stop, TurnId, User,
};
use converse_config::Policy;
use converse_ensemble::{Ensemble, NoArtefacts, Roster, Rules, Verdict};
use converse_host::Approver;
use converse_host::approvals::Memory;
use converse_host::context::RunContext;
use converse_host::secrets::Redactor;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_session::storage::{News, RecordKind, Records as _};
use converse_session::{Body, Uuid};
use converse_testkit::hang_guard::ends;
use converse_testkit::tools::{Does, invocation, one_tool, plan};
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::shared_files::{ELSEWHERE, SharedFiles};
use super::{front_with, served};
use crate::access::Access;
use crate::front::Front;
use crate::front::api::approver::LaterApprover;
use crate::front::api::runs::Props;
use crate::front::api::waiting::WaitingFiles;
use crate::front::beside_turns;

const SESSION: Uuid = Uuid::from_u128(7);

/// A server with a database, and a session in it that waits for an answer.
struct Waits {
    shared: SharedFiles,
    front: Arc<Front>,
    question: String,
}

impl Waits {
    async fn new(dir: &Path) -> Self {
        let shared = SharedFiles::new(dir);
        let front = front_with(dir, Some(Arc::new(shared.clone()))).await;
        let mut session =
            sessions::begin(SESSION, World::now(), &RunContext::new(&front.world), &front.world).unwrap();
        let (turn, id) = (TurnId(1), InvocationId::of(TurnId(1), 0));
        let content = vec![Content::text("Now.")];
        let reply = Assistant { turn, content, native: None, stop: Stop::End, response_id: None };
        let arguments = Arguments::from_object(serde_json::Map::new());
        let call =
            Invocation { turn, id: id.clone(), wire_id: None, tool: "t__x".into(), arguments, seal: None };
        let said =
            [Canister::User(User::text("Go.")), Canister::Assistant(reply), Canister::Invocation(call)];
        let bodies = said.into_iter().map(|canister| Body::Canister { canister });
        for body in bodies.chain([Body::Waiting { ids: vec![id] }]) {
            session.append(body, World::now()).unwrap();
        }
        drop(session);
        let waits = Self { shared, front, question: "asked".to_owned() };
        waits.write(&json!({}));
        waits
    }

    fn write(&self, answers: &Value) {
        let waiting = json!({ "interrupts": [{ "id": self.question }], "at": "", "answers": answers });
        self.shared.put(RecordKind::Waiting, &SESSION.to_string(), waiting.to_string().as_bytes()).unwrap();
    }

    async fn take_over(&self) {
        let front = Arc::clone(&self.front);
        beside_turns(move || front.take_over_turn("", SESSION, ELSEWHERE)).await.unwrap();
    }

    fn ending(&self) -> Option<String> {
        self.shared.state.turns.lock().get(&SESSION).and_then(|(_, turn)| turn.ending.clone())
    }
}

#[tokio::test]
async fn a_lost_turn_whose_questions_cannot_be_read_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let waits = Waits::new(dir.path()).await;
    waits.shared.runs(SESSION, Some(ELSEWHERE));
    waits.shared.fails(true);
    waits.take_over().await;
    assert_eq!((waits.shared.process_of(SESSION), waits.ending()), (Some(ELSEWHERE), None));
    waits.shared.fails(false);
    waits.take_over().await;
    assert_eq!(waits.shared.process_of(SESSION), None);
    assert!(waits.ending().unwrap().contains(&waits.question), "{:?}", waits.ending());
}

#[tokio::test]
async fn a_call_that_was_approved_runs_also_if_the_answers_cannot_be_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let shared = SharedFiles::new(dir.path());
    let front = front_with(dir.path(), Some(Arc::new(shared.clone()))).await;
    let tool = one_tool("x", Policy::default(), Does(|_, _| std::future::pending()));
    let ensemble = Ensemble::new(&plan("t"), Box::new(tool));
    let (roster, _) = Roster::connect(vec![ensemble], Vec::new(), Arc::new(NoArtefacts)).await;
    let Verdict::Ask(pending) = roster.judge(&invocation("t__x", "{}")) else { panic!() };
    let pending = [pending];
    let memory = || Memory::new(&Rules::new(Vec::new()), &Redactor::default(), &front.world);
    let files = WaitingFiles::of(&front.world).unwrap();
    let questions = files.of_turn(SESSION).unwrap();
    let asks = LaterApprover::new(SESSION, questions, memory(), Props::default());
    assert!(asks.postpones(&pending));
    let id = asks.asked.lock()[0]["id"].as_str().unwrap().to_owned();

    let answer = serde_json::from_value(json!({ "decision": "once" })).unwrap();
    let questions = files.of_turn(SESSION).unwrap();
    let approver = LaterApprover::new(SESSION, questions, memory(), Props::default());
    let approver = approver.answered([(id, answer)].into());
    shared.fails(true);
    assert!(!approver.postpones(&pending));
    let decisions = approver.decide(&pending).await;
    assert!(matches!(decisions.as_slice(), [Decision::Allow { .. }]), "{decisions:?}");
}

#[tokio::test]
async fn a_session_that_was_answered_before_its_server_ended_is_continued_by_another() {
    let dir = tempfile::tempdir().unwrap();
    let waits = Waits::new(dir.path()).await;
    let look = || waits.front.continue_answered_now();
    look().await;
    let reads = *waits.shared.state.reads.lock();
    look().await;
    assert_eq!(*waits.shared.state.reads.lock(), reads, "open questions are read once");
    assert_eq!(waits.shared.process_of(SESSION), None);

    let waits = Waits { front: front_with(dir.path(), Some(Arc::new(waits.shared.clone()))).await, ..waits };
    waits.write(&json!({ waits.question.as_str(): { "decision": "deny" } }));
    waits.front.continue_answered_now().await;
    // Nobody runs turns in this test: one that begins ends at once.
    let begins = async {
        while waits.ending().is_none() {
            tokio::task::yield_now().await;
        }
    };
    ends("the turn begins", begins).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_follows_gets_what_could_not_be_read_at_first() {
    let dir = tempfile::tempdir().unwrap();
    let waits = Waits::new(dir.path()).await;
    let (front, _queue) = served(dir.path(), Some(Arc::new(waits.shared.clone()))).await;
    waits.shared.runs(SESSION, Some(ELSEWHERE));
    let request = Request::builder().uri(format!("/api/sessions/{SESSION}/events")).body(()).unwrap();
    let admission = Access::open().admit(request.headers()).await.unwrap();
    let reply = front.answer(&request.into_parts().0, Bytes::new(), &admission).await;
    let mut body = reply.into_body();
    // The other server ends its turn, and the only message about it comes while the database fails.
    waits.shared.fails(true);
    waits.shared.runs(SESSION, None);
    let reads = || *waits.shared.state.reads.lock();
    let before = reads();
    front.heard(News::Grown { owner: String::new(), session: SESSION });
    ends("a reading fails", async {
        while reads() == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    waits.shared.fails(false);
    let mut text = String::new();
    ends("the client learns of the end", async {
        while !text.contains("RUN_FINISHED") {
            let frame = body.frame().await.unwrap().unwrap();
            text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    })
    .await;
}
