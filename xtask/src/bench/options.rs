//! The command line of the chore.

use std::path::PathBuf;

use crate::Result;

/// Rows that are measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// One request, against curl.
    Curl,
    /// Instructions, which do not depend on the load of the machine. Needs valgrind.
    Instructions,
    /// Servers of tools, against the floor.
    Servers,
    /// Reading descriptors.
    Check,
    /// Reading streams.
    Decode,
    /// Reading and searching long sessions.
    Sessions,
    /// The same against another library. On demand only: it is built with an HTTP stack of its own.
    Genai,
    /// Looking for words in all sessions. On demand only: a million messages are written first.
    Search,
    /// Ten thousand turns in one process. On demand only: it takes minutes.
    Soak,
    /// `serve` under load. On demand only: it takes more than a minute.
    Serve,
}

#[derive(Debug)]
pub(super) struct Options {
    pub(super) json: bool,
    pub(super) rounds: usize,
    pub(super) binary: Option<PathBuf>,
    only: Option<Part>,
}

impl Options {
    pub(super) fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self { json: false, rounds: 15, binary: None, only: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a value"));
            match *word {
                "--json" => options.json = true,
                "--rounds" => options.rounds = value()?.parse().map_err(|_| "`--rounds` needs a number")?,
                "--binary" => options.binary = Some(std::path::absolute(value()?)?),
                "--only" => options.only = Some(Part::read(value()?)?),
                other => return Err(format!("`{other}` is not an option of bench").into()),
            }
        }
        if options.rounds == 0 { Err("`--rounds` must be at least 1".into()) } else { Ok(options) }
    }

    pub(super) fn wants(&self, part: Part) -> bool {
        self.only.map_or(!matches!(part, Part::Genai | Part::Search | Part::Serve | Part::Soak), |only| {
            only == part
        })
    }

    /// Returns whether the part was named.
    pub(super) fn is_only(&self, part: Part) -> bool {
        self.only == Some(part)
    }

    /// Decoders are measured without the program around them, so it need not be built.
    pub(super) fn runs_program(&self) -> bool {
        [Part::Curl, Part::Instructions, Part::Servers, Part::Check, Part::Search, Part::Serve, Part::Soak]
            .into_iter()
            .any(|part| self.wants(part))
    }
}

impl Part {
    fn read(word: &str) -> Result<Self> {
        match word {
            "curl" => Ok(Self::Curl),
            "instructions" => Ok(Self::Instructions),
            "servers" => Ok(Self::Servers),
            "check" => Ok(Self::Check),
            "decode" => Ok(Self::Decode),
            "sessions" => Ok(Self::Sessions),
            "search" => Ok(Self::Search),
            "genai" => Ok(Self::Genai),
            "serve" => Ok(Self::Serve),
            "soak" => Ok(Self::Soak),
            "gateways" | "growth" => {
                Err(format!("`--only {word}` comes first: `cargo xtask bench --only {word} …`").into())
            }
            _ => Err("`--only` is one of curl, instructions, servers, check, decode, sessions, search, soak, genai, serve"
                .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let options =
            Options::read(&["--json", "--rounds", "3", "--binary", "/bin/x", "--only", "check"]).unwrap();
        assert_eq!((options.json, options.rounds, &options.binary), (true, 3, &Some("/bin/x".into())));
        assert!(options.wants(Part::Check) && !options.wants(Part::Curl) && !options.wants(Part::Decode));
        let all = Options::read(&[]).unwrap();
        assert!(all.wants(Part::Check) && all.wants(Part::Curl) && all.wants(Part::Servers));
        assert!(all.runs_program() && !all.wants(Part::Genai));
        let instructions = Options::read(&["--only", "instructions"]).unwrap();
        assert!(instructions.wants(Part::Instructions) && instructions.runs_program());
        assert!(instructions.is_only(Part::Instructions) && !all.is_only(Part::Instructions));
        let serve = Options::read(&["--only", "serve"]).unwrap();
        assert!(serve.wants(Part::Serve) && !serve.wants(Part::Check) && serve.runs_program());
        assert!(!all.wants(Part::Serve) && all.wants(Part::Sessions));
        let sessions = Options::read(&["--only", "sessions"]).unwrap();
        assert!(sessions.wants(Part::Sessions) && !sessions.runs_program());
        let search = Options::read(&["--only", "search"]).unwrap();
        assert!(search.wants(Part::Search) && search.runs_program() && !all.wants(Part::Search));
        let soak = Options::read(&["--only", "soak"]).unwrap();
        assert!(soak.wants(Part::Soak) && soak.runs_program() && !all.wants(Part::Soak));
        let genai = Options::read(&["--only", "genai"]).unwrap();
        assert!(genai.wants(Part::Genai) && !genai.wants(Part::Decode) && !genai.runs_program());
        for bad in [
            &["--rounds"][..],
            &["--rounds", "x"],
            &["--rounds", "0"],
            &["-x"],
            &["--binary"],
            &["--only"],
            &["--only", "x"],
            &["--rounds", "3", "--only", "growth"],
        ] {
            assert!(Options::read(bad).is_err(), "{bad:?}");
        }
    }
}
