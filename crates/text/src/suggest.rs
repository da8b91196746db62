//! "Did you mean": the known names nearest to a mistyped one. Never used to guess what to run.

/// Bytes of a name that is compared, and pairs of bytes that are looked at in all: names may be a server's, thousands of
/// them and as long as it likes, and nothing is heard of a Ctrl-C meanwhile.
const LONGEST: usize = 256;
const MOST_PAIRS: usize = 10_000_000;

/// Returns whether this number of edits is a typing error: at most a third of the letters, or short names would match nearly
/// anything.
fn is_near(edits: usize, typed: &str) -> bool {
    let letters = typed.chars().count();
    edits <= (letters / 3).max(1) && edits < letters
}

/// Returns the nearest name, if one is near enough to be meant, whatever its case.
pub fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if typed.len() > LONGEST {
        return None;
    }
    let (typed, mut pairs) = (typed.to_lowercase(), 0);
    // A letter has four bytes at most.
    let may_be =
        |name: &&str| name.len() <= LONGEST && is_near(name.len().abs_diff(typed.len()).div_ceil(4), &typed);
    let names = names.filter(may_be).take_while(|name| {
        pairs += name.len() * typed.len();
        pairs <= MOST_PAIRS
    });
    let edits = |name: &str| strsim::damerau_levenshtein(&typed, &name.to_lowercase());
    let (edits, name) = names.map(|name| (edits(name), name)).min()?;
    is_near(edits, &typed).then_some(name)
}

/// Returns at most `most` of `names`, the likeliest first: those that contain the last word of the typed name or are near it, or
/// whose last word is near.
pub fn near_names<'n>(typed: &str, names: &[&'n str], most: usize) -> Vec<&'n str> {
    let typed: String = typed.chars().take(128).collect::<String>().to_lowercase();
    let tail = typed.rsplit("__").next().unwrap_or_default();
    let mut scored: Vec<(usize, &str)> = names
        .iter()
        .filter_map(|name| {
            let name_lower = name.to_lowercase();
            let whole = strsim::levenshtein(&typed, &name_lower);
            let last = strsim::levenshtein(tail, name_lower.rsplit("__").next().unwrap_or_default());
            let close = is_near(whole, &typed)
                || is_near(last, tail)
                || (tail.len() >= 3 && name_lower.contains(tail));
            close.then_some((whole.min(last), *name))
        })
        .collect();
    scored.sort();
    scored.into_iter().take(most).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_offered() {
        let names = || ["anthropic", "openai", "groq", "code", "io"].into_iter();
        for (typed, near) in [
            ("antropic", Some("anthropic")),
            ("opneai", Some("openai")),
            ("OpenAI", Some("openai")),
            ("goq", Some("groq")),
            ("oi", Some("io")),
            ("mistral", None),
            // Half of it would have to change.
            ("nope", None),
            ("node", Some("code")),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, names()), near, "{typed}");
        }
        assert_eq!(nearest("x", std::iter::empty()), None);
        assert_eq!(nearest("моель", ["модель"].into_iter()), Some("модель"));
    }

    #[test]
    fn many_long_names_cost_little() {
        converse_testkit::hang_guard::run("comparing long names", || {
            let (long, typed) = ("x".repeat(8192), "y".repeat(8192));
            assert_eq!(nearest(&typed, std::iter::repeat_n(long.as_str(), 10_000)), None);
            assert_eq!(nearest(&typed[..256], std::iter::repeat_n(&long[..256], 10_000)), None);
            let near = format!("{}z", &typed[..255]);
            let names = std::iter::repeat_n(long.as_str(), 10_000).chain([near.as_str()]);
            assert_eq!(nearest(&typed[..256], names), Some(near.as_str()));
        });
    }

    #[test]
    fn near_names_are_found_and_ranked() {
        let names = ["io__read_file", "io__write_file", "essentials__calculator"];
        assert_eq!(near_names("io__readfile", &names, 10)[0], "io__read_file");
        assert_eq!(near_names("calculator", &names, 10), ["essentials__calculator"]);
        assert_eq!(near_names("Calculater", &names, 10), ["essentials__calculator"]);
        assert!(near_names("zzz", &names, 10).is_empty());
        assert!(near_names("x__nope", &["io__code"], 10).is_empty());
        assert_eq!(near_names("x__file", &names, 1).len(), 1);
    }
}
