//! The batch APIs of providers: many requests in one file, answered within a day at half the price.
//!
//! A [`BatchApi`] builds the requests of one endpoint and reads its responses; nothing is sent here. The parts of a batch
//! are the bodies that the [`Processor`](crate::Processor) of the endpoint makes, each with an id of its own, and the
//! answers are bodies that the same processor decodes. They come in any order.
//!
//! | wire | submit | ids | results |
//! | --- | --- | --- | --- |
//! | Anthropic Messages | one request with all parts | `[a-zA-Z0-9_-]{1,64}` | one file |
//! | OpenAI Chat and Responses | upload a file, then create the batch | any text | a file of answers, and one of errors |
//! | Gemini | upload a file, then create the batch | any text | one file |

mod anthropic;
mod gemini;
mod openai;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::{Controls, Dialect, Endpoint, Price, ProviderRow, TranslateError};

/// The batch API of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct BatchApi<'e> {
    endpoint: &'e Endpoint,
    /// The model and the controls of the parts.
    model: &'e str,
    controls: &'e Controls,
    vendor: Vendor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vendor {
    Anthropic,
    OpenAi,
    Gemini,
}

/// One request of a batch.
#[derive(Debug, Clone, Copy)]
pub struct BatchPart<'p> {
    /// `[a-zA-Z0-9_-]{1,64}`, unique in the batch.
    pub id: &'p str,
    /// The body of a request that is not streamed.
    pub body: &'p [u8],
}

/// What a vendor accepts in one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    pub parts: usize,
    /// Of the whole request or file.
    pub bytes: usize,
}

/// A batch as its provider describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchStatus {
    pub id: String,
    pub state: BatchState,
    /// Parts that have ended, and all parts. `None` if the provider does not know yet.
    pub counts: Option<(u64, u64)>,
    /// The mark that [`BatchApi::create`] gave it, if the vendor keeps one.
    pub mark: Option<String>,
    /// The time of its creation in RFC 3339, if the vendor writes it so.
    pub created: Option<String>,
    /// Files with results, for [`BatchApi::results`].
    pub files: Vec<String>,
    /// There are no results and none will come, because the batch ended without them.
    pub is_without_results: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchState {
    Running,
    /// Being cancelled: some parts may still be answered.
    Canceling,
    /// No part will be answered any more. The files have a line for each part that was, and perhaps for the others.
    Ended(BatchEnd),
}

/// How a batch ended; decides about parts without a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchEnd {
    Completed,
    Expired,
    Canceled,
    /// The batch was refused as a whole, with the provider's reasons.
    Failed(String),
}

/// The result of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchResult {
    pub id: String,
    pub outcome: BatchOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchOutcome {
    /// An answer or an error, as the provider would have answered the request alone: a status and a body.
    Response { status: u16, body: Bytes, request_id: Option<String> },
    /// The time of the batch was over before its turn came.
    Expired,
    /// The batch was cancelled before its turn came.
    Canceled,
}

/// One page of an account's batches, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchPage {
    pub batches: Vec<BatchStatus>,
    /// Entries that are not batches, or could not be read. A page that others follow without a cursor counts as one more.
    pub skipped: usize,
    /// Cursor for [`BatchApi::list`], if there is another page.
    pub next: Option<String>,
}

/// Why a body cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the response is not {expected}: {why}")]
pub struct BatchError {
    expected: &'static str,
    why: String,
}

impl ProviderRow {
    /// Returns whether the provider answers batches at half the price.
    /// <https://platform.claude.com/docs/en/build-with-claude/batch-processing#pricing>,
    /// <https://platform.openai.com/docs/guides/batch>, <https://ai.google.dev/gemini-api/docs/batch-api> (2026-11)
    pub fn has_batches(&self) -> bool {
        matches!(self.name, "anthropic" | "openai" | "openai-chat" | "openai-responses" | "gemini")
    }

    /// Returns what a model of this price costs in a batch: half. At Gemini, tokens that are read from a cache cost as much as
    /// ever. <https://ai.google.dev/gemini-api/docs/batch-api#technical-details> (2026-11)
    pub fn batch_price(&self, price: Price) -> Price {
        let mut batch = price.halved();
        if self.dialect == Dialect::Gemini {
            batch.cache_read = price.cache_read;
            let rates = batch.above.as_mut().zip(price.above);
            rates.into_iter().for_each(|(batch, price)| batch.cache_read = price.cache_read);
        }
        batch
    }
}

impl<'e> BatchApi<'e> {
    /// Returns the API of an endpoint; `None` if its wire has none. `model` and `controls` are those of the parts.
    pub fn of(endpoint: &'e Endpoint, model: &'e str, controls: &'e Controls) -> Option<Self> {
        let vendor = match endpoint.dialect {
            Dialect::AnthropicMessages => Vendor::Anthropic,
            Dialect::OpenAiChat | Dialect::OpenAiResponses => Vendor::OpenAi,
            Dialect::Gemini => Vendor::Gemini,
            Dialect::Ollama => return None,
        };
        Some(Self { endpoint, model, controls, vendor })
    }

    pub fn limits(&self) -> BatchLimits {
        match self.vendor {
            Vendor::Anthropic => anthropic::LIMITS,
            Vendor::OpenAi => openai::LIMITS,
            Vendor::Gemini => gemini::LIMITS,
        }
    }

    /// Returns whether the batch is created from a file that is uploaded before.
    pub fn has_upload(&self) -> bool {
        self.vendor != Vendor::Anthropic
    }

    /// Returns whether [`BatchStatus::mark`] leads from a list to the batch that one request created. Without marks, the ids
    /// of the parts do, once the batch has ended.
    pub fn has_marks(&self) -> bool {
        self.vendor != Vendor::Anthropic
    }

    /// Builds the upload of the parts, where [`has_upload`](Self::has_upload).
    ///
    /// # Errors
    /// If the base URL or a header cannot be used.
    pub fn upload(&self, parts: &[BatchPart<'_>]) -> Result<http::Request<Bytes>, TranslateError> {
        match self.vendor {
            Vendor::Gemini => gemini::upload(self.endpoint, parts),
            Vendor::Anthropic | Vendor::OpenAi => openai::upload(self.endpoint, parts),
        }
    }

    /// Reads the response to [`upload`](Self::upload): the id of the file.
    ///
    /// # Errors
    /// If the body is not a file.
    pub fn uploaded(&self, body: &[u8]) -> Result<String, BatchError> {
        match self.vendor {
            Vendor::Gemini => gemini::uploaded(body),
            Vendor::Anthropic | Vendor::OpenAi => openai::uploaded(body),
        }
    }

    /// Builds the request that creates a batch, of a file that was uploaded or of the parts. `mark` names this request in
    /// lists, where the vendor keeps one.
    ///
    /// # Errors
    /// If the base URL or a header cannot be used.
    pub fn create(
        &self,
        mark: &str,
        file: Option<&str>,
        parts: &[BatchPart<'_>],
    ) -> Result<http::Request<Bytes>, TranslateError> {
        match self.vendor {
            Vendor::Anthropic => anthropic::create(self, parts),
            Vendor::OpenAi => openai::create(self.endpoint, mark, file.unwrap_or_default()),
            Vendor::Gemini => gemini::create(self, mark, file.unwrap_or_default()),
        }
    }

    /// Builds the request for the status of a batch.
    ///
    /// # Errors
    /// If the id is not one, or the base URL cannot be used.
    pub fn status(&self, id: &str) -> Result<http::Request<Bytes>, TranslateError> {
        let id = name(id)?;
        match self.vendor {
            Vendor::Anthropic => anthropic::get(self, &format!("/v1/messages/batches/{id}")),
            Vendor::OpenAi => openai::get(self.endpoint, &format!("/batches/{id}")),
            Vendor::Gemini => gemini::get(self.endpoint, &format!("batches/{id}")),
        }
    }

    /// Builds the request that cancels a batch.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn cancel(&self, id: &str) -> Result<http::Request<Bytes>, TranslateError> {
        let id = name(id)?;
        match self.vendor {
            Vendor::Anthropic => {
                anthropic::post(self, &format!("/v1/messages/batches/{id}/cancel"), Bytes::new())
            }
            Vendor::OpenAi => openai::post(self.endpoint, &format!("/batches/{id}/cancel"), Bytes::new()),
            Vendor::Gemini => gemini::cancel(self.endpoint, id),
        }
    }

    /// Reads the response to [`cancel`](Self::cancel): a status, but at Gemini.
    ///
    /// # Errors
    /// If the body is not a batch.
    pub fn read_canceled(&self, body: &[u8]) -> Result<(), BatchError> {
        match self.vendor {
            Vendor::Gemini => Ok(()),
            Vendor::Anthropic | Vendor::OpenAi => self.read_status(body).map(drop),
        }
    }

    /// Reads the response to [`create`](Self::create) or [`status`](Self::status).
    ///
    /// # Errors
    /// If the body is not a batch.
    pub fn read_status(&self, body: &[u8]) -> Result<BatchStatus, BatchError> {
        match self.vendor {
            Vendor::Anthropic => anthropic::status(parsed("a batch", body)?),
            Vendor::OpenAi => openai::status(parsed("a batch", body)?),
            Vendor::Gemini => gemini::status(parsed("a batch", body)?),
        }
    }

    /// Builds the request for a file of results. Only the provider itself is asked, whatever address a response names.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn results(&self, file: &str) -> Result<http::Request<Bytes>, TranslateError> {
        let file = name(file)?;
        match self.vendor {
            Vendor::Anthropic => anthropic::get(self, &format!("/v1/messages/batches/{file}/results")),
            Vendor::OpenAi => openai::get(self.endpoint, &format!("/files/{file}/content")),
            Vendor::Gemini => gemini::results(self.endpoint, file),
        }
    }

    /// Reads one line of a file of results.
    ///
    /// # Errors
    /// If the line is not a result.
    pub fn read_result(&self, line: &[u8]) -> Result<BatchResult, BatchError> {
        match self.vendor {
            Vendor::Anthropic => anthropic::result(line),
            Vendor::OpenAi => openai::result(line),
            Vendor::Gemini => gemini::result(line),
        }
    }

    /// Builds the request for a page of batches, the first one or that of the cursor `next`.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn list(&self, next: Option<&str>) -> Result<http::Request<Bytes>, TranslateError> {
        let after = |key: &str| {
            let id = next.map(name).transpose()?;
            Ok::<_, TranslateError>(id.map(|id| format!("&{key}={id}")).unwrap_or_default())
        };
        match self.vendor {
            Vendor::Anthropic => {
                anthropic::get(self, &format!("/v1/messages/batches?limit=100{}", after("after_id")?))
            }
            Vendor::OpenAi => openai::get(self.endpoint, &format!("/batches?limit=100{}", after("after")?)),
            Vendor::Gemini => gemini::list(self.endpoint, next),
        }
    }

    /// Reads a page of batches. Entries that are not batches are skipped and counted.
    ///
    /// # Errors
    /// If the body is not a list.
    pub fn read_list(&self, body: &[u8]) -> Result<BatchPage, BatchError> {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow)]
            data: Vec<&'a RawValue>,
            #[serde(default)]
            has_more: bool,
            last_id: Option<String>,
        }
        if self.vendor == Vendor::Gemini {
            return gemini::page(body);
        }
        let list: List<'_> =
            serde_json::from_slice(body).map_err(|error| wrong("a list of batches", &error))?;
        let batches = list.data.iter().filter_map(|one| self.read_status(one.get().as_bytes()).ok());
        let batches: Vec<BatchStatus> = batches.collect();
        let is_cut = list.has_more && list.last_id.is_none();
        let skipped = list.data.len() - batches.len() + usize::from(is_cut);
        Ok(BatchPage { batches, skipped, next: list.last_id.filter(|_| list.has_more) })
    }
}

/// Checks an id that a provider has given: it becomes a part of a path.
fn name(id: &str) -> Result<&str, TranslateError> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if (1..=256).contains(&id.len()) && id.bytes().all(is_name) {
        return Ok(id);
    }
    Err(TranslateError::Control(format!("`{}` is not an id of a batch or a file", id.escape_debug())))
}

fn parsed<T: DeserializeOwned>(expected: &'static str, body: &[u8]) -> Result<T, BatchError> {
    serde_json::from_slice(body).map_err(|error| wrong(expected, &error))
}

fn wrong(expected: &'static str, error: &serde_json::Error) -> BatchError {
    BatchError { expected, why: error.to_string() }
}
