//! The table of sessions, fed with times, and what becomes of messages.

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, InitializedNotification,
    JsonRpcMessage, JsonRpcRequest, NumberOrString, PingRequest, ProgressNotification,
    ProgressNotificationParam, ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification,
    ServerResult, ToolListChangedNotification,
};
use rmcp::service::OriginatingRequestId;
use rmcp::transport::Transport as _;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use tokio::sync::Notify;

use super::transport::SessionTransport;
use super::*;
use crate::principal::{Principal, StreamEnd};

const IDLE: Duration = Duration::from_secs(60);

fn session(id: &str, principal: &str, now: Instant) -> (Arc<Session>, SessionTransport) {
    Session::new(id.into(), Principal::Other(principal.into()), "", now)
}

fn open(table: &Table, principal: &Principal, id: &str) -> bool {
    table.find(id, principal, "").is_some()
}

/// A token that is taken back when it is notified.
#[derive(Default)]
struct Token(Notify);

impl StreamEnd for Token {
    fn reached(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.notified())
    }

    fn revoked(&self) -> BoxFuture<'_, ()> {
        self.reached()
    }
}

fn admitted(principal: &str) -> (Admitted, Arc<Token>) {
    let token = Arc::<Token>::default();
    (
        Admitted {
            principal: Principal::Other(principal.into()),
            end: Arc::clone(&token) as Arc<dyn StreamEnd>,
        },
        token,
    )
}

fn ping(id: i64) -> JsonRpcRequest<ClientRequest> {
    let request = ClientRequest::PingRequest(PingRequest::default());
    let JsonRpcMessage::Request(request) = ClientJsonRpcMessage::request(request, RequestId::Number(id))
    else {
        panic!("a request")
    };
    request
}

fn progress(of: Option<i64>) -> ServerJsonRpcMessage {
    let token = ProgressToken(NumberOrString::Number(1));
    let mut notification =
        ServerNotification::from(ProgressNotification::new(ProgressNotificationParam::new(token, 1.0)));
    if let Some(id) = of {
        notification.extensions_mut().insert(OriginatingRequestId(RequestId::Number(id)));
    }
    JsonRpcMessage::notification(notification)
}

fn changed() -> ServerJsonRpcMessage {
    JsonRpcMessage::notification(ToolListChangedNotification::default().into())
}

fn answer(id: i64) -> ServerJsonRpcMessage {
    JsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id))
}

fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Response(_))
}

#[tokio::test]
async fn the_session_that_is_idle_for_longest_makes_room_and_none_that_is_in_use() {
    let (now, limits) = (Instant::now(), SessionLimits { of_principal: 2, of_all: 3, idle: IDLE });
    let (table, ada, bob) =
        (Table::new(limits), Principal::Other("ada".into()), Principal::Other("bob".into()));
    let at = |seconds| now + Duration::from_secs(seconds);
    let (first, _first) = session("a1", "ada", at(0));
    let (second, _second) = session("a2", "ada", at(1));
    let (third, _third) = session("b1", "bob", at(2));
    assert!([&first, &second, &third].into_iter().all(|one| table.insert(one, at(2))));
    // Of one principal: its own oldest one ends, although another one has none to spare.
    first.touch(at(3));
    let (fourth, _fourth) = session("a3", "ada", at(4));
    assert!(table.insert(&fourth, at(4)) && second.ended().is_cancelled());
    assert!(open(&table, &ada, "a1") && !open(&table, &ada, "a2") && open(&table, &bob, "b1"));
    // Of all: the oldest one, whoever has it. One with a stream is not idle.
    let stream = third.open_stream(&admitted("bob").0);
    let (fifth, _fifth) = session("c1", "eve", at(5));
    assert!(table.insert(&fifth, at(5)) && first.ended().is_cancelled() && open(&table, &bob, "b1"));
    let _streams = [fourth.open_stream(&admitted("ada").0), fifth.open_stream(&admitted("eve").0)];
    let (sixth, _sixth) = session("d1", "dan", at(6));
    assert!(!table.insert(&sixth, at(6)) && table.len() == 3, "all are in use");
    drop(stream);
    assert!(table.insert(&sixth, at(6)) && third.ended().is_cancelled());
}

#[tokio::test]
async fn an_idle_session_ends_and_one_with_a_stream_or_a_request_does_not() {
    let now = Instant::now();
    let table = Table::new(SessionLimits { idle: IDLE, ..SessionLimits::default() });
    let (idle, _idle) = session("idle", "ada", now);
    let (used, _used) = session("used", "ada", now);
    let (calling, _calling) = session("calling", "ada", now);
    let (listening, _listening) = session("listening", "ada", now);
    assert!([&idle, &used, &calling, &listening].into_iter().all(|one| table.insert(one, now)));
    used.touch(now + IDLE / 2);
    let request = calling.request(ping(1)).await.unwrap();
    let stream = listening.open_stream(&admitted("ada").0);
    table.end_idle(now + IDLE);
    assert_eq!(
        [&idle, &used, &calling, &listening].map(|one| one.ended().is_cancelled()),
        [true, false, false, false]
    );
    drop((request, stream));
    table.end_idle(Instant::now() + 2 * IDLE);
    assert_eq!(table.len(), 0);
}

#[tokio::test]
async fn an_id_is_of_use_to_the_principal_that_began_it_at_its_place_only() {
    let sessions = Sessions::new(SessionLimits::default(), Arc::new(Counters::default())).unwrap();
    let other = Sessions::new(SessionLimits::default(), Arc::new(Counters::default())).unwrap();
    let begun = sessions.begin(admitted("ada").0, "data").unwrap();
    let (id, _served) = begun.create_session().await.unwrap();
    let found = |sessions: &Arc<Sessions>, principal: &str, place: &str| match sessions.find(
        &id,
        admitted(principal).0,
        place,
    ) {
        FoundSession::Open(_) => "open",
        FoundSession::Ended => "ended",
        FoundSession::Elsewhere => "elsewhere",
    };
    assert_eq!(found(&sessions, "ada", "data"), "open");
    assert_eq!([found(&sessions, "bob", "data"), found(&sessions, "ada", "")], ["ended", "ended"]);
    assert_eq!(found(&other, "ada", "data"), "elsewhere");
    sessions.end(&id);
    assert_eq!(found(&sessions, "ada", "data"), "ended");
}

#[tokio::test]
async fn a_session_ends_with_its_token_and_one_that_is_not_served_at_once() {
    let counters = Arc::new(Counters::default());
    let sessions = Sessions::new(SessionLimits::default(), Arc::clone(&counters)).unwrap();
    drop(sessions.begin(admitted("ada").0, "").unwrap());
    assert_eq!(sessions.table.len(), 0);
    let (admitted, token) = admitted("ada");
    let begun = sessions.begin(admitted, "").unwrap();
    assert!(counters.text().contains("\nconverse_mcp_sessions 1\n"));
    token.0.notify_one();
    begun.ended().await;
    assert!(counters.text().contains("\nconverse_mcp_sessions 0\n"));
}

#[tokio::test]
async fn what_belongs_to_a_request_goes_into_its_answer_and_the_rest_into_the_newest_stream() {
    let (session, mut transport) = session("a", "ada", Instant::now());
    // What comes before the stream is kept for it.
    transport.send(changed()).await.unwrap();
    let (mut one, mut two) =
        (session.request(ping(1)).await.unwrap(), session.request(ping(2)).await.unwrap());
    let (token, _) = admitted("ada");
    let mut older = session.open_stream(&token);
    assert!(older.next().await.is_some());
    let mut newer = session.open_stream(&token);
    for message in [progress(Some(2)), answer(2), progress(Some(1)), answer(1), progress(None)] {
        transport.send(message).await.unwrap();
    }
    for stream in [&mut one, &mut two] {
        let [first, last] = [stream.first().await.unwrap(), stream.first().await.unwrap()];
        assert!(!is_answer(&first) && is_answer(&last) && stream.first().await.is_none());
    }
    assert!(newer.next().await.is_some());
    // Its request has been answered, so nobody would read it.
    assert!(transport.send(answer(1)).await.is_err());
    drop(newer);
    transport.send(changed()).await.unwrap();
    assert!(older.next().await.is_some(), "the older one is the newest again");
    assert!(session.idle_time(Instant::now()).is_none());
    drop((one, two, older));
    assert!(session.idle_time(Instant::now()).is_some());
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_request_and_the_end_cancels_all() {
    let (session, mut transport) = session("a", "ada", Instant::now());
    for _ in 0..2 {
        let initialized = ClientNotification::InitializedNotification(InitializedNotification::default());
        session.accept(JsonRpcMessage::notification(initialized)).await.unwrap();
    }
    assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Notification(_))), "the first one only");
    let cancelled = |message: Option<ClientJsonRpcMessage>| match message {
        Some(JsonRpcMessage::Notification(notification)) => format!("{:?}", notification.notification),
        other => panic!("{other:?}"),
    };
    let one = session.request(ping(1)).await.unwrap();
    assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Request(_))));
    drop(one);
    assert!(cancelled(transport.receive().await).contains("Number(1)"));
    // An id that is in use is refused, and the request that has it goes on.
    let mut two = session.request(ping(2)).await.unwrap();
    let mut again = session.request(ping(2)).await.unwrap();
    assert!(matches!(again.first().await, Some(JsonRpcMessage::Error(_))) && again.first().await.is_none());
    drop(again);
    assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Request(_))));
    session.end();
    assert!(cancelled(transport.receive().await).contains("Number(2)"));
    assert!(transport.receive().await.is_none() && two.first().await.is_none());
    drop(transport);
    assert!(session.request(ping(3)).await.is_err());
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_a_bounded_number_of_messages() {
    let (session, mut transport) = session("a", "ada", Instant::now());
    for _ in 0..1000 {
        transport.send(changed()).await.unwrap();
    }
    let (token, end) = admitted("ada");
    let mut stream = session.open_stream(&token);
    for _ in 0..1000 {
        transport.send(changed()).await.unwrap();
    }
    let mut count = 0;
    while futures_util::FutureExt::now_or_never(stream.next()).flatten().is_some() {
        count += 1;
    }
    assert_eq!(count, 64);
    // Streams beyond the limit end the oldest, and a token that is not valid any more ends its own.
    let mut streams: Vec<_> = (0..4).map(|_| session.open_stream(&admitted("ada").0)).collect();
    assert!(stream.next().await.is_none());
    drop(end);
    let (token, end) = admitted("ada");
    let mut last = session.open_stream(&token);
    assert!(streams.remove(0).next().await.is_none());
    end.0.notify_one();
    assert!(last.next().await.is_none());
}
