//! Completion: values that a server suggests for an argument of a prompt or a variable of a template.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion> (checked 2026-11).

use std::collections::{BTreeMap, HashMap};

use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompletionContext,
    Reference as WireReference,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::pages::label;
use crate::raw::First;

/// The protocol's own limit.
const MAX_VALUES: usize = 100;
const MAX_VALUE: usize = 200;

/// What an argument belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'a> {
    /// A prompt, by its name.
    Prompt(&'a str),
    /// A template, by its URI with the variables in it.
    Template(&'a str),
}

/// Builds the request. `value` is the text typed so far, `others` are the arguments with known values.
pub(crate) fn request(
    of: Reference<'_>,
    argument: &str,
    value: &str,
    others: &BTreeMap<String, String>,
) -> ClientRequest {
    let reference = match of {
        Reference::Prompt(name) => WireReference::for_prompt(name),
        Reference::Template(uri) => WireReference::for_resource(uri),
    };
    let mut params = CompleteRequestParams::new(reference, ArgumentInfo::new(argument, value));
    if !others.is_empty() {
        let settled: HashMap<String, String> = others.clone().into_iter().collect();
        params = params.with_context(CompletionContext::with_arguments(settled));
    }
    ClientRequest::CompleteRequest(CompleteRequest::new(params))
}

/// Returns the suggestions in the server's order, without those that are not text.
pub(crate) fn values(result: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Result<'a> {
        #[serde(borrow)]
        completion: Completion<'a>,
    }
    #[derive(Deserialize)]
    struct Completion<'a> {
        #[serde(borrow)]
        values: First<&'a RawValue, MAX_VALUES>,
    }
    let Ok(Result { completion }) = serde_json::from_str(result) else { return Vec::new() };
    completion.values.items.into_iter().filter_map(|raw| label(Some(raw), MAX_VALUE)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn suggestions_are_bounded_and_plain() {
        let many: Vec<String> = (0..150).map(|n| n.to_string()).collect();
        assert_eq!(values(&json!({ "completion": { "values": many } }).to_string()).len(), 100);
        let odd = json!({ "completion": { "values": ["a\u{1b}[31m", 5, null, "", "x".repeat(1000)] } });
        let shown = values(&odd.to_string());
        assert_eq!(shown.first().map(String::as_str), Some("a\\x1b[31m"));
        assert!(shown.len() == 2 && shown[1].len() < 210);
        for nothing in
            [json!({}), json!([]), json!({ "completion": {} }), json!({ "completion": { "values": 5 } })]
        {
            assert_eq!(values(&nothing.to_string()), Vec::<String>::new(), "{nothing}");
        }
    }

    #[test]
    fn a_question_says_what_it_is_about() {
        let others = BTreeMap::from([("lang".to_owned(), "en".to_owned())]);
        let request_json =
            serde_json::to_value(request(Reference::Prompt("p"), "tone", "f", &others)).unwrap();
        assert_eq!(request_json["method"], "completion/complete");
        assert_eq!(
            request_json["params"],
            json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "tone", "value": "f" },
                    "context": { "arguments": { "lang": "en" } } })
        );
        let request_json = request(Reference::Template("x:///{a}"), "a", "", &BTreeMap::new());
        let request_json = serde_json::to_value(request_json).unwrap();
        assert_eq!(request_json["params"]["ref"], json!({ "type": "ref/resource", "uri": "x:///{a}" }));
        assert!(request_json["params"].get("context").is_none());
    }
}
