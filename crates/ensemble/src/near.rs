//! Names that look like another: for "no such tool" answers. Never used to guess what to run.

use converse_config::is_near;
use strsim::levenshtein;

/// At most `most` of `names`, the likeliest first: those that hold all of the asked name's last word or are near it, or
/// whose last word is near.
pub(crate) fn near_names<'n>(asked: &str, names: &[&'n str], most: usize) -> Vec<&'n str> {
    let asked: String = asked.chars().take(128).collect::<String>().to_lowercase();
    let tail = asked.rsplit("__").next().unwrap_or_default();
    let mut scored: Vec<(usize, &str)> = names
        .iter()
        .filter_map(|name| {
            let name_lower = name.to_lowercase();
            let whole = levenshtein(&asked, &name_lower);
            let last = levenshtein(tail, name_lower.rsplit("__").next().unwrap_or_default());
            let close = is_near(whole, &asked)
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
