//! Names, redirects and proxies: every stop is judged, and only what was judged is connected to.

use std::net::IpAddr;

use super::super::allowed::Allowed;
use super::super::journey::{FetchedPage, Hops, Stopped, travel};
use super::super::target::{Refusal, Target};
use super::{found, redirect};
use crate::fetch::{FetchError, Way};
use crate::testing::Atlas;

const PUBLIC: &str = "93.184.215.14";

fn atlas(names: &[(&str, &[&str])], pages: &[(&str, crate::Fetched)]) -> Atlas {
    let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse::<IpAddr>().unwrap()).collect();
    Atlas {
        names: names.iter().map(|(name, texts)| ((*name).to_owned(), addresses(texts))).collect(),
        pages: pages.iter().map(|(url, page)| ((*url).to_owned(), page.clone())).collect(),
        ..Atlas::default()
    }
}

/// No rule has anything against a redirect.
struct Anywhere;

impl Hops for Anywhere {
    fn follow(&self, _: &Target, _: &Target) -> Result<(), String> {
        Ok(())
    }
}

async fn go(atlas: &Atlas, url: &str, allowed: &[&str]) -> Result<FetchedPage, Stopped> {
    let allowed = Allowed::read(allowed).unwrap();
    travel(atlas, &allowed, &Anywhere, Target::read(url).unwrap(), 1000).await
}

fn requested(atlas: &Atlas) -> Vec<String> {
    atlas.journeys.lock().unwrap().iter().map(|(url, _)| url.clone()).collect()
}

fn is_private(stopped: &Stopped) -> bool {
    matches!(stopped, Stopped::Refused(Refusal::Private(_)))
}

#[tokio::test]
async fn the_connection_goes_to_the_addresses_that_were_judged() {
    let page = found(200, "text/plain", "x");
    let names: &[(&str, &[&str])] = &[("example.org", &[PUBLIC, "2606:4700::1"])];
    let mut atlas = atlas(names, &[("http://example.org/", page.clone()), ("http://8.8.8.8/", page)]);
    go(&atlas, "http://example.org/", &[]).await.unwrap();
    go(&atlas, "http://8.8.8.8/", &[]).await.unwrap();
    let addresses = |texts: &[&str]| Way::Direct(texts.iter().map(|text| text.parse().unwrap()).collect());
    let ways: Vec<Way> = atlas.journeys.get_mut().unwrap().drain(..).map(|(_, way)| way).collect();
    assert_eq!(ways, [addresses(&[PUBLIC, "2606:4700::1"]), addresses(&["8.8.8.8"])]);
}

#[tokio::test]
async fn one_private_answer_spoils_a_name() {
    let page = found(200, "text/plain", "x");
    for answers in [
        &["10.0.0.1"][..],
        &[PUBLIC, "127.0.0.1"],
        &["::1", PUBLIC],
        &[PUBLIC, "2606:4700::1", "fd00::1"],
        &["::ffff:169.254.169.254"],
        &[PUBLIC, "0.0.0.0"],
    ] {
        let atlas = atlas(&[("example.org", answers)], &[("http://example.org/", page.clone())]);
        let stopped = go(&atlas, "http://example.org/", &["10.0.0.2"]).await.unwrap_err();
        assert!(is_private(&stopped), "{answers:?}: {stopped:?}");
        assert!(requested(&atlas).is_empty());
    }
    let atlas = atlas(&[("example.org", &["10.0.0.1", PUBLIC])], &[("http://example.org/", page)]);
    assert!(go(&atlas, "http://example.org/", &["example.org"]).await.is_ok());
    assert!(go(&atlas, "http://example.org/", &["10.0.0.1"]).await.is_ok());
    assert!(go(&atlas, "http://example.org/", &["10.0.0.1:81"]).await.is_err());
}

#[tokio::test]
async fn a_name_without_an_address_is_not_gone_to() {
    let atlas = atlas(&[("empty.example", &[])], &[]);
    for url in ["http://empty.example/", "http://unknown.example/"] {
        let stopped = go(&atlas, url, &[]).await.unwrap_err();
        assert!(matches!(stopped, Stopped::Failed(FetchError::Unreachable(_))), "{stopped:?}");
    }
    assert!(requested(&atlas).is_empty());
}

#[tokio::test]
async fn redirects_are_followed_and_each_is_judged() {
    let names: &[(&str, &[&str])] =
        &[("example.org", &[PUBLIC]), ("other.example", &[PUBLIC]), ("inside.example", &["10.0.0.1"])];
    let go_from = |location: &'static str, scheme: &str| {
        let first = format!("{scheme}://example.org/a/b");
        let pages = [
            (first.as_str(), redirect(302, location)),
            ("http://example.org/c", found(200, "text/plain", "c")),
            ("https://other.example/", found(200, "text/plain", "other")),
        ];
        (atlas(names, &pages), first.clone())
    };
    for (scheme, location, end) in [
        ("http", "/c", "http://example.org/c"),
        ("http", "../c#part", "http://example.org/c"),
        ("http", "//example.org/c", "http://example.org/c"),
        ("https", "https://other.example", "https://other.example/"),
        ("http", "https://other.example", "https://other.example/"),
    ] {
        let (atlas, first) = go_from(location, scheme);
        let found = go(&atlas, &first, &[]).await.unwrap();
        assert_eq!(found.target.url().as_str(), end, "{location}");
        assert!(found.moved);
    }
    for (scheme, location, privately) in [
        ("http", "http://127.0.0.1/", true),
        ("http", "//0x7f.1/", true),
        ("http", "http://inside.example/", true),
        ("http", "http://localhost:80/", true),
        ("https", "https://[::1]/", true),
        ("https", "http://example.org/c", false),
        ("http", "file:///etc/passwd", false),
        ("http", "ftp://example.org/", false),
        ("http", "http://me:secret@example.org/c", false),
        ("http", "http://[", false),
    ] {
        let (atlas, first) = go_from(location, scheme);
        let stopped = go(&atlas, &first, &[]).await.unwrap_err();
        assert_eq!(is_private(&stopped), privately, "{location}: {stopped:?}");
        assert_eq!(requested(&atlas), [first], "{location}");
    }
}

#[tokio::test]
async fn five_redirects_are_enough() {
    let names: &[(&str, &[&str])] = &[("example.org", &[PUBLIC])];
    let chain = |length: usize| {
        let hop =
            |index: usize| (format!("http://example.org/{index}"), redirect(301, &format!("/{}", index + 1)));
        let mut atlas = atlas(names, &[]);
        atlas.pages = (0..length).map(hop).collect();
        atlas.pages.insert(format!("http://example.org/{length}"), found(200, "text/plain", "end"));
        atlas
    };
    assert!(go(&chain(5), "http://example.org/0", &[]).await.is_ok());
    let long = chain(6);
    assert_eq!(go(&long, "http://example.org/0", &[]).await.unwrap_err(), Stopped::TooFar);
    assert_eq!(requested(&long).len(), 6);
}

#[tokio::test]
async fn a_redirect_without_a_place_is_the_answer() {
    for page in
        [found(302, "text/html", "where?"), redirect(300, "/c"), redirect(304, "/c"), redirect(200, "/c")]
    {
        let atlas = atlas(&[("example.org", &[PUBLIC])], &[("http://example.org/", page.clone())]);
        assert_eq!(go(&atlas, "http://example.org/", &[]).await.unwrap().fetched, page);
    }
}

#[tokio::test]
async fn a_proxy_carries_what_is_not_known_to_be_private() {
    let page = found(200, "text/plain", "x");
    let names: &[(&str, &[&str])] = &[("example.org", &[PUBLIC]), ("inside.example", &["10.0.0.1"])];
    let pages = [
        ("http://example.org/", page.clone()),
        ("http://unknown.example/", page.clone()),
        ("http://inside.example/", page.clone()),
        ("http://127.0.0.1/", page),
    ];
    let atlas = Atlas { has_proxy: true, ..atlas(names, &pages) };
    for url in ["http://example.org/", "http://unknown.example/"] {
        go(&atlas, url, &[]).await.unwrap();
    }
    for url in ["http://inside.example/", "http://127.0.0.1/", "http://intranet/", "http://db.internal/"] {
        assert!(is_private(&go(&atlas, url, &[]).await.unwrap_err()), "{url}");
    }
    let journeys = atlas.journeys.lock().unwrap();
    assert_eq!(journeys.len(), 2);
    assert!(journeys.iter().all(|(_, way)| *way == Way::Proxy));
}
