//! Where the database is: `postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::passfile;

/// How far the server's certificate is checked, as libpq names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verify {
    /// Encrypted at most (`disable`, `prefer`, `require`).
    Nothing,
    /// `verify-ca`: by a known authority, for any host.
    Authority,
    /// `verify-full`: by a known authority, for this host.
    Host,
}

/// The address of a database, and how to connect to it. Its `Debug` has no password.
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) verify: Verify,
    /// Certificates of authorities in PEM; the system's if `None`.
    pub(crate) roots: Option<PathBuf>,
    label: String,
}

/// What was sent may be so long without an acknowledgement, before the connection counts as broken.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// Why an address cannot be used. Shows no part of it that may be a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("expected a URL such as `postgres://USER@HOST/DATABASE`")]
    NoUrl,
    #[error("the URL has a password, which others could read where the URL is kept")]
    Password,
    #[error("`sslmode`: expected `disable`, `prefer`, `require`, `verify-ca` or `verify-full`, found `{0}`")]
    SslMode(String),
    #[error("the URL names no database: `postgres://USER@HOST/DATABASE`")]
    NoDatabase,
    /// The name that a certificate and a password are for would not be that of the server.
    #[error("`hostaddr` is not supported: name the server by `host`")]
    HostAddress,
    #[error("the URL cannot be read: {0}")]
    Invalid(String),
}

impl Address {
    /// Reads a URL without accessing anything. `user` is used if it names none.
    ///
    /// # Errors
    ///
    /// See [`AddressError`].
    pub fn parse(url: &str, user: Option<&str>) -> Result<Self, AddressError> {
        let is_ours = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
        if !is_ours {
            return Err(AddressError::NoUrl);
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            match key {
                "sslmode" => mode = Some(value()),
                "sslrootcert" => roots = Some(value()).filter(|path| path != "system").map(PathBuf::from),
                "password" => return Err(AddressError::Password),
                _ => rest.push(pair),
            }
        }
        let (ssl, verify) = match mode.as_deref() {
            Some("disable") => (SslMode::Disable, Verify::Nothing),
            None | Some("prefer" | "allow") => (SslMode::Prefer, Verify::Nothing),
            // As libpq: with authorities, their signature is required.
            Some("require") if roots.is_some() => (SslMode::Require, Verify::Authority),
            Some("require") => (SslMode::Require, Verify::Nothing),
            Some("verify-ca") => (SslMode::Require, Verify::Authority),
            Some("verify-full") => (SslMode::Require, Verify::Host),
            Some(other) => return Err(AddressError::SslMode(other.to_owned())),
        };
        let rest = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config = Config::from_str(&rest).map_err(|error| AddressError::Invalid(reason(&error)))?;
        if config.get_password().is_some() {
            return Err(AddressError::Password);
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(AddressError::NoDatabase);
        }
        if config.get_user().is_none()
            && let Some(user) = user
        {
            config.user(user);
        }
        if !config.get_hostaddrs().is_empty() {
            return Err(AddressError::HostAddress);
        }
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNACKNOWLEDGED);
        }
        if config.get_application_name().is_none() {
            config.application_name("converse");
        }
        // As libpq: a socket of this machine needs no encryption.
        let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        config.ssl_mode(if is_local { SslMode::Disable } else { ssl });
        let label = label(&config);
        Ok(Self { config, verify, roots, label })
    }

    /// Uses this password.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        self.config.password(password);
        self
    }

    /// Uses the password of a password file in the form of libpq, if it has a line for this address. Several hosts must have the
    /// same password.
    #[must_use]
    pub fn with_passfile(self, text: &str) -> Self {
        let user = self.config.get_user().unwrap_or_default().to_owned();
        let database = self.config.get_dbname().unwrap_or_default().to_owned();
        let ports = self.config.get_ports().to_vec();
        let mut found = self.config.get_hosts().iter().enumerate().map(|(at, host)| {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(DEFAULT_PORT);
            passfile::password(text, &host_name(host), port, &database, &user)
        });
        let first = found.next().flatten();
        match first.filter(|first| found.all(|other| other.as_ref() == Some(first))) {
            Some(password) => self.with_password(&password),
            None => self,
        }
    }

    /// Returns whether a password is known.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Returns the directory of the sessions in messages.
    pub(crate) fn label(&self) -> &Path {
        Path::new(&self.label)
    }
}

/// Without user and password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

const DEFAULT_PORT: u16 = 5432;

fn label(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(DEFAULT_PORT);
        match host {
            Host::Tcp(name) if port == DEFAULT_PORT => name.clone(),
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(path) => format!("{}:{port}", path.display()),
        }
    });
    format!("postgres://{}/{}", hosts.collect::<Vec<_>>().join(","), config.get_dbname().unwrap_or_default())
}

/// As a password file names it: a socket in the default directory is `localhost`.
fn host_name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) if path == Path::new("/var/run/postgresql") => "localhost".to_owned(),
        Host::Unix(path) => path.display().to_string(),
    }
}

/// Returns the cause without the value that was found, which may be a secret.
fn reason(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.unwrap_or_else(|| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_user() {
        for (url, label) in [
            ("postgres://me@db.example/converse", "postgres://db.example/converse"),
            ("postgresql://db.example:6000/a?sslmode=verify-full", "postgres://db.example:6000/a"),
            ("postgres:///a?host=/tmp/x", "postgres:///tmp/x:5432/a"),
            ("postgres:///a", "postgres://localhost/a"),
        ] {
            let address = Address::parse(url, Some("u")).unwrap();
            assert_eq!(address.to_string(), label);
            assert_eq!(format!("{address:?}"), format!("Address({label})"));
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_showing_it() {
        for (url, problem) in [
            ("mysql://h/d", AddressError::NoUrl),
            ("postgres://u:canary@h/d", AddressError::Password),
            ("postgres://u@h/d?password=canary", AddressError::Password),
            ("postgres://u@h", AddressError::NoDatabase),
            ("postgres:///d?host=/tmp/x&hostaddr=192.0.2.1&sslmode=verify-full", AddressError::HostAddress),
            ("postgres://u@h/d?sslmode=full", AddressError::SslMode("full".to_owned())),
        ] {
            let error = Address::parse(url, None).unwrap_err();
            assert!(!error.to_string().contains("canary"), "{error}");
            assert_eq!(error, problem, "{url}");
        }
        let error = Address::parse("postgres://u@h/d?connect_timeout=canary", None).unwrap_err();
        assert!(matches!(&error, AddressError::Invalid(why) if !why.contains("canary")), "{error}");
    }

    #[test]
    fn sslmode_means_what_libpq_says() {
        for (query, ssl, verify) in [
            ("", SslMode::Prefer, Verify::Nothing),
            ("?sslmode=disable", SslMode::Disable, Verify::Nothing),
            ("?sslmode=require", SslMode::Require, Verify::Nothing),
            ("?sslmode=require&sslrootcert=/ca.pem", SslMode::Require, Verify::Authority),
            ("?sslmode=verify-ca", SslMode::Require, Verify::Authority),
            ("?sslmode=verify-full&sslrootcert=system", SslMode::Require, Verify::Host),
        ] {
            let address = Address::parse(&format!("postgres://h/d{query}"), None).unwrap();
            assert_eq!((address.config.get_ssl_mode(), address.verify), (ssl, verify), "{query}");
        }
        let socket = Address::parse("postgres:///d?host=/tmp/x&sslmode=verify-full", None).unwrap();
        assert_eq!(socket.config.get_ssl_mode(), SslMode::Disable);
    }

    #[test]
    fn a_password_comes_from_the_first_line_that_fits() {
        let address = Address::parse("postgres://me@db/app", None).unwrap();
        let with = address.with_passfile("other:*:*:*:no\ndb:5432:app:me:s\\:e\n*:*:*:*:late\n");
        assert_eq!(with.config.get_password(), Some(&b"s:e"[..]));
        assert!(with.has_password() && !format!("{with:?}").contains("s:e"));
        // A password goes to no host that it is not for.
        for (lines, is_sent) in [
            ("a:*:*:*:one\nb:*:*:*:one\n", true),
            ("a:*:*:*:one\nb:*:*:*:two\n", false),
            ("b:*:*:*:one\n", false),
        ] {
            let address = Address::parse("postgres://me@a,b/app", None).unwrap();
            assert_eq!(address.with_passfile(lines).has_password(), is_sent, "{lines}");
        }
    }
}
