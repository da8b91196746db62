use serde_json::{Value, json};

use super::*;

fn form(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

fn field(schema: Value) -> Field {
    fields(&form(json!({ "f": schema }))).unwrap().remove(0)
}

#[test]
fn words_become_values_that_fit_or_are_refused() {
    let colour = json!({ "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"] });
    let digits = json!({ "type": "string", "enum": ["2", "1"] });
    let titled = json!({ "type": "string", "oneOf": [{ "const": "#f00", "title": "Red" }, { "const": "#0f0", "title": "Green" }] });
    let several =
        json!({ "type": "array", "items": { "enum": ["a", "b", "c"] }, "minItems": 1, "maxItems": 2 });
    let several_titled = json!({ "type": "array", "items": { "anyOf": [{ "const": "x", "title": "Ex, why" }, { "const": "z", "title": "Zed" }] } });
    for (schema, words, value) in [
        (json!({ "type": "string" }), " two words ", Some(json!("two words"))),
        (json!({ "type": "string", "minLength": 2 }), "ж", None),
        (json!({ "type": "string", "maxLength": 2 }), "жж", Some(json!("жж"))),
        (json!({ "type": "string", "maxLength": 2 }), "жжж", None),
        (json!({ "type": "string", "format": "email" }), "a@b", Some(json!("a@b"))),
        (json!({ "type": "string", "format": "email" }), "a b@c", None),
        (json!({ "type": "string", "format": "email" }), "a@", None),
        (
            json!({ "type": "string", "format": "uri" }),
            "https://x.example/?a",
            Some(json!("https://x.example/?a")),
        ),
        (json!({ "type": "string", "format": "uri" }), "x.example", None),
        (json!({ "type": "string", "format": "date" }), "2024-02-29", Some(json!("2024-02-29"))),
        (json!({ "type": "string", "format": "date" }), "2023-02-29", None),
        (json!({ "type": "string", "format": "date" }), "29.2.2024", None),
        (
            json!({ "type": "string", "format": "date-time" }),
            "2024-02-29T23:59:60.25+02:00",
            Some(json!("2024-02-29T23:59:60.25+02:00")),
        ),
        (json!({ "type": "string", "format": "date-time" }), "2024-02-29T24:00:00Z", None),
        (json!({ "type": "string", "format": "date-time" }), "2024-02-29T23:00:00", None),
        (json!({ "type": "string", "format": "moon" }), "any", Some(json!("any"))),
        (json!({ "type": "string", "pattern": "^[a-z]+$" }), "abc", Some(json!("abc"))),
        (json!({ "type": "string", "pattern": "^[a-z]+$" }), "a1", None),
        (json!({ "type": "integer", "multipleOf": 5 }), "7", None),
        (json!({ "type": "integer", "minimum": 1, "maximum": 5 }), "5", Some(json!(5))),
        (json!({ "type": "integer", "minimum": 1 }), "0", None),
        (json!({ "type": "integer", "maximum": 5 }), "6", None),
        (json!({ "type": "integer" }), "1.5", None),
        (json!({ "type": "integer" }), "five", None),
        (json!({ "type": "number" }), "-1.5", Some(json!(-1.5))),
        (json!({ "type": "number" }), "NaN", None),
        (json!({ "type": "boolean" }), "Yes", Some(json!(true))),
        (json!({ "type": "boolean" }), "нет", Some(json!(false))),
        (json!({ "type": "boolean" }), "maybe", None),
        (colour.clone(), "g", Some(json!("g"))),
        (colour.clone(), "green", Some(json!("g"))),
        (colour.clone(), "1", Some(json!("r"))),
        (colour.clone(), "3", None),
        (colour, "0", None),
        (digits, "1", Some(json!("1"))),
        (titled.clone(), "red", Some(json!("#f00"))),
        (titled, "blue", None),
        (several.clone(), "a, 3", Some(json!(["a", "c"]))),
        (several.clone(), "a,a", Some(json!(["a"]))),
        (several.clone(), "a,b,c", None),
        (several.clone(), ",", None),
        (several, "d", None),
        (several_titled.clone(), "Ex, why", Some(json!(["x"]))),
        (several_titled, "zed,x", Some(json!(["z", "x"]))),
    ] {
        assert_eq!(field(schema.clone()).value(words).ok(), value, "{schema} {words:?}");
    }
}

#[test]
fn an_invalid_form_is_reported() {
    let many: serde_json::Map<_, _> =
        (0..51).map(|n| (format!("f{n}"), json!({ "type": "string" }))).collect();
    for (schema, why) in [
        (form(json!([])), "not an object"),
        (form(json!({ "a": { "type": "object" } })), "`a` is neither"),
        (form(json!({ "a": { "type": ["string", "null"] } })), "neither"),
        (form(json!({ "a": true })), "neither"),
        (form(json!({ "a": { "type": "array", "items": { "type": "string" } } })), "a list of anything"),
        (form(json!({ "a": { "type": "string", "enum": [] } })), "nothing to choose"),
        (form(json!({ "a": { "type": "string", "enum": [1] } })), "not short strings"),
        (form(json!({ "a": { "type": "string", "enum": vec!["x"; 201] } })), "more than 200"),
        (form(Value::Object(many)), "more than 50"),
        (json!({ "properties": {}, "required": ["b"] }), "names `b`"),
    ] {
        let error = fields(&schema).unwrap_err();
        assert!(error.contains(why), "{error}");
        assert!(defaults(&schema).is_empty());
    }
    assert_eq!(fields(&json!({ "type": "object" })), Ok(vec![]), "a form may only ask for a yes");
}

#[test]
fn defaults_are_taken_where_they_fit() {
    let schema = form(json!({
        "name": { "type": "string", "default": "Ada" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 9.5 },
        "ok": { "type": "boolean", "default": true },
        "colour": { "type": "string", "enum": ["r", "g"], "default": "g" },
        "several": { "type": "array", "items": { "enum": ["a", "b"] }, "default": ["b"] },
        "wrong": { "type": "integer", "default": "x" },
        "beyond": { "type": "string", "enum": ["r"], "default": "z" },
        "none": { "type": "string" },
    }));
    let defaults = defaults(&schema);
    let expected =
        json!({ "name": "Ada", "age": 30, "score": 9.5, "ok": true, "colour": "g", "several": ["b"] });
    assert_eq!(Value::Object(defaults.clone()), expected);
    assert_eq!(validate(&schema, &defaults), Ok(()));
}

#[test]
fn an_answer_is_checked_whole() {
    let mut schema = form(json!({
        "a": { "type": "string", "maxLength": 3 },
        "b": { "type": "string", "pattern": "^x" },
    }));
    schema["required"] = json!(["a"]);
    for (answer, wrong) in [
        (json!({ "a": "abc" }), None),
        (json!({ "a": "abc", "b": "xy" }), None),
        (json!({}), Some("`a` is required")),
        (json!({ "a": "abcd" }), Some("at most 3")),
        (json!({ "a": 1 }), Some("a text")),
        (json!({ "a": "a", "c": 1 }), Some("`c` was not asked for")),
        (json!({ "a": "a", "b": "y" }), Some("`b`")),
    ] {
        let validate = validate(&schema, answer.as_object().unwrap());
        match wrong {
            None => assert_eq!(validate, Ok(()), "{answer}"),
            Some(why) => assert!(validate.as_ref().unwrap_err().contains(why), "{answer}: {validate:?}"),
        }
    }
}

#[test]
fn secrets_are_known_by_their_names() {
    let text = json!({ "type": "string" });
    for name in [
        "password",
        "dbPassword",
        "DB_PASSWORD",
        "api_key",
        "apiKey",
        "API-Key",
        "token",
        "accessToken",
        "client secret",
        "pin",
        "card number",
        "privateKey",
        "passphrase2",
        "credentials",
        "apikey",
        "DBPassword",
        "APIToken",
        "passwords",
        "userpassword",
        "mypasswd1",
        "p a s s w o r d",
        "pass\u{ad}word",
        "to\u{200b}ken",
        "раѕѕword",
        "ＡＰＩ＿ＫＥＹ",
        "github_token_value",
        "authtoken",
        "authTokens",
        "JWT",
        "userOTP",
        "otpcode",
        "2fa",
        "2faCode",
        "pins",
        "smsCode",
        "oneTimeCode",
        "one-time code",
        "bearerValue",
        "privkey",
        "Пароль",
        "па\u{200b}роль",
    ] {
        assert_eq!(secret_field(&[Field { name: name.into(), ..field(text.clone()) }]), Some(name), "{name}");
    }
    for name in [
        "name",
        "pinned",
        "shipping",
        "keyboard",
        "monkey",
        "passenger",
        "secretary",
        "tokenizer",
        "city",
        "key",
        "postcode",
        "country_code",
        "countryCode",
        "max_tokens",
        "maxTokens",
        "tokens_per_minute",
        "secretariat",
        "hotpot",
        "footprint",
        "message_to_kenya",
        "opinion",
        "shipping_pinboard",
        "patience",
        "code",
        "passport",
        "Compass",
        "имя",
    ] {
        assert_eq!(secret_field(&[Field { name: name.into(), ..field(text.clone()) }]), None, "{name}");
    }
    for (schema, secret) in [
        (json!({ "type": "string", "title": "Your Password" }), true),
        (json!({ "type": "string", "description": "The API key of your account" }), true),
        (json!({ "type": "string", "description": "How many tokens a reply has" }), false),
        (json!({ "type": "integer", "title": "PIN" }), true),
        (json!({ "type": "integer", "title": "max tokens" }), false),
        (json!({ "type": "string", "description": "Paste your token here" }), true),
        (json!({ "type": "string", "description": "The 6-digit code we sent you" }), true),
        (json!({ "type": "string", "description": "The code of the country, as in a post-code" }), false),
        (json!({ "type": "string", "title": "One\u{ad}-time code" }), true),
        (json!({ "type": "integer", "title": "SMS code" }), true),
        (json!({ "type": "integer", "description": "The verification code" }), true),
        (json!({ "type": "integer", "title": "token count" }), false),
        (json!({ "type": "boolean", "title": "Rotate the password?" }), false),
        (json!({ "type": "string", "enum": ["token", "basic"], "title": "token kind" }), false),
    ] {
        assert_eq!(secret_field(&[field(schema.clone())]).is_some(), secret, "{schema}");
    }
}

#[test]
fn what_a_field_wants_is_said() {
    for (schema, wants) in [
        (json!({ "type": "string" }), "text"),
        (json!({ "type": "string", "minLength": 2, "maxLength": 5 }), "text, 2 to 5 characters"),
        (json!({ "type": "string", "format": "date" }), "a date (2026-12-31)"),
        (json!({ "type": "integer", "minimum": 1 }), "a whole number, at least 1"),
        (json!({ "type": "number", "maximum": 2.5 }), "a number, at most 2.5"),
        (json!({ "type": "boolean" }), "yes or no"),
        (json!({ "type": "string", "enum": ["a"] }), "one of these"),
        (
            json!({ "type": "array", "items": { "enum": ["a"] }, "maxItems": 2 }),
            "any of these, with commas between, at most 2",
        ),
    ] {
        assert_eq!(field(schema).expected(), wants);
    }
}

#[test]
fn what_a_message_asks_for_counts_wherever_words_are_free() {
    let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let (choice, yes) = (json!({ "type": "string", "enum": ["a"] }), json!({ "type": "boolean" }));
    for (message, properties, declined) in [
        ("Your API key?", json!({ "a": text, "b": text }), true),
        ("Your API-key?", json!({ "a": text }), true),
        ("Paste the access token", json!({ "a": text, "b": text, "c": yes }), true),
        ("Which one-time code did you get?", json!({ "a": number }), true),
        ("Your pa\u{200b}ssword", json!({ "a": text }), true),
        ("Your pаsswоrd", json!({ "a": text }), true),
        ("Rotate the password?", json!({ "a": yes, "b": choice }), false),
        ("How many tokens may a reply have?", json!({ "a": number }), false),
        ("Pin the message to the top?", json!({ "a": text }), false),
        ("Your post code and country code", json!({ "a": text }), false),
        ("Who is the secretary?", json!({ "a": text }), false),
    ] {
        let params = json!({ "message": message, "requestedSchema": form(properties) });
        let is_declined = matches!(parse_request(&params), Err(Rejected::Declined(_)));
        assert_eq!(is_declined, declined, "{message}");
    }
}

/// The official conformance suite asks so (elicitation-sep1034-client-defaults, checked 2026-11).
#[test]
fn a_form_of_plain_questions_is_shown() {
    let params = json!({
        "message": "Test client default value handling - please accept with defaults",
        "requestedSchema": { "type": "object", "properties": {
            "name": { "type": "string", "description": "User name", "default": "John Doe" },
            "age": { "type": "integer", "description": "User age", "default": 30 },
            "score": { "type": "number", "description": "User score", "default": 95.5 },
            "status": {
                "type": "string", "description": "User status", "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "description": "Verification status", "default": true },
        }, "required": [] },
    });
    match parse_request(&params) {
        Ok(crate::Elicitation::Form { schema, .. }) => {
            assert_eq!(validate(&schema, &defaults(&schema)), Ok(()));
        }
        Ok(other) => panic!("{other:?}"),
        Err(Rejected::Invalid(why) | Rejected::Declined(why)) => panic!("{why}"),
    }
}
