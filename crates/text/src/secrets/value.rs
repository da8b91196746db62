//! Values that look like a secret or contain one, regardless of their name.

use std::borrow::Cow;

use super::inline::{has_inline, has_scheme};
use super::name::{is_secret_name, refers};
use super::plain::changes;
use super::scheme;

/// How the keys of well-known services begin, how many bytes must follow before [`known_secret`] is sure, and what it is.
///
/// Mostly from <https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns>
/// (checked 2026-11).
const PREFIXES: &[(&str, usize, &str)] = &[
    ("sk-ant-", 20, "a key of Anthropic"),
    ("sk-", 20, "a key of OpenAI or a server like it"),
    ("sk_live_", 16, "a key of Stripe"),
    ("pk_live_", 16, "a key of Stripe"),
    ("rk_live_", 16, "a key of Stripe"),
    ("rk_test_", 16, "a key of Stripe"),
    ("sk_", 24, "a secret key"),
    ("whsec_", 24, "a webhook secret of Stripe"),
    ("ghp_", 30, "a token of GitHub"),
    ("gho_", 30, "a token of GitHub"),
    ("ghu_", 30, "a token of GitHub"),
    ("ghs_", 30, "a token of GitHub"),
    ("ghr_", 30, "a token of GitHub"),
    ("github_pat_", 30, "a token of GitHub"),
    ("glpat-", 20, "a token of GitLab"),
    ("xoxb-", 20, "a token of Slack"),
    ("xoxp-", 20, "a token of Slack"),
    ("xoxa-", 20, "a token of Slack"),
    ("xoxs-", 20, "a token of Slack"),
    ("xapp-", 20, "a token of Slack"),
    ("AKIA", 16, "a key of AWS"),
    ("ASIA", 16, "a key of AWS"),
    ("AIza", 30, "a key of Google"),
    ("ya29.", 20, "a token of Google"),
    ("eyJ", 60, "a signed token (JWT)"),
    ("hf_", 30, "a token of Hugging Face"),
    ("npm_", 30, "a token of npm"),
    ("pypi-", 40, "a token of PyPI"),
    ("tvly-", 20, "a key of Tavily"),
    ("dop_v1_", 40, "a token of DigitalOcean"),
    ("SG.", 40, "a key of SendGrid"),
    ("shpat_", 30, "a token of Shopify"),
    ("lin_api_", 30, "a key of Linear"),
    ("ntn_", 40, "a token of Notion"),
    ("secret_", 40, "a token of Notion"),
    ("figd_", 30, "a token of Figma"),
    ("ATATT", 60, "a token of Atlassian"),
    ("AGE-SECRET-KEY-", 50, "a key of age"),
    ("dckr_pat_", 20, "a token of Docker"),
    ("nvapi-", 40, "a key of NVIDIA"),
    ("gsk_", 40, "a key of Groq"),
    ("xai-", 40, "a key of xAI"),
    ("pplx-", 40, "a key of Perplexity"),
    ("r8_", 36, "a token of Replicate"),
    ("sbp_", 40, "a token of Supabase"),
    ("key-", 32, "a key of Mailgun"),
];
/// Bytes of the shortest token that [`known_secret`] is sure of.
const MIN_KNOWN: usize = 20;
/// Bytes of a token with its prefix that [`holds_secret`] takes for one.
const MIN_PREFIXED: usize = 16;
/// Parts of placeholders, which are not secrets.
const PLACEHOLDERS: [&str; 9] =
    ["your", "xxx", "example", "placeholder", "changeme", "change-me", "insert", "<", "..."];

/// Bytes of a run of letters and digits that may be random, and how often it changes between small letters, capitals
/// and digits. Words and versions put together change less often.
const MIN_RANDOM: usize = 20;
const MIN_CHANGES: usize = 6;
/// Bytes, and different characters, of a value that a machine made, if its name says that it is a secret.
const MIN_GENERATED: usize = 16;
const MIN_DISTINCT: usize = 8;
/// Bytes of a password in a URL.
const MIN_PASSWORD: usize = 6;

/// Maximum number of times that a text may be encoded for a URL.
const MAX_ENCODED: usize = 3;

/// Returns whether the text may be a secret or contain one, regardless of its name. If in doubt, `true`.
pub fn holds_secret(text: &str) -> bool {
    readings(text).any(|text| has_one(&text))
}

/// Returns whether [`holds_secret`] is true, or a credential follows `Bearer` or `Basic`.
pub fn shows_itself(text: &str) -> bool {
    readings(text).any(|text| has_one(&text) || has_scheme(&text))
}

/// Returns the kind of secret in the text, if it is almost certainly one. For a lint.
pub fn known_secret(text: &str) -> Option<&'static str> {
    let known = |token: &str| {
        let begins = |(start, least, _): &&(&str, usize, &str)| {
            token.strip_prefix(start).is_some_and(|rest| rest.len() >= *least)
        };
        PREFIXES.iter().find(begins).filter(|_| !is_placeholder(token)).map(|(.., what)| *what)
    };
    let credentials = || text.get(scheme(text).len()..).filter(|rest| rest.len() < text.len());
    let has_credentials = || credentials()?.split_whitespace().next().filter(|word| is_generated(word));
    tokens(text, MIN_KNOWN)
        .find_map(known)
        .or_else(|| is_private_key(text).then_some("a private key"))
        .or_else(|| has_credentials().map(|_| "the credentials of an `Authorization` header"))
        .or_else(|| words_with("://", text).find_map(in_url))
}

/// Returns whether the name says that the value is a secret and the value looks generated. For a lint.
pub fn looks_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) && !refers(name) && is_generated(value)
}

fn has_one(value: &str) -> bool {
    is_private_key(value)
        || value.split_whitespace().any(|word| url_password(word).is_some())
        || has_inline(value)
        || tokens(value, 1).any(|token| is_token(value, token))
}

fn is_private_key(text: &str) -> bool {
    text.contains("-----BEGIN") && text.contains("PRIVATE KEY")
}

/// Returns the text, and its form with `%3D` and other escapes decoded.
fn readings(value: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let next = |value: &Cow<'_, str>| decoded(value).map(Cow::Owned);
    std::iter::successors(Some(Cow::Borrowed(value)), next).take(MAX_ENCODED + 1)
}

/// Decodes `%3D` and the like; `None` if nothing is encoded.
pub fn decoded(value: &str) -> Option<String> {
    let (first, rest) = value.split_once('%')?;
    let mut bytes = first.as_bytes().to_vec();
    let mut any = false;
    for part in rest.split('%') {
        match part.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            Some(digits) => {
                any = true;
                bytes.extend(u8::from_str_radix(digits, 16));
                bytes.extend(part.get(2..).unwrap_or_default().as_bytes());
            }
            None => {
                bytes.push(b'%');
                bytes.extend(part.as_bytes());
            }
        }
    }
    any.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The password of `scheme://user:password@host`, in a text without blanks.
fn url_password(word: &str) -> Option<&str> {
    let last = word.rfind('@');
    word.match_indices("://").find_map(|(at, mark)| {
        let start = at + mark.len();
        let rest = word.get(start..).unwrap_or_default();
        let authority = rest.split(['/', '?', '#', '"', '\'']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        // A password with a `/` in it that nobody encoded; behind a port stands a path.
        let (_, behind) = authority.split_once(':').unwrap_or_default();
        let port = behind.bytes().all(|byte| byte.is_ascii_digit());
        let unencoded = !port && !authority.contains('@') && last.is_some_and(|last| last >= start);
        let password = user.split_once(':').map(|(_, password)| password);
        password.filter(|password| !password.is_empty()).or(unencoded.then_some(rest))
    })
}

/// A password before the host, or a telling name in the query.
fn in_url(word: &str) -> Option<&'static str> {
    if url_password(word).is_some_and(|password| password.len() >= MIN_PASSWORD && !is_placeholder(password))
    {
        return Some("a password in a URL");
    }
    let (_, query) = word.split_once("://")?.1.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.any(|(name, value)| looks_secret(name, value)).then_some("a secret in the query of a URL")
}

/// The runs of characters that a token may have, of at least so many bytes.
fn tokens(value: &str, least: usize) -> impl Iterator<Item = &str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+');
    let runs = value.as_bytes().split(move |byte| !is_part(byte)).filter(move |run| run.len() >= least);
    runs.filter_map(|run| std::str::from_utf8(run).ok())
}

/// The words that contain a mark. Looks at a text only around its marks.
fn words_with<'t>(mark: &'t str, text: &'t str) -> impl Iterator<Item = &'t str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (before, from) = rest.split_at(rest.find(mark)?);
        let start = before.trim_end_matches(|c: char| !c.is_whitespace()).len();
        let end = before.len() + from.find(char::is_whitespace).unwrap_or(from.len());
        let word = rest.get(start..end)?;
        rest = rest.get(end..)?;
        Some(word)
    })
}

fn is_token(value: &str, token: &str) -> bool {
    if is_digest(value, token) {
        return false;
    }
    let prefixed = |(start, ..): &(&str, usize, &str)| {
        // `sk-learn-…` is not a key.
        token.starts_with(start)
            && (start.len() > 4 || token.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase()))
    };
    (token.len() >= MIN_PREFIXED && PREFIXES.iter().any(prefixed)) || token.split(['.', '+']).any(is_random)
}

fn is_random(part: &str) -> bool {
    let letters_and_digits = part.bytes().filter(u8::is_ascii_alphanumeric).count();
    letters_and_digits >= MIN_RANDOM
        && changes(part) >= MIN_CHANGES
        && part.contains(|c: char| c.is_ascii_digit())
}

/// Long, without blanks, letters and digits mixed: not a word, a path or an address.
fn is_generated(value: &str) -> bool {
    let is_place = ["/", "./", "~", "http:", "https:"].iter().any(|start| value.starts_with(start));
    value.len() >= MIN_GENERATED
        && !value.contains(char::is_whitespace)
        && !is_place
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
        && !is_placeholder(value)
        && distinct(value) >= MIN_DISTINCT
}

fn is_placeholder(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|word| text.contains(word)) || distinct(&text) < 4
}

fn distinct(text: &str) -> usize {
    text.chars().collect::<std::collections::BTreeSet<_>>().len()
}

/// Returns whether the value is a digest, which pins a download and gives no access.
fn is_digest(value: &str, token: &str) -> bool {
    if !matches!(token.len(), 40 | 64) || !token.chars().all(|c| c.is_ascii_hexdigit()) {
        return false;
    }
    let before = value.split_once(token).map_or("", |(before, _)| before);
    let commit = token.len() == 40
        && before.ends_with(['@', '#'])
        && (before.starts_with("git+") || before.starts_with("github:"));
    commit || (token.len() == 64 && before.ends_with("sha256:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_show_it() {
        for (value, shows) in [
            ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", true),
            ("sk-proj-abcdEFGH1234567890", true),
            ("AKIAIOSFODNN7EXAMPLE", true),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x", true),
            ("-----BEGIN PRIVATE KEY-----", true),
            ("postgres://me:hunter2@db.example/x", true),
            ("postgres://me:hun/ter2@db.example/x", true),
            ("https://a.example:8080/@scope/mcp", false),
            ("https://${HOST}/@scope/mcp", false),
            ("3f0ac2d1-9b7e-4c55-8a1e-0f6b2d9c4e77", true),
            ("Server=db;User=me;Password=hunter2;", true),
            ("API_KEY=abcdef node server.js", true),
            ("{\"exaApiKey\": \"abcdef\"}", true),
            ("https://a.example/mcp?api_key=abcdef", true),
            ("https://a.example/mcp?pw=abcdef", true),
            ("https://a.example/mcp%3Fapi_key%3Dabcdef", true),
            ("https://a.example/?to=mcp%253Fapi_key%253Dabcdef", true),
            ("%PATH% 100%", false),
            ("postgres://postgres@localhost/db", false),
            ("https://a.example/mcp", false),
            ("@modelcontextprotocol/server-filesystem@2026.8.31", false),
            ("mcp-server-time@2026.10.19", false),
            ("claude-3-5-sonnet-20241022", false),
            ("gemini-2.5-flash-preview-05-20", false),
            ("/home/me/projects/some-long-directory-name/2026", false),
            ("git+https://x.example/a/b@0123456789abcdef0123456789abcdef01234567", false),
            ("img@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false),
            ("ModelContextProtocolServerFilesystem", false),
            ("sk-learn-mcp-server", false),
            ("--max-tokens=4096", false),
            ("", false),
        ] {
            assert_eq!(holds_secret(value), shows, "{value}");
        }
    }

    #[test]
    fn vendors_tokens_are_known_by_their_beginnings() {
        let random = "a8Kd02LqZx7Vb3Nm5Tp9Rw1Yc4Ue6Hs0Jf2Gk";
        for (text, known) in [
            (format!("sk-{random}"), true),
            (format!("sk-ant-api03-{random}"), true),
            (format!("ghp_{random}"), true),
            (format!("github_pat_{random}"), true),
            (format!("glpat-{random}"), true),
            (format!("xoxb-{random}"), true),
            ("AKIAQ3EGRCXW7LM2NOPZ".to_owned(), true),
            (format!("AIza{random}"), true),
            (format!("--header=X: ghp_{random}"), true),
            (format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{random}"), true),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII".to_owned(), true),
            (format!("Bearer {random}"), true),
            (format!("basic {random}"), true),
            (format!("https://me:{random}@host/mcp"), true),
            ("https://me:hunter22@host/mcp".to_owned(), true),
            (format!("https://host/mcp?api_key={random}&x=1"), true),
            (format!("https://host/mcp?pw={random}"), true),
            ("sk-your-api-key-goes-here-please".to_owned(), false),
            ("sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".to_owned(), false),
            ("sk-short".to_owned(), false),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), false),
            ("Bearer ".to_owned(), false),
            ("Bearer of good news, and of much else besides".to_owned(), false),
            ("task-runner-with-a-long-name-of-its-own".to_owned(), false),
            ("https://host:8080/mcp?key=short".to_owned(), false),
            ("https://me@host/mcp".to_owned(), false),
            ("/usr/local/share/ghp_directory".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(known_secret(&text).is_some(), known, "{text}");
        }
    }

    #[test]
    fn no_known_token_is_shorter_than_what_is_looked_at() {
        assert_eq!(PREFIXES.iter().map(|(start, least, _)| start.len() + least).min(), Some(MIN_KNOWN));
    }

    #[test]
    fn words_are_found_around_their_marks() {
        for (text, words) in [
            ("see http://a.example/x and\tb://c://d\n", &["http://a.example/x", "b://c://d"][..]),
            ("://", &["://"]),
            ("\u{e9}\u{3000}\u{e9}://\u{e9}\u{2003}x", &["\u{e9}://\u{e9}"]),
            ("a: // b", &[]),
            ("", &[]),
        ] {
            assert_eq!(words_with("://", text).collect::<Vec<_>>(), words, "{text}");
        }
    }

    #[test]
    fn a_telling_name_needs_a_value_that_nobody_types() {
        let random = "a8Kd02LqZx7Vb3Nm";
        for (name, value, secret) in [
            ("API_KEY", random, true),
            ("api-key", random, true),
            ("X-Api-Key", random, true),
            ("githubToken", random, true),
            ("--token", random, true),
            ("DB_PASSWORD", random, true),
            ("DB_PASS", random, true),
            ("GITHUB_PAT", random, true),
            ("MY_APIKEY", random, true),
            ("PGPASSWORD", random, true),
            ("TOKENIZERS_PARALLELISM", random, false),
            ("API_KEY2", random, true),
            ("X-Auth-Header", random, true),
            ("DBPASS", random, true),
            ("DB_PW", random, true),
            ("DB_CREDS", random, true),
            ("MY_PASSCODE", random, true),
            ("AUTH_TOKEN_PROVIDER", random, true),
            ("API_KEY", "development", false),
            ("API_KEY", "set-up-by-the-deployment", false),
            ("API_KEY", "your-key-goes-here-1", false),
            ("API_KEY", "aaaaaaaaaaaaaaaaaaa1", false),
            ("API_KEY_FILE", random, false),
            ("TOKEN_COUNT", random, false),
            ("TOKEN_PATH", "/run/secrets/token-1234567", false),
            ("KEY_URL", random, false),
            ("COMMIT", random, false),
            ("MONKEYS", random, false),
            ("SORT_KEY", "created_at descending 1", false),
        ] {
            assert_eq!(looks_secret(name, value), secret, "{name} = {value}");
        }
    }
}
