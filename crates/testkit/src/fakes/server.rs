//! An MCP server over stdio whose flags control its behaviour: `converse fake-server --FLAG=VALUE …` (feature
//! `test-fakes`). Without a flag it behaves well and speaks both eras of the protocol.
//!
//! It shares no code with the client it is there to try: threads and blocking pipes, messages as plain JSON. What each
//! flag does is in [`flags::KNOWN`]; most ways for a single call to go wrong are tools of their own, with `--faulty`.

mod asking;
mod calls;
mod flags;
mod listing;
mod malformed_tools;
mod misdeeds;
mod offers;
mod process;
mod session;
mod tasks;
mod wire;

use std::time::Duration;

use flags::Flags;
pub(super) use process::complain;
use session::Session;
use wire::Out;

/// Runs the server if the command line requests it, and returns its exit code.
pub(crate) fn run_requested() -> Option<u8> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "fake-server" {
        return None;
    }
    let words = words.map(|word| word.to_string_lossy().into_owned());
    Some(match Flags::read(words) {
        Ok(flags) => serve(flags),
        Err(wrong) => {
            process::complain(&format!("fake-server: {wrong}"));
            64
        }
    })
}

fn serve(flags: Flags) -> u8 {
    if flags.has("ignore-term") {
        process::restart_deaf_to_signals();
    }
    if flags.has("idle") {
        process::idle();
    }
    process::offspring(&flags);
    if let Some(text) = flags.value("stderr") {
        process::complain(text);
    }
    if flags.has("flood-stderr") {
        process::flood_stderr();
    }
    std::thread::sleep(Duration::from_millis(flags.number("slow").unwrap_or(0)));
    let out = Out::new(&flags);
    if let Some(banner) = flags.value("banner") {
        out.raw(format!("{banner}\n").as_bytes());
    }
    if let Some(code) = flags.number("exit") {
        return u8::try_from(code).unwrap_or(1);
    }
    Session::new(flags, out).run();
    0
}
