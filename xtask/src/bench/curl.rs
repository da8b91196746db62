//! One request, against curl, which posts the very body that the program sent in the warm-up.

use std::path::{Path, PathBuf};

use super::samples::{Pair, Samples};
use super::{Bench, Who, check_answer};
use crate::Result;
use crate::child::{Program, Run};
use crate::figures::{Figure, Gate, Yardstick};
use crate::scenario::Scenario;
use crate::stub::Exchange;

const NAME: &str = "curl";

pub(super) fn figures(bench: &Bench) -> Result<Vec<Figure>> {
    let against = Against::new(bench);
    let version = against.versions()?;
    let one = against.conversations(Scenario::OneShot)?;
    let paced = against.conversations(Scenario::Paced)?;
    let long = against.conversations(Scenario::Long)?;
    let growth = |long: &Samples, one: &Samples| long.median(|s| &s.peak) - one.median(|s| &s.peak);
    let curl_growth = long.theirs.as_ref().zip(one.theirs.as_ref()).map(|(long, one)| growth(long, one));
    let row = |pair: &Pair, name, unit, of: fn(&Samples) -> &Vec<f64>, gate| {
        pair.figure(name, unit, NAME, |samples| samples.median(of), gate)
    };
    Ok(vec![
        size(&bench.binary)?,
        row(&version, "--version, CPU", "ms", |s| &s.cpu, Gate::Ratio(0.25)),
        row(&version, "--version, page faults", "", |s| &s.faults, Gate::None),
        row(&one, "one answer, CPU", "ms", |s| &s.cpu, Gate::Ratio(0.7)),
        row(&one, "one answer, peak memory", "MB", |s| &s.peak, Gate::Ratio(1.2)),
        row(&one, "one answer, page faults", "", |s| &s.faults, Gate::None),
        row(&one, "start to first word", "ms", |s| &s.spoke, Gate::Ratio(0.8)),
        row(&paced, "first word after the server's first byte", "ms", |s| &s.shown, Gate::Value(2.0)),
        row(&long, "20,000 tokens, CPU", "ms", |s| &s.cpu, Gate::Ratio(2.0)),
        Figure {
            name: "20,000 tokens, memory above one answer".to_owned(),
            unit: "MB",
            ours: growth(&long.ours, &one.ours),
            yardstick: curl_growth.map(|value| Yardstick { name: NAME, value }),
            gate: Gate::None,
        },
    ])
}

/// In megabytes of 10^6 bytes, as the file is.
fn size(binary: &Path) -> Result<Figure> {
    let ours = std::fs::metadata(binary)?.len() as f64 / 1e6;
    Ok(Figure { name: "the program".to_owned(), unit: "MB", ours, yardstick: None, gate: Gate::Value(20.0) })
}

fn curl() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("curl")).find(|file| file.is_file())
}

/// The program, and curl if it is here.
type Programs = (Program, Option<Program>);

pub(super) struct Against<'a> {
    bench: &'a Bench,
    curl: Option<PathBuf>,
}

impl<'a> Against<'a> {
    pub(super) fn new(bench: &'a Bench) -> Self {
        Self { bench, curl: curl() }
    }

    fn versions(&self) -> Result<Pair> {
        let (ours, curl) = self.version_programs();
        self.bench.in_turn(self.bench.rounds, &ours, curl.as_ref(), |_, run| {
            if run.stdout.is_empty() { Err("`--version` said nothing".into()) } else { Ok(None) }
        })
    }

    pub(super) fn version_programs(&self) -> Programs {
        let bench = self.bench;
        let ours = bench.program(&bench.binary, &["--version"], None);
        let curl = self.curl.as_ref().map(|curl| bench.program(curl, &["-q", "--version"], None));
        (ours, curl)
    }

    fn conversations(&self, scenario: Scenario) -> Result<Pair> {
        let (ours, curl) = self.conversation_programs(scenario)?;
        self.bench.in_turn(self.bench.rounds, &ours, curl.as_ref(), |who, run| {
            Ok(Some(self.check(scenario, who, run)?.first))
        })
    }

    /// Fails if a run did not do the work of its scenario. Returns the request.
    pub(super) fn check(&self, scenario: Scenario, who: Who, run: &Run) -> Result<Exchange> {
        let exchange = self.exchange()?;
        match who {
            Who::Ours => check_answer(run, scenario.words())?,
            Who::Theirs if !run.stdout.ends_with(b"data: [DONE]\n\n") => {
                return Err("curl got no whole answer".into());
            }
            Who::Theirs => {}
        }
        Ok(exchange)
    }

    /// Runs the program once: what it sends is what curl will send.
    pub(super) fn conversation_programs(&self, scenario: Scenario) -> Result<Programs> {
        let bench = self.bench;
        let url = bench.stub.base_url(scenario);
        let ours = bench.program(&bench.binary, &["ask", "-m", "openai-chat/stub", "hello"], Some(&url));
        bench.stub.take_log();
        let warm_up = bench.once(&ours)?;
        let exchange = self.exchange()?;
        check_answer(&warm_up, scenario.words())?;
        let body = bench.dir.path().join("body");
        std::fs::write(&body, &exchange.body)?;
        let target = url.replace(&format!("/{}/v1", scenario.name()), &exchange.path);
        let data = format!("@{}", body.display());
        let curl = self.curl.as_ref().map(|curl| {
            let headers = ["-H", "content-type: application/json", "-H", "authorization: Bearer x"];
            let options =
                [&["-q", "-sS", "-N"], headers.as_slice(), &["--data-binary", &data, &target]].concat();
            bench.program(curl, &options, None)
        });
        Ok((ours, curl))
    }

    fn exchange(&self) -> Result<Exchange> {
        only(self.bench.stub.take_log())
    }
}

/// A run is one request: with more of them a program would be compared with curl for another work.
fn only<T>(mut requests: Vec<T>) -> Result<T> {
    match (requests.pop(), requests.len()) {
        (Some(request), 0) => Ok(request),
        (None, _) => Err("one request was expected, none came".into()),
        (Some(_), others) => Err(format!("one request was expected, {} came", others + 1).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_what_counts() {
        assert_eq!(only(vec![1]).unwrap(), 1);
        assert!(only(Vec::<u8>::new()).unwrap_err().to_string().contains("none came"));
        assert!(only(vec![1, 2, 3]).unwrap_err().to_string().contains("3 came"));
    }
}
