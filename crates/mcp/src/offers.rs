//! Resources, prompts and completions of a server.
//!
//! They are requested only when the user needs them, and nothing is cached. A server that is not running is started.

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
use crate::pages::{self, Kind, Offered};
use crate::rounds::Reply;
use crate::server::Server;
use crate::{
    McpConnection, Part, Prompt, PromptMessage, Reference, Resource, Template, completion, prompts,
    resources, sanitize,
};

/// Limit for all pages of a list.
const LIST: Duration = Duration::from_secs(30);
/// Limit for a resource or a prompt, which the server may have to fetch first.
const READ: Duration = Duration::from_secs(60);
/// Limit for completions, which are not worth a longer wait.
const SUGGEST: Duration = Duration::from_secs(3);
/// `resource not found` up to 2025-11-25. Later versions, and prompts in every version, use `invalid params`.
const NOT_FOUND: i32 = -32002;

/// Why a request for resources, prompts or completions failed. Foreign text is bounded, without control characters and
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// The resource or prompt does not exist, or not with these arguments.
    #[error("{0}")]
    Unknown(String),
    #[error("{0}")]
    Failed(String),
}

impl McpConnection {
    /// Lists the resources: at most 10,000, within 30 s. Empty if the server does not offer resources.
    ///
    /// # Errors
    ///
    /// The server cannot be connected, or did not send a valid list in time.
    pub async fn resources(&self) -> Result<Offered<Resource>, OfferError> {
        Ok(Offered::read(self.server.listed(Kind::Resources).await?, resources::resource))
    }

    /// Lists the resource templates.
    ///
    /// # Errors
    ///
    /// As for [`McpConnection::resources`].
    pub async fn templates(&self) -> Result<Offered<Template>, OfferError> {
        Ok(Offered::read(self.server.listed(Kind::Templates).await?, resources::template))
    }

    /// Lists the prompts.
    ///
    /// # Errors
    ///
    /// As for [`McpConnection::resources`].
    pub async fn prompts(&self) -> Result<Offered<Prompt>, OfferError> {
        Ok(Offered::read(self.server.listed(Kind::Prompts).await?, prompts::prompt))
    }

    /// Reads a resource: at most 100 parts of 20 MiB together, within 60 s.
    ///
    /// # Errors
    ///
    /// The server cannot be connected, or did not send a valid resource in time.
    pub async fn read(&self, uri: &str) -> Result<Vec<Part>, OfferError> {
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
        let text = self.server.got(ClientRequest::ReadResourceRequest(request), "resources/read").await?;
        resources::parts(&text, uri).map_err(OfferError::Failed)
    }

    /// Returns the messages of a prompt: at most 200, within 60 s. Media in them are stored in `artefacts`.
    ///
    /// # Errors
    ///
    /// The server cannot be connected, or did not send a valid prompt in time.
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
        let text = self.server.got(request, "prompts/get").await?;
        prompts::messages(&text, artefacts).map_err(OfferError::Failed)
    }

    /// Returns completions of an argument, given the text typed so far and the other arguments: at most 100 values,
    /// within 3 s. Empty if the server does not offer completions.
    ///
    /// # Errors
    ///
    /// The server cannot be connected, refused, or did not answer in time.
    pub async fn complete(
        &self,
        of: Reference<'_>,
        argument: &str,
        typed: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, OfferError> {
        let link = self.server.ready().await?;
        if !has(&link, |can| can.completions.is_some()) {
            return Ok(Vec::new());
        }
        let request = completion::request(of, argument, typed, others);
        Ok(self
            .server
            .completed(&link, request)
            .await?
            .map_or_else(Vec::new, |text| completion::values(&text)))
    }
}

impl Server {
    /// Lists entries without those that are held back.
    pub(crate) async fn listed(&self, kind: Kind) -> Result<Vec<Box<RawValue>>, OfferError> {
        let mut entries = self.listed_all(kind).await?;
        let warning = kind.pinned_list().and_then(|list| self.offers.hold(list, &mut entries));
        warning.iter().for_each(|warning| self.warn(warning));
        Ok(entries)
    }

    /// Lists entries. A server that does not declare the capability is not asked.
    pub(crate) async fn listed_all(&self, kind: Kind) -> Result<Vec<Box<RawValue>>, OfferError> {
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
                self.late(&link);
                Err(late(kind.method(), LIST))
            }
        }
    }

    /// Returns the result of a completion as text; `None` if the server does not know the method.
    pub(crate) async fn completed(
        &self,
        link: &Arc<Link>,
        request: ClientRequest,
    ) -> Result<Option<String>, OfferError> {
        let asking = async {
            self.check_accepted(&request).await?;
            match link.ask(request).await {
                Ok(text) => Ok(Some(text)),
                Err(NoAnswer::Error(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => Ok(None),
                Err(no) => Err(refused(link, no)),
            }
        };
        timeout(SUGGEST, asking).await.unwrap_or_else(|_| Err(late("completion/complete", SUGGEST)))
    }

    /// Returns the result of a request as text. The server may ask for input first.
    async fn got(&self, request: ClientRequest, method: &'static str) -> Result<String, OfferError> {
        let link = self.ready().await?;
        match self.got_over(&link, request, method, &InFlightRequest::within(READ)).await? {
            Reply::Result(text) => Ok(text),
            // There is no client that could take it.
            Reply::HandedOn => Err(OfferError::Failed("the server asks for input".to_owned())),
        }
    }

    /// The same over this connection and for a request with limits of its own.
    pub(crate) async fn got_over(
        &self,
        link: &Arc<Link>,
        request: ClientRequest,
        method: &'static str,
        in_flight: &InFlightRequest,
    ) -> Result<Reply, OfferError> {
        self.check_accepted(&request).await?;
        let answer = link.ask_in_rounds(request, method, in_flight).await;
        match &answer {
            Ok(_) => self.answered(),
            Err(NoAnswer::Failed(Failure::Silent { .. })) => self.late(link),
            Err(_) => {}
        }
        answer.map_err(|no| refused(link, no))
    }

    pub(crate) async fn ready(&self) -> Result<Arc<Link>, OfferError> {
        let deadline = Instant::now() + self.connect_timeout;
        self.link(deadline).await.map_err(|error| {
            let text = match error {
                InvokeError::Unreachable { message, .. } => message,
                other => other.to_string(),
            };
            OfferError::Failed(text.strip_prefix("not sent: ").unwrap_or(&text).to_owned())
        })
    }
}

pub(crate) fn has(link: &Link, what: impl Fn(&ServerCapabilities) -> bool) -> bool {
    link.info().is_some_and(|info| what(&info.capabilities))
}

fn late(method: &str, limit: Duration) -> OfferError {
    OfferError::Failed(format!("the server did not answer `{method}` within {} s", limit.as_secs()))
}

pub(crate) fn refused(link: &Link, no: NoAnswer) -> OfferError {
    match no {
        NoAnswer::Failed(failure) => OfferError::Failed(failure.to_string()),
        NoAnswer::Error(ErrorData { code, message, .. }) => {
            let message = link.redacted(sanitize::clean(&message, sanitize::MAX_ERROR));
            let message = if message.is_empty() { "no message".to_owned() } else { message };
            let text = format!("the server answered with error {}: {message}", code.0);
            match code.0 == NOT_FOUND || code == ErrorCode::INVALID_PARAMS {
                true => OfferError::Unknown(text),
                false => OfferError::Failed(text),
            }
        }
    }
}
