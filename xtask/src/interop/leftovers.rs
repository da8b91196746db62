//! Who is still there after a run: found in /proc by what a process says of itself.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use super::process::send;
use crate::Result;

/// How long after its end a run's processes may need to be gone.
const DEADLINE: Duration = Duration::from_secs(3);
const TICK: Duration = Duration::from_millis(20);

/// The traces by which a run's processes are known, and who bears them rightly.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traces {
    /// Paths of which one is in the command line or the environment of such a process, or is that of its directory or
    /// its program.
    pub(crate) paths: Vec<String>,
    /// Process ids that are not meant.
    pub(crate) except: Vec<u32>,
}

impl Traces {
    /// Waits until nobody is left. Whoever is left at the deadline is named, and killed: the next run starts clean.
    pub(crate) fn settle(&self) -> Result<Vec<String>> {
        self.settle_within(DEADLINE)
    }

    fn settle_within(&self, limit: Duration) -> Result<Vec<String>> {
        let until = Instant::now() + limit;
        loop {
            let left = self.find();
            if left.is_empty() {
                return Ok(Vec::new());
            }
            if Instant::now() >= until {
                for process in left.keys() {
                    send("KILL", &process.to_string())?;
                }
                return Ok(left.into_iter().map(|(id, command)| format!("{id} `{command}`")).collect());
            }
            std::thread::sleep(TICK);
        }
    }

    /// Waits until somebody is there. Did it happen?
    pub(crate) fn appear(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while self.find().is_empty() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(TICK);
        }
        true
    }

    /// Command lines by process id. A process that ends meanwhile is not there; a dead one says nothing.
    fn find(&self) -> BTreeMap<u32, String> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let others = ids.filter(|id| *id != std::process::id() && !self.except.contains(id));
        others.filter_map(|id| self.bears(id).map(|command| (id, command))).collect()
    }

    fn bears(&self, id: u32) -> Option<String> {
        let read = |what: &str| fs::read(format!("/proc/{id}/{what}")).unwrap_or_default();
        let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ").trim().to_owned();
        let environment = String::from_utf8_lossy(&read("environ")).into_owned();
        let link = |what: &str| {
            let path = fs::read_link(format!("/proc/{id}/{what}")).unwrap_or_default();
            path.to_string_lossy().into_owned()
        };
        let said = [command.as_str(), &environment, &link("cwd"), &link("exe")];
        self.paths.iter().any(|path| said.iter().any(|said| said.contains(path.as_str()))).then_some(command)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::super::process::wait;
    use super::*;

    fn sleeper(change: impl FnOnce(&mut Command) -> &mut Command) -> Child {
        change(Command::new("sleep").arg("600").env_clear()).spawn().unwrap()
    }

    #[test]
    fn a_process_is_known_by_what_it_says_of_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap().to_owned();
        let traces = |except| Traces { paths: vec![path.clone()], except };
        let copy = dir.path().join("sleep");
        fs::copy("/bin/sleep", &copy).unwrap();
        assert!(!traces(vec![]).appear(Duration::ZERO));
        let children = [
            sleeper(|command| command.env("HOME", &path)),
            sleeper(|command| command.current_dir(&path)),
            Command::new("/bin/sh").args(["-c", "read line < /dev/zero", &path]).spawn().unwrap(),
            Command::new(&copy).arg0("sleep").arg("600").env_clear().spawn().unwrap(),
            sleeper(|command| command),
        ];
        assert!(traces(vec![]).appear(Duration::ZERO));
        let ids = children.each_ref().map(Child::id);
        let found: Vec<u32> = traces(vec![]).find().into_keys().collect();
        let but_one: Vec<u32> = traces(vec![ids[0]]).find().into_keys().collect();
        let left = traces(vec![]).settle_within(Duration::ZERO).unwrap();
        let [first, second, third, fourth, mut other] = children;
        let until = Instant::now() + Duration::from_secs(20);
        for mut child in [first, second, third, fourth] {
            assert!(wait(&mut child, until).unwrap().is_some(), "{} was not killed", child.id());
        }
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(found, ids[..4]);
        assert_eq!(but_one, ids[1..4]);
        assert_eq!(left.len(), 4);
        assert!(left[0].starts_with(&format!("{} `sleep 600`", ids[0])), "{left:?}");
        assert!(traces(vec![]).settle().unwrap().is_empty());
    }
}
