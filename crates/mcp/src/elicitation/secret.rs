//! Detects form fields that ask for secrets. A server must not ask for one in a form
//! (<https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#security-considerations>, checked
//! 2026-11): a form is filled in on a screen, and its values pass through logs.
//!
//! This differs from `converse_text::secrets`, which is about existing values: a form asks users in natural language
//! for card numbers and codes, and a `key` or a `session` may be anything.
//!
//! Honest servers are recognized by field names. For hostile ones, names are compared as a reader sees them.

use converse_text::secrets::words;

use super::confusables::{fold, visible};
use super::{Field, Kind};

/// Words of a name or title that denote a secret, in the singular.
const WORDS: &[&str] = &[
    "passcode",
    "pwd",
    "pin",
    "otp",
    "totp",
    "hotp",
    "mfa",
    "cvv",
    "cvc",
    "ssn",
    "mnemonic",
    "jwt",
    "2fa",
    "pat",
    "passwort",
    "kennwort",
    "пароль",
    "токен",
    "секрет",
];
/// Parts of a word that denote a secret.
const PARTS: &[&str] = &["token", "secret", "credential", "bearer", "jwt", "2fa"];
/// Words that contain those parts but mean something else.
const HARMLESS: &[&str] = &["tokeniz", "tokenis", "secretar", "secreti", "secretor"];
/// Words that mark `tokens` as a count.
const COUNTED: &[&str] =
    &["max", "min", "num", "n", "count", "limit", "budget", "total", "output", "input", "per", "usage"];
/// Matched against the name without separators.
const SQUEEZED: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passw0rd",
    "p4ssword",
    "p4ssw0rd",
    "apikey",
    "accesskey",
    "authkey",
    "privatekey",
    "privkey",
    "secretkey",
    "sshkey",
    "signingkey",
    "encryptionkey",
    "licensekey",
    "pincode",
    "onetimecode",
    "accesscode",
    "logincode",
    "smscode",
    "authcode",
    "authenticationcode",
    "verificationcode",
    "securitycode",
    "recoverycode",
    "backupcode",
    "cardnumber",
    "creditcard",
    "seedphrase",
    "recoveryphrase",
    "socialsecurity",
];
/// Phrases in running text with hardly any other meaning. Separators count as one space.
const PHRASES: &[&str] = &[
    "password",
    "passw0rd",
    "passwd",
    "passphrase",
    "passcode",
    "api key",
    "apikey",
    "access key",
    "secret key",
    "private key",
    "client secret",
    "your secret ",
    "the secret ",
    "credentials",
    "bearer",
    "seed phrase",
    "recovery phrase",
    "credit card",
    "card number",
    "security number",
    "one time code",
    "verification code",
    "security code",
    "login code",
    "sms code",
    "access code",
    "auth code",
    "authentication code",
    "recovery code",
    "backup code",
    "digit code",
    "code sent",
    "code we sent",
    "code from your authenticator",
    "pin code",
    "your pin",
    "the pin",
    "enter pin",
    "пароль",
    "код из смс",
    "код из sms",
];
/// Whole words in running text.
const SPOKEN: &[&str] = &["token", "otp", "totp", "2fa", "mfa", "cvv", "cvc", "jwt"];

/// Returns the name of the first field that seems to ask for a secret.
pub fn secret_field(fields: &[Field]) -> Option<&str> {
    fields.iter().find(|field| field.wants_secret()).map(|field| field.name.as_str())
}

/// Returns whether running text asks for a secret.
pub fn secret_words(text: &str) -> bool {
    [fold(text), visible(text).to_lowercase()].iter().any(|text| {
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let line = format!("{} ", words.join(" "));
        PHRASES.iter().any(|phrase| line.contains(phrase)) || words.iter().any(|word| SPOKEN.contains(word))
    })
}

impl Field {
    fn wants_secret(&self) -> bool {
        // Choices and booleans tell the server nothing that it did not write itself.
        let named: fn(&[String]) -> bool = match self.kind {
            Kind::Text { .. } => is_secret,
            // `max_tokens` and `token_count` are numbers of tokens.
            Kind::Number { .. } => is_secret_number,
            _ => return false,
        };
        self.description.as_deref().is_some_and(secret_words)
            || self.titles().any(|name| {
                named(&words(&visible(name), true)) || named(&words(&fold_keeping_case(name), true))
            })
    }

    fn titles(&self) -> impl Iterator<Item = &str> {
        [Some(self.name.as_str()), self.title.as_deref()].into_iter().flatten()
    }
}

/// Folds a name but keeps its upper-case letters, which separate words.
fn fold_keeping_case(name: &str) -> String {
    let upper =
        |c: char| if c.is_uppercase() { fold(&c.to_string()).to_uppercase() } else { fold(&c.to_string()) };
    name.chars().map(upper).collect()
}

fn is_secret(words: &[String]) -> bool {
    squeezes(words)
        || words.iter().any(|word| is_word(word) || word.starts_with("otp") || word.ends_with("otp"))
        || words.iter().any(|word| has_part(word) && !is_counted(words, word))
}

fn is_secret_number(words: &[String]) -> bool {
    squeezes(words) || words.iter().any(|word| is_word(word))
}

fn squeezes(words: &[String]) -> bool {
    let whole = words.concat();
    SQUEEZED.iter().any(|part| whole.contains(part))
}

/// `pin2` and `pins` are pins.
fn is_word(word: &str) -> bool {
    let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
    [word, bare, bare.strip_suffix('s').unwrap_or(bare)].iter().any(|word| WORDS.contains(word))
}

fn has_part(word: &str) -> bool {
    let rest = HARMLESS.iter().fold(word.to_owned(), |word, harmless| word.replace(harmless, " "));
    PARTS.iter().any(|part| rest.contains(part))
}

/// `max_tokens` and `tokens per minute` are counts; `tokens` alone may be secrets.
fn is_counted(words: &[String], word: &str) -> bool {
    let counts = |word: &String| COUNTED.contains(&word.as_str());
    matches!(word, "token" | "tokens") && words.iter().any(counts)
}
