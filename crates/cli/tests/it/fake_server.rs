//! The misbehaving server as an ensemble of a test: its descriptor, and what it has to do with.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::env::{Measured, Ran, TestEnv, measure, wait};
use crate::provider::Provider;

/// The directory of descriptors within a test's own.
const DIRECTORY: &str = "servers";
/// The most that any of this may cost us, in MiB.
pub(crate) const MEMORY: u64 = 125;
/// A name for the one that misbehaves.
pub(crate) const BROKEN: &str = "broken";

/// One ensemble of one server. All its tools are allowed, so that no test is about permissions by accident.
#[derive(Clone)]
pub(crate) struct FakeServer {
    name: &'static str,
    command: Vec<String>,
    ensemble: String,
    policy: String,
    connection: String,
    rest: String,
}

impl FakeServer {
    /// The flags are those of `converse fake-server`.
    pub(crate) fn new(name: &'static str, flags: &[&str]) -> Self {
        let command = own_command(flags);
        let policy = "permission = \"allow\"\n".to_owned();
        let [ensemble, connection, rest] = Default::default();
        Self { name, command, ensemble, policy, connection, rest }
    }

    /// A shell that starts it: `"$0" "$@"` in the script is the server.
    pub(crate) fn in_a_shell(mut self, script: &str) -> Self {
        let shell = ["/bin/sh", "-c", script].map(str::to_owned);
        self.command = shell.into_iter().chain(self.command).collect();
        self
    }

    pub(crate) fn command(mut self, command: &[&str]) -> Self {
        self.command = command.iter().map(ToString::to_string).collect();
        self
    }

    /// Lines of `[ensemble]`.
    pub(crate) fn ensemble(mut self, lines: &str) -> Self {
        self.ensemble += &format!("{lines}\n");
        self
    }

    /// Lines of `[defaults]`.
    pub(crate) fn policy(mut self, lines: &str) -> Self {
        self.policy += &format!("{lines}\n");
        self
    }

    /// Lines of `[connection]`.
    pub(crate) fn connection(mut self, lines: &str) -> Self {
        self.connection += &format!("{lines}\n");
        self
    }

    /// Tables after the others.
    pub(crate) fn and(mut self, tables: &str) -> Self {
        self.rest += &format!("{tables}\n");
        self
    }

    fn unhurried(&self) -> Self {
        let is_limited = self.policy.lines().any(|line| line.starts_with("timeout"));
        if is_limited { self.clone() } else { self.clone().policy("timeout = 600") }
    }

    pub(crate) fn write(&self, env: &TestEnv) -> PathBuf {
        let Self { name, command, ensemble, policy, connection, rest } = self;
        // A list of texts is written alike in JSON and TOML.
        let command = json!(command);
        let text = format!(
            "[ensemble]\nname = \"{name}\"\ndescription = \"A server that is here to be tried\"\n{ensemble}\n\
             [defaults]\n{policy}\n[connection]\ntransport = \"stdio\"\ncommand = {command}\n{connection}\n{rest}"
        );
        env.write(&format!("{DIRECTORY}/{name}.toml"), &text)
    }

    /// Writes the descriptor and calls one tool of it. The call may take ten minutes if the descriptor does not say how
    /// long: what waits for that limit hangs.
    pub(crate) fn call(&self, env: &TestEnv, tool: &str, arguments: Value) -> Called {
        self.unhurried().write(env);
        let tool = format!("{}.{tool}", self.name);
        let args = ["ensembles", "call", &tool, &arguments.to_string(), "--json", "--ensembles"];
        let mut command = env.command(args);
        Called(measure(command.arg(env.path(DIRECTORY)).spawn().unwrap()))
    }
}

/// `converse fake-server FLAG…`, whole.
pub(crate) fn own_command(flags: &[&str]) -> Vec<String> {
    let command = [env!("CARGO_BIN_EXE_converse"), "fake-server"];
    command.iter().chain(flags).map(ToString::to_string).collect()
}

/// One call without a model.
#[derive(Debug)]
pub(crate) struct Called(pub(crate) Measured);

impl Called {
    /// The exit code fits the outcome, and so does the text of all its content together. Gives back the text.
    #[track_caller]
    pub(crate) fn is(&self, outcome: &str) -> String {
        let ran = &self.0.ran;
        let code = match outcome {
            "success" => 0,
            "timeout" => 7,
            _ => 10,
        };
        assert_eq!(ran.code, code, "{}", brief(ran));
        let object: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", brief(ran)));
        assert_eq!(object["outcome"], outcome, "{}", brief(ran));
        let content = object["content"].as_array().unwrap();
        let texts: Vec<&str> = content.iter().filter_map(|part| part["text"].as_str()).collect();
        texts.join("\n")
    }

    pub(crate) fn content(&self) -> Value {
        self.0.ran.json()["content"].clone()
    }

    #[track_caller]
    pub(crate) fn below(&self, mebibytes: u64) -> &Self {
        assert!(self.0.peak <= mebibytes, "it held {} MiB: {}", self.0.peak, brief(&self.0.ran));
        self
    }
}

/// What a run said, cut: some of these say very much.
pub(crate) fn brief(ran: &Ran) -> String {
    let cut = |text: &str| text.chars().take(3000).collect::<String>();
    format!("exit {}\nstdout: {}\nstderr: {}", ran.code, cut(&ran.stdout), cut(&ran.stderr))
}

/// Asks the scripted provider with the ensembles that were written.
pub(crate) fn ask(provider: &Provider, env: &TestEnv, extra: &[&str]) -> Ran {
    let mut command = env.command(["ask", "go", "-m", provider.model(), "-o", "json", "--ensembles"]);
    wait(command.arg(env.path(DIRECTORY)).args(extra).spawn().unwrap())
}

/// Outcome and text of each invocation of such a run, in order.
pub(crate) fn outcomes(ran: &Ran) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let invocations = ran.json()["invocations"].as_array().unwrap().clone();
    invocations.iter().map(|one| (word(&one["outcome"]), word(&one["result"]))).collect()
}

/// The names of the tools that a request offers.
pub(crate) fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().map_or(&[][..], Vec::as_slice);
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// How often a server noted a line (`method tool`) in its journal.
pub(crate) fn noted(env: &TestEnv, journal: &str, line: &str) -> usize {
    let text = std::fs::read_to_string(env.path(journal)).unwrap_or_default();
    text.lines().filter(|noted| noted.trim_end() == line).count()
}

/// Tries all cases at the same time: most of them wait for a limit to pass. One that fails says so and fails the test.
pub(crate) fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, attempt: impl Fn(T) + Sync) {
    let attempt = &attempt;
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || attempt(case));
        }
    });
}
