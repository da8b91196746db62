//! What answers the requests of a server during a probe, and what grants access.

use std::sync::Arc;

use converse_mcp::{Consent, Elicitor, Responders};

use crate::args::{Elicit, OauthFlow, ProbeArgs};
use converse_host::failure::Failure;
use converse_host::headless_consent::Headless;
use converse_host::probe::DefaultAnswers;
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
        Elicit::Defaults => Some(Arc::new(DefaultAnswers)),
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
