//! Names of tools for people.

/// Returns `ensemble.invoker` for a name that models see, `ensemble__invoker`, and any other name unchanged. If the
/// descriptor has a prefix, the prefix replaces the ensemble's name.
pub fn tool_name(seen: &str) -> String {
    match seen.split_once("__") {
        Some((ensemble, invoker)) if !ensemble.is_empty() && !invoker.is_empty() => {
            format!("{ensemble}.{invoker}")
        }
        _ => seen.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_at_the_first_double_underscore() {
        for (seen, name) in [
            ("io__read_file", "io.read_file"),
            ("a__b__c", "a.b__c"),
            ("read_file", "read_file"),
            ("io.read", "io.read"),
            ("__x", "__x"),
            ("x__", "x__"),
        ] {
            assert_eq!(tool_name(seen), name);
        }
    }
}
