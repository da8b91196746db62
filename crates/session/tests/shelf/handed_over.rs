//! Sessions as documents.

use std::fs;

use converse_session::{Body, Document, Store, digest};
use serde_json::{Value, json};

use super::*;

#[test]
fn what_is_exported_is_imported_without_loss() {
    let (dir, store) = store();
    let source = talk(&store, 1, Some(b"\x89PNG"));
    let mut session = store.open(source, at(90)).unwrap();
    let condensed = converse_canister::Condensed { covers: 5, summary: "s".into(), model: "m".into() };
    session.append(Body::Condensed { condensed }, at(92)).unwrap();
    drop(session);
    let document = store.export(source, "p").unwrap();
    assert_eq!(document.contents.len(), 1);
    let json = serde_json::to_string(&document).unwrap();
    let read = Document::read(json.as_bytes()).unwrap();
    assert_eq!(read, document);

    let other = Store::new(dir.path().join("elsewhere"));
    assert_eq!(other.import(read, id(60), "p", at(200)).unwrap(), []);
    let (old, new) = (store.read(source).unwrap(), other.read(id(60)).unwrap());
    assert_eq!(new.repairs, []);
    assert_eq!(new.transcript, old.transcript);
    assert_eq!((new.usage, new.cost, new.condensed), (old.usage, old.cost, old.condensed));
    assert_eq!(new.header.imported.as_deref(), Some(source.to_string().as_str()));
    assert!(other.check(id(60)).unwrap().faults.is_empty());
    let again = other.export(id(60), "p").unwrap();
    assert_eq!(Document { session: document.session.clone(), ..again }, document);
}

#[test]
fn the_last_reply_of_a_document_is_whole() {
    let (dir, store) = store();
    let source = plain(&store, 1);
    let other = Store::new(dir.path().join("elsewhere"));
    other.import(store.export(source, "p").unwrap(), id(60), "p", at(200)).unwrap();
    let (old, new) = (store.read(source).unwrap(), other.read(id(60)).unwrap());
    assert_eq!((new.transcript, new.repairs), (old.transcript, vec![]));
}

#[test]
fn a_document_that_is_wrong_says_where_and_nothing_is_written() {
    let (dir, store) = store();
    let good = store.export(talk(&store, 1, Some(b"x")), "p").unwrap();
    let good = serde_json::to_value(good).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut json = good.clone();
        change(&mut json);
        json.to_string()
    };
    let deep = format!("{{\"format\":1,\"a\":{}{}}}", "[".repeat(300), "]".repeat(300));
    for (text, expected) in [
        ("nonsense".to_owned(), "not valid JSON"),
        ("[]".to_owned(), "expected an object"),
        (deep, "too many levels of nesting"),
        (changed(&|j| j["format"] = 2.into()), "has format 2 of a later version"),
        (changed(&|j| j["format"] = 0.into()), "format: "),
        (changed(&|j| j["format"] = "1".into()), "format: invalid type"),
        (changed(&|j| drop(j.as_object_mut().unwrap().shift_remove("canisters"))), "canisters: is missing"),
        (changed(&|j| j["canisters"][2] = 5.into()), "canisters[2]: expected an object"),
        (changed(&|j| j["canisters"][3]["at"] = "now".into()), "canisters[3].at: "),
        (
            changed(&|j| j["canisters"][1]["canister"]["role"] = "x".into()),
            "canisters[1].canister: unknown variant",
        ),
        (changed(&|j| drop(j["canisters"].as_array_mut().unwrap().remove(3))), "still open"),
        (changed(&|j| j["canisters"].as_array_mut().unwrap().truncate(3)), "`inv_1_0` has no result"),
        (
            changed(&|j| j["decisions"][0]["id"] = "inv_9_9".into()),
            "decisions[0].id: not the id of an invocation",
        ),
        (changed(&|j| j["contents"][0]["base64"] = "!".into()), "contents[0].base64: "),
        (changed(&|j| j["contents"][0]["base64"] = "eQ==".into()), "the bytes do not match `digest`"),
        (changed(&|j| j["contents"][0]["digest"] = "..".into()), "contents[0].digest: "),
        (
            changed(&|j| j["condensed"] = json!({"covers": 99, "summary": "", "model": ""})),
            "condensed.covers",
        ),
        (changed(&|j| j["name"] = "x".repeat(1001).into()), "name: more than"),
        (changed(&|j| j["tags"] = "x".into()), "tags: "),
        (changed(&|j| j["tags"] = vec!["x"; 20_000].into()), "tags: more than"),
        (changed(&|j| j["tags"] = vec!["x".repeat(129)].into()), "tags[0]: more than"),
        (
            changed(&|j| j["canisters"][1]["canister"]["turn"] = u64::MAX.into()),
            "canisters[1].canister: turn ",
        ),
        (
            changed(&|j| j["canisters"][1]["canister"]["turn"] = (1_u64 << 53).into()),
            "canisters[1].canister: turn ",
        ),
        (
            changed(&|j| j["canisters"][1]["canister"]["turn"] = (1_u64 << 52).into()),
            "canisters[1].canister: turn ",
        ),
    ] {
        let error = Document::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert_eq!(fs::read_dir(dir.path().join("sessions")).unwrap().count(), 1);
    // What is not known is passed over; what may be missing may be.
    let lean = changed(&|j| {
        let object = j.as_object_mut().unwrap();
        let _ =
            ["contents", "decisions", "usage", "cost", "name", "tags"].map(|key| object.shift_remove(key));
        object.insert("later".into(), 1.into());
    });
    let missing = store.import(Document::read(lean.as_bytes()).unwrap(), id(9), "p", at(200)).unwrap();
    assert_eq!(missing, [digest(b"x")]);
}
