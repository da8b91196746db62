//! "Did you mean": the known name nearest to a mistyped one.

/// The nearest name, if one is near enough to be meant.
pub(crate) fn nearest<'n>(asked: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = names.map(|name| (strsim::damerau_levenshtein(asked, name), name)).min()?;
    (near.0 <= asked.len().max(3) / 3 + 1).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_offered() {
        let names = || ["anthropic", "openai", "groq"].into_iter();
        assert_eq!(nearest("antropic", names()), Some("anthropic"));
        assert_eq!(nearest("opneai", names()), Some("openai"));
        assert_eq!(nearest("mistral", names()), None);
        assert_eq!(nearest("x", std::iter::empty()), None);
    }
}
