//! [`World`]: environment, directories and terminals, read once when the program starts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_config::Environment;
use converse_ensemble::disclosure::Outward;
use converse_provider::rows;
use converse_session::storage::Storage;
use jiff::Timestamp;
use rustix::fs::Mode;
use rustix::process::umask;

use crate::failure::{Failure, Kind};

/// A snapshot of the process environment. Nothing below `main` asks the system again, except for the time.
#[derive(Debug, Clone)]
pub struct World {
    /// The command line with the program name first.
    pub words: Vec<OsString>,
    /// Variables whose names and values are UTF-8. Others cannot be named in configuration.
    pub env: BTreeMap<String, String>,
    /// The working directory, canonical if possible.
    pub cwd: PathBuf,
    /// The directory of the settings and of the user's ensembles, if it is not the default.
    pub config: Option<PathBuf>,
    /// The directory of records, tokens and caches, if it is not the default.
    pub data: Option<PathBuf>,
    /// Where sessions are kept, if not in files below the data directory.
    pub database: Option<Arc<dyn Storage>>,
    pub stdin: Input,
    pub stdout_tty: bool,
    pub stderr_tty: bool,
}

/// The type of standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Terminal,
    File,
    /// A pipe or a socket, which may or may not deliver data.
    Pipe,
    /// Closed, or a device such as `/dev/null`.
    Nothing,
}

impl World {
    /// Reads only the command line, which is available even if the rest is not.
    pub fn command_line() -> Vec<OsString> {
        std::env::args_os().collect()
    }

    /// Reads the environment. Also returns warnings for the user.
    #[allow(clippy::disallowed_methods, reason = "this is the one place that may")]
    pub fn snapshot() -> Result<(Self, Option<&'static str>), Failure> {
        let (env, warning) = variables(std::env::vars_os())?;
        let cwd = std::env::current_dir().map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => "it was removed".to_owned(),
                ErrorKind::PermissionDenied => "you may not read one of the directories above it".to_owned(),
                _ => error.to_string(),
            };
            let message = format!("the current directory cannot be used: {why}");
            Failure::usage("no-directory", message).hint("go to another one, for example: `cd ~`")
        })?;
        let world = Self {
            words: Self::command_line(),
            env,
            cwd: cwd.canonicalize().unwrap_or(cwd),
            config: None,
            data: None,
            database: None,
            stdin: input(),
            stdout_tty: std::io::stdout().is_terminal(),
            stderr_tty: std::io::stderr().is_terminal(),
        };
        Ok((world, warning))
    }

    /// Closes this process to other processes of the same user, and clears the secrets in its environment block. For a
    /// program of its own: a library leaves its process as it is.
    pub fn hide_secrets(&self) {
        converse_process::hide_from_others(|name, value| {
            self.env.contains_key(name) && converse_text::secrets::is_secret(name, value)
        });
    }

    /// Returns a variable that is set and not empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// `$XDG_CONFIG_HOME/converse`, or `~/.config/converse`; `None` without a home.
    pub fn config_dir(&self) -> Option<PathBuf> {
        self.config.clone().or_else(|| self.base_dir("XDG_CONFIG_HOME", ".config"))
    }

    /// `$XDG_DATA_HOME/converse`, or `~/.local/share/converse`; `None` without a home.
    pub fn data_dir(&self) -> Option<PathBuf> {
        self.data.clone().or_else(|| self.base_dir("XDG_DATA_HOME", ".local/share"))
    }

    /// `$XDG_STATE_HOME/converse`, or `~/.local/state/converse`; `None` without a home.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.data.clone().or_else(|| self.base_dir("XDG_STATE_HOME", ".local/state"))
    }

    /// `$XDG_CACHE_HOME/converse`, or `~/.cache/converse`; `None` without a home.
    pub fn cache_dir(&self) -> Option<PathBuf> {
        self.data.clone().or_else(|| self.base_dir("XDG_CACHE_HOME", ".cache"))
    }

    /// Returns the whole path of this program as it was started. A link to it stays, so that it leads to a later version.
    pub fn program(&self) -> PathBuf {
        let name = self.words.first().map_or(Path::new(""), Path::new);
        let started = match name.parent().is_some_and(|dir| dir.as_os_str().is_empty()) {
            true => {
                let mut dirs = self.env.get("PATH").map_or("", String::as_str).split(':');
                dirs.find_map(|dir| Some(self.cwd.join(dir).join(name)).filter(|file| file.is_file()))
            }
            false => Some(self.cwd.join(name)).filter(|file| file.is_file()),
        };
        let running = || Path::new("/proc/self/exe").canonicalize().ok();
        started.or_else(running).map_or_else(|| "converse".into(), |path| self.absolute(&path))
    }

    /// Returns the same world in another directory.
    ///
    /// # Errors
    ///
    /// There is no such directory.
    pub fn in_directory(&self, directory: &Path) -> Result<Self, Failure> {
        let found = self.cwd.join(directory).canonicalize().and_then(|path| path.read_dir().map(|_| path));
        let cwd = found.map_err(|error| {
            let text = format!("the directory `{}` cannot be used: {error}", directory.display());
            Failure::usage("no-directory", text)
        })?;
        Ok(Self { cwd, ..self.clone() })
    }

    /// Returns a path that means the same in every working directory. A link at its end stays.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        let whole = self.cwd.join(path);
        let found = match (whole.parent(), whole.file_name()) {
            (Some(parent), Some(name)) => parent.canonicalize().map(|parent| parent.join(name)),
            _ => whole.canonicalize(),
        };
        found.unwrap_or(whole)
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
    }

    /// Returns the base of the settings directory: `$XDG_CONFIG_HOME`, or the home directory.
    pub(crate) fn config_home(&self) -> Option<&Path> {
        let absolute = |name| self.var(name).map(Path::new).filter(|path| path.is_absolute());
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME"))
    }

    /// Relative values are ignored, as the XDG base directory specification requires.
    fn base_dir(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let absolute = |name: &str| self.var(name).map(Path::new).filter(|path| path.is_absolute());
        let base = absolute(variable).map(Path::to_path_buf);
        Some(base.or_else(|| absolute("HOME").map(|home| home.join(below_home)))?.join("converse"))
    }

    /// Returns the working directory if it can be a project: neither the root of the file system nor a directory that
    /// contains the user's home, where the user's programs are.
    pub fn project(&self) -> Option<&Path> {
        let home = self.home().map(|home| home.canonicalize().unwrap_or(home));
        let holds_home = home.is_some_and(|home| home.starts_with(&self.cwd));
        (!holds_home && self.cwd.parent().is_some()).then_some(&self.cwd)
    }

    /// Returns the root of the git repository that the working directory is in, else the working directory. A repository
    /// that contains the user's home is none.
    pub fn project_root(&self) -> Option<&Path> {
        let cwd = self.project()?;
        let home = self.home().map(|home| home.canonicalize().unwrap_or(home));
        let may_be = |dir: &&Path| !home.as_ref().is_some_and(|home| home.starts_with(dir));
        let mut dirs = cwd.ancestors().take_while(may_be);
        Some(dirs.find(|dir| dir.join(".git").exists()).unwrap_or(cwd))
    }

    /// Returns the variables that descriptors may refer to.
    pub fn environment(&self) -> Environment {
        Environment::new(self.env.clone())
    }

    /// Describes what ensembles would start and contact here.
    pub fn outward(&self) -> Outward<'_> {
        Outward::new(self.environment(), &self.cwd, self.project())
    }

    pub fn now() -> Timestamp {
        Timestamp::now()
    }

    /// Returns a number in [0, 1) that differs between runs: good enough for jitter, useless for secrets.
    pub fn dice() -> f64 {
        f64::from(seed() >> 8) / f64::from(1u32 << 24)
    }

    /// Returns bytes that differ between runs, for session ids.
    pub fn random_bytes() -> [u8; 10] {
        let mut seeds = [seed(), seed(), seed()].into_iter().flat_map(u32::to_le_bytes);
        std::array::from_fn(|_| seeds.next().unwrap_or_default())
    }
}

/// Gives the owner full rights to files that converse creates: a mask without them would create directories that the
/// owner cannot enter. The mask still applies to other users.
pub fn own_what_is_made() {
    let mask = umask(Mode::RWXG | Mode::RWXO);
    umask(mask.difference(Mode::RWXU));
}

const ODD_PATH: &str = "warning: entries of PATH that are not UTF-8 are ignored";

/// Checks variables that decide permissions or paths. One that is not UTF-8 must not count as unset, because rules
/// would be missing silently. Of `PATH`, the readable entries are used.
fn variables(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> Result<(BTreeMap<String, String>, Option<&'static str>), Failure> {
    let (mut env, mut warning) = (BTreeMap::new(), None);
    for (name, value) in all {
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => drop(env.insert(name, value)),
            Err(value) if name == "PATH" => {
                let entries = value.as_bytes().split(|byte| *byte == b':');
                let readable: Vec<_> = entries.filter_map(|entry| str::from_utf8(entry).ok()).collect();
                env.insert(name, readable.join(":"));
                warning = Some(ODD_PATH);
            }
            Err(_) if is_heeded(&name) => {
                let message = format!("the variable `{name}` is not UTF-8");
                return Err(Failure::new(Kind::Configuration, "not-utf8", message)
                    .hint(format!("set the variable again, or run without it: `env -u {name} converse …`")));
            }
            Err(_) => {}
        }
    }
    Ok((env, warning))
}

/// Variables about appearance (`TERM`, `LANG`, `NO_COLOR` …) and variables that descriptors name are not included.
fn is_heeded(name: &str) -> bool {
    const PLACES: [&str; 6] =
        ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR"];
    const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
    let of_a_provider =
        || rows().iter().any(|row| row.base_url_env.contains(&name) || row.key_env.contains(&name));
    PLACES.contains(&name)
        || PROXIES.contains(&name.to_ascii_uppercase().as_str())
        || ["CONVERSE_", "OTEL_"].iter().any(|ours| name.starts_with(ours))
        || of_a_provider()
}

/// The standard library seeds its hash maps from the system's random source; a hash of nothing yields random bits.
fn seed() -> u32 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish() as u32
}

fn input() -> Input {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Input::Terminal;
    }
    let metadata = stdin.as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
    match metadata.map(|metadata| metadata.file_type()) {
        Ok(kind) if kind.is_file() => Input::File,
        Ok(kind) if kind.is_fifo() || kind.is_socket() => Input::Pipe,
        _ => Input::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(env: &[(&str, &str)]) -> World {
        let env = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        World {
            words: vec![],
            env,
            cwd: "/".into(),
            config: None,
            data: None,
            database: None,
            stdin: Input::Nothing,
            stdout_tty: false,
            stderr_tty: false,
        }
    }

    #[test]
    fn directories_follow_xdg() {
        let home = world(&[("HOME", "/h"), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(home.config_dir(), Some("/h/.config/converse".into()));
        assert_eq!(home.data_dir(), Some("/h/.local/share/converse".into()));
        assert_eq!(home.state_dir(), Some("/h/.local/state/converse".into()));
        assert_eq!(home.cache_dir(), Some("/h/.cache/converse".into()));
        let xdg = world(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")]);
        assert_eq!(xdg.config_dir(), Some("/c/converse".into()));
        assert_eq!(world(&[("HOME", "")]).config_dir(), None);
    }

    #[test]
    fn a_project_is_its_repository_unless_that_holds_the_home() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (home, inner) = (dir.join("home"), dir.join("home/repo/a/b"));
        std::fs::create_dir_all(&inner).unwrap();
        let at = |cwd: &Path| World { cwd: cwd.into(), ..world(&[("HOME", home.to_str().unwrap())]) };
        let root = |cwd: &Path| at(cwd).project_root().map(Path::to_path_buf);
        // As those who keep their settings in a repository have it.
        std::fs::create_dir(home.join(".git")).unwrap();
        assert_eq!(root(&inner), Some(inner.clone()));
        // A work tree of git has a file.
        std::fs::write(home.join("repo/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(root(&inner), Some(home.join("repo")));
        assert_eq!(root(&home.join("repo")), Some(home.join("repo")));
        assert_eq!(root(&home), None);
    }

    #[test]
    fn the_home_and_what_it_is_in_are_no_project() {
        let at = |cwd: &str| World { cwd: cwd.into(), ..world(&[("HOME", "/no/home")]) }.project().is_some();
        assert_eq!(
            ["/", "/no", "/no/home", "/no/home/x", "/no/hom"].map(at),
            [false, false, false, true, true]
        );
        assert!(world(&[]).project().is_none());
    }

    #[test]
    fn what_is_heeded_is_read_or_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = |name: &str, value: &[u8]| {
            let odd = (OsString::from(name), OsString::from_vec(value.to_vec()));
            variables([odd, ("SHELL".into(), "/bin/sh".into())].into_iter())
        };
        for name in ["HOME", "XDG_CONFIG_HOME", "CONVERSE_MODEL", "OPENAI_API_KEY", "https_proxy"] {
            let failure = odd(name, b"/x\xff").unwrap_err();
            assert_eq!((failure.kind, failure.code), (Kind::Configuration, "not-utf8"));
            assert!(failure.message.contains(&format!("`{name}`")), "{}", failure.message);
            assert_eq!(odd(name, "/ü".as_bytes()).unwrap().0[name], "/ü");
        }
        let (env, warning) = odd("LESS", b"\xff").unwrap();
        assert_eq!((env.keys().map(String::as_str).collect::<Vec<_>>(), warning), (vec!["SHELL"], None));
        let (env, warning) = odd("PATH", b"/home/jos\xe9/bin:/bin::/usr/bin").unwrap();
        assert_eq!((env["PATH"].as_str(), warning), ("/bin::/usr/bin", Some(ODD_PATH)));
    }

    #[test]
    fn the_dice_stay_in_range() {
        assert!((0..1000).all(|_| (0.0..1.0).contains(&World::dice())));
        assert_ne!(World::random_bytes(), World::random_bytes());
    }
}
