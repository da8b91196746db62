//! All points, tried by a few workers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Instant;

use crate::body::Dialect;
use crate::env::TestEnv;
use crate::judge::{Sessions, judge};
use crate::killing::{counting, kept};
use crate::leftover::{left, runs};
use crate::options::{Options, Strace};
use crate::place;
use crate::points::{FAILING, Fault, Point, counted, shuffled};
use crate::report::{Report, Tried};
use crate::scenario::{Scenario, all};
use crate::script::Models;

/// A scenario as one dialect writes it, with what was there before.
struct Base {
    scenario: usize,
    dialect: Dialect,
    env: TestEnv,
}

pub(crate) fn work(options: &Options) -> Report {
    let scenarios = all();
    let (bases, points) = surveyed(&scenarios, options);
    in_turn(points, options, Models::new, |models, number, point| {
        let base = bases.iter().find(|base| (base.scenario, base.dialect) == (point.scenario, point.dialect));
        let reader = Dialect::ALL[number % Dialect::ALL.len()];
        let scenario = &scenarios[point.scenario];
        tried_at(scenario, &base.unwrap().env, (point, reader), &options.strace, models)
    })
}

/// Tries the points in an order that looks like none, as many and as long as asked for. Each worker has what `worker` makes.
pub(crate) fn in_turn<W>(
    points: Vec<Point>,
    options: &Options,
    worker: impl Fn() -> W + Sync,
    tried_at: impl Fn(&W, usize, Point) -> Tried + Sync,
) -> Report {
    let (began, known) = (Instant::now(), points.len());
    let points = shuffled(points, options.seed);
    let most = options.points.unwrap_or(usize::MAX).min(points.len());
    let (queue, tried) = (Mutex::new(points.into_iter().take(most).enumerate()), Mutex::new(Vec::new()));
    let next = || {
        let is_late = options.seconds.is_some_and(|seconds| began.elapsed() >= seconds);
        if is_late { None } else { queue.lock().unwrap().next() }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let worker = worker();
                while let Some((number, point)) = next() {
                    let one = tried_at(&worker, number, point);
                    one.tell();
                    tried.lock().unwrap().push(one);
                }
            });
        }
    });
    Report { known, tried: tried.into_inner().unwrap(), took: began.elapsed() }
}

/// What is there before each, and every point.
fn surveyed(scenarios: &[Scenario], options: &Options) -> (Vec<Base>, Vec<Point>) {
    let models = Models::new();
    let (mut bases, mut points) = (Vec::new(), Vec::new());
    for (number, scenario) in scenarios.iter().enumerate().filter(|(_, one)| options.wants(one.name)) {
        for dialect in scenario.dialects.iter().copied() {
            let base = place::prepared(scenario, models.writer(dialect));
            for fault in [Fault::Killed, Fault::Disk] {
                let nths = measured(scenario, (&base, &models, dialect), fault, &options.strace);
                let point = |(call, nth)| Point { scenario: number, dialect, fault, call, nth };
                points.extend(nths.into_iter().map(point));
            }
            bases.push(Base { scenario: number, dialect, env: base });
        }
    }
    (bases, points)
}

/// The calls of a run that nothing happens to.
fn measured(
    scenario: &Scenario,
    (base, models, dialect): (&TestEnv, &Models, Dialect),
    fault: Fault,
    strace: &Strace,
) -> Vec<(&'static str, usize)> {
    let env = models.writer(dialect).env(place::copied(base));
    let (trace, files) = (env.path("trace"), if fault == Fault::Disk { kept(&env) } else { Vec::new() });
    let whole = runs(scenario, &env, (models, dialect), |run| counting(strace, run, &trace, &files), |_| {});
    assert_eq!(whole.code, 0, "{} {dialect:?}: {}", scenario.name, whole.stderr);
    models.writer(dialect).is_content();
    let fails = |call: &str| fault == Fault::Killed || FAILING.iter().any(|(known, _)| *known == call);
    let counted = counted(&trace).into_iter().filter(|(call, _)| fails(call));
    counted.flat_map(|(call, nths)| nths.into_iter().map(move |nth| (call, nth))).collect()
}

fn tried_at(
    scenario: &Scenario,
    base: &TestEnv,
    (point, reader): (Point, Dialect),
    strace: &Strace,
    models: &Models,
) -> Tried {
    let mut hit = false;
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let (env, leftover) = left((scenario, base), &point, strace, models);
        hit = leftover.is_hit();
        judge(scenario, env, &leftover, (models, point.dialect, reader), &Sessions::Files)
    }));
    let loss = match judged {
        Ok(judged) => judged.err(),
        Err(panic) => Some(words(panic.as_ref())),
    };
    Tried { scenario: scenario.name, point, reader, hit, loss }
}

pub(crate) fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<String>().cloned();
    words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned())).unwrap_or_default()
}
