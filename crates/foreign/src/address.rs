//! Replaces the secrets in the address of a server, so that the rest stays readable.

use converse_text::secrets::{decoded, is_secret, shows_itself};

use crate::text::{Piece, Text};

/// Replaces the password before the host, and secret parts of the path and the query. `lift` gets a name and the value, and
/// returns the name of the variable.
pub(crate) fn without_secrets(text: &Text, mut lift: impl FnMut(&str, &str) -> String) -> Text {
    let mut pieces = Text::new();
    let mut in_query = false;
    for (at, piece) in text.iter().enumerate() {
        match piece {
            Piece::Plain(plain) => pieces.extend(of_plain(plain, at == 0, &mut in_query, &mut lift)),
            other => pieces.push(other.clone()),
        }
    }
    pieces
}

fn of_plain(
    plain: &str,
    first: bool,
    in_query: &mut bool,
    lift: &mut impl FnMut(&str, &str) -> String,
) -> Text {
    let (head, rest) = match plain.split_once("://") {
        Some((scheme, rest)) if first => (format!("{scheme}://"), rest),
        _ => (String::new(), plain),
    };
    let mut pieces = vec![Piece::Plain(head)];
    let authority = if first { rest.find(['/', '?', '#']).unwrap_or(rest.len()) } else { 0 };
    let (authority, path) = rest.split_at(authority);
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            match user.split_once(':') {
                Some((user, password)) if !password.is_empty() => {
                    pieces.push(Piece::Plain(format!("{user}:")));
                    pieces.push(variable(lift("password", password)));
                }
                _ if shows_itself(user) => pieces.push(variable(lift("user", user))),
                _ => pieces.push(Piece::Plain(user.to_owned())),
            }
            pieces.push(Piece::Plain(format!("@{host}")));
        }
        None => pieces.push(Piece::Plain(authority.to_owned())),
    }
    let mut rest = path;
    while !rest.is_empty() {
        // After the `?`, a `/` is part of a value.
        let marks: &[char] = if *in_query { &['&', '#', ';'] } else { &['/', '?', '&', '#', ';'] };
        let (inside, behind) = rest.split_at(rest.find(marks).unwrap_or(rest.len()));
        pieces.extend(of_part(inside, lift));
        *in_query |= behind.starts_with(['?', '&', '#']);
        let (mark, after) = behind.split_at(behind.len().min(1));
        pieces.push(Piece::Plain(mark.to_owned()));
        rest = after;
    }
    pieces.retain(|piece| !matches!(piece, Piece::Plain(plain) if plain.is_empty()));
    pieces
}

/// `name=value`, or a part of the path.
fn of_part(inside: &str, lift: &mut impl FnMut(&str, &str) -> String) -> Text {
    let (name, value) = inside.split_once('=').unwrap_or(("", inside));
    let plain_name = decoded(name).unwrap_or_else(|| name.to_owned());
    let secret = is_secret(&plain_name, value) || shows_itself(value);
    if !secret || value.is_empty() {
        return vec![Piece::Plain(inside.to_owned())];
    }
    let equals = if name.is_empty() { String::new() } else { format!("{name}=") };
    // An invalid name may contain a secret, which would become part of the name of the variable.
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = !plain_name.is_empty() && plain_name.chars().all(valid);
    vec![Piece::Plain(equals), variable(lift(if is_name { &plain_name } else { "url key" }, value))]
}

fn variable(name: String) -> Piece {
    Piece::Variable { name, default: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Dialect, Inputs, write};

    #[test]
    fn only_secrets_are_replaced() {
        for (url, expected) in [
            ("https://a.example/mcp?x=1", "https://a.example/mcp?x=1"),
            ("https://me:hunter2@a.example/mcp", "https://me:${password}@a.example/mcp"),
            ("https://a.example/mcp?apiKey=abc&x=1", "https://a.example/mcp?apiKey=${apiKey}&x=1"),
            ("https://a.example/s/sk-ak-1234567890abcdef/sse", "https://a.example/s/${url key}/sse"),
            ("https://a.example?token=${T}", "https://a.example?token=${T}"),
            ("https://${HOST}/mcp?key=abc", "https://${HOST}/mcp?key=${key}"),
            ("https://a.example/mcp#f", "https://a.example/mcp#f"),
            ("https://a.example/mcp?pw=abc", "https://a.example/mcp?pw=${pw}"),
            ("https://a.example/mcp?token=ab/cd?e&x=1", "https://a.example/mcp?token=${token}&x=1"),
            ("https://a.example/mcp%3Fapi_key%3Dabc", "https://a.example/${url key}"),
            ("https://a.example/?to=b%3Fapi_key%3Dabc", "https://a.example/?to=${to}"),
            (
                "https://a.example/a%3Fapi_key%3Dabc%26x=1",
                "https://a.example/a%3Fapi_key%3Dabc%26x=${url key}",
            ),
            ("https://a.example/?%61pi_key=abc", "https://a.example/?%61pi_key=${api_key}"),
        ] {
            let text = Dialect::Braces.parse(url, &Inputs::new());
            let replaced = without_secrets(&text, |name, _| name.to_owned());
            assert_eq!(write(&replaced).as_deref(), Some(expected));
        }
    }
}
