use serde_json::{Value, json};

use super::*;
use crate::lock::LockError;

fn lockfile() -> Lockfile {
    let server = Server {
        name: "weather-server".to_owned(),
        version: "1.2.0".to_owned(),
        protocol: Some("2025-11-25".to_owned()),
        instructions: None,
    };
    let tool = |definition: Value| PinnedTool::new(definition);
    let forecast =
        tool(json!({ "name": "forecast", "inputSchema": { "type": "object", "b": 1, "a": [1.5, null] } }));
    let declared = Some(json!({ "connection": { "command": ["weather"] } }));
    let weather = PinnedEnsemble {
        declared,
        server: Some(server),
        tools: [("forecast".to_owned(), forecast)].into(),
        lists: [(OfferList::Prompts, tool(json!({ "greet": { "name": "greet" } })))].into(),
    };
    let own = tool(json!({ "name": "run", "kind": { "command": {} } }));
    let scripts = PinnedEnsemble { tools: [("run".to_owned(), own)].into(), ..PinnedEnsemble::default() };
    Lockfile { ensembles: [("weather".to_owned(), weather), ("scripts".to_owned(), scripts)].into() }
}

fn edited(edit: impl Fn(&mut Value)) -> Result<Lockfile, LockError> {
    let mut value: Value = serde_json::from_str(&lockfile().text().unwrap()).unwrap();
    edit(&mut value);
    Lockfile::parse(&value.to_string())
}

#[test]
fn it_reads_well_and_back() {
    let text = lockfile().text().unwrap();
    let head = "{\n  \"ensembles\": {\n    \"scripts\": {\n      \"declared\": null,\n      \"server\": null,\n      \"tools\": {\n        \"run\": {\n          \"definition\": {";
    assert!(text.starts_with(head), "{text}");
    assert!(text.ends_with("  },\n  \"version\": 1\n}\n"), "{text}");
    assert!(text.contains("\"tokens\": \"~18\""), "{text}");
    let read = Lockfile::parse(&text).unwrap();
    assert_eq!(read, lockfile());
    assert_eq!(read.text().unwrap(), text, "equal lockfiles are equal bytes");
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(Lockfile::parse(&windows).unwrap(), lockfile(), "an editor's line ends are no damage");
}

#[test]
fn the_order_of_keys_in_a_definition_is_not_kept() {
    let one = PinnedTool::new(serde_json::from_str(r#"{"name":"a","x":{"b":1,"a":2}}"#).unwrap());
    let other = PinnedTool::new(serde_json::from_str(r#"{"x":{"a":2,"b":1},"name":"a"}"#).unwrap());
    let text = |tool: PinnedTool| {
        let pinned = PinnedEnsemble { tools: [("a".to_owned(), tool)].into(), ..PinnedEnsemble::default() };
        Lockfile { ensembles: [("e".to_owned(), pinned)].into() }.text().unwrap()
    };
    assert_eq!(text(one), text(other));
}

#[test]
fn what_nobody_sees_is_written_as_an_escape() {
    let tool = PinnedTool::new(json!({ "description": "a\u{200b}\u{e0041}é\u{fe0f}" }));
    let pinned = PinnedEnsemble { tools: [("a".to_owned(), tool)].into(), ..PinnedEnsemble::default() };
    let whole = Lockfile { ensembles: [("e".to_owned(), pinned)].into() };
    let text = whole.text().unwrap();
    assert!(text.contains(r#""description": "a\u200b\udb40\udc41é\ufe0f""#), "{text}");
    assert_eq!(Lockfile::parse(&text).unwrap(), whole);
}

#[test]
fn what_does_not_add_up_is_refused() {
    let tool =
        |value: &mut Value, edit: fn(&mut Value)| edit(&mut value["ensembles"]["scripts"]["tools"]["run"]);
    let mismatch = |result: Result<Lockfile, LockError>| {
        assert_eq!(result, Err(LockError::Mismatch { ensemble: "scripts".into(), tool: "run".into() }));
    };
    mismatch(edited(|value| tool(value, |tool| tool["definition"]["name"] = json!("ran"))));
    mismatch(edited(|value| tool(value, |tool| tool["sha256"] = json!("0".repeat(64)))));
    mismatch(edited(|value| tool(value, |tool| tool["definition"]["description"] = json!("\u{200b}"))));
    assert_eq!(edited(|_| {}), Ok(lockfile()));
    assert_eq!(edited(|value| tool(value, |tool| tool["tokens"] = json!("~1"))), Ok(lockfile()));
    assert_eq!(edited(|value| value["version"] = json!(2)), Err(LockError::Newer(2)));
    assert_eq!(
        edited(|value| {
            value["version"] = json!(7);
            value["news"] = json!({});
        }),
        Err(LockError::Newer(7)),
        "not the unknown key of a later version"
    );
}

#[test]
fn what_is_not_known_is_refused() {
    type Edit = fn(&mut Value);
    let edits: &[(Edit, &str)] = &[
        (|value| value["more"] = json!(1), "unknown field `more`"),
        (|value| value["ensembles"]["scripts"]["more"] = json!(1), "unknown field `more`"),
        (|value| value["ensembles"]["weather"]["server"]["more"] = json!(1), "unknown field `more`"),
        (|value| value["ensembles"]["scripts"]["tools"]["run"]["more"] = json!(1), "unknown field `more`"),
        (|value| value["ensembles"]["scripts"]["tools"] = json!([]), "invalid type"),
        (|value| value["ensembles"]["scripts"]["tools"]["run"]["sha256"] = json!("ABC"), "64 lower-case hex"),
        (|value| value["ensembles"] = json!(null), "invalid type"),
        (|value| value["version"] = json!(0), "0 is not a format version"),
        (|value| value["version"] = json!("1"), "invalid type"),
        (|value| drop(value.as_object_mut().unwrap().remove("version")), "missing field `version`"),
    ];
    for (edit, said) in edits {
        match edited(edit) {
            Err(LockError::Malformed(message)) => assert!(message.contains(said), "{message}"),
            other => panic!("{said}: {other:?}"),
        }
    }
}

#[test]
fn half_a_file_is_none() {
    let text = lockfile().text().unwrap();
    for end in 0..text.trim_end().len() {
        assert!(matches!(Lockfile::parse(&text[..end]), Err(LockError::Malformed(_))), "{end}");
    }
    assert!(Lockfile::parse("<<<<<<< HEAD").is_err());
}

#[test]
fn what_is_there_twice_is_refused() {
    let text = lockfile().text().unwrap();
    let twice = |name: &str| {
        text.replacen(
            "\"tools\": {",
            &format!(
                "\"tools\": {{ \"{name}\": {{ \"definition\": {{}}, \"sha256\": \"{}\", \"tokens\": \"\" }},",
                digest(&json!({}))
            ),
            1,
        )
    };
    assert!(Lockfile::parse(&twice("other")).is_ok());
    let error = Lockfile::parse(&twice("run")).unwrap_err();
    assert!(error.to_string().contains("the key `run` is given twice"), "{error}");
    let ensemble = text.replacen(
        "\"ensembles\": {",
        "\"ensembles\": { \"weather\": { \"server\": null, \"tools\": {} },",
        1,
    );
    assert!(Lockfile::parse(&ensemble).unwrap_err().to_string().contains("the key `weather` is given twice"));
}

#[test]
fn a_file_without_end_is_refused() {
    let long = format!("{}{}", lockfile().text().unwrap(), " ".repeat(MAX_BYTES));
    assert_eq!(Lockfile::parse(&long), Err(LockError::TooLarge { limit: MAX_BYTES }));
    let bytes = "x".repeat(MAX_BYTES);
    let pinned = PinnedEnsemble {
        tools: [("a".to_owned(), PinnedTool::new(json!(bytes)))].into(),
        ..PinnedEnsemble::default()
    };
    let whole = Lockfile { ensembles: [("e".to_owned(), pinned)].into() };
    assert_eq!(whole.text(), Err(LockError::TooLarge { limit: MAX_BYTES }));
}

#[test]
fn a_merge_that_is_not_done_is_told_from_other_damage() {
    let text = lockfile().text().unwrap();
    let merged = |mark: &str| {
        Lockfile::parse(&text.replacen("\n  \"version\"", &format!("\n{mark}\n  \"version\""), 1))
    };
    let line = text.lines().position(|line| line.contains("\"version\": 1")).unwrap() + 1;
    for mark in ["<<<<<<< HEAD", "=======", ">>>>>>> theirs", "||||||| 1234567"] {
        assert_eq!(merged(mark), Err(LockError::Merged(line)), "{mark}");
    }
    for other in ["<<<<", "<<<<<<<<", "x"] {
        assert!(matches!(merged(other), Err(LockError::Malformed(_))), "{other}");
    }
}
