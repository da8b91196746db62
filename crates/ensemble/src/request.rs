//! An HTTP request as a tool.
//!
//! [`url`], [`fields`], [`body`] and [`answer`] are pure; between them is one call of the port [`Fetch`](crate::Fetch).

mod answer;
mod body;
mod fields;
mod url;

#[cfg(test)]
mod tests;

pub(crate) use answer::{Kind, status};
pub(crate) use url::encode;

use std::sync::Arc;

use bytes::Bytes;
use converse_canister::Arguments;
use converse_config::{BodyPlan, Environment, RequestPlan, UnsetVariable};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, TryFutureExt as _};
use http::Method;
use http::header::CONTENT_TYPE;

use crate::builtin::Upload;
use crate::fetch::FetchError;
use crate::surroundings::Surroundings;
use crate::template_input::{TemplateInput, missing_variable};
use crate::{Answer, Context, Invocable, InvokeError, PathResolver};

/// Bytes of a response body that are read.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

pub(crate) struct Request {
    method: Method,
    plan: RequestPlan,
    surroundings: Arc<Surroundings>,
    /// For a request that sends a file.
    upload: Option<Arc<Upload>>,
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
        let upload = plan.body.as_ref().and_then(BodyPlan::file).map(|path| {
            let argument = path.sole_argument().ok_or("`file` must be exactly one argument")?;
            Ok::<_, String>(Arc::new(Upload::new(&surroundings.workspace, argument)))
        });
        let upload = upload.transpose()?;
        Ok(Self { method, plan, surroundings, upload })
    }

    async fn prepare(
        &self,
        context: &Context,
        arguments: &Arguments,
    ) -> Result<http::Request<Bytes>, InvokeError> {
        let given = TemplateInput {
            arguments: &arguments.object,
            environment: &self.surroundings.environment,
            styles: &self.plan.styles,
        };
        let uri = url::url(&self.plan, given)?;
        let mut headers = body::headers(&self.plan, given)?;
        body::trace(&mut headers, context.host.trace());
        let file = match &self.upload {
            Some(upload) => upload.read(context, &arguments.object).await?,
            None => None,
        };
        let file = file.map(|(name, bytes)| body::SentFile { name, bytes });
        let body = body::body(&self.plan, given, file)?;
        let (body, content_type) = body.map_or_else(Default::default, |body| (body.bytes, body.content_type));
        // What the descriptor declares counts.
        if let Some(content_type) = content_type.filter(|_| !headers.contains_key(CONTENT_TYPE)) {
            headers.insert(CONTENT_TYPE, content_type);
        }
        let mut request = http::Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

impl Invocable for Request {
    fn path_resolver(&self) -> Option<Arc<dyn PathResolver>> {
        self.upload.clone().map(|upload| upload as _)
    }

    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let request = self.prepare(&context, arguments).await?;
            let Surroundings { fetch, artefacts, .. } = self.surroundings.as_ref();
            let fetch = fetch.fetch(request, MAX_ANSWER).map_err(fetch_failure);
            let fetched = context.unless_cancelled(fetch).await?;
            Ok(answer::answer(&fetched, artefacts.as_ref(), self.plan.result.as_deref()))
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
    templates.extend(plan.body.iter().flat_map(BodyPlan::templates));
    templates.into_iter().try_for_each(|template| missing_variable(template, environment))
}
