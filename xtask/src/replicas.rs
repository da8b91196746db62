//! `cargo xtask replicas`: two gateways behind nginx, each restarted in turn under load. No call may be lost or done
//! twice: every call carries a number, and the server behind the gateways counts what comes.

mod nginx;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tempfile::TempDir;

use self::nginx::Nginx;
use crate::serving::{Held, Load, Loaded, Plan, SERVED, Upstream, free};
use crate::{Result, built, debian};

const CLIENTS: u32 = 64;
/// A call takes so long that some run whenever a gateway is told to end.
const DELAY: Duration = Duration::from_millis(20);
/// More than a gateway's own time to drain.
const ENDING: Duration = Duration::from_secs(45);
/// Whoever tried to connect to one that was ending tries again after a second; the other must be there by then.
const BETWEEN: Duration = Duration::from_secs(2);
/// Fewer restarts prove little.
const RESTARTS: usize = 4;

#[derive(Debug)]
struct Options {
    binary: Option<PathBuf>,
    time: Duration,
}

/// 0: no call was lost. 1: some were. 2 (or an error): it could not be tried.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::read(words)?;
    let nginx = debian::find(&["nginx"], "usr/sbin/nginx")?;
    let programs = built::loaders()?;
    let binary = options.binary.map_or_else(|| built::program(&["--release"]), Ok)?;
    let dir = TempDir::new()?;
    let upstream = Upstream::start(&programs.stub_http, DELAY)?;
    let plan = Plan::new(&binary, dir.path(), &upstream)?;
    let mut replicas = [Replica::start(&plan, "one")?, Replica::start(&plan, "two")?];
    let before = Nginx::start(&nginx, dir.path(), replicas.each_ref().map(|replica| replica.at))?;
    let mut load = Load::start(&programs.load, before.at, SERVED, CLIENTS, options.time, 0)?;
    let mut restarts = 0;
    while !load.is_over()? {
        let Some(replica) = replicas.get_mut(restarts % 2) else { break };
        replica.restart(&plan)?;
        restarts += 1;
    }
    let loaded = load.loaded(ENDING)?;
    let problems = problems(&loaded, upstream.noted()?, restarts);
    tell(&loaded, restarts);
    for problem in &problems {
        eprintln!("error: {problem}");
    }
    if !problems.is_empty() {
        eprintln!("{}", before.errors());
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self { binary: None, time: Duration::from_secs(30) };
        for pair in words.chunks(2) {
            match pair {
                ["--binary", path] => options.binary = Some(std::path::absolute(path)?),
                ["--seconds", number] => options.time = Duration::try_from_secs_f64(number.parse()?)?,
                other => return Err(format!("{other:?} is not an option of replicas").into()),
            }
        }
        Ok(options)
    }
}

/// A gateway at an address that it keeps.
struct Replica {
    name: &'static str,
    at: SocketAddr,
    held: Held,
}

impl Replica {
    fn start(plan: &Plan, name: &'static str) -> Result<Self> {
        let at = free()?;
        Ok(Self { name, at, held: plan.serve(name, at)? })
    }

    /// As an orderly administrator does it: told to end, waited for, started, waited for.
    fn restart(&mut self, plan: &Plan) -> Result<()> {
        self.held.terminate()?;
        match self.held.ended(ENDING)? {
            Some(0) => {}
            code => return Err(format!("gateway {} ended with {code:?}", self.name).into()),
        }
        self.held = plan.serve(self.name, self.at)?;
        std::thread::sleep(BETWEEN);
        Ok(())
    }
}

fn problems(loaded: &Loaded, (calls, numbers): (u64, u64), restarts: usize) -> Vec<String> {
    let Loaded { answered, failed, reasons, .. } = loaded;
    let mut problems = Vec::new();
    if *failed > 0 {
        problems.push(format!("{failed} calls failed: {reasons}"));
    }
    if calls != numbers {
        problems.push(format!("{} calls were done twice", calls.saturating_sub(numbers)));
    }
    if numbers != *answered {
        problems.push(format!("{answered} calls were answered, and {numbers} were done"));
    }
    if restarts < RESTARTS {
        problems.push(format!("there were {restarts} restarts in that time, and {RESTARTS} are wanted"));
    }
    problems
}

fn tell(loaded: &Loaded, restarts: usize) {
    let Loaded { answered, failed, seconds, p50, p99, .. } = loaded;
    println!(
        "{answered} calls in {seconds:.1} s by {CLIENTS} clients, {restarts} restarts: {failed} failed; \
         p50 {p50:.1} ms, p99 {p99:.1} ms"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_lose_a_call_is_seen() {
        let loaded = |answered, failed| Loaded {
            answered,
            failed,
            reasons: String::new(),
            seconds: 1.0,
            p50: 1.0,
            p99: 1.0,
        };
        assert!(problems(&loaded(9, 0), (9, 9), RESTARTS).is_empty());
        for (what, loaded, noted, restarts) in [
            ("failed", loaded(9, 1), (9, 9), RESTARTS),
            ("doubled", loaded(9, 0), (10, 9), RESTARTS),
            ("never done", loaded(9, 0), (8, 8), RESTARTS),
            ("done, not answered", loaded(8, 0), (9, 9), RESTARTS),
            ("hardly tried", loaded(9, 0), (9, 9), RESTARTS - 1),
        ] {
            assert_eq!(problems(&loaded, noted, restarts).len(), 1, "{what}");
        }
    }

    #[test]
    fn options_are_read_or_refused() {
        let options = Options::read(&["--seconds", "5", "--binary", "/bin/x"]).unwrap();
        assert_eq!((options.time.as_secs(), options.binary), (5, Some("/bin/x".into())));
        for bad in [&["--seconds"][..], &["--seconds", "x"], &["--seconds", "-1"], &["x"]] {
            assert!(Options::read(bad).is_err(), "{bad:?}");
        }
    }
}
