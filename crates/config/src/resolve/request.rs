//! A request as meant. Its placeholders have been looked at by then.

use super::said;
use crate::plan::RequestPlan;
use crate::request::RequestDescriptor;
use crate::source::Spanned;
use crate::template::Template;

/// `None` without a URL, which has been told.
pub(super) fn plan(request: &RequestDescriptor) -> Option<RequestPlan> {
    let named = |list: &[(String, Spanned<Template>)]| {
        list.iter().map(|(name, template)| (name.clone(), template.value.clone())).collect()
    };
    Some(RequestPlan {
        method: said(&request.method, "GET").to_owned(),
        url: request.url.as_ref()?.value.clone(),
        query: named(&request.query),
        headers: named(&request.headers),
        body: request.body.as_ref().map(|body| body.plan.clone()),
    })
}
