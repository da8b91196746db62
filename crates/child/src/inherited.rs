//! The variables of our environment that every child gets.

/// The names of variables that a child gets from our environment, and nothing else.
pub const INHERITED: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ"];

/// Those of `environment` that are [`INHERITED`], in their order.
pub fn inherited<'a>(environment: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    environment
        .into_iter()
        .filter(|(name, _)| INHERITED.contains(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
