//! The TOML text of descriptors.

use std::fmt::Write as _;
use std::time::Duration;

use crate::server::{Oauth, Reach, Server};

/// The longest list on one line, in bytes.
const MAX_LINE: usize = 100;

impl Server {
    /// The text of its descriptor. It holds no secret, and `ensembles check` finds no error in it.
    pub fn toml(&self) -> String {
        let mut text = format!("[ensemble]\nname = {}\n", quoted(&self.name));
        if let Some(description) = &self.description {
            line(&mut text, "description", &quoted(description));
        }
        if !self.enabled {
            line(&mut text, "enabled", "false");
        }
        if self.required {
            line(&mut text, "required", "true");
        }
        text.push_str("\n[connection]\n");
        match &self.reach {
            Reach::Stdio { command, cwd, .. } => {
                line(&mut text, "transport", "\"stdio\"");
                line(&mut text, "command", &list(command));
                cwd.iter().for_each(|cwd| line(&mut text, "cwd", &quoted(cwd)));
            }
            Reach::Http { url, .. } => {
                line(&mut text, "transport", "\"http\"");
                line(&mut text, "url", &quoted(url));
            }
        }
        if self.oauth.is_some() {
            line(&mut text, "auth", "\"oauth\"");
        }
        self.connect_timeout.iter().for_each(|limit| line(&mut text, "connect_timeout", &seconds(*limit)));
        match &self.reach {
            Reach::Stdio { environment, .. } => table(&mut text, "connection.environment", environment),
            Reach::Http { headers, .. } => table(&mut text, "connection.headers", headers),
        }
        self.oauth.iter().for_each(|oauth| client(&mut text, oauth));
        if let Some(timeout) = self.timeout {
            let _ = write!(text, "\n[defaults]\ntimeout = {}\n", seconds(timeout));
        }
        if !self.include.is_empty() || !self.exclude.is_empty() {
            text.push_str("\n[tools]\n");
            for (key, patterns) in [("include", &self.include), ("exclude", &self.exclude)] {
                if !patterns.is_empty() {
                    line(&mut text, key, &list(patterns));
                }
            }
        }
        text
    }
}

/// The table of the OAuth client; nothing for the default.
fn client(text: &mut String, oauth: &Oauth) {
    if *oauth == Oauth::default() {
        return;
    }
    text.push_str("\n[connection.oauth]\n");
    let texts = [
        ("client_id", &oauth.client_id),
        ("client_secret", &oauth.client_secret),
        ("client_metadata_url", &oauth.client_metadata_url),
    ];
    for (key, value) in texts {
        value.iter().for_each(|value| line(text, key, &quoted(value)));
    }
    if !oauth.scopes.is_empty() {
        line(text, "scopes", &list(&oauth.scopes));
    }
    oauth.redirect_port.iter().for_each(|port| line(text, "redirect_port", &port.to_string()));
}

fn line(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key} = {value}");
}

fn table(text: &mut String, name: &str, entries: &[(String, String)]) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n[{name}]");
    for (key, value) in entries {
        line(text, &bare_or_quoted(key), &quoted(value));
    }
}

/// A list on one line, or with one line for each entry.
pub(crate) fn list(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    let short = format!("[{}]", values.join(", "));
    if short.len() <= MAX_LINE {
        return short;
    }
    let lines: String = values.iter().map(|value| format!("    {value},\n")).collect();
    format!("[\n{lines}]")
}

/// A basic string on one line, with invisible characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if converse_config::escape(c.encode_utf8(&mut [0; 4])).starts_with('\\') => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

pub(crate) fn bare_or_quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { key.to_owned() } else { quoted(key) }
}

fn seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    if limit.subsec_nanos() == 0 { limit.as_secs().to_string() } else { format!("{seconds:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_toml() {
        for text in
            ["", "a\"b\\c", "line\nend\r\t", "\u{1b}[0m\u{202e}\u{feff}\u{e0041}", "Привет ${X}", "'''\"\"\""]
        {
            let table: toml::Table = format!("{} = {}", bare_or_quoted(text), quoted(text)).parse().unwrap();
            assert_eq!(table.get(text).and_then(toml::Value::as_str), Some(text), "{text:?}");
            assert!(!quoted(text).contains(char::is_control));
        }
        assert!(list(&["x".repeat(80), "y".repeat(80)]).lines().count() == 4);
    }
}
