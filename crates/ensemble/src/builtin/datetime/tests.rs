use std::path::Path;

use serde_json::{Value, json};

use crate::InvokeError;
use crate::builtin::testing::{build, fixed, invoke, value};

fn asked(at: &str, configuration: Value, arguments: Value) -> Result<Value, InvokeError> {
    let tool = build("current_datetime", configuration, Path::new("/"), &[], fixed(at)).unwrap();
    invoke(&*tool, arguments).map(|answer| value(&answer).clone())
}

fn zone(name: &str) -> Result<String, InvokeError> {
    let value = asked("2026-11-20T14:55:12Z", json!({}), json!({ "timezone": name }))?;
    Ok(value["timezone"].as_str().unwrap().to_owned())
}

#[test]
fn every_format_says_the_same_moment() {
    for (format, text) in [
        ("human", "Friday, 20 November 2026, 23:55:12 (UTC+09:00)"),
        ("iso", "2026-11-20T23:55:12+09:00"),
        ("rfc2822", "Fri, 20 Nov 2026 23:55:12 +0900"),
        ("date", "2026-11-20"),
        ("time", "23:55:12"),
        ("unix", "1795186512"),
    ] {
        let arguments = json!({ "timezone": "Tokyo", "format": format });
        assert_eq!(
            asked("2026-11-20T14:55:12.9Z", json!({}), arguments).unwrap(),
            json!({
                "timezone": "Asia/Tokyo",
                "datetime": "2026-11-20T23:55:12+09:00",
                "text": text,
                "utc_offset": "+09:00",
                "weekday": "Friday",
                "unix": 1_795_186_512,
            })
        );
    }
    let wrong = asked("2026-11-20T14:55:12Z", json!({}), json!({ "format": "roman" }));
    assert!(matches!(wrong, Err(InvokeError::Invalid(text)) if text.contains("human")));
}

#[test]
fn summer_time_begins_and_ends_when_it_does() {
    for (at, zone, local) in [
        ("2026-03-29T00:59:59Z", "Europe/Berlin", "2026-03-29T01:59:59+01:00"),
        ("2026-03-29T01:00:00Z", "Europe/Berlin", "2026-03-29T03:00:00+02:00"),
        ("2026-10-25T00:59:59Z", "Europe/Berlin", "2026-10-25T02:59:59+02:00"),
        ("2026-10-25T01:00:00Z", "Europe/Berlin", "2026-10-25T02:00:00+01:00"),
        ("2026-11-01T05:59:59Z", "New York", "2026-11-01T01:59:59-04:00"),
        ("2026-11-01T06:00:00Z", "New York", "2026-11-01T01:00:00-05:00"),
        ("2026-04-04T16:00:00Z", "Sydney", "2026-04-05T02:00:00+10:00"),
        ("2026-07-01T00:00:00Z", "Moscow", "2026-07-01T03:00:00+03:00"),
        ("2026-07-01T00:00:00Z", "Kathmandu", "2026-07-01T05:45:00+05:45"),
        ("2026-12-31T23:30:00Z", "+05:30", "2027-01-01T05:00:00+05:30"),
        ("2026-01-01T00:00:00Z", "utc", "2026-01-01T00:00:00+00:00"),
        ("1969-12-31T23:59:59Z", "UTC-1", "1969-12-31T22:59:59-01:00"),
    ] {
        let value = asked(at, json!({}), json!({ "timezone": zone })).unwrap();
        assert_eq!(value["datetime"], local, "{at} {zone}");
    }
}

#[test]
fn places_are_found_in_english_and_russian_and_in_their_cases() {
    for (name, expected) in [
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("asia/tokyo", "Asia/Tokyo"),
        ("TOKYO", "Asia/Tokyo"),
        ("Токио", "Asia/Tokyo"),
        ("в Токио", "Asia/Tokyo"),
        ("Москва", "Europe/Moscow"),
        ("в Москве", "Europe/Moscow"),
        ("Москвы", "Europe/Moscow"),
        ("MSK", "Europe/Moscow"),
        ("Санкт-Петербурге", "Europe/Moscow"),
        ("в Нижнем Новгороде", "Europe/Moscow"),
        ("Нью-Йорке", "America/New_York"),
        ("нью-йорк", "America/New_York"),
        ("Лондоне", "Europe/London"),
        ("Париже", "Europe/Paris"),
        ("Париж", "Europe/Paris"),
        ("Берлине", "Europe/Berlin"),
        ("Кёльне", "Europe/Berlin"),
        ("Праге", "Europe/Prague"),
        ("Вене", "Europe/Vienna"),
        ("Риме", "Europe/Rome"),
        ("Риге", "Europe/Riga"),
        ("Сиднее", "Australia/Sydney"),
        ("Дубае", "Asia/Dubai"),
        ("Пекине", "Asia/Shanghai"),
        ("во Владивостоке", "Asia/Vladivostok"),
        ("Казани", "Europe/Moscow"),
        ("Лос-Анджелесе", "America/Los_Angeles"),
        ("Афинах", "Europe/Athens"),
        ("Японии", "Asia/Tokyo"),
        ("new york", "America/New_York"),
        ("New_York", "America/New_York"),
        ("Paris, France", "Europe/Paris"),
        ("in Paris", "Europe/Paris"),
        ("San Francisco", "America/Los_Angeles"),
        ("Mumbai", "Asia/Kolkata"),
        ("Beijing", "Asia/Shanghai"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires"),
        ("UTC+3", "UTC+03:00"),
        ("UTC−03:30", "UTC-03:30"),
        ("GMT", "UTC"),
        ("Etc/GMT+3", "Etc/GMT+3"),
        ("local", "UTC"),
        ("", "UTC"),
    ] {
        assert_eq!(zone(name).as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn an_unknown_place_names_what_is_near() {
    let said = |name: &str| match zone(name) {
        Err(InvokeError::Invalid(text)) => text,
        other => panic!("{name}: {other:?}"),
    };
    assert!(said("Tokio").contains("`Tokyo`"), "{}", said("Tokio"));
    assert!(said("Europe/Pariss").contains("`Europe/Paris`"));
    assert!(said("Масква").contains("`москва`"));
    assert!(said("zzzzzz").contains("IANA"));
    assert!(said("UTC+25").contains("+14:00"));
    assert!(said(&"x".repeat(5_000)).len() < 400);
    assert!(!said("\u{1b}[31mx").contains('\u{1b}'));
    assert!(said("Tokio").matches('`').count() <= 12, "five at most");
    for name in ["../../etc/passwd", "/etc/localtime", "Europe/", "\0", "а", "ом"] {
        assert!(zone(name).is_err(), "{name}");
    }
}

#[test]
fn the_local_zone_is_what_the_configuration_says() {
    let tokyo = json!({ "timezone": "Tokyo" });
    for arguments in [
        json!({}),
        json!({ "timezone": null }),
        json!({ "timezone": "local" }),
        json!({ "timezone": "system" }),
    ] {
        let value = asked("2026-11-20T14:55:12Z", tokyo.clone(), arguments).unwrap();
        assert_eq!(value["timezone"], "Asia/Tokyo");
    }
    for (configuration, said) in
        [(json!({ "timezone": "Nowhere" }), "Nowhere"), (json!({ "timezone": 3 }), "string")]
    {
        let built =
            build("current_datetime", configuration, Path::new("/"), &[], fixed("2026-11-20T14:55:12Z"));
        let error = built.err().unwrap().to_string();
        assert!(error.contains("`timezone`") && error.contains(said), "{error}");
    }
}
