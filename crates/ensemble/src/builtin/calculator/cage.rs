//! The evaluator on a thread of its own, with a big stack, a clock and a way to stop it.
//!
//! A blocking thread of the runtime would not do: its stack is small, and a stack overflow ends the whole process. Time
//! is bounded twice. The evaluator asks its interrupt while it computes; and if it should ever forget to, the caller
//! gives up and the thread keeps its place among the few that may run, so that forgotten ones cannot pile up.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use super::program::{Lifted, Program};
use super::rounding::{self, Computed, Rounding};

/// After this the thread is left alone. Far more than a slow machine needs to notice an interrupt.
const GIVE_UP: Duration = Duration::from_secs(10);
/// Reserved, not used: debug builds of the evaluator need kilobytes for each level of an expression.
const STACK_BYTES: usize = 64 * 1024 * 1024;
const THREADS: usize = 4;

pub(super) struct Cage {
    places: Arc<Semaphore>,
    time_limit: Duration,
}

impl Cage {
    /// `time_limit` is what one calculation may take before it is interrupted.
    pub(super) fn new(time_limit: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(THREADS)), time_limit }
    }

    /// Computes it, or says in words why not.
    pub(super) async fn run(
        &self,
        program: Program,
        rounding: Rounding,
        cancel: &CancellationToken,
    ) -> Result<Computed, String> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|error| error.to_string())?;
        let (tell, answer) = oneshot::channel();
        let time_limit = self.time_limit;
        let work = move || {
            let _place = place;
            let interrupt = Interrupt { start: Instant::now(), time_limit, caller: &tell };
            let answer = evaluate(&program, rounding, &interrupt);
            let _ = tell.send(answer);
        };
        let builder = thread::Builder::new().name("calculator".to_owned()).stack_size(STACK_BYTES);
        builder.spawn(work).map_err(|error| format!("no thread for the calculation: {error}"))?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err("the calculation was cancelled".to_owned()),
            answer = tokio::time::timeout(GIVE_UP, answer) => match answer {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err("the calculation crashed".to_owned()),
                Err(_) => Err("the calculation could not be stopped and was left alone".to_owned()),
            },
        }
    }
}

struct Interrupt<'a> {
    start: Instant,
    time_limit: Duration,
    /// Closed when the caller stops waiting.
    caller: &'a oneshot::Sender<Result<Computed, String>>,
}

impl fend_core::Interrupt for Interrupt<'_> {
    fn should_interrupt(&self) -> bool {
        self.caller.is_closed() || self.start.elapsed() >= self.time_limit
    }
}

impl Interrupt<'_> {
    fn explain(&self, error: String) -> String {
        if error != "interrupted" {
            return error;
        }
        format!("the calculation takes longer than {} ms and was stopped", self.time_limit.as_millis())
    }
}

fn evaluate(program: &Program, rounding: Rounding, interrupt: &Interrupt<'_>) -> Result<Computed, String> {
    const WHOLE: &str = "lifted_0";
    let mut context = fend_core::Context::new();
    context.disable_rng();
    let mut run = |text: &str, echo: bool| {
        context.set_echo_result(echo);
        let result = fend_core::evaluate_with_interrupt(text, &mut context, interrupt);
        result.map(|value| value.get_main_result().to_owned()).map_err(|error| interrupt.explain(error))
    };
    for Lifted { name, text, whole } in &program.lifted {
        run(&format!("{name} = {text}"), false)?;
        if let Some(whole) = whole {
            let made = rounding::made_whole(name, *whole, &mut |text| run(text, true))?;
            run(&format!("{name} = {made}"), false)?;
        }
    }
    run(&format!("{WHOLE} = {}", program.last), false)?;
    rounding::written(WHOLE, rounding, &mut |text| run(text, true))
}
