//! A document that a command names: a file, standard input, or a URL.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use converse_ensemble::{Fetch as _, Fetched};
use converse_host::failure::{Failure, Kind};
use converse_host::fetch::HttpFetch;
use converse_host::world::World;
use converse_session::pinned::read_regular;

use crate::signals;
use crate::stdin::{Bounds, whole};

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Time for the whole document.
const FETCH_TIME: Duration = Duration::from_secs(60);

/// Reads a file, or standard input if the name is `-`. Of a larger document it reads one byte more than `most`.
///
/// # Errors
///
/// The document cannot be read. `code` is the code of the failure.
pub fn read_file(named: &Path, most: usize, code: &'static str, world: &World) -> Result<Vec<u8>, Failure> {
    if named == Path::new("-") {
        let interrupt = signals::watch()?;
        return whole(Bounds { deadline: None, interrupt: &interrupt });
    }
    let read = read_regular(&world.cwd.join(named), most + 1);
    read.map_err(|error| unreadable(named, code, &error.to_string()))
}

/// Reads a file, standard input, or the response of a URL, as [`read_file`] does.
///
/// # Errors
///
/// The document cannot be read or fetched. `code` is the code of the failure.
pub fn read(named: &Path, most: usize, code: &'static str, world: &World) -> Result<Vec<u8>, Failure> {
    let Some(url) = url(named) else { return read_file(named, most, code, world) };
    let fetched = converse_host::runtime::block_on(fetch(url, most + 1))?;
    fetched
        .map_err(|why| unreadable(named, code, &why).hint("download the document yourself and name the file"))
}

fn unreadable(named: &Path, code: &'static str, why: &str) -> Failure {
    Failure::new(Kind::Configuration, code, format!("{} cannot be read: {why}", shown(named)))
}

/// Returns the name as a URL, if it is one.
pub fn url(named: &Path) -> Option<&str> {
    named.to_str().filter(|name| name.starts_with("http://") || name.starts_with("https://"))
}

/// Returns the name for messages. A URL has no query and no password, which may be secrets.
pub fn shown(named: &Path) -> String {
    let Some((scheme, rest)) = url(named).and_then(|url| url.split_once("://")) else {
        return named.display().to_string();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

async fn fetch(url: &str, limit: usize) -> Result<Vec<u8>, String> {
    let request = http::Request::get(url).body(Bytes::new()).map_err(|error| error.to_string())?;
    let client = HttpFetch::new(CONNECT_TIME);
    let fetched = tokio::time::timeout(FETCH_TIME, client.fetch(request, limit)).await;
    let fetched = fetched.map_err(|_| format!("it was not complete after {} s", FETCH_TIME.as_secs()))?;
    match fetched.map_err(|error| error.to_string())? {
        Fetched { status: 200, body, .. } => Ok(body.to_vec()),
        Fetched { status: status @ 300..=399, location: Some(target), .. } => {
            let target = shown(Path::new(&target));
            Err(format!(
                "the server answered {status} and names `{}`, which is not followed",
                converse_text::safe_line(&target, 200)
            ))
        }
        Fetched { status, .. } => Err(format!("the server answered {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_query_and_password() {
        for (named, expected) in [
            ("https://a.example/api.json?token=x#y", "https://a.example/api.json"),
            ("https://me:x@a.example?token=/x", "https://a.example"),
            ("dir/api.yaml?x", "dir/api.yaml?x"),
        ] {
            assert_eq!(shown(Path::new(named)), expected);
        }
    }
}
