//! What is asked for on the command line.

use std::time::Duration;

/// Where strace is.
#[derive(Debug)]
pub(crate) struct Strace {
    pub(crate) program: String,
    /// Where it finds the libraries it needs, if it is not installed.
    pub(crate) libraries: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) strace: Strace,
    pub(crate) seconds: Option<Duration>,
    pub(crate) points: Option<usize>,
    pub(crate) scenario: Option<String>,
    pub(crate) seed: u64,
    /// Sessions are in a database, which needs no strace.
    pub(crate) on_postgres: bool,
}

impl Options {
    pub(crate) fn read(words: &[String]) -> Result<Self, String> {
        let mut options = Self {
            strace: Strace { program: "strace".to_owned(), libraries: None },
            seconds: None,
            points: None,
            scenario: None,
            seed: 1,
            on_postgres: false,
        };
        for pair in words.chunks(2) {
            let [name, value] = pair else { return Err(format!("{pair:?} is not an option of crash")) };
            let wrong = |_| format!("`{name}` needs a number");
            match name.as_str() {
                "--strace" => options.strace.program.clone_from(value),
                "--libraries" => options.strace.libraries = Some(value.clone()),
                "--seconds" => options.seconds = Some(Duration::from_secs(value.parse().map_err(wrong)?)),
                "--points" => options.points = Some(value.parse().map_err(wrong)?),
                "--seed" => options.seed = value.parse().map_err(wrong)?,
                "--store" if value == "postgres" => options.on_postgres = true,
                "--store" => return Err(format!("`--store`: expected `postgres`, found `{value}`")),
                "--scenario" => options.scenario = Some(value.clone()),
                _ => return Err(format!("`{name}` is not an option of crash")),
            }
        }
        Ok(options)
    }

    /// Is every point of every scenario asked for?
    pub(crate) fn is_full(&self) -> bool {
        self.seconds.is_none() && self.points.is_none() && self.scenario.is_none()
    }

    pub(crate) fn wants(&self, scenario: &str) -> bool {
        self.scenario.as_deref().is_none_or(|wanted| scenario == wanted)
    }
}
