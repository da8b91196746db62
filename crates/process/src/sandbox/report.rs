//! The report about a sandbox for its caller: a file that the program cannot reach, so that its own exit code and
//! output cannot be mistaken for it. Its name is removed before the program starts, even if its directory is
//! accessible.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

/// No more of it is read.
const MOST: u64 = 4096;
const ENTERED: &str = "entered\n";
const UNSTARTED: &str = "unstarted ";
const REFUSED: &str = "refused ";

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The program was started in its sandbox.
    Entered,
    /// The sandbox stood, and the program could not be started.
    Unstarted(String),
    /// The sandbox could not be entered. Nothing has run.
    Refused(String),
    /// The process never reached the point of entering. Nothing has run.
    Silent,
}

impl Report {
    /// From the start of a file that was opened before; an unreadable one says nothing.
    pub fn read(mut file: &File) -> Self {
        let mut text = String::new();
        let read = file.rewind().and_then(|()| file.take(MOST).read_to_string(&mut text));
        if read.is_err() {
            return Self::Silent;
        }
        match text.strip_prefix(ENTERED) {
            Some("") => Self::Entered,
            Some(rest) => Self::Unstarted(rest.strip_prefix(UNSTARTED).unwrap_or(rest).trim().to_owned()),
            None => {
                text.strip_prefix(REFUSED).map_or(Self::Silent, |why| Self::Refused(why.trim().to_owned()))
            }
        }
    }
}

/// The other side. Opened, and its name removed, before the sandbox is entered; closed by exec.
#[derive(Debug)]
pub(crate) struct Reporter(File);

impl Reporter {
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let file = File::options().append(true).open(path)?;
        fs::remove_file(path)?;
        Ok(Self(file))
    }

    pub(crate) fn entered(&mut self) -> std::io::Result<()> {
        self.0.write_all(ENTERED.as_bytes())
    }

    /// What cannot be said here is nowhere else to be said.
    pub(crate) fn refused(&mut self, why: &dyn std::fmt::Display) {
        let _ = write!(self.0, "{REFUSED}{why}");
    }

    pub(crate) fn unstarted(&mut self, why: &dyn std::fmt::Display) {
        let _ = write!(self.0, "{UNSTARTED}{why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_has_no_name() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("report");
        let open = || {
            fs::write(&path, "").unwrap();
            let file = File::open(&path).unwrap();
            let reporter = Reporter::open(&path).unwrap();
            assert!(!path.exists());
            (file, reporter)
        };
        let (file, mut reporter) = open();
        assert_eq!(Report::read(&file), Report::Silent);
        reporter.refused(&"no Landlock");
        assert_eq!(Report::read(&file), Report::Refused("no Landlock".to_owned()));
        let (file, mut reporter) = open();
        reporter.entered().unwrap();
        assert_eq!(Report::read(&file), Report::Entered);
        reporter.unstarted(&"no such file");
        assert_eq!(Report::read(&file), Report::Unstarted("no such file".to_owned()));
        let (file, mut reporter) = open();
        reporter.0.write_all(b"else").unwrap();
        assert_eq!(Report::read(&file), Report::Silent);
        assert!(Reporter::open(&path).is_err());
        // A directory cannot be read.
        assert_eq!(Report::read(&File::open(place.path()).unwrap()), Report::Silent);
    }
}
