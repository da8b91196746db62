//! Password files of libpq: `HOST:PORT:DATABASE:USER:PASSWORD`, one a line. Pure.

/// Returns the password of the first line that fits. `*` fits everything, and a backslash escapes `:` and itself.
pub(crate) fn password(text: &str, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
    let port = port.to_string();
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [for_host, for_port, for_database, for_user, password] = fields.as_slice() else { return None };
        let pairs = [(for_host, host), (for_port, port.as_str()), (for_database, database), (for_user, user)];
        let fits = pairs.iter().all(|(wanted, found)| *wanted == "*" || wanted == found);
        fits.then(|| password.clone())
    })
}

/// Splits a line at colons; the fifth field is the rest.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut escaped) = (vec![String::new()], false);
    for c in line.chars() {
        let is_last = fields.len() == 5;
        let Some(field) = fields.last_mut() else { break };
        match c {
            _ if escaped => {
                field.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            ':' if !is_last => fields.push(String::new()),
            _ => field.push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# a comment\nh:1:d:u:one\n*:*:*:u:t\\\\w:o\nbroken\nh:*:d:*:three\n";
        for (host, port, user, expected) in [
            ("h", 1, "u", Some("one")),
            ("h", 2, "u", Some("t\\w:o")),
            ("h", 2, "v", Some("three")),
            ("x", 2, "v", None),
        ] {
            assert_eq!(password(text, host, port, "d", user).as_deref(), expected);
        }
    }
}
