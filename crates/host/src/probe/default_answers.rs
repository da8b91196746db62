//! The answers of a probe to the forms of a server, where nobody is asked.

use converse_mcp::{Elicitation, ElicitationReply, Elicitor, elicitation};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

/// Accepts forms with their defaults if these are valid. Other requests are declined.
#[derive(Debug)]
pub struct DefaultAnswers;

impl Elicitor for DefaultAnswers {
    fn elicit<'a>(&'a self, _ensemble: &'a str, asked: Elicitation) -> BoxFuture<'a, ElicitationReply> {
        let reply = match asked {
            Elicitation::Form { schema, .. } => with_defaults(&schema),
            Elicitation::Url { .. } => ElicitationReply::Decline,
        };
        std::future::ready(reply).boxed()
    }
}

fn with_defaults(schema: &Value) -> ElicitationReply {
    let answer = elicitation::defaults(schema);
    match elicitation::validate(schema, &answer) {
        Ok(()) => ElicitationReply::Accept(Some(answer)),
        Err(_) => ElicitationReply::Decline,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_is_accepted_with_its_defaults_or_declined() {
        let form = |required: &[&str]| {
            let properties =
                json!({ "city": { "type": "string" }, "nights": { "type": "integer", "default": 2 } });
            json!({ "type": "object", "properties": properties, "required": required })
        };
        let nights = json!({ "nights": 2 }).as_object().cloned();
        assert_eq!(with_defaults(&form(&["nights"])), ElicitationReply::Accept(nights));
        assert_eq!(with_defaults(&form(&["city"])), ElicitationReply::Decline);
    }
}
