//! Where a request goes, whatever the arguments hold.

use converse_config::Style;
use serde_json::{Value, json};

use super::{environment, plan};
use crate::InvokeError;
use crate::request::url::url;
use crate::template_input::TemplateInput;

fn made(template: &str, query: &[(&str, &str)], arguments: &Value) -> Result<String, InvokeError> {
    let (plan, environment) = (plan(template, query, &[], None), environment());
    let arguments = arguments.as_object().unwrap();
    url(&plan, TemplateInput { arguments, environment: &environment, styles: &[] }).map(|uri| uri.to_string())
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

#[test]
fn keys_do_not_set_the_fields_of_the_request() {
    let query = [("tenant", "{tenant}"), ("f[role]", "user"), ("f", "{f}"), ("sort_by", "{sort}")];
    let made = |style, arguments: &Value| {
        let mut plan = plan("https://h/s?key=1&own%5Fer={o}&flag", &query, &[], None);
        plan.styles = vec![("f".to_owned(), style)];
        let (environment, arguments) = (environment(), arguments.as_object().unwrap());
        let given = TemplateInput { arguments, environment: &environment, styles: &plan.styles };
        url(&plan, given).map(|uri| uri.to_string())
    };
    for (style, key) in [
        (Style::Repeat, "tenant"),
        (Style::Repeat, "TENANT"),
        (Style::Repeat, "tenant[]"),
        (Style::Repeat, "f[role]"),
        (Style::Repeat, "f[role]x"),
        (Style::Repeat, "sort.by"),
        (Style::Repeat, " sort by"),
        (Style::Repeat, "key"),
        (Style::Repeat, "own_er"),
        (Style::Repeat, "flag"),
        (Style::Brackets, "role"),
        (Style::Brackets, "ROLE][x"),
        (Style::Brackets, "role]"),
    ] {
        // Whether or not the argument of the declared field is given.
        for arguments in [
            json!({ "o": 1, "f": { key: "b" } }),
            json!({ "o": 1, "tenant": "a", "f": { "x": 1, key: "b" } }),
        ] {
            match made(style, &arguments) {
                Err(InvokeError::Invalid(told)) => {
                    assert!(
                        told.contains("`f` cannot set the field") && told.contains("the request itself"),
                        "{told}"
                    );
                }
                other => panic!("{style:?} {key}: {other:?}"),
            }
        }
    }
    for (style, arguments, expected) in [
        (Style::Repeat, json!({ "tenants": 1, "f": 2, "f[x]": 3 }), "&tenants=1&f=2&f%5Bx%5D=3"),
        (Style::Brackets, json!({ "roles": 1, "tenant": 2 }), "&f%5Broles%5D=1&f%5Btenant%5D=2"),
        (Style::Comma, json!({ "tenant": 2 }), "&f=tenant,2"),
    ] {
        let made = made(style, &json!({ "o": 1, "tenant": "a", "f": arguments })).unwrap();
        let own = "https://h/s?key=1&own%5Fer=1&flag&tenant=a&f%5Brole%5D=user";
        let mut fields: Vec<&str> = made.strip_prefix(own).unwrap().split('&').collect();
        let mut expected: Vec<&str> = expected.split('&').collect();
        fields.sort_unstable();
        expected.sort_unstable();
        assert_eq!(fields, expected);
    }
}

#[test]
fn an_object_in_a_path_is_pairs_or_a_list() {
    for (style, expected) in [(Style::Repeat, "/k=v%26w,l=1"), (Style::Comma, "/k,v%26w,l,1")] {
        let mut plan = plan("https://h/{o}", &[], &[], None);
        plan.styles = vec![("o".to_owned(), style)];
        let (environment, given) = (environment(), json!({ "o": { "k": "v&w", "l": 1 } }));
        let arguments = given.as_object().unwrap();
        let made = url(&plan, TemplateInput { arguments, environment: &environment, styles: &plan.styles });
        assert_eq!(made.unwrap().path(), expected, "{style:?}");
    }
}

#[test]
fn lists_and_objects_have_the_style_of_their_argument() {
    let arguments = json!({
        "l": ["a", "b c,d", 3], "o": { "k": "v&w", "n": [true, { "x": null }] }, "e": [], "s": "t",
    });
    for (name, style, expected) in [
        ("l", Style::Repeat, "?l=a&l=b%20c%2Cd&l=3"),
        ("l", Style::Comma, "?l=a,b%20c%2Cd,3"),
        ("l", Style::Space, "?l=a%20b%20c%2Cd%203"),
        ("l", Style::Pipe, "?l=a%7Cb%20c%2Cd%7C3"),
        ("l", Style::Brackets, "?l%5B0%5D=a&l%5B1%5D=b%20c%2Cd&l%5B2%5D=3"),
        ("o", Style::Repeat, "?k=v%26w&n=%5Btrue%2C%7B%22x%22%3Anull%7D%5D"),
        ("o", Style::Comma, "?o=k,v%26w,n,%5Btrue%2C%7B%22x%22%3Anull%7D%5D"),
        ("o", Style::Brackets, "?o%5Bk%5D=v%26w&o%5Bn%5D%5B0%5D=true&o%5Bn%5D%5B1%5D%5Bx%5D=null"),
        ("e", Style::Repeat, ""),
        ("e", Style::Comma, "?e="),
        ("s", Style::Repeat, "?s=t"),
    ] {
        let mut plan = plan("https://h/", &[(name, &format!("{{{name}}}"))], &[], None);
        plan.styles = vec![(name.to_owned(), style)];
        let (environment, arguments) = (environment(), arguments.as_object().unwrap());
        let made = url(&plan, TemplateInput { arguments, environment: &environment, styles: &plan.styles });
        assert_eq!(made.unwrap().to_string(), format!("https://h/{expected}"), "{name} {style:?}");
    }
    let long = json!({ "l": { "k".repeat(65_536): vec![1; 200_000] } });
    let mut listed = plan("https://h/", &[("l", "{l}")], &[], None);
    listed.styles = vec![("l".to_owned(), Style::Brackets)];
    let (environment, given) = (environment(), long.as_object().unwrap());
    let given = TemplateInput { arguments: given, environment: &environment, styles: &listed.styles };
    let told = "the URL would be longer than 16384 bytes".to_owned();
    assert_eq!(url(&listed, given), Err(InvokeError::Invalid(told)));

    let plan = plan("https://h/{l}/;x={o}", &[], &[], None);
    let styles = [("l".to_owned(), Style::Comma), ("o".to_owned(), Style::Comma)];
    let made = |arguments: &Value| {
        let arguments = arguments.as_object().unwrap();
        url(&plan, TemplateInput { arguments, environment: &environment, styles: &styles })
    };
    let told = made(&json!({ "l": ["a/b", ".."], "o": { "k": "/" } })).unwrap().to_string();
    assert_eq!(told, "https://h/a%2Fb,../;x=k,%2F");
    for bad in [json!([".."]), json!([]), json!(["", ""])] {
        let made = made(&json!({ "l": bad, "o": {} }));
        assert_eq!(made.is_err(), bad != json!(["", ""]), "{bad}: {made:?}");
    }
}
