//! A PostgreSQL server of the tests' own, in a temporary directory, reached through a socket in it.
//!
//! Debian's package `postgresql-15` has the programs. A test that needs them fails without them.

mod proxy;

use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

pub use proxy::{Cut, Proxy};

/// The user of the database, who may do everything.
pub const USER: &str = "converse";

/// A running server, stopped when dropped.
#[derive(Debug)]
pub struct PostgresServer {
    dir: TempDir,
    programs: PathBuf,
    /// User and group of the server, which refuses to run as root.
    owner: Option<(u32, u32)>,
    databases: AtomicU32,
    /// Of the socket, and on `localhost` if the server listens there.
    port: u16,
    options: String,
}

/// The port of servers, which is also in the name of the socket.
const PORT: u16 = 5432;
/// Another program may take a port that was free.
const TRIES: u32 = 5;

impl PostgresServer {
    /// Starts a server without databases of its own.
    ///
    /// # Errors
    ///
    /// The programs are not installed, or the server does not start.
    pub fn start() -> io::Result<Self> {
        let server = Self::prepared()?;
        server.resume()?;
        Ok(server)
    }

    /// Starts a server that also listens on `localhost`, with TLS. Both files are PEM.
    ///
    /// # Errors
    ///
    /// Those of [`PostgresServer::start`].
    pub fn start_with_tls(certificate: &Path, key: &Path) -> io::Result<Self> {
        let server = Self::prepared()?;
        for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
            let path = server.dir.path().join("data").join(name);
            std::fs::copy(from, &path)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
            if let Some((user, group)) = server.owner {
                chown(&path, Some(user), Some(group))?;
            }
        }
        server.listens("on")
    }

    /// Starts a server that also listens on `localhost`, without TLS.
    ///
    /// # Errors
    ///
    /// Those of [`PostgresServer::start`].
    pub fn start_without_tls() -> io::Result<Self> {
        Self::prepared()?.listens("off")
    }

    /// Returns the port on `localhost`.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn listens(mut self, tls: &str) -> io::Result<Self> {
        let mut left = TRIES;
        loop {
            self.port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            self.options = format!("-c ssl={tls} -c listen_addresses=localhost -c port={}", self.port);
            left -= 1;
            match self.resume() {
                Err(_) if left > 0 => {}
                resumed => return resumed.map(|()| self),
            }
        }
    }

    /// Creates what a server needs.
    fn prepared() -> io::Result<Self> {
        let programs = programs()?;
        let owner = if rustix::process::geteuid().is_root() { Some(postgres_user()?) } else { None };
        // The path of a socket has at most 107 bytes.
        let dir = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp")?;
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))?;
        for name in ["data", "socket"] {
            let path = dir.path().join(name);
            std::fs::create_dir(&path)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))?;
            if let Some((user, group)) = owner {
                chown(&path, Some(user), Some(group))?;
            }
        }
        let (databases, options) = (AtomicU32::new(0), "-c listen_addresses=".to_owned());
        let server = Self { dir, programs, owner, databases, port: PORT, options };
        let data = server.data();
        server.run("initdb", &["--auth=trust", "--no-sync", "--encoding=UTF8", "-U", USER, "-D", &data])?;
        Ok(server)
    }

    /// Creates an empty database and returns its URL.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub fn database(&self) -> io::Result<String> {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        Ok(format!("postgres://{USER}@/{name}?host={}", self.socket()))
    }

    /// Runs a statement with `psql` and returns what it prints: a row a line, columns divided by `|`.
    ///
    /// # Errors
    ///
    /// The statement fails.
    pub fn sql(&self, database: &str, sql: &str) -> io::Result<String> {
        let (socket, port) = (self.socket(), self.port.to_string());
        let out = self.run(
            "psql",
            &[
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-h",
                &socket,
                "-p",
                &port,
                "-U",
                USER,
                "-d",
                database,
                "-c",
                sql,
            ],
        )?;
        Ok(String::from_utf8_lossy(&out.stdout).trim_end().to_owned())
    }

    /// Ends the server as a crash does: nothing that is only in memory is written.
    ///
    /// # Errors
    ///
    /// The server does not run.
    pub fn crash(&self) -> io::Result<()> {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]).map(drop)
    }

    /// Starts the server again.
    ///
    /// # Errors
    ///
    /// The server does not start.
    pub fn resume(&self) -> io::Result<()> {
        let options = format!("{} -c unix_socket_directories={} -c fsync=off", self.options, self.socket());
        let log = format!("{}/log", self.data());
        let data = self.data();
        self.run("pg_ctl", &["-D", &data, "-l", &log, "-w", "-t", "60", "-o", &options, "start"]).map(drop)
    }

    fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    /// Returns the directory of the socket.
    pub fn socket(&self) -> String {
        self.dir.path().join("socket").display().to_string()
    }

    fn run(&self, program: &str, args: &[&str]) -> io::Result<Output> {
        let mut command = Command::new(self.programs.join(program));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null()).env("LC_ALL", "C");
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        // The server inherits these and would keep a pipe open.
        if program == "pg_ctl" {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        let output = command.output()?;
        match output.status.success() {
            true => Ok(output),
            false => Err(io::Error::other(format!(
                "{program} failed ({}): {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ))),
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let _ = self.crash();
    }
}

/// Returns the directory of the server's programs.
fn programs() -> io::Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    found.retain(|dir| dir.join("initdb").exists());
    found.sort_unstable();
    found.pop().ok_or_else(|| {
        io::Error::other(
            "this test needs PostgreSQL's server in /usr/lib/postgresql: apt-get install postgresql",
        )
    })
}

/// Returns user and group of `postgres`.
fn postgres_user() -> io::Result<(u32, u32)> {
    let users = std::fs::read_to_string(Path::new("/etc/passwd"))?;
    let ids = users.lines().find_map(|line| {
        let mut fields = line.strip_prefix("postgres:")?.split(':').skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    });
    ids.ok_or_else(|| io::Error::other("there is no user `postgres`: apt-get install postgresql"))
}
