//! Follows redirects from a URL to a page. Each target is checked like the first one: its address here, its URL by the
//! rules of the run ([`Hops`]).

use std::net::IpAddr;

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, HeaderValue};

use super::allowed::Allowed;
use super::target::{Refusal, Target};
use crate::fetch::{FetchError, Fetched, Reach, Way};

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// What a server should send if it has a choice.
const WANTED: HeaderValue = HeaderValue::from_static(
    "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
);

/// Why nothing was brought back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    Refused(Refusal),
    /// It went wrong on the way.
    Failed(FetchError),
    TooFar,
    /// A redirect that is not followed, because of the rules or because nobody has spoken of its host.
    NotFollowed {
        to: String,
        why: String,
    },
}

/// Decides whether a redirect is followed. The error says why not.
pub(super) trait Hops {
    fn follow(&self, from: &Target, to: &Target) -> Result<(), String>;
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<FetchError> for Stopped {
    fn from(error: FetchError) -> Self {
        Self::Failed(error)
    }
}

/// What was found, and where.
#[derive(Debug)]
pub(super) struct FetchedPage {
    pub(super) target: Target,
    pub(super) moved: bool,
    pub(super) fetched: Fetched,
}

pub(super) async fn travel(
    reach: &dyn Reach,
    allowed: &Allowed,
    hops: &(dyn Hops + Sync),
    start: Target,
    limit: usize,
) -> Result<FetchedPage, Stopped> {
    let mut target = start;
    for followed in 0..=MAX_REDIRECTS {
        let fetched = stop(reach, allowed, &target, limit).await?;
        match fetched.location.as_deref().filter(|_| is_redirect(fetched.status)) {
            Some(location) => {
                let next = target.follow(location)?;
                next.judge(allowed)?;
                hops.follow(&target, &next)
                    .map_err(|why| Stopped::NotFollowed { to: next.url().to_string(), why })?;
                target = next;
            }
            None => return Ok(FetchedPage { target, moved: followed > 0, fetched }),
        }
    }
    Err(Stopped::TooFar)
}

/// The others of their hundred name no other place to look at.
fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

async fn stop(
    reach: &dyn Reach,
    allowed: &Allowed,
    target: &Target,
    limit: usize,
) -> Result<Fetched, Stopped> {
    target.judge(allowed)?;
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = target.uri()?;
    request.headers_mut().insert(ACCEPT, WANTED);
    let way = way(reach, allowed, target, &request).await?;
    Ok(reach.fetch_by(request, way, limit).await?)
}

/// With a proxy its word decides where a name leads; what can be resolved here as well is judged all the same.
async fn way(
    reach: &dyn Reach,
    allowed: &Allowed,
    target: &Target,
    request: &Request<Bytes>,
) -> Result<Way, Stopped> {
    let has_proxy = reach.has_proxy(request.uri());
    match addresses(reach, target).await {
        Ok(addresses) => {
            target.judge_addresses(&addresses, allowed)?;
            Ok(if has_proxy { Way::Proxy } else { Way::Direct(addresses) })
        }
        Err(_) if has_proxy => Ok(Way::Proxy),
        Err(error) => Err(error.into()),
    }
}

async fn addresses(reach: &dyn Reach, target: &Target) -> Result<Vec<IpAddr>, FetchError> {
    let addresses = match (target.address(), target.name()) {
        (Some(address), _) => vec![address],
        (None, Some(name)) => reach.resolve(name).await?,
        (None, None) => Vec::new(),
    };
    if addresses.is_empty() {
        return Err(FetchError::Unreachable("the server's name has no address".to_owned()));
    }
    Ok(addresses)
}
