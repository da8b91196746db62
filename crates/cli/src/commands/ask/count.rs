//! `--count-tokens`: the number of tokens of the request; one line or one object per model.
//!
//! The provider counts if its wire has a request for it (which needs the key and is free). Otherwise, and for
//! compatible servers without that request, a quarter of the bytes is the estimate. It is accurate within about a third
//! for English text and much too high for images. It is marked as an estimate, and stderr says so.

use std::time::Duration;

use bytes::Bytes;
use converse_canister::TurnId;
use converse_engine::{AttemptError, EngineError, ExchangeError, WireError};
use converse_provider::{ReplyError, ReplyOrigin, TranslateError, processor_of};
use futures_util::StreamExt as _;
use http::response::Parts;
use serde_json::json;
use tokio::time::timeout;

use super::Candidate;
use super::ask_run::AskRun;
use crate::args::Format;
use converse_host::failure::Failure;
use converse_host::runtime::block_on;
use converse_host::settings::Settings;
use converse_host::wiring;
use converse_terminal::render::output::{write_json, write_stdout};

/// An answer holds one number; what is longer is an error page.
const MOST: usize = 256 * 1024;
/// Bytes of a request for one token, by and large.
const BYTES: usize = 4;

/// What is sent to be counted.
enum Question {
    Provider(Box<http::Request<Bytes>>),
    /// No token counter is available; the size of the whole request in bytes.
    Nobody(usize),
}

struct Counted {
    tokens: u64,
    /// Why it is only an estimate.
    estimated: Option<&'static str>,
}

impl Counted {
    fn estimate(bytes: usize, why: &'static str) -> Self {
        let tokens = u64::try_from(bytes.div_ceil(BYTES)).unwrap_or(u64::MAX);
        Self { tokens, estimated: Some(why) }
    }
}

impl AskRun<'_> {
    pub(super) fn count(&self, candidates: &mut [Candidate]) -> Result<(), Failure> {
        let questions = self.each_prompt(candidates, |asked, settings| {
            let endpoint = &settings.model.endpoint;
            let processor = processor_of(endpoint);
            match processor.count(asked, endpoint) {
                Some(question) => {
                    let question = question.map_err(|error| failed(settings, error))?;
                    Ok(Question::Provider(Box::new(question)))
                }
                None => {
                    let request = processor.nativize(asked, endpoint);
                    let request = request.map_err(|error: TranslateError| failed(settings, error))?;
                    Ok(Question::Nobody(request.body().len()))
                }
            }
        })?;
        for (candidate, question) in candidates.iter().zip(questions) {
            let settings = &candidate.settings;
            let counted = match question {
                Question::Provider(request) => {
                    settings.model.require_key()?;
                    let asking = self.ask(settings, *request);
                    let cancelled = self.interrupt.token.cancelled();
                    block_on(async {
                        tokio::select! {
                            counted = asking => counted,
                            () = cancelled => Err(self.interrupt.failure()),
                        }
                    })??
                }
                Question::Nobody(bytes) => Counted::estimate(bytes, "this provider has no token counter"),
            };
            self.tell(settings, &counted, candidates.len() > 1)?;
        }
        Ok(())
    }

    async fn ask(&self, settings: &Settings, request: http::Request<Bytes>) -> Result<Counted, Failure> {
        let (endpoint, bytes) = (&settings.model.endpoint, request.body().len());
        let wire = wiring::wire(&settings.model, settings.connect_timeout, &settings.cassette);
        let patience = settings.timeouts.first_byte;
        let answered = timeout(patience, async {
            let (head, mut body) = wire.send(request, &endpoint.auth).await?.into_parts();
            let mut read = Vec::new();
            while let Some(piece) = body.next().await {
                read.extend_from_slice(&piece?);
                if read.len() > MOST {
                    break;
                }
            }
            Ok::<_, WireError>((head, read))
        });
        let (head, body) = answered
            .await
            .map_err(|_| failed(settings, silent(patience)))?
            .map_err(|error| failed(settings, error))?;
        if matches!(head.status.as_u16(), 404 | 405 | 501) {
            return Ok(Counted::estimate(bytes, "the server does not count"));
        }
        if !head.status.is_success() {
            return Err(failed(settings, refusal(settings, &head, &body)));
        }
        match processor_of(endpoint).counted(&body) {
            Some(tokens) => Ok(Counted { tokens, estimated: None }),
            None => Ok(Counted::estimate(bytes, "the server's answer has no number")),
        }
    }

    fn tell(&self, settings: &Settings, counted: &Counted, several: bool) -> Result<(), Failure> {
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

fn silent(after: Duration) -> AttemptError {
    AttemptError::Timeout { what: "response", after }
}

/// The provider's own words for its no.
fn refusal(settings: &Settings, head: &Parts, body: &[u8]) -> AttemptError {
    let endpoint = &settings.model.endpoint;
    let origin =
        ReplyOrigin { turn: TurnId(1), model: settings.model.name.clone(), endpoint: endpoint.clone() };
    let mut decoder = processor_of(endpoint).normalize(head, origin);
    let fed = decoder.feed(body, &mut Vec::new());
    match decoder.finish() {
        Err(ReplyError::Refusal(refusal)) => AttemptError::Refusal(refusal),
        Err(ReplyError::Decode(error)) => AttemptError::Decode(error),
        Ok(_) | Err(ReplyError::CutShort { .. } | ReplyError::Empty { .. }) => {
            fed.err().map_or(AttemptError::CutShort, AttemptError::Decode)
        }
    }
}

fn failed(settings: &Settings, cause: impl Into<AttemptError>) -> Failure {
    let cause = cause.into();
    Failure::from(EngineError::Exchange(Box::new(ExchangeError {
        cause,
        route: settings.model.id.clone(),
        routes_before: 0,
        attempts: 1,
        waited: Duration::ZERO,
        asked_to_wait: None,
        kept: false,
        request_id: None,
    })))
}
