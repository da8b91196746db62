//! What the requests of a run prove: that all tools were offered and all invocations ran.

use serde_json::Value;

use super::cases::Case;
use crate::Result;
use crate::stub::Exchange;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Evidence {
    requests: usize,
    /// Tools in the last request.
    tools: usize,
    /// What it says that tools answered.
    results: Vec<String>,
}

impl Evidence {
    pub(super) fn of(exchanges: &[Exchange]) -> Result<Self> {
        let last = exchanges.last().ok_or("no request came")?;
        let body: Value = serde_json::from_slice(&last.body)?;
        let list = |name: &str| body[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let results = list("messages").iter().filter(|message| message["role"] == "tool");
        Ok(Self {
            requests: exchanges.len(),
            tools: list("tools").len(),
            results: results.map(|message| message["content"].to_string()).collect(),
        })
    }

    pub(super) fn check(&self, case: &Case) -> Result<()> {
        let (tools, invocations) = (case.servers * case.tools, case.scenario.invocations());
        let requests = case.scenario.replies();
        let right = self.results.iter().filter(|result| result.contains(case.scenario.result())).count();
        for (what, found, expected) in [
            ("requests", self.requests, requests),
            ("tools", self.tools, tools),
            ("results", self.results.len(), invocations),
            ("right results", right, invocations),
        ] {
            if found != expected {
                return Err(
                    format!("{expected} {what} were expected, {found} came: {:?}", self.results).into()
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::cases::CASES;
    use super::*;

    fn evidence(requests: usize, tools: usize, results: &[&str]) -> Evidence {
        Evidence { requests, tools, results: results.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn the_last_request_is_what_counts() {
        let exchange =
            |body: &str| Exchange { path: String::new(), body: body.into(), first: Instant::now() };
        let first = exchange("{\"messages\":[{\"role\":\"user\"}]}");
        let last = exchange(
            "{\"tools\":[{},{}],\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"tool\",\"content\":\"b\"}]}",
        );
        assert_eq!(Evidence::of(&[first, last]).unwrap(), evidence(2, 2, &["\"b\""]));
        assert!(Evidence::of(&[]).is_err() && Evidence::of(&[exchange("x")]).is_err());
    }

    #[test]
    fn a_run_that_left_something_out_does_not_count() {
        let (trip, servers) = (&CASES[0], &CASES[7]);
        assert!(evidence(2, 4, &["heard: hello"]).check(trip).is_ok());
        assert!(evidence(1, 200, &[]).check(servers).is_ok());
        for (case, evidence, problem) in [
            (trip, evidence(1, 4, &[]), "2 requests were expected, 1 came"),
            (trip, evidence(2, 3, &["heard: hello"]), "4 tools were expected, 3 came"),
            (trip, evidence(2, 4, &[]), "1 results were expected, 0 came"),
            (trip, evidence(2, 4, &["not allowed"]), "1 right results were expected, 0 came"),
            (servers, evidence(1, 196, &[]), "200 tools"),
        ] {
            let error = evidence.check(case).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
