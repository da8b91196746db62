//! Whole files in, whole descriptors out.

mod elsewhere;
mod nasty;
mod programs;
mod round_trip;
mod secrets;
mod sketches;

use crate::{Format, Imported, Server, read};

fn found(text: &str, format: Format) -> Imported {
    let found = read(text, None).unwrap();
    assert_eq!(found.format, format);
    found
}

fn server<'f>(found: &'f Imported, name: &str) -> &'f Server {
    found.servers.iter().find(|server| server.name == name).unwrap_or_else(|| panic!("{name} {found:#?}"))
}

fn noted(found: &Imported, server: Option<&str>, part: &str) -> bool {
    found.notes.iter().any(|note| note.server.as_deref() == server && note.message.contains(part))
}
