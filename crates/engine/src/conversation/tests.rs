use converse_canister::{Arguments, Assistant, Content, User};

use super::*;

struct Talk(Conversation);

impl Talk {
    fn new(limits: Limits) -> Self {
        let mut conversation = Conversation::resume(Transcript::new(), limits);
        conversation.say(Canister::User(User::text("hello"))).unwrap();
        Self(conversation)
    }

    /// A reply with so many invocations.
    fn reply(&mut self, stop: Stop, calls: usize) -> &mut Self {
        self.0.count_model_call();
        let turn = self.0.transcript().next_turn();
        let head = Assistant { turn, content: vec![], native: None, stop, response_id: None };
        self.0.push_reply(Canister::Assistant(head)).unwrap();
        for index in 0..calls {
            let id = InvocationId::of(turn, index);
            let arguments = Arguments::parse("");
            let invocation = Invocation { turn, id, wire_id: None, tool: "t".into(), arguments, seal: None };
            self.0.push_reply(Canister::Invocation(invocation)).unwrap();
        }
        self
    }

    fn answer_all(&mut self) -> &mut Self {
        let ids: Vec<_> = self.0.transcript().open().iter().map(|i| i.id.clone()).collect();
        for id in ids {
            self.0.push_result(InvocationResult::new(id, Outcome::Success, "ok")).unwrap();
        }
        self
    }

    fn step(&self) -> &'static str {
        match self.0.step() {
            Step::CallModel => "call",
            Step::Decide(_) => "decide",
            Step::Invoke(_) => "invoke",
            Step::Answer(_) => "answer",
            Step::Check(_) => "check",
            Step::Done(_) => "done",
        }
    }
}

fn limits(iterations: u32, invocations: u32) -> Limits {
    Limits { iterations, invocations, ..Limits::default() }
}

#[test]
fn an_ordinary_turn() {
    let mut talk = Talk::new(Limits::default());
    assert_eq!(talk.step(), "call");
    talk.reply(Stop::End, 2);
    let Step::Decide(undecided) = talk.0.step() else { panic!("{:?}", talk.0.step()) };
    talk.0.approve(undecided[0].id.clone());
    assert_eq!(talk.0.step(), Step::Decide(vec![undecided[1].clone()]));
    talk.0.approve(undecided[1].id.clone());
    assert_eq!(talk.0.step(), Step::Invoke(undecided));
    talk.answer_all();
    assert_eq!(talk.step(), "call");
    talk.reply(Stop::End, 0);
    assert_eq!(talk.0.step(), Step::Done(Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 }));
    // The user speaks again: a new turn begins.
    talk.0.say(Canister::User(User::text("and?"))).unwrap();
    assert_eq!(talk.step(), "call");
}

#[test]
fn an_empty_reply_after_results_is_the_end() {
    let mut talk = Talk::new(Limits::default());
    talk.reply(Stop::End, 1).answer_all().reply(Stop::End, 0);
    assert_eq!(talk.step(), "done");
}

#[test]
fn every_way_to_end_is_seen() {
    let ending = |stop: Stop| {
        let mut talk = Talk::new(Limits::default());
        talk.reply(stop, 0);
        talk.0.step()
    };
    assert_eq!(ending(Stop::Truncated), Step::Done(Ending::Truncated));
    assert_eq!(ending(Stop::Refused { reason: None }), Step::Done(Ending::RefusedByModel { reason: None }));
    assert_eq!(ending(Stop::Paused), Step::CallModel);
    assert_eq!(ending(Stop::Other("new".into())), Step::Done(Ending::UnknownStop { word: "new".into() }));
    assert_eq!(
        ending(Stop::End),
        Step::Done(Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 })
    );
}

#[test]
fn nothing_runs_from_a_reply_that_ended_as_nobody_knows_and_the_second_ends_the_turn() {
    let odd = || Stop::Other("ODD".to_owned());
    let mut talk = Talk::new(Limits::default());
    talk.reply(odd(), 2);
    let Step::Answer(results) = talk.0.step() else { panic!("{:?}", talk.0.step()) };
    assert!(results.iter().all(|result| result.outcome == Outcome::Cancelled) && results.len() == 2);
    assert_eq!(results[0].content, [Content::text("not run: the reply ended as `ODD`")]);
    talk.answer_all();
    assert_eq!(talk.step(), "call");
    let mut fixed = Talk(talk.0.clone());
    fixed.reply(Stop::End, 1);
    assert_eq!(fixed.step(), "decide");
    talk.reply(odd(), 1).answer_all();
    assert_eq!(talk.0.step(), Step::Done(Ending::UnknownStop { word: "ODD".to_owned() }));
}

#[test]
fn words_are_an_answer_however_the_reply_ended() {
    let mut talk = Talk::new(Limits::default());
    let turn = talk.0.transcript().next_turn();
    let (content, stop) = (vec![Content::text("42")], Stop::Other("new".to_owned()));
    let head = Assistant { turn, content, native: None, stop, response_id: None };
    talk.0.push_reply(Canister::Assistant(head)).unwrap();
    assert_eq!(talk.0.step(), Step::Done(Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 }));
}

#[test]
fn a_truncated_reply_is_answered_without_running_and_tolerated_once() {
    let mut talk = Talk::new(Limits::default());
    talk.reply(Stop::Truncated, 1);
    assert_eq!(talk.step(), "answer");
    talk.answer_all();
    assert_eq!(talk.step(), "call");
    talk.reply(Stop::Truncated, 1).answer_all();
    assert_eq!(talk.0.step(), Step::Done(Ending::Truncated));
}

#[test]
fn limits_are_met_exactly() {
    let mut talk = Talk::new(limits(2, 100));
    talk.reply(Stop::End, 1).answer_all();
    assert_eq!(talk.step(), "call");
    talk.reply(Stop::End, 1).answer_all();
    assert_eq!(talk.0.step(), Step::Done(Ending::Limit(Limit::Iterations(2))));

    let mut talk = Talk::new(limits(25, 2));
    talk.reply(Stop::End, 2);
    assert_eq!(talk.step(), "decide");
    talk.answer_all().reply(Stop::End, 1);
    assert_eq!(talk.step(), "answer");
    talk.answer_all();
    assert_eq!(talk.0.step(), Step::Done(Ending::Limit(Limit::Invocations(2))));

    let mut endless = Talk::new(limits(3, 100));
    for _ in 0..3 {
        assert_eq!(endless.step(), "call");
        endless.reply(Stop::Paused, 0);
    }
    assert_eq!(endless.step(), "done", "pausing is bounded too");
}

#[test]
fn an_ended_turn_answers_what_is_open_and_keeps_its_first_ending() {
    let mut talk = Talk::new(Limits::default());
    talk.reply(Stop::End, 2);
    talk.0.end(Ending::Cancelled);
    talk.0.end(Ending::Limit(Limit::Deadline));
    let Step::Answer(results) = talk.0.step() else { panic!("{:?}", talk.0.step()) };
    assert!(results.iter().all(|result| result.outcome == Outcome::Cancelled) && results.len() == 2);
    talk.answer_all();
    assert_eq!(talk.0.step(), Step::Done(Ending::Cancelled));
}

#[test]
fn a_transcript_with_open_invocations_goes_on_with_them() {
    let mut talk = Talk::new(Limits::default());
    talk.reply(Stop::End, 1);
    let resumed = Conversation::resume(talk.0.transcript().clone(), Limits::default());
    assert!(matches!(resumed.step(), Step::Decide(open) if open.len() == 1));
}

#[test]
fn costs_end_a_turn_before_the_next_call_and_not_after_the_answer() {
    let most = |cost| Limits { cost: Some(Cost(cost)), ..Limits::default() };
    let after = |costs: &[Option<u64>], calls: usize| {
        let mut talk = Talk::new(most(10));
        talk.reply(Stop::End, calls).answer_all();
        costs.iter().for_each(|cost| talk.0.add_cost(cost.map(Cost)));
        talk.0.step()
    };
    let limit = |limit| Step::Done(Ending::Limit(limit));
    assert_eq!(after(&[Some(9)], 1), Step::CallModel);
    assert_eq!(after(&[Some(10)], 1), limit(Limit::Cost(Cost(10))));
    assert_eq!(after(&[None], 1), limit(Limit::UnknownCost));
    assert!(matches!(after(&[Some(99), None], 0), Step::Done(Ending::Finished { .. })));
}

#[test]
fn what_cannot_be_afforded_is_answered_and_ends_the_turn() {
    let mut talk = Talk::new(Limits { cost: Some(Cost(10)), ..Limits::default() });
    talk.reply(Stop::End, 2);
    talk.0.add_cost(Some(Cost(4)));
    assert!(talk.0.affords(Cost(6)) && talk.step() == "decide");
    assert!(!talk.0.affords(Cost(7)));
    assert_eq!(talk.step(), "answer");
    talk.answer_all();
    assert_eq!(talk.0.step(), Step::Done(Ending::Limit(Limit::Cost(Cost(10)))));
}

#[test]
fn what_tools_cost_counts() {
    let mut talk = Talk::new(Limits { cost: Some(Cost(10)), ..Limits::default() });
    talk.reply(Stop::End, 1);
    let id = talk.0.transcript().open()[0].id.clone();
    let result = InvocationResult::new(id, Outcome::Success, "ok");
    talk.0.push_result(InvocationResult { cost: Some(Cost(10)), ..result }).unwrap();
    assert_eq!(talk.0.step(), Step::Done(Ending::Limit(Limit::Cost(Cost(10)))));
}

#[test]
fn an_answer_that_must_fit_is_checked_and_put_right_twice() {
    let mut talk = Talk::new(Limits::default());
    talk.0.expect_answer(true);
    for _ in 0..2 {
        talk.reply(Stop::End, 0);
        assert_eq!(talk.0.step(), Step::Check(String::new()));
        let repair = talk.0.reject_answer("no").unwrap();
        talk.0.say(repair).unwrap();
        assert_eq!(talk.step(), "call");
    }
    talk.reply(Stop::End, 0);
    let mut fitting = Talk(talk.0.clone());
    fitting.0.accept_answer();
    assert!(matches!(fitting.0.step(), Step::Done(Ending::Finished { .. })));
    assert_eq!(talk.0.reject_answer("never"), None);
    assert_eq!(talk.0.step(), Step::Done(Ending::InvalidAnswer { errors: "never".to_owned() }));
}
