//! Suggestions of a server for a missing argument, added to the failure. They must arrive within a few seconds.

use std::collections::BTreeMap;

use converse_mcp::{McpConnection, OfferError, Reference};

use crate::failure::Failure;

/// Number of values and templates in an error.
pub(super) const MOST_NAMED: usize = 10;
/// Number of arguments for which values are requested.
const MOST_ASKED: usize = 5;

/// Adds suggested values of the names to the failure. Stops at the first name that is not answered in time.
pub(super) async fn suggested<'n>(
    failure: Failure,
    server: &McpConnection,
    of: Reference<'_>,
    names: impl Iterator<Item = &'n str>,
    given: &BTreeMap<String, String>,
) -> Failure {
    with_suggestions(failure, names, async |name| server.complete(of, name, "", given).await).await
}

async fn with_suggestions<'n>(
    mut failure: Failure,
    names: impl Iterator<Item = &'n str>,
    values: impl AsyncFn(&'n str) -> Result<Vec<String>, OfferError>,
) -> Failure {
    for name in names.take(MOST_ASKED) {
        let Ok(values) = values(name).await else { break };
        failure = with_values(failure, name, &values);
    }
    failure
}

fn with_values(failure: Failure, name: &str, values: &[String]) -> Failure {
    if values.is_empty() {
        return failure;
    }
    let shown: Vec<&str> = values.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if values.len() > MOST_NAMED { " …" } else { "" };
    failure.hint(format!("`{name}` may be: {}{more}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_server_is_asked_a_few_times_and_until_it_is_silent() {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        for (silent, times, hints) in [("none", 5, 5), ("a", 1, 0), ("c", 3, 2)] {
            let count = Cell::new(0);
            let values = async |name: &str| {
                count.set(count.get() + 1);
                if name == silent { Err(OfferError::Failed("late".into())) } else { Ok(vec!["v".to_owned()]) }
            };
            let failure = with_suggestions(Failure::usage("x", "x"), names.into_iter(), values).await;
            assert_eq!((count.get(), failure.hints.len()), (times, hints), "{silent}");
        }
    }
}
