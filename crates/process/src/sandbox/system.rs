//! What every program needs to start: code, libraries, the system's settings. To read and execute; nothing of it can be
//! changed but by writing into the void.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Those that exist are open whole.
const DIRECTORIES: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
];
/// Itself, and what everybody asks of a machine. Not all of `/proc`: it shows the command lines of other programs.
const PROC: [&str; 12] = [
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/fs",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/uptime",
    "/proc/version",
    "/proc/vmstat",
];
const DEVICES: [&str; 2] = ["/dev/random", "/dev/urandom"];
/// To write to as well.
pub(crate) const VOID: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];
/// What the names of hosts are looked up with; often links out of `/etc`.
const NAMES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];
const SETTINGS: &str = "/etc";
/// How deep a directory is searched for private content.
const DEPTH: u8 = 6;
/// More entries of `/etc` than this are not looked at, and so stay shut.
const MOST: usize = 20_000;

/// Files and directories that exist here and that every program in a sandbox may read and execute.
pub fn system() -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = DIRECTORIES.iter().chain(&PROC).chain(&DEVICES).map(PathBuf::from).collect();
    open.extend(NAMES.iter().filter_map(|name| fs::canonicalize(name).ok()));
    open.retain(|path| path.exists());
    let mut look = Look { open, left: MOST };
    look.public(Path::new(SETTINGS), DEPTH);
    look.open
}

/// Returns whether the path is in a directory that every program in the sandbox can read as a whole, so that a program
/// there finds its libraries.
pub fn is_open_to_all(path: &Path) -> bool {
    DIRECTORIES.iter().any(|directory| path.starts_with(directory))
}

struct Look {
    open: Vec<PathBuf>,
    left: usize,
}

impl Look {
    /// What everybody may read below a directory: all of it at once, or piece by piece where something is secret. For
    /// root's sake, who could read that too. Links are passed over: what they lead to must be open by itself.
    fn public(&mut self, directory: &Path, depth: u8) -> bool {
        let mark = self.open.len();
        let mut all = depth > 0;
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            self.left = self.left.saturating_sub(1);
            let Ok(metadata) = entry.metadata() else { continue };
            let path = entry.path();
            let public = self.left > 0
                && match metadata.file_type() {
                    kind if kind.is_symlink() => continue,
                    kind if kind.is_dir() => {
                        is_public(metadata.mode(), 0o005) && depth > 0 && self.public(&path, depth - 1)
                    }
                    _ if is_public(metadata.mode(), 0o004) => {
                        self.open.push(path);
                        true
                    }
                    _ => false,
                };
            all &= public;
        }
        if all {
            self.open.truncate(mark);
            self.open.push(directory.to_owned());
        }
        all
    }
}

fn is_public(mode: u32, wanted: u32) -> bool {
    mode & wanted == wanted
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_not_for_everybody_stays_shut_and_its_neighbours_open() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("etc");
        for dir in ["plain", "mixed/deep", "closed"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        for (file, mode) in [
            ("plain/a", 0o644),
            ("plain/b", 0o444),
            ("mixed/open", 0o644),
            ("mixed/deep/open", 0o644),
            ("mixed/key", 0o600),
            ("closed/open", 0o644),
            ("shadow", 0o640),
            ("passwd", 0o644),
        ] {
            fs::write(root.join(file), file).unwrap();
            fs::set_permissions(root.join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink("../elsewhere", root.join("plain/link")).unwrap();
        let mut look = Look { open: Vec::new(), left: MOST };
        assert!(!look.public(&root, DEPTH));
        look.open.sort();
        let expected = ["mixed/deep", "mixed/open", "passwd", "plain"].map(|path| root.join(path));
        assert_eq!(look.open, expected);

        let mut hurried = Look { open: Vec::new(), left: 2 };
        assert!(!hurried.public(&root.join("plain"), DEPTH), "what was not looked at is not open");
    }

    #[test]
    fn what_a_program_needs_is_there() {
        let open = system();
        assert!(open.iter().all(|path| path.is_absolute() && path.exists()));
        assert!(open.contains(&PathBuf::from("/usr")) && open.contains(&PathBuf::from("/proc/self")));
        assert!(!open.iter().any(|path| path.starts_with("/etc/shadow") || path == Path::new("/")));
    }
}
