//! The one dictionary of secrets: names, values, and what a longer text holds.
//!
//! There are two degrees. [`is_secret`], [`holds_secret`] and the like say yes in doubt: for the redactor, the importers and
//! the environment of children, as a variable too many costs one `export` and a key in a file that is committed costs more.
//! [`known_secret`] and [`looks_secret`] say yes if it can hardly be anything else: for the lint of descriptors and for
//! what is written to a lockfile. [`Finder`] finds known values in a text, also encoded.
//!
//! ```
//! use converse_text::secrets::{is_secret, known_secret};
//!
//! assert!(is_secret("DB_PASS", "hunter2") && !is_secret("PATH", "/usr/bin"));
//! assert_eq!(known_secret("AKIAQ3EGRCXW7LM2NOPZ"), Some("a key of AWS"));
//! ```

mod finder;
mod inline;
mod name;
mod plain;
mod value;

pub use finder::Finder;
pub use inline::{has_option, looks_like_flag, telling_flag};
pub use name::{is_secret_name, words};
pub use plain::is_search_path;
pub use value::{decoded, holds_secret, known_secret, looks_secret, shows_itself};

/// Values that are never secret, whatever they are called.
const HARMLESS: &str = "true false yes no on off null none undefined basic bearer oauth oauth2 auto";

/// Words before a credential in a header.
const SCHEMES: &str = "bearer basic token apikey api-key key digest";

/// Bytes of the shortest secret.
pub const MIN_SECRET: usize = 3;

/// Returns whether the name says that this very value is a secret. `TOKEN_FILE` is not if it is a path, `MAX_TOKENS` if it
/// is a number, `XDG_SESSION_TYPE` if it is a word.
pub fn is_secret(name: &str, value: &str) -> bool {
    let is_counted = || name::is_count(name) && value.trim().parse::<f64>().is_ok();
    let is_description = || name::is_about(name) && plain::is_plain(value);
    is_secret_name(name)
        && !is_harmless(value)
        && !is_counted()
        && !is_description()
        && !plain::is_place(name, value)
}

/// Returns whether the value is empty or a word such as `true`, which is never a secret.
pub fn is_harmless(value: &str) -> bool {
    let value = value.trim();
    value.is_empty() || is_one_of(HARMLESS, value)
}

/// Returns whether the word precedes a credential, as `Bearer` does.
pub fn is_scheme(word: &str) -> bool {
    is_one_of(SCHEMES, word)
}

/// Returns the scheme and the blank behind it, of the value of a header; empty if there is none.
pub fn scheme(value: &str) -> &str {
    let end = value.find(' ').map_or(0, |at| at + 1);
    let (word, rest) = value.split_at(end);
    if is_scheme(word.trim_end()) && !rest.trim().is_empty() { word } else { "" }
}

fn is_one_of(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_of_their_values() {
        for (name, value, secret) in [
            ("API_KEY", "hunter2", true),
            ("API_KEY", "true", false),
            ("TOKEN_FILE", "/run/secrets/token", false),
            ("AUTH_TYPE", "google", false),
            ("SSH_AUTH_SOCK", "/run/user/1000/agent.sock", false),
            ("TOKEN_URL", "https://login.example.com/oauth2/token", false),
            ("AUTH_TOKEN_PROVIDER", "Zq7xW9Tn4Lr2", true),
            ("TOKEN_PATH", "Zq7xW9Tn4Lr2", true),
            ("WEBHOOK_PATH", "/services/T024BE7LH/B024BE7LH/Zq7xW9", true),
            ("MAX_TOKENS", "4096", false),
            ("DEBUG", "hunter2", false),
            ("DB_PASS", "swordfish", true),
            ("GITHUB_PAT", "swordfish", true),
            ("MY_APIKEY", "swordfish", true),
            ("PGPASSWORD", "swordfish", true),
            ("DB_PASSWORD", "/9j4AAQSkZJRgABAQ", true),
            ("AWS_ACCESS_KEY_ID", "AKIAQ3EGRCXW7LM2NOPZ", true),
            ("PWD", "/work", false),
            ("XAUTHORITY", "/home/me/.Xauthority", false),
            ("SSH_ASKPASS", "/usr/bin/ksshaskpass", false),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/a1B2c3D4e5F6.json", false),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus", false),
            ("XDG_SESSION_DESKTOP", "plasmawayland", false),
            ("SESSION_SECRET", "swordfish", true),
            ("PATH", "/usr/bin", false),
            ("KEYBOARD", "swordfish", false),
            ("MONKEY", "swordfish", false),
            ("PASSENGER", "swordfish", false),
            ("COMPASS", "swordfish", false),
            ("TOKENIZERS_PARALLELISM", "swordfish", false),
        ] {
            assert_eq!(is_secret(name, value), secret, "{name}={value}");
        }
    }

    #[test]
    fn schemes_are_kept() {
        for (value, kept) in
            [("Bearer abc", "Bearer "), ("basic x", "basic "), ("abc def", ""), ("Bearer ", ""), ("x", "")]
        {
            assert_eq!(scheme(value), kept, "{value}");
        }
    }
}
