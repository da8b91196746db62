//! `--store postgres`: the same scenarios with their sessions in a database, and something happens at a statement.
//!
//! A socket between the program and the server counts the statements. Before one gets to the server, or before its answer
//! gets back, the program is killed, the server crashes (what it had in memory alone is lost) and starts again, or the
//! connection is cut. Each worker has a server of its own, and each try a copy of the database that was prepared.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use converse_testkit::hang_guard::Deadline;
use converse_testkit::postgres::{Cut, PostgresServer, Proxy, USER};
use rustix::process::{Pid, Signal, kill_process};

use crate::body::Dialect;
use crate::env::TestEnv;
use crate::journals::Journal;
use crate::judge::{Sessions, judge};
use crate::leftover::runs;
use crate::options::Options;
use crate::place;
use crate::points::{Fault, Point};
use crate::report::{Report, Tried};
use crate::scenario::{Run, Scenario, all};
use crate::script::Models;
use crate::work::{in_turn, words};

const FAULTS: [Fault; 3] = [Fault::Killed, Fault::Server, Fault::Connection];
const CUTS: [(&str, Cut); 2] = [("before", Cut::Before), ("after", Cut::After)];
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// The scenarios that change no file of a session themselves, and need no terminal.
fn is_for_databases(scenario: &Scenario) -> bool {
    !matches!(scenario.run, Run::Types(_)) && !["migrate", "mend", "condense"].contains(&scenario.name)
}

/// A database of one try.
pub(crate) struct Database<'a> {
    server: &'a PostgresServer,
    name: String,
    proxy: PathBuf,
}

/// A scenario, with what was there before.
struct Base {
    scenario: usize,
    env: TestEnv,
    database: String,
}

/// What a worker has.
struct Bench {
    server: Arc<PostgresServer>,
    proxy: Proxy,
    models: Models,
    bases: Vec<Base>,
}

pub(crate) fn work(options: &Options) -> Report {
    let scenarios = all();
    let wanted = |scenario: &Scenario| is_for_databases(scenario) && options.wants(scenario.name);
    let known = Bench::new(&scenarios, wanted).surveyed(&scenarios);
    assert!(!known.is_empty(), "no scenario of this name is for databases");
    let most = options.points.unwrap_or(known.len()).max(known.len());
    let points: Vec<Point> = known.iter().copied().cycle().take(most).collect();
    in_turn(
        points,
        options,
        || Bench::new(&scenarios, wanted),
        |bench, number, point| {
            let reader = Dialect::ALL[number % Dialect::ALL.len()];
            bench.tried_at(&scenarios[point.scenario], point, reader)
        },
    )
}

impl Bench {
    fn new(scenarios: &[Scenario], wanted: impl Fn(&Scenario) -> bool) -> Self {
        let server = Arc::new(PostgresServer::start().unwrap());
        let proxy = Proxy::start(Path::new(&server.socket())).unwrap();
        let models = Models::new();
        let prepared = |(scenario, one): (usize, &Scenario)| {
            let database = format!("base{scenario}");
            server.sql("postgres", &format!("CREATE DATABASE {database}")).unwrap();
            let writer = models.writer(one.dialects[0]);
            let env = writer.env(TestEnv::new());
            Database { server: &server, name: database.clone(), proxy: proxy.dir() }.is_used_by(&env);
            (one.before)(&env, writer);
            Base { scenario, env, database }
        };
        let bases = scenarios.iter().enumerate().filter(|(_, one)| wanted(one)).map(prepared).collect();
        Self { server, proxy, models, bases }
    }

    /// A place and a database as they were prepared.
    fn copied(&self, base: &Base, dialect: Dialect) -> (TestEnv, Database<'_>) {
        let env = self.models.writer(dialect).env(place::copied(&base.env));
        let again = "DROP DATABASE IF EXISTS tried WITH (FORCE)";
        self.server.sql("postgres", again).unwrap();
        self.server.sql("postgres", &format!("CREATE DATABASE tried TEMPLATE {}", base.database)).unwrap();
        let database = Database { server: &self.server, name: "tried".to_owned(), proxy: self.proxy.dir() };
        database.is_used_by(&env);
        (env, database)
    }

    /// Every point: the statements of runs that nothing happens to.
    fn surveyed(&self, scenarios: &[Scenario]) -> Vec<Point> {
        let mut points = Vec::new();
        for base in &self.bases {
            let (scenario, number) = (&scenarios[base.scenario], base.scenario);
            let dialect = scenario.dialects[0];
            let (env, _database) = self.copied(base, dialect);
            self.proxy.cut_at(usize::MAX, Cut::Before, || {});
            let whole = runs(scenario, &env, (&self.models, dialect), plain, |_| {});
            assert_eq!(whole.code, 0, "{}: {}", scenario.name, whole.stderr);
            self.models.writer(dialect).is_content();
            let places = (0..self.proxy.statements()).flat_map(|nth| CUTS.map(|(call, _)| (call, nth)));
            points.extend(places.flat_map(|(call, nth)| {
                FAULTS.map(|fault| Point { scenario: number, dialect, fault, call, nth })
            }));
        }
        points
    }

    fn tried_at(&self, scenario: &Scenario, point: Point, reader: Dialect) -> Tried {
        let mut hit = false;
        let judged = catch_unwind(AssertUnwindSafe(|| {
            let base = self.bases.iter().find(|base| base.scenario == point.scenario).unwrap();
            let (env, database) = self.copied(base, point.dialect);
            let cut = CUTS.iter().find(|(name, _)| *name == point.call).unwrap().1;
            let (began, begun) = channel();
            let (over, is_over) = channel();
            let happens = happening(point.fault, self.server.clone(), begun);
            self.proxy.cut_at(point.nth, cut, move || {
                happens();
                let _ = over.send(());
            });
            let mut leftover = runs(scenario, &env, (&self.models, point.dialect), plain, |id| {
                let _ = began.send(id);
            });
            hit = self.proxy.has_cut();
            if hit {
                // The server is back.
                is_over.recv().unwrap();
            }
            if point.fault == Fault::Server && leftover.code != 0 {
                // As a power cut, it takes what was not synced, and the run did not come to the sync at its end. What tools
                // with effects were called for, and that they run once, is judged all the same.
                leftover.acknowledged.clear();
            }
            place::is_deserted(&env)?;
            database.settle()?;
            judge(
                scenario,
                env,
                &leftover,
                (&self.models, point.dialect, reader),
                &Sessions::Database(database),
            )
        }));
        let loss = match judged {
            Ok(judged) => judged.err(),
            Err(panic) => Some(words(panic.as_ref())),
        };
        Tried { scenario: scenario.name, point, reader, hit, loss }
    }
}

/// What happens at the statement. `begun` names the process of the program.
fn happening(
    fault: Fault,
    server: Arc<PostgresServer>,
    begun: Receiver<u32>,
) -> impl FnOnce() + Send + 'static {
    move || match fault {
        Fault::Server => {
            server.crash().unwrap();
            server.resume().unwrap();
        }
        Fault::Killed => {
            let id = i32::try_from(begun.recv().unwrap()).unwrap();
            kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).unwrap();
        }
        Fault::Connection | Fault::Disk => {}
    }
}

/// The same command.
fn plain(run: &Command) -> Command {
    let mut command = Command::new(run.get_program());
    command.args(run.get_args()).env_clear();
    command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(run.get_current_dir().unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Database<'_> {
    /// What the user's settings say of it.
    pub(crate) fn settings(&self) -> String {
        format!("[store]\nurl = \"postgres://{USER}@/{}?host={}\"\n", self.name, self.proxy.display())
    }

    fn is_used_by(&self, env: &TestEnv) {
        env.write("home/.config/converse/config.toml", &self.settings());
    }

    /// Read with the database's own program.
    pub(crate) fn journals(&self) -> Vec<Journal> {
        let sql = "SELECT session, encode(string_agg(line, '' ORDER BY start), 'hex')
            FROM converse.entries JOIN converse.sessions ON id = session WHERE published GROUP BY session";
        let rows = match self.server.sql(&self.name, sql) {
            // Hit before the tables were made.
            Err(error) if error.to_string().contains("\"converse.entries\" does not exist") => {
                return Vec::new();
            }
            rows => rows.unwrap(),
        };
        let journal = |row: &str| {
            let (id, hex) = row.split_once('|').unwrap();
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            Journal { path: PathBuf::from(id), bytes: (0..hex.len()).step_by(2).map(byte).collect() }
        };
        rows.lines().map(journal).collect()
    }

    /// Waits until nothing is written any more, and ends the leases as ten seconds do.
    fn settle(&self) -> Result<(), String> {
        let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'", self.name);
        let deadline = Deadline::begin();
        while self.server.sql("postgres", &sql).unwrap() != "0" {
            if deadline.is_over() {
                return Err("a connection stays".to_owned());
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        let expire = "UPDATE converse.sessions SET expires = clock_timestamp() WHERE expires IS NOT NULL";
        match self.server.sql(&self.name, expire) {
            Err(error) if !error.to_string().contains("does not exist") => Err(error.to_string()),
            _ => Ok(()),
        }
    }
}
