//! `converse serve --http`, a server behind it and a load before it: what `bench --only serve` starts.
//! Each ends with the value that stands for it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;

/// The tool as the stub has it, and as the gateway shows it.
pub(crate) const TOOL: &str = "note";
pub(crate) const SERVED: &str = "noted__note";

/// What starts or ends later is stuck.
const LIMIT: Duration = Duration::from_secs(60);

/// A child that is killed when nobody wants it any more.
#[derive(Debug)]
pub(crate) struct ChildGuard(pub(crate) Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl ChildGuard {
    /// Its exit code; an error if it goes on.
    pub(crate) fn ended(&mut self, within: Duration) -> Result<Option<i32>> {
        let end = Instant::now() + within;
        loop {
            match self.0.try_wait()? {
                Some(status) => return Ok(status.code()),
                None if Instant::now() > end => return Err("a program did not end in time".into()),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// User and system time so far, and resident bytes: of Linux.
    pub(crate) fn usage(&self) -> Result<(Duration, u64)> {
        let of = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", self.0.id()));
        let stat = of("stat")?;
        let (_, fields) = stat.rsplit_once(')').ok_or("an odd /proc/PID/stat")?;
        // Of the whole file the 14th and 15th, in hundredths of a second.
        let ticks: u64 =
            fields.split(' ').skip(12).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        let status = of("status")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let kibibytes: u64 = resident.trim().trim_end_matches(" kB").parse()?;
        Ok((Duration::from_millis(10 * ticks), 1024 * kibibytes))
    }
}

/// The server behind the gateway; it remembers what it was asked.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    pub(crate) held: ChildGuard,
    // It ends with its input.
    _stdin: Option<ChildStdin>,
}

impl Upstream {
    pub(crate) fn start(program: &Path, delay: Duration) -> Result<Self> {
        let delay = delay.as_secs_f64().to_string();
        let command = Command::new(program)
            .args(["--delay", &delay])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut held = ChildGuard(command?);
        let stdin = held.0.stdin.take();
        let mut line = String::new();
        BufReader::new(held.0.stdout.take().ok_or("no pipe")?).read_line(&mut line)?;
        Ok(Self { address: line.trim().parse()?, held, _stdin: stdin })
    }
}

/// What a gateway is started with.
#[derive(Debug)]
pub(crate) struct Plan {
    binary: PathBuf,
    dir: PathBuf,
}

impl Plan {
    /// An ensemble of that server, and a home for those that serve it.
    pub(crate) fn new(binary: &Path, dir: &Path, upstream: &Upstream) -> Result<Self> {
        let text = format!(
            "[ensemble]\nname = \"noted\"\ndescription = \"Notes numbers\"\n\n\
             [connection]\ntransport = \"http\"\nurl = \"http://{}/mcp\"\n",
            upstream.address
        );
        std::fs::create_dir_all(dir.join("ensembles"))?;
        std::fs::write(dir.join("ensembles/noted.toml"), text)?;
        Ok(Self { binary: binary.to_path_buf(), dir: dir.to_path_buf() })
    }

    /// A gateway that answers. Its stderr is `NAME.log`.
    pub(crate) fn serve(&self, name: &str, at: SocketAddr) -> Result<ChildGuard> {
        let log = self.dir.join(format!("{name}.log"));
        let words = [
            "serve",
            "--http",
            &at.to_string(),
            "--no-auth",
            "-e",
            "noted",
            "--allow",
            "noted.note",
            "--ensembles",
        ];
        let command = Command::new(&self.binary)
            .args(words)
            .arg(self.dir.join("ensembles"))
            .env_clear()
            .env("HOME", self.dir.join(name))
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn();
        let mut held = ChildGuard(command?);
        let end = Instant::now() + LIMIT;
        while !is_healthy(at)? {
            if held.0.try_wait()?.is_some() || Instant::now() > end {
                return Err(format!("it does not serve: {}", std::fs::read_to_string(&log)?).into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(held)
    }
}

/// What a load came to.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) reasons: String,
    pub(crate) seconds: f64,
    /// In milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

/// Calls, from many clients at once.
#[derive(Debug)]
pub(crate) struct Load(ChildGuard);

impl Load {
    /// Numbers from `from` on: those of two loads must differ.
    pub(crate) fn start(
        program: &Path,
        at: SocketAddr,
        tool: &str,
        clients: u32,
        time: Duration,
        from: u64,
    ) -> Result<Self> {
        let [clients, time, from] = [clients.to_string(), time.as_secs_f64().to_string(), from.to_string()];
        let words = [&at.to_string(), tool, "--clients", &clients, "--seconds", &time, "--from", &from];
        Ok(Self(ChildGuard(
            Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?,
        )))
    }

    pub(crate) fn loaded(mut self, within: Duration) -> Result<Loaded> {
        self.0.ended(within)?;
        let mut text = String::new();
        self.0.0.stdout.take().ok_or("no pipe")?.read_to_string(&mut text)?;
        let value: Value =
            serde_json::from_str(&text).map_err(|_| "the load said nothing: see its errors above")?;
        let number = |name: &str| value[name].as_f64().ok_or("no such figure");
        Ok(Loaded {
            answered: value["answered"].as_u64().unwrap_or_default(),
            failed: value["failed"].as_u64().unwrap_or(u64::MAX),
            reasons: value["reasons"].to_string(),
            seconds: number("seconds")?,
            p50: number("p50_us")? / 1000.0,
            p99: number("p99_us")? / 1000.0,
        })
    }
}

/// An address that is free now.
pub(crate) fn free() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

fn is_healthy(at: SocketAddr) -> Result<bool> {
    let url = format!("http://{at}/healthz");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--fail", "--noproxy", "*", "--max-time", "5", &url]);
    Ok(curl.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
}
