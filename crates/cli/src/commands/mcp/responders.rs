//! What answers the requests of a server during a probe, and what grants access.

use std::sync::Arc;

use converse_mcp::{Consent, Elicitation, ElicitationReply, Elicitor, Responders, elicitation};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::args::{Elicit, OauthFlow, ProbeArgs};
use converse_host::failure::Failure;
use converse_host::headless_consent::Headless;
use converse_host::world::World;
use converse_terminal::consent::{Browser, Listener};
use converse_terminal::console::Console;
use converse_terminal::person::TerminalPerson;

/// Nothing listens there: only the redirect itself is used.
const NOWHERE: &str = "http://localhost:3000/callback";

/// The responders for the flags. Without an elicitor every request is declined.
pub(super) fn responders(args: &ProbeArgs, console: &Console, world: &World) -> Result<Responders, Failure> {
    let person: Option<Arc<dyn Elicitor>> = match args.elicit {
        Elicit::Decline => None,
        Elicit::Defaults => Some(Arc::new(Defaults)),
        Elicit::Ask if console.context.can_ask => Some(Arc::new(TerminalPerson::new(&console.progress))),
        Elicit::Ask => {
            return Err(Failure::usage("no-terminal", "nobody can be asked here: there is no terminal"));
        }
    };
    let consent: Option<Arc<dyn Consent>> = match args.oauth {
        OauthFlow::Off => None,
        OauthFlow::Browser => Some(Arc::new(Listener::new(None, Browser::of(world)))),
        OauthFlow::Headless => Some(Arc::new(Headless::new(NOWHERE))),
    };
    Ok(Responders { elicitor: person, consent, ..Responders::default() })
}

/// Accepts forms with their defaults if these are valid. Other requests are declined.
#[derive(Debug)]
struct Defaults;

impl Elicitor for Defaults {
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
