//! `converse serve` under load, against calling the server behind it directly. On demand: it takes a minute, and both
//! programs and the load share the machine.

use std::time::{Duration, Instant};

use super::Bench;
use crate::figures::{Figure, Gate, Yardstick};
use crate::serving::{ChildGuard, Load, Loaded, Plan, SERVED, TOOL, Upstream, free};
use crate::{Result, built};

const CLIENTS: u32 = 500;
const WARMING: Duration = Duration::from_secs(2);
/// Until the allocator has what 500 clients take.
const SETTLING: Duration = Duration::from_secs(12);
const SHORT: Duration = Duration::from_secs(8);
const LONG: Duration = Duration::from_secs(50);
const LIMIT: Duration = Duration::from_secs(120);

const MEGABYTE: f64 = 1024.0 * 1024.0;

/// Calls in a second, of all clients together.
const MIN_CALLS: f64 = 1_000.0;
/// Of the gateway itself, for one call.
const MAX_CPU: f64 = 1.0;
/// What its memory may grow by between the twentieth second and the seventieth.
const MAX_GROWTH: f64 = 8.0;

/// What a load came to, and what the server that answered it took.
struct Measured {
    loaded: Loaded,
    cpu: Duration,
    resident: u64,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.loaded.answered as f64 / self.loaded.seconds.max(0.001)
    }

    fn cpu_of_call(&self) -> f64 {
        self.cpu.as_secs_f64() * 1000.0 / (self.loaded.answered.max(1) as f64)
    }
}

pub(super) fn figures(bench: &Bench) -> Result<Vec<Figure>> {
    let [generator, stub_http] = built::apart("floor", ["load", "stub-http"])?;
    let upstream = Upstream::start(&stub_http, Duration::ZERO)?;
    let plan = Plan::new(&bench.binary, bench.dir.path(), &upstream)?;
    let at = free()?;
    let gateway = plan.serve("gateway", at)?;
    let mut from = 0;
    let mut load = |held: &ChildGuard, direct: bool, clients: u32, time: Duration| -> Result<Measured> {
        let (cpu, _) = held.usage()?;
        let (at, tool) = if direct { (upstream.address, TOOL) } else { (at, SERVED) };
        from += 1_000_000_000;
        let loaded = Load::start(&generator, at, tool, clients, time, from)?.loaded(time + LIMIT)?;
        let (cpu_after, resident) = held.usage()?;
        Ok(Measured { loaded, cpu: cpu_after.saturating_sub(cpu), resident })
    };
    let began = Instant::now();
    load(&gateway, false, CLIENTS, SETTLING)?;
    let early = load(&gateway, false, CLIENTS, SHORT)?;
    let first = began.elapsed();
    let late = load(&gateway, false, CLIENTS, LONG)?;
    let direct = load(&upstream.held, true, CLIENTS, SHORT)?;
    let alone = load(&gateway, false, 1, WARMING)?;
    let alone_direct = load(&upstream.held, true, 1, WARMING)?;
    let failed = [&early, &late, &direct, &alone].map(|measured| measured.loaded.failed).iter().sum::<u64>();
    if failed > 0 {
        eprintln!("calls failed: {} {}", early.loaded.reasons, late.loaded.reasons);
    }
    eprintln!("memory was first read after {:.0} s", first.as_secs_f64());
    let growth = (late.resident as f64 - early.resident as f64) / MEGABYTE;
    let row =
        |name: &str, unit, ours, theirs, gate| figure(&format!("serve, {name}"), unit, ours, theirs, gate);
    Ok(vec![
        row("500 clients: calls", "/s", late.rate(), Some(direct.rate()), Gate::AtLeast(MIN_CALLS)),
        row("500 clients: p50", "ms", late.loaded.p50, Some(direct.loaded.p50), Gate::None),
        row("500 clients: p99", "ms", late.loaded.p99, Some(direct.loaded.p99), Gate::None),
        row(
            "500 clients: cpu of a call",
            "ms",
            late.cpu_of_call(),
            Some(direct.cpu_of_call()),
            Gate::Value(MAX_CPU),
        ),
        row("1 client: p50", "ms", alone.loaded.p50, Some(alone_direct.loaded.p50), Gate::None),
        row("calls that failed", "", failed as f64, None, Gate::Value(0.0)),
        row("memory", "MB", late.resident as f64 / MEGABYTE, None, Gate::None),
        row("memory, more after 60 s", "MB", growth, None, Gate::Value(MAX_GROWTH)),
    ])
}

fn figure(name: &str, unit: &'static str, ours: f64, direct: Option<f64>, gate: Gate) -> Figure {
    let yardstick = direct.map(|value| Yardstick { name: "direct", value });
    Figure { name: name.to_owned(), unit, ours, yardstick, gate }
}
