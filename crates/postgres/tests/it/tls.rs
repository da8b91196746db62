//! TLS with a certificate authority of the tests' own, which `openssl` makes: Debian's server depends on it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use converse_postgres::Postgres;
use converse_session::storage::Storage;
use converse_testkit::postgres::{PostgresServer, USER};
use tempfile::TempDir;

use crate::place::{address, store};

/// A certificate with its key.
struct Certificate {
    pem: PathBuf,
    key: PathBuf,
}

fn openssl(dir: &Path, words: &str) {
    let out = Command::new("openssl").args(words.split(' ')).current_dir(dir).output().unwrap();
    assert!(out.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&out.stderr));
}

const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

fn authority(dir: &Path, name: &str) -> Certificate {
    let made = "distinguished_name = d\nx509_extensions = x\n[d]\n[x]\nbasicConstraints = critical,CA:TRUE\n";
    std::fs::write(dir.join("authority.cnf"), format!("[req]\n{made}")).unwrap();
    let subject = format!("-subj /CN={name} -config authority.cnf -days 2");
    openssl(dir, &format!("req -x509 {NEW_KEY} -keyout {name}.key -out {name}.pem {subject}"));
    Certificate { pem: dir.join(format!("{name}.pem")), key: dir.join(format!("{name}.key")) }
}

/// A certificate for this host, signed by that authority, for so many days.
fn leaf(dir: &Path, authority: &Certificate, host: &str, days: i32) -> Certificate {
    let [pem, key] = ["pem", "key"].map(|kind| dir.join(format!("of-{host}-{days}.{kind}")));
    std::fs::write(dir.join("leaf.cnf"), format!("basicConstraints = CA:FALSE\nsubjectAltName = {host}\n"))
        .unwrap();
    let config = "-subj /CN=server -config authority.cnf";
    openssl(dir, &format!("req {NEW_KEY} -keyout {} -out leaf.csr {config}", key.display()));
    let signed = format!("-CA {} -CAkey {}", authority.pem.display(), authority.key.display());
    let options = format!("-CAcreateserial -days {days} -extfile leaf.cnf -out {}", pem.display());
    openssl(dir, &format!("x509 -req -in leaf.csr {signed} {options}"));
    Certificate { pem, key }
}

struct Place {
    dir: TempDir,
    ours: Certificate,
    other: Certificate,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let [ours, other] = ["ours", "other"].map(|name| authority(dir.path(), name));
        Self { dir, ours, other }
    }

    /// A server with a certificate of our authority.
    fn server(&self, host: &str, days: i32) -> PostgresServer {
        let leaf = leaf(self.dir.path(), &self.ours, host, days);
        PostgresServer::start_with_tls(&leaf.pem, &leaf.key).unwrap_or_else(|error| panic!("{error}"))
    }
}

const TLS: &str = "TLSv1.3";
const PLAIN: &str = "not encrypted";

/// Connects. Returns how the server says that the connection is encrypted, or why there is none.
fn connected(server: &PostgresServer, host: &str, query: &str) -> Result<String, String> {
    let port = server.port();
    let url = format!("postgres://{USER}@{host}:{port}/postgres?{query}&application_name=tls");
    let storage: Arc<dyn Storage> = Arc::new(Postgres::new(address(&url)));
    store(&storage).reach().map_err(|error| error.to_string())?;
    let sql = format!(
        "SELECT coalesce(version, '{PLAIN}') FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE application_name = 'tls'"
    );
    Ok(server.sql("postgres", &sql).unwrap())
}

/// Waits until the server has no connection of an earlier case.
fn settled(server: &PostgresServer) {
    let sql =
        "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE application_name = 'tls'";
    server.sql("postgres", sql).unwrap();
}

#[test]
fn sslmode_decides_what_a_certificate_must_be() {
    let place = Place::new();
    let server = place.server("DNS:localhost", 2);
    let [ours, other] = [&place.ours, &place.other].map(|one| format!("sslrootcert={}", one.pem.display()));
    let unknown = "UnknownIssuer";
    let cases: [(&str, String, Result<&str, &str>); 15] = [
        ("localhost", "sslmode=disable".to_owned(), Ok(PLAIN)),
        ("localhost", "sslmode=prefer".to_owned(), Ok(TLS)),
        ("localhost", format!("sslmode=prefer&{other}"), Ok(TLS)),
        ("localhost", "sslmode=require".to_owned(), Ok(TLS)),
        ("127.0.0.1", "sslmode=require".to_owned(), Ok(TLS)),
        ("localhost", format!("sslmode=require&{ours}"), Ok(TLS)),
        ("localhost", format!("sslmode=require&{other}"), Err(unknown)),
        ("127.0.0.1", format!("sslmode=verify-ca&{ours}"), Ok(TLS)),
        ("localhost", format!("sslmode=verify-ca&{other}"), Err(unknown)),
        ("localhost", format!("sslmode=verify-full&{ours}"), Ok(TLS)),
        ("127.0.0.1", format!("sslmode=verify-full&{ours}"), Err("not valid for name \"127.0.0.1\"")),
        ("localhost", format!("sslmode=verify-full&{other}"), Err(unknown)),
        // Those of the system do not know the server.
        ("localhost", "sslmode=verify-full".to_owned(), Err("")),
        ("localhost", "sslmode=verify-full&sslrootcert=system".to_owned(), Err("")),
        ("localhost", "sslmode=verify-full&sslrootcert=/nowhere.pem".to_owned(), Err("`/nowhere.pem`")),
    ];
    for (host, query, expected) in cases {
        let found = connected(&server, host, &query);
        settled(&server);
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{host} {query}"),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{host} {query}: {found}"),
            _ => panic!("{host} {query}: {found:?}"),
        }
    }
}

#[test]
fn a_certificate_that_is_over_is_refused_where_it_is_checked() {
    let place = Place::new();
    let server = place.server("DNS:localhost", -1);
    let ours = format!("sslrootcert={}", place.ours.pem.display());
    for mode in ["verify-ca", "verify-full"] {
        let error = connected(&server, "localhost", &format!("sslmode={mode}&{ours}")).unwrap_err();
        assert!(error.contains("Expired") || error.contains("expired"), "{mode}: {error}");
    }
    assert_eq!(connected(&server, "localhost", "sslmode=require").unwrap(), TLS);
}

#[test]
fn a_server_of_tls_1_2_is_checked_too() {
    let place = Place::new();
    let server = place.server("DNS:localhost", 2);
    server.sql("postgres", "ALTER SYSTEM SET ssl_max_protocol_version = 'TLSv1.2'").unwrap();
    server.crash().unwrap();
    server.resume().unwrap();
    let checked = |one: &Certificate| format!("sslmode=verify-full&sslrootcert={}", one.pem.display());
    assert_eq!(connected(&server, "localhost", &checked(&place.ours)).unwrap(), "TLSv1.2");
    assert!(connected(&server, "localhost", &checked(&place.other)).is_err());
}

#[test]
fn a_server_without_tls_is_used_only_if_nothing_requires_it() {
    let plain = PostgresServer::start_without_tls().unwrap();
    assert_eq!(connected(&plain, "localhost", "sslmode=prefer").unwrap(), PLAIN);
    for mode in ["require", "verify-ca", "verify-full"] {
        let error = connected(&plain, "localhost", &format!("sslmode={mode}")).unwrap_err();
        assert!(error.contains("TLS"), "{mode}: {error}");
    }
}
