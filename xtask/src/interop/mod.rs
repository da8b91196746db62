//! Drives MCP servers that others wrote through the program, points clients that others wrote at it, and looks whether
//! all is as it should be.
//!
//! The servers are real: installed from the public registries at versions that are written down, started by the
//! program itself (one is reached by HTTP and started here). No model and no key is needed: the understudy finds their
//! tools by what they say of themselves. After each run nobody may be left in /proc.

mod check;
mod clients;
pub(crate) mod install;
pub(crate) mod leftovers;
pub(crate) mod pages;
pub(crate) mod process;
mod relay;
pub(crate) mod remote;
mod report;
mod servers;
pub(crate) mod site;
mod step;
mod tour;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use self::clients::Client;
use self::pages::Pages;
use self::report::{Row, table};
use self::servers::{ALL, SKIPPED, Server};
use self::tour::Tour;
use crate::{Result, built};

#[derive(Debug)]
struct Options {
    binary: Option<PathBuf>,
    servers: Vec<Server>,
    clients: Vec<Client>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let (mut binary, mut only) = (None, Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a value"));
            match *word {
                "--binary" => binary = Some(std::path::absolute(value()?)?),
                "--only" => only.push(*value()?),
                other => return Err(format!("`{other}` is not an option of interop").into()),
            }
        }
        let servers = ALL.iter().map(|server| server.name);
        let names: Vec<_> = servers.chain(clients::ALL.iter().map(|client| client.name)).collect();
        if let Some(name) = only.iter().find(|name| !names.contains(name)) {
            return Err(format!("`{name}` is no server and no client: there are {}", names.join(", ")).into());
        }
        let meant = |name| only.is_empty() || only.contains(&name);
        let servers = ALL.into_iter().filter(|server| meant(server.name)).collect();
        let clients = clients::ALL.into_iter().filter(|client| meant(client.name)).collect();
        Ok(Self { binary, servers, clients })
    }
}

/// 0: all is as it should be. 1: something is not. An error: it could not be found out.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::read(words)?;
    let kits = built::root().join("target/interop");
    fs::create_dir_all(&kits)?;
    // Two runs would take each other's servers for their own leftovers.
    let lock = File::create(kits.join("lock"))?;
    lock.try_lock().map_err(|_| "another `cargo xtask interop` is running here")?;
    let binary = own(&options.binary.map_or_else(|| built::program(&[]), Ok)?, &kits)?;
    let of_clients = options.clients.iter().flat_map(Client::kits);
    for kit in options.servers.iter().map(|server| server.kit).chain(of_clients) {
        let began = Instant::now();
        if kit.install(&kits)? {
            eprintln!("installed `{}` in {} s", kit.name, began.elapsed().as_secs());
        }
    }
    let mut failures = drive_servers(&options.servers, &binary, &kits)?;
    failures.extend(drive_clients(&options.clients, &binary, &kits)?);
    for failure in &failures {
        eprintln!("\n{failure}");
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn drive_servers(servers: &[Server], binary: &Path, kits: &Path) -> Result<Vec<String>> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let (pages, began) = (Pages::start()?, Instant::now());
    let rows: Vec<Row> =
        servers.iter().map(|server| visit(server, binary, kits, &pages)).collect::<Result<_>>()?;
    print!("{}", table(&rows));
    for (name, reason) in SKIPPED {
        println!("{name}: not tried, {reason}");
    }
    println!("{} server(s) in {} s", rows.len(), began.elapsed().as_secs());
    Ok(rows.into_iter().flat_map(|row| row.failures).collect())
}

fn drive_clients(clients: &[Client], binary: &Path, kits: &Path) -> Result<Vec<String>> {
    if clients.is_empty() {
        return Ok(Vec::new());
    }
    let began = Instant::now();
    let mut seen = Vec::new();
    for client in clients {
        let named = |error| format!("{}: {error}", client.name);
        seen.extend(client.visit(binary, kits).map_err(named)?);
    }
    print!("{}", clients::table(&seen));
    println!("{} client(s) in {} s", clients.len(), began.elapsed().as_secs());
    Ok(seen.into_iter().flat_map(|one| one.failures).collect())
}

/// The program by a name that only this run uses: its processes are known by it, and a build in the meantime changes
/// nothing.
pub(crate) fn own(binary: &Path, kits: &Path) -> Result<PathBuf> {
    let own = kits.join("converse");
    match fs::remove_file(&own) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    fs::hard_link(binary, &own)
        .or_else(|_| fs::copy(binary, &own).map(drop))
        .map_err(|error| format!("`{}` cannot be used: {error}", binary.display()))?;
    Ok(own)
}

fn visit(server: &Server, binary: &Path, kits: &Path, pages: &Pages) -> Result<Row> {
    let began = Instant::now();
    let row = Tour::new(server, binary, kits, pages)
        .and_then(Tour::run)
        .map_err(|error| format!("{}: {error}", server.name))?;
    let problems = match row.failures.len() {
        0 => String::new(),
        count => format!(", {count} failed"),
    };
    eprintln!("{}: {:.1} s{problems}", server.name, began.elapsed().as_secs_f64());
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let all = Options::read(&[]).unwrap();
        assert_eq!((all.binary, all.servers.len(), all.clients.len()), (None, ALL.len(), clients::ALL.len()));
        let words = ["--only", "git", "--binary", "/bin/x", "--only", "time", "--only", "inspector"];
        let some = Options::read(&words).unwrap();
        assert_eq!(some.clients.iter().map(|client| client.name).collect::<Vec<_>>(), ["inspector"]);
        let names: Vec<_> = some.servers.iter().map(|server| server.name).collect();
        assert_eq!((some.binary, names), (Some("/bin/x".into()), vec!["time", "git"]));
        for bad in [&["--only"][..], &["--only", "x"], &["--binary"], &["x"]] {
            assert!(Options::read(bad).is_err(), "{bad:?}");
        }
    }
}
