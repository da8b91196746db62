//! "Did you mean": the known name nearest to a mistyped one.

/// Bytes of a name that is compared, and pairs of bytes that are looked at in all: names may be a server's, thousands of
/// them and as long as it likes, and nothing is heard of a Ctrl-C meanwhile.
const LONGEST: usize = 256;
const MOST_PAIRS: usize = 10_000_000;

/// The nearest name, if one is near enough to be meant.
pub(crate) fn nearest<'n>(asked: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let (far, mut pairs) = (asked.len().max(3) / 3 + 1, 0);
    let is_near = |name: &&str| name.len() <= LONGEST && name.len().abs_diff(asked.len()) <= 4 * far;
    let names = names.filter(is_near).take_while(|name| {
        pairs += name.len() * asked.len();
        pairs <= MOST_PAIRS
    });
    if asked.len() > LONGEST {
        return None;
    }
    let near = names.map(|name| (strsim::damerau_levenshtein(asked, name), name)).min()?;
    (near.0 <= far).then_some(near.1)
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

    #[test]
    fn many_long_names_cost_little() {
        let (long, asked) = ("x".repeat(8192), "y".repeat(8192));
        let began = std::time::Instant::now();
        assert_eq!(nearest(&asked, std::iter::repeat_n(long.as_str(), 10_000)), None);
        assert_eq!(nearest(&asked[..256], std::iter::repeat_n(&long[..256], 10_000)), None);
        let near = format!("{}z", &asked[..255]);
        let names = std::iter::repeat_n(long.as_str(), 10_000).chain([near.as_str()]);
        assert_eq!(nearest(&asked[..256], names), Some(near.as_str()));
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}
