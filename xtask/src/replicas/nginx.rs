//! nginx, before two gateways.

use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::serving::{Held, free};

const STARTING: Duration = Duration::from_secs(10);

/// One that runs, before two gateways.
pub(super) struct Nginx {
    pub(super) at: SocketAddr,
    log: PathBuf,
    _held: Held,
}

impl Nginx {
    pub(super) fn start(program: &Path, dir: &Path, behind: [SocketAddr; 2]) -> Result<Self> {
        let (at, config, log) = (free()?, dir.join("nginx.conf"), dir.join("nginx.log"));
        std::fs::write(&config, configuration(at, dir, behind))?;
        let command = Command::new(program)
            .arg("-c")
            .arg(&config)
            .arg("-p")
            .arg(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn();
        let held = Held(command?);
        let end = Instant::now() + STARTING;
        while TcpStream::connect(at).is_err() {
            if Instant::now() > end {
                return Err(format!("nginx does not start: {}", std::fs::read_to_string(&log)?).into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { at, log, _held: held })
    }

    /// The last of what it complained about.
    pub(super) fn errors(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(10)..).unwrap_or_default().join("\n")
    }
}

/// The middle is what `docs/guides/gateway.md` shows.
fn configuration(at: SocketAddr, dir: &Path, [one, two]: [SocketAddr; 2]) -> String {
    let dir = dir.display();
    format!(
        "daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;

    upstream converse {{
        server {one} max_fails=0;
        server {two} max_fails=0;
    }}
    server {{
        listen {at};
        location / {{
            proxy_pass http://converse;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_next_upstream error timeout;
            proxy_connect_timeout 3s;
            proxy_read_timeout 1h;
            proxy_buffering off;
        }}
    }}
}}
"
    )
}
