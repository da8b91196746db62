//! Names of variables, headers, flags and fields whose values are secrets.

/// Whole words that say so. The value of a `session` may be a plain word: see [`is_about`].
const WORDS: &[&str] =
    &["cookies", "dsn", "keys", "otp", "pat", "session", "sig", "signature", "webhook", "webhooks"];
/// Parts of a word that say so.
const PARTS: &[&str] = &[
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "credential",
    "apikey",
    "authori",
    "authentic",
    "bearer",
];
/// How a word begins or ends that says so, as names are written without a seam: `DBPASS`, `PASSDB`.
const STARTS: &[&str] = &["auth", "cred", "pass"];
const ENDS: &[&str] = &["auth", "cookie", "cred", "creds", "jwt", "key", "pass", "pw", "pwd"];
/// Words that only look like these.
const OTHERS: &str = "author authors bypass compass credit credits donkey encompass hockey hotkey jockey monkey overpass \
    passage passages passenger passengers passion passive passthrough surpass trespass turkey underpass whiskey";
/// Beginnings of words that have one of [`PARTS`] in them and mean something else.
const OTHER_STEMS: &str = "tokeniz tokenis secretar";
/// Last words of names whose value names or describes a secret, and hardly ever is one: `TOKEN_FILE`.
const REFERRING: &str = "algorithm count dir env file id length limit name path prefix type uri url version";
/// Last words of names whose value describes a secret if it looks like that: `AUTH_METHOD`.
const ABOUT: &str = "audience directory disabled enabled endpoint expiry host hostname issuer max method min mode provider \
    region server size sock socket timeout ttl";

fn any(list: &str, is: impl Fn(&str) -> bool) -> bool {
    list.split_ascii_whitespace().any(is)
}

/// Returns whether the name says that its value is a secret, whatever the value is.
pub fn is_secret_name(name: &str) -> bool {
    let telling = |words: &[String]| words.iter().any(|word| tells(word));
    // `DBpass` is one word, `PWValue` are two. The words of `API_KEY` are the same.
    let may_differ = name.contains(char::is_uppercase) && name.contains(char::is_lowercase);
    telling(&words(name, false)) || (may_differ && telling(&words(name, true)))
}

fn tells(word: &str) -> bool {
    // Next to no word tells, and each start asks about hundreds: the exceptions come last.
    let telling = WORDS.contains(&word)
        || PARTS.iter().any(|part| contains(word, part))
        || STARTS.iter().any(|start| word.starts_with(start))
        || ENDS.iter().any(|end| word.ends_with(end));
    telling && !any(OTHERS, |other| other == word) && !any(OTHER_STEMS, |stem| word.starts_with(stem))
}

/// `str::contains` prepares each search, which takes longer than a search in a word.
fn contains(word: &str, part: &str) -> bool {
    let part = part.as_bytes();
    word.as_bytes().windows(part.len()).any(|window| window.first() == part.first() && window == part)
}

/// `TOKEN_FILE`, `API_KEY_ID`: the value is next to never the secret itself.
pub(super) fn refers(name: &str) -> bool {
    words(name, false).last().is_some_and(|last| any(REFERRING, |word| word == last))
}

/// `TOKEN_FILE`, `AUTH_TYPE`, `XDG_SESSION_DESKTOP`: the value may be a path, or a word.
pub(super) fn is_about(name: &str) -> bool {
    let words = words(name, false);
    let mut telling = words.iter().filter(|word| tells(word)).peekable();
    refers(name)
        || words.last().is_some_and(|last| any(ABOUT, |word| word == last))
        || (telling.peek().is_some() && telling.all(|word| word == "session"))
}

/// `MAX_TOKENS`
pub(super) fn is_count(name: &str) -> bool {
    words(name, false).iter().any(|word| word == "tokens" || word == "max")
}

/// Splits a name into lower-case words without digits at their ends: `--apiKey`, `API_KEY` and `X-Api-Key2` all are `api`,
/// `key`. With `runs`, the last of several capitals begins a word: `PWValue` is `pw`, `value`.
pub fn words(name: &str, runs: bool) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() {
            let last_of_run = before.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase());
            let humps = before.is_lowercase() || before.is_numeric() || (runs && last_of_run);
            let starts = !before.is_alphanumeric() || (c.is_uppercase() && humps);
            if starts || words.is_empty() {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                push_lower_case(word, c);
            }
        }
        before = c;
    }
    words
        .iter_mut()
        .for_each(|word| word.truncate(word.trim_end_matches(|c: char| c.is_ascii_digit()).len()));
    words.retain(|word| !word.is_empty());
    words
}

/// Next to all names are ASCII, and each start asks about every variable.
fn push_lower_case(word: &mut String, c: char) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
    } else {
        word.extend(c.to_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_it() {
        for (name, secret) in [
            ("API_KEY", true),
            ("API_KEY2", true),
            ("apiKey", true),
            ("--api-key", true),
            ("OPENAI_APIKEY", true),
            ("X-Goog-Api-Key", true),
            ("GITHUB_PERSONAL_ACCESS_TOKEN", true),
            ("accessToken", true),
            ("DB_PASSWORD", true),
            ("PGPASSWORD", true),
            ("DBPASS", true),
            ("DBpass", true),
            ("DB_PW", true),
            ("PWValue", true),
            ("pw", true),
            ("DB_CREDS", true),
            ("MY_PASSCODE", true),
            ("AUTH_TOKEN_PROVIDER", true),
            ("Authorization", true),
            ("X-Auth-Header", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("DB_PASS", true),
            ("GITHUB_PAT", true),
            ("MY_APIKEY", true),
            ("DATABASE_PASSWD", true),
            ("githubToken", true),
            ("Cookie", true),
            ("SENTRY_DSN", true),
            ("AUTHOR", false),
            ("GIT_AUTHOR_IDENT", false),
            ("COMPASS", false),
            ("MONKEY", false),
            ("PASSENGER_APP_ENV", false),
            ("TOKENIZERS_PARALLELISM", false),
            ("BYPASS_PROXY", false),
            ("KEYCLOAK_URL", false),
            ("KEYBOARD", false),
            ("DEBUG", false),
            ("PATH", false),
            ("", false),
        ] {
            assert_eq!(is_secret_name(name), secret, "{name}");
        }
    }
}
