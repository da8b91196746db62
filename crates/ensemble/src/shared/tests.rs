use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{CRASHED, Host};

/// How a tool behaves; it says which of its runs it was.
#[derive(Clone, Copy)]
enum Manner {
    Answers,
    Fails,
    Crashes,
    /// Never ends of its own will; when it is told to end it does, with this.
    Waits(bool),
    /// The first run does not even hear that it shall end.
    Deaf,
    Large,
}

struct Counted {
    runs: AtomicUsize,
    begun: Notify,
    manner: Manner,
}

impl Invocable for Counted {
    fn invoke<'a>(
        &'a self,
        context: Context,
        _: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
            self.begun.notify_waiters();
            sleep(Duration::from_secs(1)).await;
            match self.manner {
                Manner::Fails => Err(InvokeError::Failed(format!("run {run}"))),
                Manner::Crashes => panic!("it crashes"),
                Manner::Waits(_) | Manner::Deaf if run > 1 => Ok(Answer::text(format!("run {run}"))),
                Manner::Waits(answers) => {
                    context.cancel.cancelled().await;
                    if answers {
                        Ok(Answer::text("just in time"))
                    } else {
                        Err(InvokeError::Failed("stopped".to_owned()))
                    }
                }
                Manner::Deaf => std::future::pending().await,
                Manner::Large => Ok(Answer::text("x".repeat(65 * 1024 * 1024))),
                Manner::Answers => Ok(Answer::text(format!("run {run}"))),
            }
        }
        .boxed()
    }
}

struct Bench {
    counted: Arc<Counted>,
    tool: SharedTool,
}

impl Bench {
    fn of(manner: Manner, repeatable: bool) -> Arc<Self> {
        let counted = Arc::new(Counted { runs: AtomicUsize::new(0), begun: Notify::new(), manner });
        let inner = Arc::clone(&counted) as Arc<dyn Invocable>;
        let (definition, shown) = ("d".to_owned(), "e__t".to_owned());
        let tool = SharedTool { inner, runs: SharedRuns::default(), definition, shown, repeatable };
        Arc::new(Self { counted, tool })
    }

    async fn call(&self, caller: usize, n: u64, cancel: &CancellationToken) -> Result<Answer, InvokeError> {
        let context = Context {
            invoker: "e.t".to_owned(),
            cancel: cancel.clone(),
            deadline: (Instant::now() + Duration::from_secs(30)).into_std(),
            clock: crate::PausableClock::default(),
            cost: crate::CostMeter::default(),
            host: Host::default().called_by(caller),
            paths: crate::PathPolicy::default(),
        };
        self.tool.invoke(context, &arguments(n)).await
    }

    async fn says(&self, caller: usize, n: u64) -> String {
        said(self.call(caller, n, &CancellationToken::new()).await)
    }

    fn runs(&self) -> usize {
        self.counted.runs.load(Ordering::SeqCst)
    }

    fn was_shared(&self, caller: usize, n: u64) -> bool {
        self.tool.runs.take_shared(caller, "e__t", &arguments(n))
    }

    /// A call in a task of its own, running.
    async fn begin(
        self: &Arc<Self>,
        caller: usize,
        cancel: &CancellationToken,
    ) -> tokio::task::JoinHandle<Result<Answer, InvokeError>> {
        let (bench, cancel) = (Arc::clone(self), cancel.clone());
        let begun = self.counted.begun.notified();
        let task = tokio::spawn(async move { bench.call(caller, 1, &cancel).await });
        begun.await;
        task
    }

    /// A call in a task of its own that waits for another's.
    async fn wait(
        self: &Arc<Self>,
        caller: usize,
        cancel: &CancellationToken,
    ) -> tokio::task::JoinHandle<Result<Answer, InvokeError>> {
        let (bench, cancel) = (Arc::clone(self), cancel.clone());
        let task = tokio::spawn(async move { bench.call(caller, 1, &cancel).await });
        tokio::task::yield_now().await;
        task
    }
}

fn arguments(n: u64) -> Arguments {
    let Value::Object(object) = json!({ "n": n, "unit": "m" }) else { panic!("no object") };
    Arguments::from_object(object)
}

fn said(outcome: Result<Answer, InvokeError>) -> String {
    match outcome {
        Ok(answer) => {
            answer.content[0].as_text().unwrap().to_owned() + if answer.kept { " (kept)" } else { "" }
        }
        Err(InvokeError::Kept(error)) => format!("error: {error} (kept)"),
        Err(error) => format!("error: {error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn equal_calls_of_two_models_run_once() {
    let bench = Bench::of(Manner::Answers, false);
    let (one, two) = tokio::join!(bench.says(0, 1), bench.says(1, 1));
    assert_eq!((one.as_str(), two.as_str(), bench.runs()), ("run 1", "run 1 (kept)", 1));
    assert!(!bench.was_shared(0, 1) && bench.was_shared(1, 1) && !bench.was_shared(1, 1), "told once");
    // Also long after it has run.
    assert_eq!((bench.says(2, 1).await.as_str(), bench.runs()), ("run 1 (kept)", 1));
}

#[tokio::test(start_paused = true)]
async fn other_arguments_are_another_call() {
    let bench = Bench::of(Manner::Answers, false);
    tokio::join!(bench.says(0, 1), bench.says(1, 2));
    assert_eq!(bench.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_asks_again_is_answered_anew_and_so_is_the_other() {
    let bench = Bench::of(Manner::Answers, false);
    let first = [bench.says(0, 1).await, bench.says(0, 1).await];
    let second = [bench.says(1, 1).await, bench.says(1, 1).await, bench.says(1, 1).await];
    assert_eq!(first, ["run 1", "run 2"]);
    assert_eq!(second, ["run 1 (kept)", "run 2 (kept)", "run 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_and_a_crash_are_shared() {
    let bench = Bench::of(Manner::Fails, true);
    let (one, two) = tokio::join!(bench.says(0, 1), bench.says(1, 1));
    assert_eq!((one.as_str(), two.as_str(), bench.runs()), ("error: run 1", "error: run 1 (kept)", 1));

    let bench = Bench::of(Manner::Crashes, true);
    let never = CancellationToken::new();
    let first = bench.begin(0, &never).await;
    let second = bench.wait(1, &never).await;
    assert!(first.await.unwrap_err().is_panic());
    assert_eq!((said(second.await.unwrap()), bench.runs()), (format!("error: {CRASHED} (kept)"), 1));
}

#[tokio::test(start_paused = true)]
async fn when_the_first_model_is_ended_the_next_one_runs_what_may_be_repeated() {
    for (manner, repeatable, told, runs) in [
        (Manner::Waits(false), true, "run 2", 2),
        (Manner::Deaf, true, "run 2", 2),
        (Manner::Waits(true), true, "just in time (kept)", 1),
        (Manner::Waits(true), false, "just in time (kept)", 1),
        (
            Manner::Waits(false),
            false,
            "error: the call ran for another model and was stopped, so its outcome is unknown (kept)",
            1,
        ),
        (
            Manner::Deaf,
            false,
            "error: the call ran for another model and was stopped, so its outcome is unknown (kept)",
            1,
        ),
    ] {
        let bench = Bench::of(manner, repeatable);
        let (ended, never) = (CancellationToken::new(), CancellationToken::new());
        let first = bench.begin(0, &ended).await;
        let second = bench.wait(1, &never).await;
        sleep(Duration::from_secs(2)).await;
        ended.cancel();
        tokio::task::yield_now().await;
        first.abort();
        assert_eq!((said(second.await.unwrap()).as_str(), bench.runs()), (told, runs));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_too_late_for_one_is_too_late_for_all() {
    for manner in [Manner::Waits(true), Manner::Waits(false), Manner::Deaf] {
        let bench = Bench::of(manner, true);
        let (ended, never) = (CancellationToken::new(), CancellationToken::new());
        let first = bench.begin(0, &ended).await;
        let second = bench.wait(1, &never).await;
        sleep(Duration::from_secs(31)).await;
        // As the pipeline does it when the time is over.
        ended.cancel();
        tokio::task::yield_now().await;
        first.abort();
        let told = "error: no answer in time; it was stopped (kept)";
        assert_eq!((said(second.await.unwrap()).as_str(), bench.runs()), (told, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn who_only_waits_can_leave_and_the_run_goes_on() {
    let bench = Bench::of(Manner::Answers, false);
    let (left, never) = (CancellationToken::new(), CancellationToken::new());
    let first = bench.begin(0, &never).await;
    let second = bench.wait(1, &left).await;
    left.cancel();
    assert_eq!(said(second.await.unwrap()), "error: cancelled (kept)");
    assert!(!bench.was_shared(1, 1), "it was answered nothing");
    assert_eq!((said(first.await.unwrap()).as_str(), bench.runs()), ("run 1", 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_large_to_be_held_is_not_fetched_again() {
    let bench = Bench::of(Manner::Large, true);
    let (one, two) = tokio::join!(bench.says(0, 1), bench.says(1, 1));
    assert_eq!(one.len(), 65 * 1024 * 1024);
    assert!(two.contains("too large to be kept"), "{two}");
    assert_eq!(bench.runs(), 1);
}
