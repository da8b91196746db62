//! Keeps the keys of this process from other processes of the same user.
//!
//! Every process may read `/proc/ID/environ` and the memory of other processes of its user, tools that we start included.
//! A process that is not *dumpable* is closed to them, except to root; core dumps end too (prctl(2), `PR_SET_DUMPABLE`). In
//! a container everybody is root, so secret variables are also overwritten where the kernel put them at the start. This
//! happens through `/proc/self/mem`, which needs no `unsafe`.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::procfs;

/// Bytes of an environment block beyond which nothing is overwritten; the kernel allows a quarter of the stack, 2 MiB by
/// default.
const MAX_BLOCK: u64 = 8 << 20;
/// The field of `/proc/ID/stat`, counted from 0, with the address of the environment block; the next one is its end
/// (proc_pid_stat(5)).
const BLOCK_START: usize = 49;

/// Makes this process unreadable to other processes of the same user, and overwrites the values of variables for which
/// `is_secret(name, value)` is true. The caller has read the variables before: `std::env` returns empty values afterwards.
/// Does what the system permits; where `/proc` is missing, the variables stay.
pub fn hide_from_others(is_secret: impl Fn(&str, &str) -> bool) {
    if let Err(error) = overwrite_variables(is_secret) {
        tracing::debug!(%error, "secret variables stay readable in /proc/self/environ");
    }
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

fn overwrite_variables(is_secret: impl Fn(&str, &str) -> bool) -> io::Result<()> {
    let stat = procfs::stat(rustix::process::getpid().as_raw_nonzero().get());
    let Some((start, end)) = stat.as_deref().and_then(block) else { return Ok(()) };
    if end.saturating_sub(start) > MAX_BLOCK {
        return Ok(());
    }
    let secrets = secret_values(&std::fs::read("/proc/self/environ")?, is_secret);
    if secrets.is_empty() {
        return Ok(());
    }
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    for (at, length) in secrets {
        memory.write_all_at(&vec![0; length], start + at as u64)?;
    }
    Ok(())
}

/// Returns the addresses where the environment block begins and ends. The second field is a name in parentheses, which may
/// contain blanks.
fn block(stat: &str) -> Option<(u64, u64)> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace().skip(BLOCK_START - 2);
    let mut address = || fields.next()?.parse().ok();
    Some((address()?, address()?))
}

/// Returns offset and length in bytes of each secret value.
fn secret_values(block: &[u8], is_secret: impl Fn(&str, &str) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for entry in block.split(|byte| *byte == 0) {
        let value_at = entry.iter().position(|byte| *byte == b'=').map(|equals| equals + 1);
        if let Some((name, value)) = value_at.map(|value_at| entry.split_at(value_at))
            && is_secret(&String::from_utf8_lossy(&name[..name.len() - 1]), &String::from_utf8_lossy(value))
        {
            found.push((at + name.len(), value.len()));
        }
        at += entry.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_found_behind_any_name() {
        let fields = |name: &str| {
            let numbers: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
            format!("42 ({name}) R {}", numbers.join(" "))
        };
        assert_eq!(block(&fields("converse")), Some((50, 51)));
        assert_eq!(block(&fields("a) R 1 (b")), Some((50, 51)));
        assert_eq!(block("42 (converse) R 4"), None);
    }

    #[test]
    fn values_of_secret_names_are_found() {
        let block = b"PATH=/bin\0A_KEY=abc=d\0=odd\0none\0B_KEY=\xff\xfe\0";
        let found = secret_values(block, |name, _| name.ends_with("_KEY"));
        let texts: Vec<&[u8]> = found.iter().map(|(at, length)| &block[*at..*at + *length]).collect();
        assert_eq!(texts, [b"abc=d".as_slice(), b"\xff\xfe"]);
    }
}
