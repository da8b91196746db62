//! What is kept, under what, and for how long.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::testing::context;
use crate::{CallClient, Host, ServerLog};

/// Keeps everything, and how long it was meant to be kept.
#[derive(Default)]
struct Shelf(Mutex<HashMap<Digest, (Vec<Content>, Duration)>>);

impl Results for Shelf {
    fn get(&self, key: &Digest) -> Option<Vec<Content>> {
        self.0.lock().unwrap().get(key).map(|(content, _)| content.clone())
    }

    fn put(&self, key: &Digest, content: &[Content], lifetime: Duration) {
        self.0.lock().unwrap().insert(*key, (content.to_vec(), lifetime));
    }
}

/// Says how often it was called; or whatever it is told to.
#[derive(Default)]
struct Counting {
    calls: Mutex<u32>,
    instead: Option<Result<Answer, InvokeError>>,
    fresh_for: Option<Duration>,
}

impl Invocable for Counting {
    fn invoke<'a>(&'a self, _: Context, _: &'a Arguments) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        *self.calls.lock().unwrap() += 1;
        let count = Answer::text(self.calls.lock().unwrap().to_string());
        let answer = self.instead.clone().unwrap_or(Ok(Answer { fresh_for: self.fresh_for, ..count }));
        std::future::ready(answer).boxed()
    }
}

fn tool(inner: &Arc<Counting>, shelf: &Arc<Shelf>, about: Value) -> CachedTool {
    let (inner, results) = (Arc::clone(inner), Arc::clone(shelf));
    CachedTool { inner, results, about, lifetime: Duration::from_secs(300) }
}

async fn said(tool: &CachedTool, arguments: Value) -> (String, bool) {
    let arguments = Arguments::from_object(arguments.as_object().unwrap().clone());
    match tool.invoke(context(CancellationToken::new()), &arguments).await {
        Ok(answer) => (answer.content[0].as_text().unwrap_or_default().to_owned(), answer.kept),
        Err(error) => (error.to_string(), false),
    }
}

#[tokio::test]
async fn equal_arguments_get_the_same_answer_and_nothing_runs() {
    let (inner, shelf) = (Arc::default(), Arc::default());
    let one = tool(&inner, &shelf, json!("a"));
    assert_eq!(said(&one, json!({ "x": 1, "y": { "b": 2, "a": 1 } })).await, ("1".into(), false));
    assert_eq!(said(&one, json!({ "y": { "a": 1, "b": 2 }, "x": 1 })).await, ("1".into(), true));
    assert_eq!(said(&one, json!({ "x": 2 })).await, ("2".into(), false));
    let changed = tool(&inner, &shelf, json!("b"));
    assert_eq!(said(&changed, json!({ "x": 2 })).await, ("3".into(), false), "another definition");
    assert_eq!(*inner.calls.lock().unwrap(), 3);
}

#[tokio::test]
async fn only_what_is_whole_and_good_is_kept() {
    let blob = Content::Blob { mime: "image/png".into(), digest: Digest([0; 32]), name: None, seal: None };
    for instead in [
        Ok(Answer::error("no")),
        Err(InvokeError::Failed("no".into())),
        Ok(Answer::new(vec![Content::text("see"), blob], false)),
    ] {
        let inner = Arc::new(Counting { instead: Some(instead), ..Counting::default() });
        let shelf = Arc::default();
        let one = tool(&inner, &shelf, json!("a"));
        said(&one, json!({})).await;
        said(&one, json!({})).await;
        assert_eq!(*inner.calls.lock().unwrap(), 2);
    }
}

#[tokio::test]
async fn a_tool_may_shorten_the_time_and_never_lengthen_it() {
    for (fresh_for, kept) in [(None, Some(300)), (Some(5), Some(5)), (Some(900), Some(300)), (Some(0), None)]
    {
        let fresh_for = fresh_for.map(Duration::from_secs);
        let inner = Arc::new(Counting { fresh_for, ..Counting::default() });
        let shelf = Arc::new(Shelf::default());
        said(&tool(&inner, &shelf, json!("a")), json!({})).await;
        let lifetimes: Vec<u64> = shelf.0.lock().unwrap().values().map(|(_, time)| time.as_secs()).collect();
        assert_eq!(lifetimes.first().copied(), kept, "{fresh_for:?}");
    }
}

/// A client that repeats its call with answers to the questions of the server.
struct Answering;

impl CallClient for Answering {
    fn report(&self, _: ToolProgress) {}
    fn log(&self, _: ServerLog) {}
    fn round(&self) -> (BTreeMap<String, Value>, Option<String>) {
        (BTreeMap::from([("name".to_owned(), json!("Ada"))]), None)
    }
}

#[tokio::test]
async fn a_call_with_answers_of_its_client_has_a_result_of_its_own() {
    let (inner, shelf) = (Arc::default(), Arc::default());
    let tool = tool(&inner, &shelf, json!("a"));
    let arguments = Arguments::from_object(Map::new());
    let answered = async || {
        let context =
            Context { host: Host::of_client(Arc::new(Answering)), ..context(CancellationToken::new()) };
        let answer = tool.invoke(context, &arguments).await.unwrap();
        answer.content[0].as_text().unwrap_or_default().to_owned()
    };
    assert_eq!(answered().await, "1");
    assert_eq!(said(&tool, json!({})).await, ("2".into(), false), "nothing of the other client");
    assert_eq!(answered().await, "3", "not the answer of a call without answers");
    assert_eq!(said(&tool, json!({})).await, ("2".into(), true));
}
