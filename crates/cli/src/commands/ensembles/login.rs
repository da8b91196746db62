//! `converse ensembles login` and `logout`: the token of one server, granted by a person and kept for later runs.

use std::sync::Arc;

use converse_config::{ConnectionPlan, EnsemblePlan, OauthPlan, Rule, TransportPlan};
use converse_mcp::{Consent, LoggedOut, Login as Granted};
use jiff::Timestamp;

use crate::args::Places;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::wiring::{Wiring, eager};
use converse_host::world::World;
use converse_terminal::consent::{Browser, Listener, Pasted};
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stdout;
use converse_terminal::signals;
use converse_text::safe_line;
use converse_text::wording::counted;

pub(super) struct Login<'a> {
    pub(super) name: &'a str,
    pub(super) places: &'a Places,
    pub(super) no_browser: bool,
    pub(super) scopes: &'a [String],
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
}

impl Login<'_> {
    pub(super) fn run(&self) -> Result<(), Failure> {
        for scope in self.scopes {
            // RFC 6749, section 3.3.
            if scope.is_empty()
                || !scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
            {
                return Err(Failure::usage(
                    "bad-scope",
                    "a scope is visible ASCII without spaces and quotes",
                ));
            }
        }
        let catalogue = Catalogue::find(self.world, &self.places.ensembles);
        let plan = catalogue.named(self.name)?;
        self.console.warn_all(catalogue.notes());
        let (connection, oauth) = oauth(plan)?;
        let consent = self.consent(oauth);
        let interrupt = signals::watch()?;
        let (world, console, interrupt, contents) = (self.world, self.console, &interrupt, &Kept::new(None));
        let wiring = Wiring::looking(world, &console.context, interrupt, contents);
        converse_host::runtime::block_on(async {
            let server = wiring.stranger(plan, connection, Some(consent));
            let granted = tokio::select! {
                granted = server.log_in(self.scopes) => granted,
                () = interrupt.token.cancelled() => return Err(interrupt.failure()),
            };
            let granted = granted.map_err(|error| failed(error.to_string()))?;
            write_stdout(&summary(plan, &granted))?;
            let plan = eager(plan);
            let connected = wiring.connect(&[&plan], Vec::<Rule>::new()).await?;
            let (failure, tools) =
                (connected.failures.first().map(ToString::to_string), connected.roster.offer());
            let tools = tools.tools().count();
            connected.disconnect(&console.context).await;
            match failure {
                Some(failure) => Err(failed(failure)),
                None => Ok(write_stdout(&format!("{}: {}\n", plan.name, counted(tools, "tool")))?),
            }
        })?
    }

    fn consent(&self, oauth: &OauthPlan) -> Arc<dyn Consent> {
        if self.no_browser {
            Arc::new(Pasted::new(oauth.redirect_port))
        } else {
            Arc::new(Listener::new(oauth.redirect_port, Browser::of(self.world)))
        }
    }
}

/// The connection and OAuth settings of an ensemble, if it has them.
fn oauth(plan: &EnsemblePlan) -> Result<(&ConnectionPlan, &OauthPlan), Failure> {
    let place = &plan.origin;
    let failure = |message: String| Failure::usage("no-login", message);
    match &plan.connection {
        None => Err(failure(format!("`{}` has no server to log in to", plan.name))),
        Some(connection) => match (&connection.transport, &connection.auth) {
            (TransportPlan::Stdio { .. }, _) => {
                Err(failure(format!("`{}` is started as a program and has no login", plan.name))
                    .hint(format!("set its keys in `environment` ({place})")))
            }
            (TransportPlan::Http { .. }, None) => {
                Err(failure(format!("`{}` has no `auth = \"oauth\"`", plan.name))
                    .hint(format!("add it to `[connection]` of {place}, or add a token to `headers`")))
            }
            (TransportPlan::Http { .. }, Some(oauth)) => Ok((connection, oauth)),
        },
    }
}

fn failed(message: String) -> Failure {
    Failure::new(Kind::Ensemble, "login", message)
}

fn summary(plan: &EnsemblePlan, granted: &Granted) -> String {
    let by =
        granted.issuer.as_ref().map(|issuer| format!(" by {}", safe_line(issuer, 200))).unwrap_or_default();
    let scopes = match granted.scopes.as_slice() {
        [] => String::new(),
        scopes => format!(", for {}", safe_line(&scopes.join(" "), 400)),
    };
    let until = granted.expires.and_then(|seconds| Timestamp::from_second(i64::try_from(seconds).ok()?).ok());
    let until = until.map(|until| format!(", until {until}")).unwrap_or_default();
    let then = if granted.renewable { ", then renewed automatically" } else { "" };
    format!("{}: access granted{by}{scopes}{until}{then}\n", plan.name)
}

/// Forgets the token of a server, and revokes it where the issuer supports that.
pub(super) fn logout(name: &str, places: &Places, console: &Console, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &places.ensembles);
    let plan = catalogue.named(name)?;
    console.warn_all(catalogue.notes());
    let (connection, _) = oauth(plan)?;
    let (interrupt, contents) = (&signals::watch()?, &Kept::new(None));
    let wiring = Wiring::looking(world, &console.context, interrupt, contents);
    // The token is forgotten first; Ctrl-C only prevents the revocation.
    let server = wiring.stranger(plan, connection, None);
    let out = converse_host::runtime::block_on(server.log_out(&interrupt.token))?
        .map_err(|error| failed(error.to_string()))?;
    let outcome = match out {
        LoggedOut::Nothing => "there was no token".to_owned(),
        LoggedOut::Forgotten => "its token is forgotten".to_owned(),
        LoggedOut::Unrevoked(why) => {
            format!("its token is forgotten here, but could not be revoked: {}", safe_line(&why, 400))
        }
    };
    write_stdout(&format!("{}: {outcome}\n", plan.name))?;
    if interrupt.token.is_cancelled() { Err(interrupt.failure()) } else { Ok(()) }
}
