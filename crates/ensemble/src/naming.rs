//! Names of tools as models see them.
//!
//! People write `ensemble.invoker`; providers accept at most 64 of `[A-Za-z0-9_-]`. The name shown is
//! `ensemble__invoker` wherever that is within the limits and can be read back unambiguously; otherwise it is a cleaned
//! and shortened form with a digest of the exact pair. Two different pairs never get the same plain name, and a plain
//! name never looks like a digested one, so the mapping is injective up to a 48-bit digest; the roster refuses both of
//! two tools that should ever meet there.

use converse_canister::{Digest, InvokerName, ToolName};
use sha2::{Digest as _, Sha256};

const MAX: usize = 64;
const DIGEST_HEX: usize = 12;
/// The mark before the digest. A plain name that ends like a digested one gets a digest too.
const MARK: &str = "-x";

/// Returns the name that models see. `prefix` is the ensemble's name, another declared prefix, or empty for bare names.
pub fn tool_name(prefix: &str, invoker: &InvokerName) -> ToolName {
    let plain = if prefix.is_empty() { invoker.as_str().to_owned() } else { format!("{prefix}__{invoker}") };
    if is_unambiguous(prefix, invoker.as_str())
        && !looks_digested(&plain)
        && let Ok(name) = ToolName::new(plain.as_str())
    {
        return name;
    }
    digested(prefix, invoker.as_str(), &plain)
}

/// Returns whether the pair can be read back from `prefix__invoker`, split at the first double underscore.
fn is_unambiguous(prefix: &str, invoker: &str) -> bool {
    if prefix.is_empty() {
        return !invoker.contains("__");
    }
    !prefix.contains("__") && !prefix.ends_with('_') && !invoker.starts_with('_')
}

fn looks_digested(name: &str) -> bool {
    let Some(at) = name.len().checked_sub(MARK.len() + DIGEST_HEX) else { return false };
    name.get(at..)
        .and_then(|tail| tail.strip_prefix(MARK))
        .is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

fn digested(prefix: &str, invoker: &str, plain: &str) -> ToolName {
    let hex = Digest(Sha256::digest(format!("{prefix}\0{invoker}")).into()).to_string();
    let clean = ToolName::cleaned(plain);
    let kept = clean.as_str().len().min(MAX - MARK.len() - DIGEST_HEX);
    ToolName::cleaned(&format!("{}{MARK}{}", &clean.as_str()[..kept], &hex[..DIGEST_HEX]))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn name(prefix: &str, invoker: &str) -> String {
        tool_name(prefix, &InvokerName::new(invoker).unwrap()).to_string()
    }

    #[test]
    fn ordinary_names_are_plain() {
        assert_eq!(name("io", "read_file"), "io__read_file");
        assert_eq!(name("my-weather_2", "get-x__y"), "my-weather_2__get-x__y");
        assert_eq!(name("", "search"), "search");
    }

    #[test]
    fn odd_names_are_cleaned_and_told_apart() {
        for (prefix, invoker) in [
            ("s", "admin.tools/list"),
            ("s", "admin_tools_list.x"),
            ("2fast", "x"),
            ("a__b", "c"),
            ("a_", "b"),
            ("a", "_b"),
            ("s", &"x".repeat(100)),
            ("", "a__b"),
            ("s", "y-x0123456789ab"),
        ] {
            let shown = name(prefix, invoker);
            assert!(ToolName::new(shown.clone()).is_ok());
            assert!(looks_digested(&shown), "{shown}");
        }
    }

    /// The names an attacker would try: every short pair over the characters that the mangling treats specially.
    #[test]
    fn no_two_pairs_meet() {
        let mut parts = vec![String::new()];
        for _ in 0..4 {
            let longer: Vec<String> =
                parts.iter().flat_map(|p| ["a", "_", "-", "."].map(|c| format!("{p}{c}"))).collect();
            parts.extend(longer);
            parts.sort();
            parts.dedup();
        }
        let mut seen: HashMap<String, (String, String)> = HashMap::new();
        let mut pairs = 0;
        for prefix in parts.iter().filter(|p| !p.contains('.')) {
            for invoker in parts.iter().filter(|p| !p.is_empty()) {
                pairs += 1;
                let shown = name(prefix, invoker);
                if let Some(other) = seen.insert(shown.clone(), (prefix.clone(), invoker.clone())) {
                    panic!("{shown}: {other:?} and {:?}", (prefix, invoker));
                }
            }
        }
        assert!(pairs > 40_000, "{pairs}");
    }
}
