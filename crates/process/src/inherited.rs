//! The variables of our environment that every child gets.

/// The names of variables that a child gets from our environment, and nothing else.
pub const INHERITED: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ"];

/// Those of `environment` that are [`INHERITED`], in their order. PATH is without its empty and relative entries: whoever
/// looks a program up there, a launcher's `#!/usr/bin/env` say, must not find one that was planted in the current
/// directory.
pub fn inherited<'a>(environment: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    environment
        .into_iter()
        .filter(|(name, _)| INHERITED.contains(name))
        .filter_map(|(name, value)| {
            let value = if name == "PATH" { absolute_entries(value)? } else { value.to_owned() };
            Some((name.to_owned(), value))
        })
        .collect()
}

/// `None` if nothing is left: an empty PATH means the current directory to some.
fn absolute_entries(path: &str) -> Option<String> {
    let entries: Vec<&str> = path.split(':').filter(|entry| entry.starts_with('/')).collect();
    (!entries.is_empty()).then(|| entries.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_stays_here_and_path_is_absolute() {
        for (path, left) in [
            ("/a:/b", Some("/a:/b")),
            (".:/a::node_modules/.bin:/b:", Some("/a:/b")),
            (".", None),
            ("", None),
        ] {
            let all = inherited([("PATH", path), ("LD_PRELOAD", "x"), ("HOME", "."), ("API_KEY", "k")]);
            let path = all.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
            assert_eq!(path, left);
            let others: Vec<_> = all.iter().filter(|(name, _)| name != "PATH").collect();
            assert_eq!(others, [&("HOME".to_owned(), ".".to_owned())]);
        }
    }
}
