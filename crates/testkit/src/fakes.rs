//! What the binary becomes in tests (its feature `test-fakes`): built-in tools and a server that misbehave on purpose, a
//! kernel that lacks something.

mod kernel;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use converse_canister::Arguments;
use converse_config::Effects;
use converse_ensemble::{Answer, BuildError, Builtin, Context, Invocable, InvokeError, Settings};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

/// Runs the fake server or program that the command line requests, if any, and returns its exit code.
#[must_use]
pub fn run_requested() -> Option<u8> {
    server::run_requested().or_else(kernel::run_requested)
}

type Outcome = Result<Answer, InvokeError>;
type Act = for<'a> fn(&'a Context, &'a Arguments) -> BoxFuture<'a, Outcome>;

struct Fake(Act);

impl Invocable for Fake {
    fn invoke<'a>(&'a self, context: Context, arguments: &'a Arguments) -> BoxFuture<'a, Outcome> {
        let act = self.0;
        async move { act(&context, arguments).await }.boxed()
    }
}

macro_rules! fake {
    ($name:literal, $act:expr) => {
        Builtin {
            name: $name,
            effects: Effects::None,
            variables: &[],
            build: |_: &Settings<'_>| -> Result<Arc<dyn Invocable>, BuildError> { Ok(Arc::new(Fake($act))) },
        }
    };
}

/// Built-in tools that misbehave.
pub static FAKES: &[Builtin] = &[
    fake!("test_echo", |_, arguments| async move { Ok(Answer::text(echo(arguments))) }.boxed()),
    fake!("test_word", |_, _| async { Ok(Answer::text("word")) }.boxed()),
    fake!("test_fail", |_, _| async { Ok(Answer::error("it failed on purpose")) }.boxed()),
    fake!("test_panic", |_, arguments| async move { crash(text(arguments)) }.boxed()),
    fake!("test_sleep", |context, _| {
        context.cancel.cancelled().map(|()| Err(InvokeError::Failed("woken".to_owned()))).boxed()
    }),
    fake!("test_meet", |context, arguments| meet(context, arguments).boxed()),
    fake!("test_flood", |_, _| async { Ok(Answer::text("flood ".repeat(100_000))) }.boxed()),
];

fn echo(arguments: &Arguments) -> String {
    let times = arguments.object.get("times").and_then(serde_json::Value::as_u64).unwrap_or(0);
    text(arguments).repeat(usize::try_from(times).unwrap_or(0))
}

fn text(arguments: &Arguments) -> &str {
    arguments.object.get("text").and_then(serde_json::Value::as_str).unwrap_or_default()
}

#[allow(clippy::panic, reason = "that is what it is for")]
fn crash(text: &str) -> Outcome {
    panic!("a tool panics on purpose: {text}")
}

static MEETING: AtomicI64 = AtomicI64::new(0);

/// Answers only when `count` of it run at the same time: proves that they do.
async fn meet(context: &Context, arguments: &Arguments) -> Outcome {
    let count = arguments.object.get("count").and_then(serde_json::Value::as_i64).unwrap_or(1);
    MEETING.fetch_add(1, Ordering::SeqCst);
    while MEETING.load(Ordering::SeqCst) < count {
        if context.cancel.is_cancelled() {
            return Ok(Answer::error("nobody came"));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(Answer::text("met"))
}
