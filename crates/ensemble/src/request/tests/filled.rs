//! Headers and bodies from arguments.

use std::sync::Arc;

use converse_canister::Arguments;
use converse_config::{BodyPlan, PartPlan, RequestPlan, Style};
use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{environment, json_template, plan};
use crate::InvokeError;
use crate::request::Request;
use crate::request::body::{body, check_names, headers};
use crate::template_input::TemplateInput;
use crate::testing::{Scripted, context, surroundings, template};

fn header(text: &str, arguments: &Value) -> Result<Option<Vec<u8>>, InvokeError> {
    let (plan, environment) = (plan("https://h", &[], &[("X-A", text)], None), environment());
    let given =
        TemplateInput { arguments: arguments.as_object().unwrap(), environment: &environment, styles: &[] };
    let headers = headers(&plan, given)?;
    assert!(headers.get("x-a").is_none_or(http::HeaderValue::is_sensitive));
    Ok(headers.get("x-a").map(|value| value.as_bytes().to_vec()))
}

#[test]
fn a_header_is_one_line() {
    for (text, value, expected) in [
        ("Bearer ${KEY}", json!(null), Some("Bearer s3cret")),
        ("{x}", json!("a; b=\"c\", d"), Some("a; b=\"c\", d")),
        ("{x}", json!("ж"), Some("ж")),
        ("{x}", json!(5), Some("5")),
        ("{x}", json!(""), Some("")),
        ("{x}", json!(null), None),
        ("a {y}", json!("b"), None),
    ] {
        let made = header(text, &json!({ "x": value })).unwrap();
        assert_eq!(made.as_deref(), expected.map(str::as_bytes), "{text} {value}");
    }
    for bad in ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\tb", "a\u{7f}", "a\u{85}b"] {
        let refused = header("v {x}", &json!({ "x": bad }));
        let told = "`x` contains a line break or another control character".to_owned();
        assert_eq!(refused, Err(InvokeError::Invalid(told)), "{bad:?}");
    }
    assert!(matches!(header("${BAD}", &json!({})), Err(InvokeError::Failed(_))));
    let long = header("{x}", &json!({ "x": "a".repeat(40_000) }));
    assert!(matches!(long, Err(InvokeError::Invalid(_))));
}

#[test]
fn no_descriptor_sets_what_frames_a_request() {
    for (name, sound) in [
        ("Authorization", true),
        ("accept", true),
        ("Host", false),
        ("content-length", false),
        ("Transfer-Encoding", false),
        ("CONNECTION", false),
        ("Proxy-Authorization", false),
        ("a b", false),
        ("a\r\nb", false),
        ("", false),
    ] {
        let plan = plan("https://h", &[], &[(name, "x")], None);
        assert_eq!(check_names(&plan).is_ok(), sound, "{name:?}");
    }
}

fn written(declared: &BodyPlan, arguments: &Value) -> Option<String> {
    let plan = plan("https://h", &[], &[], Some(declared.clone()));
    filled(&plan, arguments).unwrap()
}

fn filled(plan: &RequestPlan, arguments: &Value) -> Result<Option<String>, InvokeError> {
    let (environment, arguments) = (environment(), arguments.as_object().unwrap());
    let given = TemplateInput { arguments, environment: &environment, styles: &plan.styles };
    let body = body(plan, given, None)?;
    Ok(body.map(|body| String::from_utf8(body.bytes.to_vec()).unwrap()))
}

#[test]
fn json_keeps_types_and_leaves_out_what_is_not_given() {
    let arguments = json!({ "s": "a\"b", "n": 1.5, "b": false, "l": [1, "x"], "o": { "k": null }, "nil": null, "big": 18446744073709551615u64 });
    for (template, expected) in [
        (json!({ "a": "{s}", "n": "{n}", "b": "{b}" }), json!({ "a": "a\"b", "n": 1.5, "b": false })),
        (
            json!({ "l": "{l}", "o": "{o}", "big": "{big}" }),
            json!({ "l": [1, "x"], "o": { "k": null }, "big": 18446744073709551615u64 }),
        ),
        (json!({ "t": "n={n} l={l}", "k": "${KEY}" }), json!({ "t": "n=1.5 l=[1,\"x\"]", "k": "s3cret" })),
        (json!({ "nil": "{nil}", "none": "{none}", "mixed": "a {none}" }), json!({ "nil": null })),
        (json!(["{none}", "{n}", 3, null, true]), json!([1.5, 3, null, true])),
        (json!({ "in": { "deep": ["{none}"] } }), json!({ "in": { "deep": [] } })),
        (json!("{o}"), json!({ "k": null })),
        (json!("{s}"), json!("a\"b")),
    ] {
        let made = written(&BodyPlan::Json(json_template(&template)), &arguments);
        assert_eq!(made, Some(expected.to_string()), "{template}");
    }
    assert_eq!(written(&BodyPlan::Json(json_template(&json!("{none}"))), &arguments), None);
}

#[test]
fn text_is_sent_as_it_is() {
    let plan = BodyPlan::Text(template("q={x}&k=${KEY}"));
    assert_eq!(written(&plan, &json!({ "x": "a&b\r\n{y}" })).as_deref(), Some("q=a&b\r\n{y}&k=s3cret"));
    assert_eq!(written(&plan, &json!({})), None);
}

#[test]
fn a_form_is_made_of_its_own_fields() {
    let form = |entries: &[(&str, &str)]| {
        BodyPlan::Form(entries.iter().map(|(name, text)| ((*name).to_owned(), template(text))).collect())
    };
    let arguments = json!({ "x": "1&admin=1+ж\r\n", "y": "=", "n": 3, "nil": null });
    let all = form(&[
        ("q", "{x}"),
        ("a b", "k {y}"),
        ("n", "{n}"),
        ("key", "${KEY}"),
        ("no", "{none}"),
        ("nil", "{nil}"),
    ]);
    assert_eq!(
        written(&all, &arguments).as_deref(),
        Some("q=1%26admin%3D1%2B%D0%B6%0D%0A&a%20b=k%20%3D&n=3&key=s3cret")
    );
    assert_eq!(written(&form(&[("no", "{none}")]), &arguments).as_deref(), Some(""));
}

/// A form, and the same as a form of parts. Their own fields are `tenant`, `f` and `g`.
fn forms(style: Style) -> [RequestPlan; 2] {
    let entries = [("tenant", "{tenant}"), ("f", "{f}"), ("g", "{g}")];
    let named = entries.map(|(name, text)| (name.to_owned(), template(text)));
    let part = |(name, value)| PartPlan { name, value, is_file: false, media_type: None };
    let parts = named.clone().map(part).into();
    [BodyPlan::Form(named.into()), BodyPlan::Multipart(parts)].map(|body| RequestPlan {
        styles: vec![("f".to_owned(), style), ("g".to_owned(), style)],
        ..plan("https://h/s?key=${KEY}", &[("page", "1")], &[], Some(body))
    })
}

#[test]
fn keys_do_not_set_the_fields_of_a_form() {
    for (style, arguments, field) in [
        (Style::Repeat, json!({ "f": { "tenant": "b" } }), Some("tenant")),
        (Style::Repeat, json!({ "tenant": "a", "f": { "Tenant[x]": "b" } }), Some("Tenant[x]")),
        (Style::Repeat, json!({ "f": { "key": "b" } }), Some("key")),
        (Style::Repeat, json!({ "f": { "page": 2 } }), Some("page")),
        (Style::Repeat, json!({ "f": { "g": 2 } }), Some("g")),
        (Style::Repeat, json!({ "f": { "a": 1 }, "g": { "A[]": 2 } }), Some("A[]")),
        (Style::Repeat, json!({ "f": { "a": 1, "f": 2 }, "g": { "b": 3 } }), None),
        (Style::Repeat, json!({ "f": ["tenant"], "g": ["page"] }), None),
        (Style::Brackets, json!({ "f": { "tenant": 1 }, "g": { "tenant": 2 } }), None),
    ] {
        for plan in forms(style) {
            let filled = filled(&plan, &arguments);
            match field {
                Some(field) => {
                    let Err(InvokeError::Invalid(told)) = filled else { panic!("{arguments}: {filled:?}") };
                    assert!(told.contains(&format!("cannot set the field `{field}`")), "{told}");
                }
                None => assert!(filled.is_ok(), "{arguments}: {filled:?}"),
            }
        }
    }
}

/// Each name holds the whole key: one key of 64 KiB and 200,000 values would make 13 GB.
#[test]
fn fields_end_at_the_limit_of_the_body() {
    let deep = json!({ "f": { "k".repeat(65_536): vec![0; 200_000] } });
    let many = json!({ "f": vec!["x".repeat(1000); 20_000] });
    let [form, parts] = forms(Style::Brackets);
    let [repeated, repeated_parts] = forms(Style::Repeat);
    for (plan, arguments) in [
        (form, &deep),
        (parts, &deep),
        (repeated, &many),
        (repeated_parts, &json!({ "f": vec![""; 300_000] })),
    ] {
        let filled = filled(&plan, arguments).map(|filled| filled.map(|text| text.len()));
        let told = "the body would be longer than 16777216 bytes".to_owned();
        assert_eq!(filled, Err(InvokeError::Invalid(told)));
    }
}

#[test]
fn json_is_declared_unless_it_is_something_else() {
    let of = |declared: &[(&str, &str)], body: BodyPlan| {
        let here = surroundings(std::path::Path::new("."), Arc::new(Scripted::default()));
        let request = Request::new(plan("https://h", &[], declared, Some(body)), Arc::new(here)).unwrap();
        let (context, arguments) = (context(CancellationToken::new()), Arguments::from_object(Map::new()));
        let prepared = request.prepare(&context, &arguments).now_or_never().unwrap().unwrap();
        prepared.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned())
    };
    let json = || BodyPlan::Json(json_template(&json!({})));
    assert_eq!(of(&[], json()).as_deref(), Some("application/json"));
    assert_eq!(of(&[("Content-Type", "application/x+json")], json()).as_deref(), Some("application/x+json"));
    assert_eq!(of(&[], BodyPlan::Text(template("x"))), None);
    let form = || BodyPlan::Form(Vec::new());
    assert_eq!(of(&[], form()).as_deref(), Some("application/x-www-form-urlencoded"));
    assert_eq!(of(&[("content-type", "a/b")], form()).as_deref(), Some("a/b"));
}
