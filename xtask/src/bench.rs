//! Measures the program against curl, which does the least that can be done: post a body, print what comes.
//!
//! Machines are shared and noisy, so only ratios within one run mean something: the two programs run in turn, A B A B,
//! and medians are compared. CPU is the kernel's account of the finished process; peak memory likewise. curl posts
//! the very body that the program sent in the warm-up.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde_json::json;
use tempfile::TempDir;

use crate::Result;
use crate::child::{self, Program, Run};
use crate::figures::{Figure, Gate, Verdict, median, table};
use crate::scenario::Scenario;
use crate::stub::{Exchange, Stub};

const MEGABYTE: f64 = 1024.0 * 1024.0;

#[derive(Debug)]
struct Options {
    json: bool,
    rounds: usize,
    binary: Option<PathBuf>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self { json: false, rounds: 15, binary: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a value"));
            match *word {
                "--json" => options.json = true,
                "--rounds" => options.rounds = value()?.parse().map_err(|_| "`--rounds` needs a number")?,
                "--binary" => options.binary = Some(std::path::absolute(value()?)?),
                other => return Err(format!("`{other}` is not an option of bench").into()),
            }
        }
        if options.rounds == 0 { Err("`--rounds` must be at least 1".into()) } else { Ok(options) }
    }
}

/// 0: all gates passed. 1: one failed. 2 (or an error): something could not be judged.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::read(words)?;
    let binary = options.binary.clone().map_or_else(build, Ok)?;
    let bench =
        Bench { stub: Stub::start()?, dir: TempDir::new()?, binary, curl: curl(), rounds: options.rounds };
    let figures = bench.figures()?;
    let verdicts: Vec<_> = figures.iter().map(Figure::verdict).collect();
    if options.json {
        let rows: Vec<_> = figures.iter().map(Figure::json).collect();
        println!("{}", json!({ "v": 1, "rounds": bench.rounds, "load": load(), "figures": rows }));
    } else {
        print!("{}", table(&figures));
        println!("medians of {} rounds, load {}", bench.rounds, load());
    }
    if bench.curl.is_none() {
        eprintln!("error: there is no curl here to measure against: ratios were not judged");
    }
    Ok(match verdicts {
        v if v.contains(&Verdict::Failed) => ExitCode::from(1),
        v if v.contains(&Verdict::Unjudged) => ExitCode::from(2),
        _ => ExitCode::SUCCESS,
    })
}

/// Builds the program as it is built for release, and says where it is.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--release",
        "--package",
        "converse",
        "--bin",
        "converse",
        "--message-format=json",
    ]);
    let output = command.current_dir(root).stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("the program does not build".into());
    }
    executable(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| "cargo named no executable".into())
}

/// What cargo says it built: the target directory may be anywhere.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let built = messages.filter(|message| message["target"]["name"] == "converse");
    built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

fn curl() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("curl")).find(|file| file.is_file())
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

struct Bench {
    stub: Stub,
    dir: TempDir,
    binary: PathBuf,
    curl: Option<PathBuf>,
    rounds: usize,
}

/// The runs of one program in one scenario. `shown`: milliseconds from the server's first byte to the program's.
#[derive(Debug, Default)]
struct Samples {
    cpu: Vec<f64>,
    peak: Vec<f64>,
    shown: Vec<f64>,
}

impl Samples {
    fn take(&mut self, run: &Run, first: Option<Instant>) -> Result<()> {
        self.cpu.push(run.cpu.as_secs_f64() * 1e3);
        self.peak.push(run.peak as f64 / MEGABYTE);
        if let (Some(shown), Some(first)) = (run.first, first) {
            let after =
                shown.checked_duration_since(first).ok_or("something was said before the server spoke")?;
            self.shown.push(after.as_secs_f64() * 1e3);
        }
        Ok(())
    }
}

struct Pair {
    ours: Samples,
    curl: Option<Samples>,
}

impl Pair {
    fn figure(
        &self,
        name: &'static str,
        unit: &'static str,
        of: fn(&Samples) -> &Vec<f64>,
        gate: Gate,
    ) -> Figure {
        let middle = |samples: &Samples| median(of(samples).clone());
        Figure { name, unit, ours: middle(&self.ours), curl: self.curl.as_ref().map(middle), gate }
    }
}

impl Bench {
    fn figures(&self) -> Result<Vec<Figure>> {
        let version = self.versions()?;
        let one = self.conversations(Scenario::OneShot)?;
        let paced = self.conversations(Scenario::Paced)?;
        let long = self.conversations(Scenario::Long)?;
        let growth = |a: &Samples, b: &Samples| median(a.peak.clone()) - median(b.peak.clone());
        let curl_growth = long.curl.as_ref().zip(one.curl.as_ref()).map(|(long, one)| growth(long, one));
        Ok(vec![
            version.figure("--version, CPU", "ms", |s| &s.cpu, Gate::Ratio(0.5)),
            one.figure("one answer, CPU", "ms", |s| &s.cpu, Gate::Ratio(1.0)),
            one.figure("one answer, peak memory", "MB", |s| &s.peak, Gate::Ratio(1.3)),
            paced.figure("first word after the server's first byte", "ms", |s| &s.shown, Gate::Value(2.0)),
            long.figure("20,000 tokens, CPU", "ms", |s| &s.cpu, Gate::Ratio(3.0)),
            Figure {
                name: "20,000 tokens, memory above one answer",
                unit: "MB",
                ours: growth(&long.ours, &one.ours),
                curl: curl_growth,
                gate: Gate::None,
            },
        ])
    }

    fn versions(&self) -> Result<Pair> {
        let ours = self.program(&self.binary, &["--version"], None);
        let curl = self.curl.as_ref().map(|curl| self.program(curl, &["-q", "--version"], None));
        self.in_turn(&ours, curl.as_ref(), |_, run| {
            if run.stdout.is_empty() { Err("`--version` said nothing".into()) } else { Ok(None) }
        })
    }

    fn conversations(&self, scenario: Scenario) -> Result<Pair> {
        let url = self.stub.base_url(scenario);
        let ours = self.program(&self.binary, &["ask", "-m", "openai-chat/stub", "hello"], Some(&url));
        // What it sends is what curl will send.
        self.stub.take_log();
        let warm_up = self.once(&ours)?;
        let exchange = self.exchange()?;
        self.check(scenario, &warm_up)?;
        let body = self.dir.path().join("body");
        std::fs::write(&body, &exchange.body)?;
        let target = url.replace(&format!("/{}/v1", scenario.name()), &exchange.path);
        let data = format!("@{}", body.display());
        let curl = self.curl.as_ref().map(|curl| {
            let headers = ["-H", "content-type: application/json", "-H", "authorization: Bearer x"];
            let options =
                [&["-q", "-sS", "-N"], headers.as_slice(), &["--data-binary", &data, &target]].concat();
            self.program(curl, &options, None)
        });
        self.in_turn(&ours, curl.as_ref(), |who, run| {
            let exchange = self.exchange()?;
            match who {
                Who::Ours => self.check(scenario, run)?,
                Who::Curl if !run.stdout.ends_with(b"data: [DONE]\n\n") => {
                    return Err("curl got no whole answer".into());
                }
                Who::Curl => {}
            }
            Ok(Some(exchange.first))
        })
    }

    /// One round that does not count, then the others: A B A B.
    fn in_turn(
        &self,
        ours: &Program,
        curl: Option<&Program>,
        check: impl Fn(Who, &Run) -> Result<Option<Instant>>,
    ) -> Result<Pair> {
        let mut pair = Pair { ours: Samples::default(), curl: curl.map(|_| Samples::default()) };
        for round in 0..=self.rounds {
            let run = self.once(ours)?;
            let first = check(Who::Ours, &run)?;
            if round > 0 {
                pair.ours.take(&run, first)?;
            }
            let (Some(program), Some(samples)) = (curl, &mut pair.curl) else { continue };
            let run = self.once(program)?;
            let first = check(Who::Curl, &run)?;
            if round > 0 {
                samples.take(&run, first)?;
            }
        }
        Ok(pair)
    }

    fn once(&self, program: &Program) -> Result<Run> {
        child::run(program, self.dir.path())
    }

    /// A figure of a run that did not do its work is worth nothing.
    fn check(&self, scenario: Scenario, run: &Run) -> Result<()> {
        let words = String::from_utf8_lossy(&run.stdout).split_whitespace().count();
        if words == scenario.words() {
            return Ok(());
        }
        Err(format!("the program said {words} words of {} ({})", scenario.words(), scenario.name()).into())
    }

    fn exchange(&self) -> Result<Exchange> {
        only(self.stub.take_log())
    }

    /// The home is kept from run to run: what a program sets up once, the warm-up pays.
    fn program(&self, program: &Path, arguments: &[&str], base_url: Option<&str>) -> Program {
        let command =
            std::iter::once(program.as_os_str()).chain(arguments.iter().map(|word| (*word).as_ref()));
        let mut environment: Vec<(&'static str, OsString)> =
            vec![("HOME", self.dir.path().into()), ("PATH", std::env::var_os("PATH").unwrap_or_default())];
        if let Some(url) = base_url {
            environment.push(("OPENAI_BASE_URL", url.into()));
            environment.push(("OPENAI_API_KEY", "x".into()));
        }
        Program { command: command.map(OsString::from).collect(), environment }
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

#[derive(Debug, Clone, Copy)]
enum Who {
    Ours,
    Curl,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let options = Options::read(&["--json", "--rounds", "3", "--binary", "/bin/x"]).unwrap();
        assert_eq!((options.json, options.rounds, options.binary), (true, 3, Some("/bin/x".into())));
        for bad in [&["--rounds"][..], &["--rounds", "x"], &["--rounds", "0"], &["-x"], &["--binary"]] {
            assert!(Options::read(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn one_request_is_what_counts() {
        assert_eq!(only(vec![1]).unwrap(), 1);
        assert!(only(Vec::<u8>::new()).unwrap_err().to_string().contains("none came"));
        assert!(only(vec![1, 2, 3]).unwrap_err().to_string().contains("3 came"));
    }

    #[test]
    fn the_executable_is_the_one_cargo_names() {
        let messages = "not json\n\
            {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"serde\"},\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"converse\"},\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"converse\"},\"executable\":\"/t/release/converse\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some("/t/release/converse".into()));
        assert_eq!(executable(""), None);
    }
}
