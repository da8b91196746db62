//! Keys: read from the environment snapshot, attached by the HTTP client, redacted from all output.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use converse_session::{Document, Redact};
use converse_text::secrets::{Finder, is_secret};
use http::header::HeaderName;
use parking_lot::RwLock;
use serde_json::{Map, Value};

use crate::failure::{Failure, Kind};
use crate::world::World;

/// A key. Its value leaves this module only as a header or to be searched for in output.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// Redacts every known secret from output, also in Base64, in hexadecimal and percent-encoded. Shared, because keys become
/// known while settings are read.
#[derive(Debug, Clone, Default)]
pub struct Redactor(Arc<RwLock<Known>>);

/// What is redacted. The finders are built when they are needed first, and again after a new secret.
#[derive(Debug, Default)]
struct Known {
    secrets: Vec<Secret>,
    finder: OnceLock<Finder>,
    /// For single lines of secrets.
    line_finder: OnceLock<Finder>,
}

impl Known {
    /// The same keys are added again and again.
    fn extend(&mut self, secrets: impl IntoIterator<Item = Secret>) {
        let before = self.secrets.len();
        for secret in secrets {
            if !self.secrets.iter().any(|old| old.0 == secret.0) {
                self.secrets.push(secret);
            }
        }
        if self.secrets.len() > before {
            (self.finder, self.line_finder) = Default::default();
        }
    }

    fn finder(&self) -> &Finder {
        self.finder.get_or_init(|| Finder::new(self.secrets.iter().map(Secret::expose)))
    }

    fn line_finder(&self) -> &Finder {
        self.line_finder.get_or_init(|| {
            let lines = self.secrets.iter().flat_map(|secret| secret.0.lines());
            Finder::new(lines.map(str::trim))
        })
    }
}

impl Redactor {
    pub fn learn(&self, secrets: impl IntoIterator<Item = Secret>) {
        self.0.write().extend(secrets);
    }

    /// Redacts keys wherever the text contains them, or the beginning of one that is cut off. Values too short to be a key
    /// are not redacted.
    pub fn clean(&self, text: &str) -> String {
        self.0.read().finder().redacted(text).unwrap_or_else(|| text.to_owned())
    }

    /// Redacts a line that may be one of several lines of a key.
    pub fn clean_line(&self, line: &str) -> String {
        self.0.read().line_finder().redacted(line).unwrap_or_else(|| line.to_owned())
    }

    /// Returns a secret that the text contains.
    pub fn find_secret(&self, text: &str) -> Option<Secret> {
        let known = self.0.read();
        known.finder().first(text).and_then(|index| known.secrets.get(index).cloned())
    }

    /// Most texts contain no key and are returned unchanged.
    pub fn clean_text(&self, text: &mut String) {
        if let Some(clean) = self.0.read().finder().redacted(text) {
            *text = clean;
        }
    }

    /// Returns whether a JSON text contains a secret, escaped or not. A text that cannot be parsed counts as containing
    /// one.
    pub(crate) fn is_in_json(&self, text: &str) -> bool {
        let known = self.0.read();
        if known.secrets.is_empty() {
            return false;
        }
        let hold = |text: &str| known.finder().first(text).is_some();
        // Without a backslash, strings are unescaped in the text.
        hold(text)
            || text.contains('\\')
                && serde_json::from_str(text).map_or(true, |value| is_any_text(&value, &hold))
    }

    /// Redacts every string and every key in a value; keys stay distinct. Serialised text cannot be searched instead:
    /// keys may be escaped there, and a secret that looks like JSON would break it.
    pub fn clean_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.clean(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_json(item)),
            Value::Object(object) => {
                object.values_mut().for_each(|item| self.clean_json(item));
                if object.keys().any(|key| self.clean(key) != *key) {
                    *object = self.renamed(std::mem::take(object));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Redacts every known secret in a session.
    ///
    /// # Errors
    ///
    /// A message cannot be read without its secret.
    pub fn clean_session(&self, document: Document) -> Result<Document, Failure> {
        document.redacted(self).map_err(|_| {
            let message = "a secret is in the structure of a message, so it cannot be redacted";
            Failure::new(Kind::Internal, "not-redacted", message).hint("to export with secrets: `--raw`")
        })
    }

    /// Keeps the order; a key that exists already gets a number.
    fn renamed(&self, object: Map<String, Value>) -> Map<String, Value> {
        let names: Vec<String> = object.keys().map(|key| self.clean(key)).collect();
        let mut taken: HashSet<String> = object
            .keys()
            .zip(&names)
            .filter(|(key, name)| key == name)
            .map(|(_, name)| name.clone())
            .collect();
        // Continues the numbering through the whole object, so that the work stays linear.
        let mut number = 1;
        let mut fresh = |name: String| {
            let mut free = name.clone();
            while !taken.insert(free.clone()) {
                number += 1;
                free = format!("{name} ({number})");
            }
            free
        };
        let renamed = object.into_iter().zip(names).map(|((key, value), name)| {
            let key = if key == name { key } else { fresh(name) };
            (key, value)
        });
        renamed.collect()
    }
}

impl Redact for Redactor {
    fn text(&self, text: &str) -> String {
        self.clean(text)
    }

    fn json(&self, value: &mut Value) {
        self.clean_json(value);
    }
}

/// Returns whether a text or key in the value matches.
fn is_any_text(value: &Value, so: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => so(text),
        Value::Array(items) => items.iter().any(|item| is_any_text(item, so)),
        Value::Object(object) => object.iter().any(|(key, item)| so(key) || is_any_text(item, so)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

/// Returns every variable that looks like a secret, so that its value is never printed. Keys in use are added too,
/// under any variable name.
pub(crate) fn keys_of(world: &World) -> Vec<Secret> {
    let secrets = world.env.iter().filter(|(name, value)| is_secret(name, value));
    secrets.map(|(_, value)| Secret::new(value.as_str())).collect()
}

/// Credentials of a provider: the key, and headers that are secret as well (a gateway may require one). They are not
/// part of the request; the HTTP client adds them.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub key: Option<Secret>,
    pub headers: Vec<SecretHeader>,
}

/// A header whose value is in an environment variable.
#[derive(Debug, Clone)]
pub struct SecretHeader {
    pub name: HeaderName,
    pub variable: String,
    /// `None` if the variable is not set.
    pub value: Option<Secret>,
}

impl Credentials {
    /// Returns whether there is a credential to send.
    pub fn are_set(&self) -> bool {
        self.secrets().next().is_some()
    }

    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.key.iter().chain(self.headers.iter().filter_map(|header| header.value.as_ref()))
    }

    /// Returns the values of the headers.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|header| header.variable.as_str())
    }

    /// Returns the variable of a header that should be set but is not.
    pub fn unset(&self) -> Option<&str> {
        self.headers.iter().find(|header| header.value.is_none()).map(|header| header.variable.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Input;

    #[test]
    fn keys_are_known_by_their_names() {
        for (name, value, is_key) in [
            ("SOME_API_KEY", "swordfish", true),
            ("PGPASSWORD", "swordfish", true),
            ("DB_PASS", "swordfish", true),
            ("GITHUB_PAT", "swordfish", true),
            ("MY_APIKEY", "swordfish", true),
            ("PATH", "/usr/bin", false),
            ("PWD", "/home/me", false),
            ("KEYBOARD", "swordfish", false),
            ("MONKEY", "swordfish", false),
            ("XAUTHORITY", "/home/me/.Xauthority", false),
        ] {
            let world = World {
                words: vec![],
                env: [(name.to_owned(), value.to_owned())].into(),
                cwd: "/".into(),
                config: None,
                data: None,
                database: None,
                stdin: Input::Nothing,
                stdout_tty: false,
                stderr_tty: false,
            };
            let found = keys_of(&world);
            assert_eq!(
                found.iter().map(Secret::expose).collect::<Vec<_>>(),
                Vec::from_iter(is_key.then_some(value)),
                "{name}"
            );
        }
    }

    /// Redacts one secret.
    fn redacted(secret: &Secret, text: &str) -> String {
        let redactor = Redactor::default();
        redactor.learn([secret.clone()]);
        redactor.clean(text)
    }

    #[test]
    fn a_secret_shows_itself_to_nobody() {
        let secret = Secret::new(" sk-canary-123 \n");
        assert!(!format!("{secret:?}").contains("canary"));
        assert_eq!(redacted(&secret, "bad key sk-canary-123!"), "bad key [redacted]!");
        assert_eq!(redacted(&Secret::new("x"), "x"), "x");
        let long = Secret::new("sk-proj-0123456789abcdef");
        assert_eq!(
            redacted(&long, "cut: sk-proj-0123456…, whole: sk-proj-0123456789abcdef."),
            "cut: [redacted]…, whole: [redacted]."
        );
        assert_eq!(redacted(&long, "sk-proj-other"), "sk-proj-other");
        let webhook = Secret::new("https://hooks.example/services/T024BE7LH");
        assert_eq!(redacted(&webhook, "https://hooks.example/services/T024BE7LH"), "[redacted]");
        assert_eq!(redacted(&webhook, "https://hooks.example/about"), "https://hooks.example/about");
        let redactor = Redactor::default();
        let shared = redactor.clone();
        redactor.learn([secret]);
        assert_eq!(shared.clean("sk-canary-123 sk-canary-123"), "[redacted] [redacted]");
        redactor.learn([Secret::new("pa\"ss\\word12")]);
        let mut value = serde_json::json!({ "answer": ["it is pa\"ss\\word12", 1, null] });
        shared.clean_json(&mut value);
        assert_eq!(value, serde_json::json!({ "answer": ["it is [redacted]", 1, null] }));
    }

    #[test]
    fn a_line_may_be_part_of_a_key() {
        let redactor = Redactor::default();
        redactor
            .learn([Secret::new("sk-canary-123"), Secret::new("-----BEGIN KEY-----\nMIIcanary0123456\nx\n")]);
        for (line, clean) in
            [("it is sk-canary-123.", "it is [redacted]."), ("MIIcanary0123456", "[redacted]"), ("x", "x")]
        {
            assert_eq!(redactor.clean_line(line), clean);
        }
    }

    #[test]
    fn a_secret_is_taken_out_of_keys_and_no_two_of_them_become_one() {
        let redactor = Redactor::default();
        redactor.learn([Secret::new("sk-canary-1"), Secret::new("sk-canary-2")]);
        let mut value = serde_json::json!({
            "b": 1, "sk-canary-1": 2, "a": { "x sk-canary-2": "sk-canary-1" }, "sk-canary-2": 3, "[redacted]": 4,
            "[redacted] (2)": 5, "sk-canary-1!": 6,
        });
        redactor.clean_json(&mut value);
        assert_eq!(
            value.to_string(),
            r#"{"b":1,"[redacted] (3)":2,"a":{"x [redacted]":"[redacted]"},"[redacted] (4)":3,"[redacted]":4,"[redacted] (2)":5,"[redacted]!":6}"#
        );
    }
}
