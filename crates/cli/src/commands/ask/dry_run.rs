//! `--dry-run`: the request that would be sent, as one JSON object, without the key; of several models one object each.
//! `--count-tokens`: the number of its tokens.

use converse_canister::{Condensed, Transcript};
use converse_engine::{Conversation, offered, request_extras, with_note};
use converse_ensemble::Offer;
use converse_host::attach::UserInput;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::instructions::reads_skills;
use converse_host::runtime::block_on;
use converse_host::secrets::Credentials;
use converse_host::settings::Settings;
use converse_host::token_count::{CountRequest, TokenCount};
use converse_host::turn::opening;
use converse_provider::{AuthScheme, Prompt, processor_of, without_blobs};
use converse_terminal::render::output::{write_json, write_stdout};
use serde_json::{Map, Value, json};

use super::ask_run::AskRun;
use super::{Candidate, internal};
use crate::args::Format;

impl AskRun<'_> {
    pub(super) fn dry_run(&self, candidates: &mut [Candidate]) -> Result<(), Failure> {
        let several = candidates.len() > 1;
        let requests = self.each_prompt(candidates, |asked, settings| {
            let endpoint = &settings.model.endpoint;
            let request = processor_of(endpoint).nativize(asked, endpoint).map_err(|error| {
                Failure::new(Kind::ProviderNonsense, "cannot-translate", error.to_string())
            })?;
            let mut shown = shown(&request, endpoint.auth, &settings.model.credentials);
            without_blobs(&mut shown, asked.view, asked.blobs);
            if several && let Some(shown) = shown.as_object_mut() {
                shown.insert("model".to_owned(), settings.model.id.as_str().into());
            }
            Ok(shown)
        })?;
        for mut shown in requests {
            self.run.console.context.redactor.clean_json(&mut shown);
            write_json(&shown)?;
        }
        Ok(())
    }

    /// What is made of each model's prompt, without asking any of them.
    pub(super) fn each_prompt<T>(
        &self,
        candidates: &mut [Candidate],
        each: impl Fn(&Prompt<'_>, &Settings) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let (catalogue, found) = self.catalogue(candidates)?;
        let sessions = candidates.iter().filter_map(|candidate| candidate.continued.as_ref());
        let contents = Kept::new(sessions.map(|session| session.contents.clone()));
        let (offer, has_skills, note, said) = block_on(async {
            let (connected, said) = self.connect(&catalogue, &found, candidates, &contents).await?;
            let roster = &connected.roster;
            let seen = (roster.offer(), reads_skills(roster), connected.note(roster), said);
            connected.disconnect(&self.run.console.context).await;
            Ok::<_, Failure>(seen)
        })??;
        let seen =
            Seen { offer: &offer, has_skills, note: note.as_deref(), contents: &contents, said: &said };
        let made = candidates.iter_mut().map(|candidate| {
            let mut session = candidate.continued.take();
            let said = session.as_mut().map(|session| {
                let loaded = &mut session.loaded;
                (std::mem::take(&mut loaded.transcript), loaded.condensed.take())
            });
            self.with_prompt(&candidate.settings, said.unwrap_or_default(), &seen, &each)
        });
        made.collect()
    }

    fn with_prompt<T>(
        &self,
        settings: &Settings,
        (transcript, condensed): (Transcript, Option<Condensed>),
        seen: &Seen<'_>,
        each: impl Fn(&Prompt<'_>, &Settings) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut conversation = Conversation::resume(transcript, settings.limits).with_condensed(condensed);
        let next = conversation.transcript().next_turn();
        let said = seen.said.canisters(&seen.contents.in_memory(), seen.contents, next)?;
        for canister in opening(conversation.transcript(), settings.system.as_deref(), said) {
            conversation.say(canister).map_err(internal)?;
        }
        let model = &settings.model;
        let canisters = conversation.transcript().as_slice();
        let tools = offered(seen.offer, canisters, &settings.compaction, &model.facts);
        let offers = !tools.is_empty();
        let note = settings.note(|| seen.has_skills, seen.note);
        let extras =
            request_extras(&settings.controls, &model.endpoint, &model.facts, offers, note.as_deref());
        let view = conversation.view();
        let asked = Prompt {
            model: &model.name,
            view: &with_note(&view, extras.note.as_deref()),
            tools: &tools,
            controls: &extras.controls,
            facts: &settings.model.facts,
            blobs: seen.contents,
        };
        each(&asked, settings)
    }
}

/// What a request says beside the conversation.
struct Seen<'a> {
    offer: &'a Offer,
    /// The model can read skills.
    has_skills: bool,
    /// Without the instructions of files.
    note: Option<&'a str>,
    contents: &'a Kept,
    said: &'a UserInput,
}

/// What the wire adds is there by its name only.
fn shown(request: &http::Request<bytes::Bytes>, auth: AuthScheme, credentials: &Credentials) -> Value {
    let value = |value: &http::HeaderValue| Value::from(value.to_str().unwrap_or("[binary]"));
    let mut headers: Map<String, Value> =
        request.headers().iter().map(|(name, held)| (name.to_string(), value(held))).collect();
    let key_header = match auth {
        AuthScheme::None => None,
        AuthScheme::Bearer => Some("authorization"),
        AuthScheme::Header(name) => Some(name),
    };
    let secret = credentials.headers.iter().map(|header| header.name.as_str());
    headers.extend(secret.chain(key_header).map(|name| (name.to_owned(), Value::from("[redacted]"))));
    json!({
        "method": request.method().as_str(),
        "url": request.uri().to_string(),
        "headers": headers,
        "body": serde_json::from_slice::<Value>(request.body()).unwrap_or_default(),
    })
}

impl AskRun<'_> {
    /// `--count-tokens`: prints the number of tokens of the request, one line or one object per model. An estimate is
    /// marked as one, and stderr says so.
    pub(super) fn count(&self, candidates: &mut [Candidate]) -> Result<(), Failure> {
        let requests = self.each_prompt(candidates, CountRequest::of)?;
        for (candidate, request) in candidates.iter().zip(requests) {
            let settings = &candidate.settings;
            let counted = block_on(request.send(settings, &self.interrupt))??;
            self.show(settings, &counted, candidates.len() > 1)?;
        }
        Ok(())
    }

    fn show(&self, settings: &Settings, counted: &TokenCount, several: bool) -> Result<(), Failure> {
        let id = &settings.model.id;
        if let Some(why) = counted.estimated {
            self.run.console.note(&format!("note: {id}: an estimate by the request's length; {why}"));
        }
        if self.run.args.output != Format::Text {
            let estimated = counted.estimated.is_some();
            let object = json!({ "model": id, "input_tokens": counted.tokens, "estimated": estimated });
            return Ok(write_json(&object)?);
        }
        let about = if counted.estimated.is_some() { "~" } else { "" };
        let model = if several { format!("{id} ") } else { String::new() };
        Ok(write_stdout(&format!("{model}{about}{}\n", counted.tokens))?)
    }
}
