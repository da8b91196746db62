//! The confinement as a command line of bubblewrap, which sets up the file system and namespaces. System calls and
//! limits are still restricted by converse: inside, its own binary enters the rest of the sandbox.
//!
//! <https://manpages.debian.org/bookworm/bubblewrap/bwrap.1.en.html> (checked 2026-11)

use std::path::Path;

use crate::sandbox::confinement::Confinement;
use crate::sandbox::system::system;

/// Returns the arguments of `bwrap`, without the command to start. That command must be `confiner` (an absolute path),
/// which is made visible inside. `None` if a path is not UTF-8.
pub fn bubblewrap(confinement: &Confinement, confiner: &Path, cwd: &Path) -> Option<Vec<String>> {
    let mut line = Line(["--unshare-all", "--die-with-parent"].map(str::to_owned).to_vec());
    if confinement.network {
        line.0.push("--share-net".to_owned());
    }
    line.0.extend(["--proc", "/proc", "--dev", "/dev"].map(str::to_owned));
    for path in system() {
        if !path.starts_with("/proc") && !path.starts_with("/dev") {
            line.both("--ro-bind-try", &path)?;
        }
    }
    line.one("--dir", cwd)?;
    for path in confinement.reads.iter().map(AsRef::as_ref).chain([confiner]) {
        line.both("--ro-bind", path)?;
    }
    // The directory of the report: its name must be removed there.
    for path in confinement.writes.iter().map(AsRef::as_ref).chain(confinement.report.parent()) {
        line.both("--bind", path)?;
    }
    line.one("--chdir", cwd)?;
    line.0.push("--".to_owned());
    Some(line.0)
}

struct Line(Vec<String>);

impl Line {
    fn one(&mut self, flag: &str, path: &Path) -> Option<()> {
        self.0.extend([flag.to_owned(), path.to_str()?.to_owned()]);
        Some(())
    }

    fn both(&mut self, flag: &str, path: &Path) -> Option<()> {
        self.one(flag, path)?;
        self.0.push(path.to_str()?.to_owned());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::confinement::{Limits, Strictness};

    #[test]
    fn the_openings_become_binds_and_writes_come_last() {
        let mut confinement = Confinement {
            strictness: Strictness::EverythingButFiles,
            reads: vec!["/jobs".into()],
            writes: vec!["/jobs/out".into()],
            network: false,
            limits: Limits::default(),
            report: "/tmp/x/report".into(),
        };
        let line = |confinement: &Confinement| {
            bubblewrap(confinement, Path::new("/opt/converse"), Path::new("/jobs")).unwrap().join(" ")
        };
        let text = line(&confinement);
        assert!(text.starts_with("--unshare-all --die-with-parent --proc /proc --dev /dev "), "{text}");
        let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        assert!(place("--ro-bind /jobs /jobs") < place("--bind /jobs/out /jobs/out"));
        assert!(place("--ro-bind /opt/converse") < place("--bind /tmp/x /tmp/x"));
        assert!(text.ends_with("--chdir /jobs --"), "{text}");
        confinement.network = true;
        assert!(line(&confinement).contains("--share-net"));
    }
}
