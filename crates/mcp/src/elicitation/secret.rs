//! Which fields want a secret. A server must not ask for one in a form
//! (<https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#security-considerations>, checked
//! 2026-11): a form is filled in on a screen, and what it holds passes through logs.

use super::{Field, Kind};

/// Words of a name or a title that stand for a secret.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
    "apikey",
    "credential",
    "credentials",
    "pin",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "ssn",
    "mnemonic",
    "passwort",
    "kennwort",
    "пароль",
];
/// The same, one after the other.
const PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("ssh", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("auth", "key"),
    ("auth", "code"),
    ("verification", "code"),
    ("security", "code"),
    ("card", "number"),
    ("credit", "card"),
    ("seed", "phrase"),
    ("recovery", "phrase"),
    ("recovery", "code"),
    ("pass", "word"),
    ("pass", "phrase"),
];
/// In running text only what can hardly mean anything else.
const PHRASES: &[&str] = &[
    "password",
    "passphrase",
    "api key",
    "apikey",
    "api-key",
    "api_key",
    "access token",
    "secret key",
    "private key",
    "client secret",
    "bearer token",
    "auth token",
    "seed phrase",
    "credit card",
    "пароль",
];

/// The first field that looks as if it wanted a secret.
pub fn secret_field(fields: &[Field]) -> Option<&str> {
    fields.iter().find(|field| field.wants_secret()).map(|field| field.name.as_str())
}

/// Does running text ask for a secret?
pub fn secret_words(text: &str) -> bool {
    let text = text.to_lowercase();
    PHRASES.iter().any(|phrase| text.contains(phrase))
}

impl Field {
    fn wants_secret(&self) -> bool {
        // A choice, or yes or no, tells the server nothing that it has not said itself.
        let named = match self.kind {
            Kind::Text { .. } => true,
            // `max_tokens`, `token_count` are numbers of tokens.
            Kind::Number { .. } => return self.titles().any(|name| is_secret_number(&words(name))),
            _ => return false,
        };
        let described = self.description.as_deref().is_some_and(secret_words);
        named && (described || self.titles().any(|name| is_secret(&words(name))))
    }

    fn titles(&self) -> impl Iterator<Item = &str> {
        [Some(self.name.as_str()), self.title.as_deref()].into_iter().flatten()
    }
}

fn is_secret(words: &[String]) -> bool {
    let pair = |two: &[String]| match two {
        [one, other] => PAIRS.contains(&(one.as_str(), other.as_str())),
        _ => false,
    };
    words.iter().any(|word| WORDS.contains(&word.trim_end_matches(|c: char| c.is_ascii_digit())))
        || words.windows(2).any(pair)
        || PAIRS.iter().any(|(one, other)| words.iter().any(|word| *word == format!("{one}{other}")))
}

fn is_secret_number(words: &[String]) -> bool {
    const NUMBERS: &[&str] = &["pin", "otp", "cvv", "cvc", "ssn", "passcode", "password"];
    words.iter().any(|word| NUMBERS.contains(&word.as_str()))
        || words.windows(2).any(|two| two == ["card", "number"])
}

/// `dbPassword`, `DB_PASSWORD` and `db password` are two words each.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts = !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase());
        if starts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}
