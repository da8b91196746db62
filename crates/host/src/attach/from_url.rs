//! Attachments from a URL. The user typed the address, so it is requested as in a browser. A redirect to another server
//! must be typed as well, because the content is sent to a model.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri};

use converse_canister::Origin;
use converse_canister::media::agrees;
use converse_ensemble::{Fetch as _, FetchError, Fetched};

use super::{Attachment, MOST_BYTES, refused, too_large};
use crate::failure::Failure;
use crate::fetch::HttpFetch;

const CONNECT: Duration = Duration::from_secs(10);
/// Time limit, including redirects.
const WHOLE: Duration = Duration::from_secs(60);
const MOST_REDIRECTS: usize = 5;

pub(super) async fn attachment(url: &str) -> Result<Attachment, Failure> {
    let uri = parsed(url)?;
    let shown = shown(&uri);
    let fetched = tokio::time::timeout(WHOLE, followed(uri)).await;
    let (uri, fetched) =
        fetched.map_err(|_| refused(&shown, "the server did not answer within a minute"))??;
    let shown = self::shown(&uri);
    if fetched.truncated {
        return Err(too_large(&shown, None));
    }
    let said = fetched.content_type.clone().unwrap_or_default();
    let attachment = Attachment::of(name(&uri), fetched.body.to_vec(), &shown)?;
    if !agrees(&said, attachment.kind) {
        let is = attachment.mime;
        return Err(refused(
            &shown,
            &format!("the server declares the type `{said}`, but the content is {is}"),
        ));
    }
    let from = uri.host().map(Origin::web);
    Ok(Attachment { from, ..attachment })
}

fn parsed(url: &str) -> Result<Uri, Failure> {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(refused(url, "only http: and https: URLs are supported"));
    }
    let uri = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    uri.ok_or_else(|| refused(url, "not a valid URL"))
}

async fn followed(mut uri: Uri) -> Result<(Uri, Fetched), Failure> {
    let http = HttpFetch::new(CONNECT);
    for _ in 0..=MOST_REDIRECTS {
        let request = Request::get(uri.clone()).header("accept", "*/*").body(Bytes::new());
        let request = request.map_err(|_| refused(&shown(&uri), "not a valid URL"))?;
        let fetched = http.fetch(request, MOST_BYTES).await.map_err(|error| failed(&uri, &error))?;
        match (fetched.status, &fetched.location) {
            (200, _) => return Ok((uri, fetched)),
            (301 | 302 | 303 | 307 | 308, Some(location)) => uri = next(&uri, location)?,
            (status, _) => {
                return Err(refused(&shown(&uri), &format!("the server answered with status {status}")));
            }
        }
    }
    Err(refused(&shown(&uri), "the server redirects in a circle"))
}

/// Returns the redirect target if it is on the same server and not less secure.
fn next(from: &Uri, location: &str) -> Result<Uri, Failure> {
    let absolute = match location {
        path if path.starts_with('/') && !path.starts_with("//") => {
            let authority = from.authority().map(http::uri::Authority::as_str).unwrap_or_default();
            format!("{}://{authority}{path}", from.scheme_str().unwrap_or("https"))
        }
        other => other.to_owned(),
    };
    let to =
        parsed(&absolute).map_err(|_| refused(&shown(from), "the server redirects without a valid URL"))?;
    let safe = from.scheme_str() == to.scheme_str() || to.scheme_str() == Some("https");
    if from.host() == to.host() && safe {
        return Ok(to);
    }
    Err(refused(&shown(from), &format!("the server redirects to {}", shown(&to)))
        .hint("to follow the redirect, attach that URL"))
}

fn failed(uri: &Uri, error: &FetchError) -> Failure {
    refused(&shown(uri), &error.to_string())
}

/// Returns the address without secret parts: user, password and query.
fn shown(uri: &Uri) -> String {
    let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
    let (scheme, host) = (uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default());
    format!("{scheme}://{host}{port}{}", uri.path())
}

fn name(uri: &Uri) -> String {
    let last = uri.path().rsplit('/').find(|part| !part.is_empty());
    last.or(uri.host()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_with_the_server_that_was_named() {
        let from: Uri = "http://a.example:8080/x?secret=1".parse().unwrap();
        for (location, to) in [
            ("/y", Some("http://a.example:8080/y")),
            ("http://a.example/z", Some("http://a.example/z")),
            ("https://a.example/z", Some("https://a.example/z")),
            ("https://b.example/z", None),
            ("//b.example/z", None),
            ("file:///etc/passwd", None),
            ("http://169.254.169.254/", None),
        ] {
            assert_eq!(next(&from, location).ok().map(|uri| uri.to_string()).as_deref(), to, "{location}");
        }
        let safe: Uri = "https://a.example/".parse().unwrap();
        assert!(next(&safe, "http://a.example/").is_err());
        let failure = next(&from, "https://b.example/z?k=1").unwrap_err();
        assert!(failure.message.contains("https://b.example/z") && !failure.message.contains("secret"));
    }

    #[test]
    fn an_address_is_shown_and_named_without_its_secrets() {
        let uri: Uri = "https://user:pass@a.example/d/x.png?token=1".parse().unwrap();
        assert_eq!((shown(&uri).as_str(), name(&uri).as_str()), ("https://a.example/d/x.png", "x.png"));
        assert_eq!(name(&"https://a.example/".parse().unwrap()), "a.example");
        assert!(parsed("ftp://a.example/x").is_err() && parsed("http:///x").is_err());
    }
}
