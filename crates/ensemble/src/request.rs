//! An HTTP request as a tool.
//!
//! [`url`], [`body`] and [`answer`] are pure; between them is one call of the port [`Fetch`](crate::Fetch).

mod answer;
mod body;
mod url;

#[cfg(test)]
mod tests;

pub(crate) use answer::{Kind, status};
pub(crate) use url::encode;

use std::sync::Arc;

use bytes::Bytes;
use converse_canister::Arguments;
use converse_config::{BodyPlan, Environment, JsonTemplate, RequestPlan, Template, UnsetVariable};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Method;

use crate::fetch::FetchError;
use crate::surroundings::Surroundings;
use crate::template_input::{TemplateInput, missing_variable};
use crate::{Answer, Context, Invocable, InvokeError};

/// Bytes of a response body that are read.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

pub(crate) struct Request {
    method: Method,
    plan: RequestPlan,
    surroundings: Arc<Surroundings>,
}

impl Request {
    /// Builds the tool.
    ///
    /// # Errors
    ///
    /// What is wrong with the descriptor.
    pub(crate) fn new(plan: RequestPlan, surroundings: Arc<Surroundings>) -> Result<Self, String> {
        let method = Method::from_bytes(plan.method.as_bytes())
            .map_err(|_| format!("`{}` is not a method of HTTP", plan.method))?;
        body::check_names(&plan)?;
        Ok(Self { method, plan, surroundings })
    }

    fn prepare(&self, arguments: &Arguments) -> Result<http::Request<Bytes>, InvokeError> {
        let given =
            TemplateInput { arguments: &arguments.object, environment: &self.surroundings.environment };
        let uri = url::url(&self.plan, given)?;
        let headers = body::headers(&self.plan, given)?;
        let body = self.plan.body.as_ref().map(|plan| body::body(plan, given)).transpose()?.flatten();
        let mut request = http::Request::new(body.unwrap_or_default());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

impl Invocable for Request {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let request = self.prepare(arguments)?;
            let Surroundings { fetch, artefacts, .. } = self.surroundings.as_ref();
            let fetched = tokio::select! {
                biased;
                fetched = fetch.fetch(request, MAX_ANSWER) => fetched.map_err(fetch_failure)?,
                () = context.cancel.cancelled() => {
                    return Err(InvokeError::Interrupted("it was stopped before it was answered".to_owned()));
                }
            };
            Ok(answer::answer(&fetched, artefacts.as_ref()))
        }
        .boxed()
    }
}

/// Converts the error for the caller of the tool.
pub(crate) fn fetch_failure(error: FetchError) -> InvokeError {
    match error {
        FetchError::Unreachable(message) => InvokeError::Unreachable { message, sent: false },
        FetchError::NoDescriptors(message) => InvokeError::NoDescriptors(message),
        FetchError::Broken(message) => InvokeError::Unreachable {
            message: format!("{message}; the request may have been carried out"),
            sent: true,
        },
        FetchError::Refused(message) => InvokeError::Failed(message),
    }
}

/// Fails if the request needs a variable that is not set.
pub(crate) fn check_variables(plan: &RequestPlan, environment: &Environment) -> Result<(), UnsetVariable> {
    let mut templates = vec![&plan.url];
    templates.extend(plan.query.iter().chain(&plan.headers).map(|(_, template)| template));
    match &plan.body {
        Some(BodyPlan::Text(template)) => templates.push(template),
        Some(BodyPlan::Form(entries)) => templates.extend(entries.iter().map(|(_, template)| template)),
        Some(BodyPlan::Json(json)) => texts_of(json, &mut templates),
        None => {}
    }
    templates.into_iter().try_for_each(|template| missing_variable(template, environment))
}

fn texts_of<'a>(json: &'a JsonTemplate, templates: &mut Vec<&'a Template>) {
    match json {
        JsonTemplate::Fixed(_) => {}
        JsonTemplate::Text(template) => templates.push(template),
        JsonTemplate::Array(entries) => entries.iter().for_each(|entry| texts_of(entry, templates)),
        JsonTemplate::Object(fields) => fields.iter().for_each(|(_, field)| texts_of(field, templates)),
    }
}
