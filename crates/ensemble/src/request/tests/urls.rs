//! Where a request goes, whatever the arguments hold.

use serde_json::{Value, json};

use super::{environment, plan};
use crate::InvokeError;
use crate::request::url::url;
use crate::template_input::TemplateInput;

fn made(template: &str, query: &[(&str, &str)], arguments: &Value) -> Result<String, InvokeError> {
    let (plan, environment) = (plan(template, query, &[], None), environment());
    let arguments = arguments.as_object().unwrap();
    url(&plan, TemplateInput { arguments, environment: &environment }).map(|uri| uri.to_string())
}

#[test]
fn a_value_in_the_path_is_one_segment() {
    for (template, value, expected) in [
        ("https://h/u/{x}", json!("a"), "https://h/u/a"),
        ("https://h/u/{x}/z", json!("a/b"), "https://h/u/a%2Fb/z"),
        ("https://h/u/{x}", json!("a?b=c#d"), "https://h/u/a%3Fb%3Dc%23d"),
        ("https://h/u/{x}", json!("a&b;c"), "https://h/u/a%26b%3Bc"),
        ("https://h/u/{x}", json!("%2e%2e"), "https://h/u/%252e%252e"),
        ("https://h/u/{x}", json!("%2F"), "https://h/u/%252F"),
        ("https://h/u/{x}", json!("..."), "https://h/u/..."),
        ("https://h/u/{x}", json!("a..b"), "https://h/u/a..b"),
        ("https://h/u/v{x}", json!(".."), "https://h/u/v.."),
        ("https://h/u/{x}", json!("a b+c"), "https://h/u/a%20b%2Bc"),
        ("https://h/u/{x}", json!("a\r\nHost: evil"), "https://h/u/a%0D%0AHost%3A%20evil"),
        ("https://h/u/{x}", json!("\0"), "https://h/u/%00"),
        ("https://h/u/{x}", json!("\\evil"), "https://h/u/%5Cevil"),
        ("https://h/u/{x}", json!("@evil"), "https://h/u/%40evil"),
        ("https://h/u/{x}", json!("//evil"), "https://h/u/%2F%2Fevil"),
        ("https://h/u/{x}", json!("ж€\u{1f600}"), "https://h/u/%D0%B6%E2%82%AC%F0%9F%98%80"),
        ("https://h/u/{x}", json!("{y}${KEY}"), "https://h/u/%7By%7D%24%7BKEY%7D"),
        ("https://h/u/{x}", json!("~-_."), "https://h/u/~-_."),
        ("https://h/u/{x}", json!("javascript:alert(1)"), "https://h/u/javascript%3Aalert%281%29"),
        ("https://h/u/{x}", json!(-1.5), "https://h/u/-1.5"),
        ("https://h/u/{x}", json!(true), "https://h/u/true"),
        ("https://h/u/{x}", json!(["a", "b"]), "https://h/u/%5B%22a%22%2C%22b%22%5D"),
        ("https://h/u/id-{x}", json!(""), "https://h/u/id-"),
        ("https://h/s?q={x}", json!("a&b=c#d/.."), "https://h/s?q=a%26b%3Dc%23d%2F.."),
        ("https://h/s?q={x}", json!(""), "https://h/s?q="),
        ("https://h/s?{x}=1", json!("a=b&c"), "https://h/s?a%3Db%26c=1"),
        ("https://h/u#{x}", json!("secret"), "https://h/u"),
        ("https://h/u/{x}#part", json!("a"), "https://h/u/a"),
        ("https://h/a b/ж/\\..{x}", json!("c"), "https://h/a%20b/%D0%B6/%5C..c"),
        ("${HOST}/u/{x}", json!("a"), "https://api.test/u/a"),
        ("https://h:8443/{x}", json!("a"), "https://h:8443/a"),
        ("http://[::1]:80/{x}", json!("a"), "http://[::1]:80/a"),
        ("https://h{x}", json!(""), "https://h/"),
    ] {
        assert_eq!(
            made(template, &[], &json!({ "x": value })).as_deref(),
            Ok(expected),
            "{template} {value}"
        );
    }
}

#[test]
fn a_value_never_takes_segments_away() {
    for (template, value, telling) in [
        ("https://h/u/{x}", json!("."), "contain the segment `.`"),
        ("https://h/u/{x}", json!(".."), "contain the segment `..`"),
        ("https://h/u/{x}/z", json!(".."), "contain the segment `..`"),
        ("https://h/u/.{x}", json!("."), "contain the segment `..`"),
        ("https://h/u/%2e{x}", json!("."), "contain the segment `..`"),
        ("https://h/u/{x}{x}", json!("."), "contain the segment `..`"),
        // What a proxy reads as slashes must not climb either.
        ("https://h/u/{x}", json!("../admin"), "contain the segment `..`"),
        ("https://h/u/{x}", json!("a/../../admin"), "contain the segment `..`"),
        ("https://h/u/{x}", json!("..\\admin"), "contain the segment `..`"),
        ("https://h/u/{x}?a=b", json!(".."), "contain the segment `..`"),
        ("https://h/u/{x}#f", json!(".."), "contain the segment `..`"),
        ("https://h/u/{x}", json!(""), "`x` is a part of the URL's path and is empty"),
        ("https://h/u/{x}/delete", json!(""), "`x` is a part of the URL's path and is empty"),
        ("https://h/u/{x}{x}?a", json!(""), "`x` is a part of the URL's path and is empty"),
        ("https://h/u/{x}", json!(null), "`x` is part of the URL and is not given"),
        ("https://h/u/{y}", json!("a"), "`y` is part of the URL and is not given"),
        ("https://h/u?q={x}", json!("a".repeat(17_000)), "longer than 16384 bytes"),
    ] {
        match made(template, &[], &json!({ "x": value })) {
            Err(InvokeError::Invalid(told)) => assert!(told.contains(telling), "{template}: {told}"),
            other => panic!("{template} {value}: {other:?}"),
        }
    }
}

#[test]
fn the_server_is_the_descriptors_choice() {
    for (template, value) in [
        ("https://h{x}/", ".evil.test"),
        ("https://h{x}", "evil"),
        ("https://h:{x}/", "1"),
        ("https://{x}/", "evil.test"),
        ("https://{x}.h/", "evil"),
        ("https://{x}h/", "evil."),
        ("{x}://h/", "http"),
        ("http{x}://h/", "s"),
        ("{x}", "https://evil.test/"),
        ("{x}/u", "https://evil.test"),
        ("https://u{x}@h/", "evil"),
        ("https://user:pass@h/{x}", "a"),
        ("ftp://h/{x}", "a"),
        ("/u/{x}", "a"),
        ("h/u/{x}", "a"),
        ("https:///u/{x}", "a"),
        ("file:///etc/{x}", "passwd"),
        ("${ODD}/u/{x}", "a"),
        ("${NONE}/u/{x}", "a"),
    ] {
        let refused = made(template, &[], &json!({ "x": value }));
        assert!(matches!(refused, Err(InvokeError::Failed(_))), "{template} {value}: {refused:?}");
    }
}

#[test]
fn a_query_is_made_of_its_own_fields() {
    let query: &[(&str, &str)] = &[("q", "{x}"), ("tag", "a b&{y}"), ("k[]", "${KEY}"), ("n", "{n}")];
    let all = json!({ "x": "1&q=2#", "y": "=", "n": 3 });
    assert_eq!(
        made("https://h/s", query, &all).as_deref(),
        Ok("https://h/s?q=1%26q%3D2%23&tag=a%20b%26%3D&k%5B%5D=s3cret&n=3")
    );
    for (template, expected) in [
        ("https://h", "https://h/?k%5B%5D=s3cret"),
        ("https://h/s?", "https://h/s?k%5B%5D=s3cret"),
        ("https://h/s?a=b", "https://h/s?a=b&k%5B%5D=s3cret"),
        ("https://h/s?a=b&", "https://h/s?a=b&k%5B%5D=s3cret"),
        ("https://h/s#f?x", "https://h/s?k%5B%5D=s3cret"),
    ] {
        assert_eq!(made(template, query, &json!({ "x": null })).as_deref(), Ok(expected), "{template}");
    }
}
