//! `--dry-run`: the request that would be sent, as one JSON object, without the key.

use converse_engine::{Conversation, noted};
use converse_provider::{AuthScheme, Prompt, processor};
use converse_session::Session;
use serde_json::{Map, Value, json};

use super::conversation::opening;
use super::{Turn, internal};
use crate::adapters::contents::Kept;
use crate::failure::{Failure, Kind};
use crate::render::output::write_json;

impl Turn<'_> {
    pub(super) async fn dry_run(&self, continued: Option<Session>, prompt: String) -> Result<(), Failure> {
        let Self { run, settings, .. } = self;
        let contents = Kept::new(continued.as_ref().map(|session| session.contents.clone()));
        let connected = self.connect(&run.catalogue(settings)?, &contents).await?;
        let transcript = continued.map(|session| session.loaded.transcript).unwrap_or_default();
        let mut conversation = Conversation::resume(transcript, settings.limits);
        for canister in opening(conversation.transcript(), settings.system.as_deref(), prompt) {
            conversation.say(canister).map_err(internal)?;
        }
        let (offer, note) = (connected.roster.offer(), connected.note());
        connected.disconnect(run.manners).await;
        let asked = Prompt {
            model: &settings.model.name,
            view: &noted(conversation.transcript().as_slice(), note.as_deref()),
            tools: &offer.declarations,
            controls: &settings.controls,
            blobs: &contents,
        };
        let endpoint = &settings.model.endpoint;
        let request = processor(endpoint.dialect)
            .nativize(&asked, endpoint)
            .map_err(|error| Failure::new(Kind::ProviderNonsense, "cannot-translate", error.to_string()))?;
        let mut shown = shown(&request, endpoint.auth);
        run.manners.redactor.clean_json(&mut shown);
        Ok(write_json(&shown)?)
    }
}

fn shown(request: &http::Request<bytes::Bytes>, auth: AuthScheme) -> Value {
    let value = |value: &http::HeaderValue| Value::from(value.to_str().unwrap_or("[binary]"));
    let mut headers: Map<String, Value> =
        request.headers().iter().map(|(name, held)| (name.to_string(), value(held))).collect();
    let key_header = match auth {
        AuthScheme::None => None,
        AuthScheme::Bearer => Some("authorization"),
        AuthScheme::Header(name) => Some(name),
    };
    headers.extend(key_header.map(|name| (name.to_owned(), Value::from("[redacted]"))));
    json!({
        "method": request.method().as_str(),
        "url": request.uri().to_string(),
        "headers": headers,
        "body": serde_json::from_slice::<Value>(request.body()).unwrap_or_default(),
    })
}
