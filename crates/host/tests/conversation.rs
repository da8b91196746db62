//! Conversations of the front: saved as sessions, continued, not saved.

#![allow(clippy::unwrap_used, reason = "a test may")]

use converse_canister::Canister;
use converse_host::{Host, Kind, TurnOptions};
use converse_session::Store;

const QUESTION: &str = "What is 15% of 2500?";

async fn host(home: &tempfile::TempDir) -> Host {
    // As many calls of the model as one question takes.
    let options = TurnOptions {
        model: vec!["understudy".to_owned()],
        max_iterations: Some(2),
        ..TurnOptions::default()
    };
    let builder = Host::builder().config_dir(home.path()).data_dir(home.path()).options(options);
    builder.build().await.unwrap()
}

#[tokio::test]
async fn a_conversation_is_a_session_and_can_be_continued() {
    let home = tempfile::tempdir().unwrap();
    let host = host(&home).await;
    let mut conversation = host.conversation().start().unwrap();
    let id = conversation.session().unwrap();
    for _ in 0..2 {
        let reply = conversation.ask(QUESTION).finish().await.unwrap();
        assert!(reply.text.contains("375"), "{}", reply.text);
    }
    let said = conversation.transcript().as_slice().to_vec();
    let in_use = host.conversation().session(&id).start().unwrap_err();
    assert!(in_use.message.contains("in use"), "{in_use:?}");
    drop(conversation);

    let mut conversation = host.conversation().session("last").start().unwrap();
    assert_eq!(conversation.session().as_ref(), Some(&id));
    assert_eq!(conversation.transcript().as_slice(), said);
    conversation.ask(QUESTION).finish().await.unwrap();
    drop(conversation);

    let store = Store::new(home.path().join("sessions"));
    let id = store.resolve(&id).unwrap();
    let loaded = store.read(id).unwrap();
    let questions = loaded.transcript.as_slice().iter().filter(|one| matches!(one, Canister::User(_)));
    assert_eq!(questions.count(), 3);
    assert_eq!(store.metadata(id).unwrap().model.as_deref(), Some("understudy"));
    host.close().await.unwrap();
}

#[tokio::test]
async fn what_is_ephemeral_or_was_never_said_leaves_no_session() {
    let home = tempfile::tempdir().unwrap();
    let host = host(&home).await;
    let mut conversation = host.conversation().ephemeral().start().unwrap();
    assert_eq!(conversation.session(), None);
    conversation.ask(QUESTION).finish().await.unwrap();
    drop(host.conversation().start().unwrap());
    let store = Store::new(home.path().join("sessions"));
    assert!(store.all().unwrap().is_empty());
    let unknown = host.conversation().session("none-of-this-name").start().unwrap_err();
    assert_eq!((unknown.kind, unknown.code), (Kind::Usage, "no-such-session"));
}
