//! What long sessions cost. `make` writes one of so many messages into a directory of its own and says its bytes;
//! `load` reads it once and says how many milliseconds that took. `shelf` writes many of them into one directory and says
//! how many messages those are; `search` looks for words in all of them and says how long that took and what was found.

mod load;
mod shelf;
mod story;

use std::path::Path;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: sessions make|load DIR MESSAGES, shelf DIR SESSIONS MESSAGES, search DIR WORD…";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<String> {
    match words {
        ["make", dir, messages] => Ok(load::make(Path::new(dir), messages.parse()?)?.to_string()),
        ["load", dir, messages] => Ok(format!("{:.3}", load::load(Path::new(dir), messages.parse()?)?)),
        ["shelf", dir, sessions, messages] => {
            Ok(shelf::make(Path::new(dir), sessions.parse()?, messages.parse()?)?.to_string())
        }
        ["search", dir, words @ ..] => shelf::search(Path::new(dir), words),
        _ => Err(USAGE.into()),
    }
}
