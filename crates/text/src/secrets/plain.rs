//! Values that match their name and are not a secret: a word, a number, a path or an address of `TOKEN_FILE`,
//! `AUTH_TYPE` and the like, and directories of `PATH`.

/// Bytes from which alternating letters and digits are not a word, and the number of changes.
const MIN_MIXED: usize = 8;
const MIN_CHANGES: usize = 3;
/// Bytes of `auth0` and `RS256`.
const MAX_SHORT: usize = 6;

const UNITS: [&str; 7] = ["ms", "s", "m", "h", "d", "kb", "mb"];

pub(super) fn is_plain(value: &str) -> bool {
    let value = value.trim();
    let mut segments =
        value.split(|c: char| !c.is_ascii_alphanumeric()).filter(|segment| !segment.is_empty());
    if value.chars().all(|c| c.is_ascii_alphanumeric()) {
        return is_word(value);
    }
    // Of several, each may be a version or a port.
    value.is_ascii() && segments.all(|segment| is_word(segment) || !is_mixed(segment))
}

fn is_word(segment: &str) -> bool {
    let digits = |c: char| c.is_ascii_digit();
    let (behind, before) = (segment.trim_start_matches(digits), segment.trim_end_matches(digits));
    let letters = |text: &str| text.chars().all(|c| c.is_ascii_alphabetic());
    let short = segment.len() <= MAX_SHORT && letters(before);
    behind.is_empty()
        || UNITS.contains(&behind)
        || short
        || (letters(segment) && changes(segment) < MIN_CHANGES)
}

fn is_mixed(segment: &str) -> bool {
    segment.len() >= MIN_MIXED && changes(segment) >= MIN_CHANGES
}

/// Between small letters, capitals and digits; a capital at the beginning is none.
pub(super) fn changes(text: &str) -> usize {
    let kind = |byte: u8| match byte {
        byte if byte.is_ascii_digit() => 0,
        byte if byte.is_ascii_lowercase() => 1,
        _ => 2,
    };
    let bytes = text.as_bytes().iter().copied().filter(u8::is_ascii_alphanumeric);
    let kinds = bytes.map(kind);
    kinds.clone().zip(kinds.skip(1)).filter(|(one, next)| one != next).count()
}

/// Returns whether the value is a path that no secret looks like: of directories as in `PATH`, or of plain words. An
/// Returns whether the value is a path, as of `XAUTHORITY`, `SSH_ASKPASS` or `PWD`.
pub(super) fn is_place(name: &str, value: &str) -> bool {
    let is_path = value.starts_with("~/") || (value.starts_with('/') && value.matches('/').count() >= 2);
    (is_path && (is_plain(value) || is_below_roots(value)))
        || (matches!(name, "PWD" | "OLDPWD") && value.starts_with('/'))
}

/// Returns whether the variable is a search path. Directories look random to those who look for keys, so each must be
/// where directories are.
pub fn is_search_path(name: &str, value: &str) -> bool {
    (name == "PATH" || name == "PYTHONPATH" || name.ends_with("_PATH")) && is_below_roots(value)
}

fn is_below_roots(value: &str) -> bool {
    const ROOTS: &str = "Applications Library System Users Volumes bin etc home lib lib64 mnt nix opt private root run sbin \
        snap srv tmp usr var";
    let is_rooted = |dir: &str| {
        let mut parts = dir.split('/');
        parts.next() == Some("")
            && parts.next().is_some_and(|first| ROOTS.split_ascii_whitespace().any(|root| root == first))
    };
    value.split(':').all(is_rooted) && !value.contains(['=', '@', '?', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_paths_are_where_directories_are() {
        for (name, value, is) in [
            ("PATH", "/opt/Ab3dE6gH9jK2mN5pQ8sT1/bin:/usr/bin", true),
            ("LD_LIBRARY_PATH", "/usr/lib", true),
            ("WEBHOOK_PATH", "/services/T024BE7LH/x", false),
            ("WEBHOOK_PATH", "Ab3dE6gH9jK2mN5pQ8sT1", false),
            ("A_PATH", "/usr/bin:/services/x", false),
            ("A_PATH", "/tmp/?key=x", false),
            ("OTHER", "/usr/bin", false),
        ] {
            assert_eq!(is_search_path(name, value), is, "{name}={value}");
        }
    }

    #[test]
    fn words_numbers_and_places_are_plain() {
        for (value, plain) in [
            ("google", true),
            ("RS256", true),
            ("auth0", true),
            ("3600", true),
            ("30s", true),
            ("us-east-1", true),
            ("/run/secrets/token", true),
            ("C:\\keys\\id_rsa", true),
            ("https://login.example.com/oauth2/token", true),
            ("auth2.example.com:8443", true),
            ("hunter22", false),
            ("Zq7xW9", false),
            ("Zq7xW9Tn4Lr2", false),
            ("/services/T024BE7LH/B024BE7LH/x", false),
            ("qWeRtYuIoP", false),
        ] {
            assert_eq!(is_plain(value), plain, "{value}");
        }
    }
}
