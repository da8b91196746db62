//! One run of the program against a server, and what must come of it.

use super::check::Check;
use super::process::Ran;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `ensembles call`: one tool, without a model.
    Call,
    /// `ask`: the understudy finds the tool.
    Ask,
    /// `ask --dry-run`: what a model would be sent.
    Request,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    /// The tool and its arguments, or the prompt.
    words: Vec<String>,
    options: Vec<String>,
    allowed: bool,
    pub(crate) exit: i32,
    /// So often at most, until it is as it should be.
    pub(crate) tries: u32,
    pub(crate) checks: Vec<Check>,
}

/// A call that succeeds.
pub(crate) fn call(tool: &str, arguments: &[&str]) -> Step {
    let words = std::iter::once(&tool).chain(arguments).map(|word| (*word).to_owned()).collect();
    Step { kind: Kind::Call, words, options: vec![], allowed: true, exit: 0, tries: 1, checks: vec![] }
}

/// A question that is answered with these tools, each named as in its ensemble.
pub(crate) fn ask(server: &str, prompt: &str, tools: &[&str]) -> Step {
    let invoked = tools.iter().map(|tool| format!("{server}__{tool}")).collect();
    let checks = vec![Check::Invoked(invoked)];
    let (words, options) = (vec![prompt.to_owned()], strings(&["-o", "json"]));
    Step { kind: Kind::Ask, words, options, allowed: true, exit: 0, tries: 1, checks }
}

/// A question whose records are read.
pub(crate) fn records(prompt: &str) -> Step {
    let (words, options) = (vec![prompt.to_owned()], strings(&["-o", "jsonl"]));
    Step { kind: Kind::Ask, words, options, allowed: true, exit: 0, tries: 1, checks: vec![] }
}

/// A resource of the server, as a model would be sent it.
pub(crate) fn attached(server: &str, uri: &str) -> Step {
    let options = strings(&["-a", &format!("mcp:{server}:{uri}"), "--dry-run"]);
    let words = strings(&["What is this?"]);
    Step { kind: Kind::Request, words, options, allowed: true, exit: 0, tries: 1, checks: vec![] }
}

/// A prompt of the server, as a model would be sent it.
pub(crate) fn prompted(server: &str, prompt: &str, arguments: &[&str]) -> Step {
    let options = strings(&["--prompt", &format!("{server}.{prompt}"), "--dry-run"]);
    Step {
        kind: Kind::Request,
        words: strings(arguments),
        options,
        allowed: true,
        exit: 0,
        tries: 1,
        checks: vec![],
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Step {
    pub(crate) fn with(mut self, checks: impl IntoIterator<Item = Check>) -> Self {
        self.checks.extend(checks);
        self
    }

    /// It ends with this exit code, not 0.
    pub(crate) fn exits(mut self, code: i32) -> Self {
        self.exit = code;
        self
    }

    /// A server that takes a moment to become what it should be, and says nothing of that.
    pub(crate) fn settles(mut self) -> Self {
        self.tries = 6;
        self
    }

    pub(crate) fn holds(&self, ran: &Ran) -> bool {
        ran.code == Some(self.exit) && self.checks.iter().all(|check| check.problem(ran).is_none())
    }

    /// The result as JSON, of a call.
    pub(crate) fn json(mut self) -> Self {
        self.options.push("--json".to_owned());
        self
    }

    /// Without a rule that allows the server's tools.
    pub(crate) fn unasked(mut self) -> Self {
        self.allowed = false;
        self
    }

    /// The program's arguments, with the server's descriptor in `ensembles`.
    pub(crate) fn arguments(&self, server: &str, ensembles: &str) -> Vec<String> {
        let rule = format!("{server}.*");
        let mut words = match self.kind {
            Kind::Call => vec!["ensembles", "call"],
            Kind::Ask | Kind::Request => vec!["ask", "-m", "understudy", "-e", server],
        };
        words.extend(["--ensembles", ensembles]);
        if self.allowed {
            words.extend(["--allow", &rule]);
        }
        words.extend(self.options.iter().map(String::as_str));
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        words.extend(self.words.iter().enumerate().map(|(index, word)| match (self.kind, index) {
            (Kind::Call, 0) => format!("{server}.{word}"),
            _ => word.clone(),
        }));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(step: &Step) -> String {
        step.arguments("time", "DIR").join(" ")
    }

    #[test]
    fn steps_become_command_lines() {
        let now = call("now", &["zone=UTC", "long=true"]);
        assert_eq!(typed(&now), "ensembles call --ensembles DIR --allow time.* time.now zone=UTC long=true");
        assert_eq!(
            typed(&now.json().unasked()),
            "ensembles call --ensembles DIR --json time.now zone=UTC long=true"
        );
        let asked = ask("time", "What time?", &["now"]);
        assert_eq!(
            typed(&asked),
            "ask -m understudy -e time --ensembles DIR --allow time.* -o json What time?"
        );
        assert!(matches!(&asked.checks[..], [Check::Invoked(tools)] if tools == &["time__now"]));
        assert_eq!(
            typed(&records("What time?")),
            "ask -m understudy -e time --ensembles DIR --allow time.* -o jsonl What time?"
        );
        assert_eq!(
            typed(&attached("time", "demo://a")),
            "ask -m understudy -e time --ensembles DIR --allow time.* -a mcp:time:demo://a --dry-run What is this?"
        );
        assert_eq!(
            typed(&prompted("time", "now", &["zone=UTC"])),
            "ask -m understudy -e time --ensembles DIR --allow time.* --prompt time.now --dry-run zone=UTC"
        );
        let ran = |code| Ran { code: Some(code), stdout: "noon".to_owned(), ..Ran::default() };
        let said = |text: &str| call("x", &[]).with([Check::Says(text.to_owned())]).settles();
        assert_eq!((said("noon").tries, call("x", &[]).tries), (6, 1));
        for (step, code, holds) in
            [(said("noon"), 0, true), (said("noon"), 1, false), (said("night"), 0, false)]
        {
            assert_eq!(step.holds(&ran(code)), holds, "{step:?}");
        }
        assert_eq!((asked.exit, call("x", &[]).exits(8).exit), (0, 8));
    }
}
