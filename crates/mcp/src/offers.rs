//! What a server has beside its tools, as a user asks for it: resources, prompts, suggestions for their arguments.
//!
//! Nothing is listed unless somebody asks, and nothing is kept from one question to the next: there is no list of them
//! that could become old. A server that was not started (a lazy one, or one that was only asked for this) is started.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use converse_ensemble::{Artefacts, InvokeError};
use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, GetPromptRequest, GetPromptRequestParams, ReadResourceRequest,
    ReadResourceRequestParams, ServerCapabilities,
};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use crate::error::Failure;
use crate::in_flight::InFlightRequest;
use crate::link::{Link, NoAnswer};
use crate::pages::{self, Kind, Offered, sift};
use crate::{
    McpConnection, Part, Prompt, PromptMessage, Reference, Resource, Template, completion, prompts,
    resources, sanitize,
};

/// All pages of a list.
const LIST: Duration = Duration::from_secs(30);
/// A resource, or a prompt: the server may have to fetch it first.
const READ: Duration = Duration::from_secs(60);
/// Suggestions are worth no waiting.
const SUGGEST: Duration = Duration::from_secs(3);
/// `resource not found` up to 2025-11-25; since then, and for prompts ever, it is `invalid params`.
const NOT_FOUND: i32 = -32002;

/// Why a server gave nothing. Its words are foreign, bounded, and without control characters and secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// There is no such thing, or not with these arguments.
    #[error("{0}")]
    Unknown(String),
    #[error("{0}")]
    Failed(String),
}

impl McpConnection {
    /// The resources that the server lists; none, if it has none at all. At most 10 000, within 30 s.
    pub async fn resources(&self) -> Result<Offered<Resource>, OfferError> {
        Ok(sift(&self.listed(Kind::Resources).await?, resources::resource))
    }

    /// The families of resources that it lists.
    pub async fn templates(&self) -> Result<Offered<Template>, OfferError> {
        Ok(sift(&self.listed(Kind::Templates).await?, resources::template))
    }

    /// The prompts that it lists.
    pub async fn prompts(&self) -> Result<Offered<Prompt>, OfferError> {
        Ok(sift(&self.listed(Kind::Prompts).await?, prompts::prompt))
    }

    /// What a resource holds, in parts: at most 100, of 20 MiB together, within 60 s.
    pub async fn read(&self, uri: &str) -> Result<Vec<Part>, OfferError> {
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
        let text = self.got(ClientRequest::ReadResourceRequest(request), "resources/read").await?;
        resources::parts(&text, uri).map_err(OfferError::Failed)
    }

    /// The messages of a prompt: at most 200, within 60 s. Bytes in them are kept by `artefacts`.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        artefacts: &dyn Artefacts,
    ) -> Result<Vec<PromptMessage>, OfferError> {
        let mut params = GetPromptRequestParams::new(name);
        if !arguments.is_empty() {
            let texts = arguments.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
            params = params.with_arguments(texts.collect());
        }
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        let text = self.got(request, "prompts/get").await?;
        prompts::messages(&text, artefacts).map_err(OfferError::Failed)
    }

    /// What the server suggests for an argument, given what was typed of it and the other arguments: at most 100 values,
    /// within 3 s. None where it does not offer that.
    pub async fn complete(
        &self,
        of: Reference<'_>,
        argument: &str,
        typed: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, OfferError> {
        let link = self.ready().await?;
        if !has(&link, |can| can.completions.is_some()) {
            return Ok(Vec::new());
        }
        let request = completion::request(of, argument, typed, others);
        match timeout(SUGGEST, link.ask(request)).await {
            Ok(Ok(text)) => Ok(completion::values(&text)),
            Ok(Err(NoAnswer::Error(error))) if error.code == ErrorCode::METHOD_NOT_FOUND => Ok(Vec::new()),
            Ok(Err(no)) => Err(refused(&link, no)),
            Err(_) => Err(late("completion/complete", SUGGEST)),
        }
    }

    /// Nothing is asked of a server that says it has none.
    async fn listed(&self, kind: Kind) -> Result<Vec<Box<RawValue>>, OfferError> {
        let link = self.ready().await?;
        let offers = has(&link, |can| match kind {
            Kind::Tools => can.tools.is_some(),
            Kind::Resources | Kind::Templates => can.resources.is_some(),
            Kind::Prompts => can.prompts.is_some(),
        });
        if !offers {
            return Ok(Vec::new());
        }
        match timeout(LIST, pages::all(&link, kind)).await {
            Ok(listed) => listed.map_err(|failure| OfferError::Failed(failure.to_string())),
            Err(_) => {
                self.server.late(&link);
                Err(late(kind.method(), LIST))
            }
        }
    }

    /// The result of one request, as text. The server may ask something before it answers.
    async fn got(&self, request: ClientRequest, method: &'static str) -> Result<String, OfferError> {
        let link = self.ready().await?;
        let answer = link.ask_in_rounds(request, method, &InFlightRequest::within(READ)).await;
        match &answer {
            Ok(_) => self.server.answered(&link),
            Err(NoAnswer::Failed(Failure::Silent { .. })) => self.server.late(&link),
            Err(_) => {}
        }
        answer.map_err(|no| refused(&link, no))
    }

    async fn ready(&self) -> Result<Arc<Link>, OfferError> {
        let deadline = Instant::now() + self.server.connect_timeout;
        self.server.link(deadline).await.map_err(|error| {
            let text = match error {
                InvokeError::Unreachable { message, .. } => message,
                other => other.to_string(),
            };
            OfferError::Failed(text.strip_prefix("not sent: ").unwrap_or(&text).to_owned())
        })
    }
}

fn has(link: &Link, what: impl Fn(&ServerCapabilities) -> bool) -> bool {
    link.info().is_some_and(|info| what(&info.capabilities))
}

fn late(method: &str, limit: Duration) -> OfferError {
    OfferError::Failed(format!("it did not answer `{method}` within {} s", limit.as_secs()))
}

fn refused(link: &Link, no: NoAnswer) -> OfferError {
    match no {
        NoAnswer::Failed(failure) => OfferError::Failed(failure.to_string()),
        NoAnswer::Error(ErrorData { code, message, .. }) => {
            let said = link.redacted(sanitize::clean(&message, sanitize::MAX_ERROR));
            let said = if said.is_empty() { "without a word".to_owned() } else { said };
            let text = format!("it answered with error {}: {said}", code.0);
            match code.0 == NOT_FOUND || code == ErrorCode::INVALID_PARAMS {
                true => OfferError::Unknown(text),
                false => OfferError::Failed(text),
            }
        }
    }
}
