mod any;

use serde_json::json;

use super::*;

fn corpus() -> Vec<(String, Value)> {
    let text = include_str!("../../../tests/schemas.json");
    let all: Vec<Value> = serde_json::from_str(text).unwrap();
    all.into_iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one["schema"].clone())).collect()
}

fn schema(name: &str) -> Value {
    corpus().into_iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1
}

/// Whatever is made must hold what is promised.
fn keeps_its_word(schema: &Value) -> Synthesis {
    let made = synthesise(schema).unwrap();
    let checker = ArgumentsSchema::compile(schema).unwrap();
    for Sample { what, arguments } in &made.fitting {
        assert_eq!(checker.check(arguments).err(), None, "{what}: {arguments:?} of {schema}");
    }
    for Sample { what, arguments } in &made.broken {
        assert!(checker.check(arguments).is_err(), "{what}: {arguments:?} of {schema}");
    }
    assert!(made.fitting.len() <= 15 && made.broken.len() <= 15);
    for sets in [&made.fitting, &made.broken] {
        let texts: HashSet<String> = sets.iter().map(|set| json!(set.arguments).to_string()).collect();
        assert_eq!(texts.len(), sets.len(), "twice the same: {schema}");
        assert!(texts.iter().all(|text| text.len() <= MOST_BYTES));
    }
    assert_eq!(synthesise(schema).unwrap(), made, "another time, another set");
    made
}

#[test]
fn what_fits_fits_and_what_is_broken_is_refused() {
    /// Of these, nothing is made that fits, and that is said.
    const BARREN: [&str; 5] = ["too long a text", "hard pattern", "eight levels", "endless", "nothing fits"];
    /// Of these nothing can be refused.
    const LENIENT: [&str; 1] = ["nothing"];
    let corpus = corpus();
    assert!(corpus.len() >= 60);
    for (name, schema) in corpus {
        let made = keeps_its_word(&schema);
        assert_eq!(made.fitting.is_empty(), BARREN.contains(&name.as_str()), "{name}: {:?}", made.gaps);
        assert_eq!(made.broken.is_empty(), LENIENT.contains(&name.as_str()), "{name}");
        if made.fitting.is_empty() {
            assert!(made.gaps[0].starts_with("no fitting arguments were found: "), "{:?}", made.gaps);
        }
    }
}

fn whats(sets: &[Sample]) -> Vec<&str> {
    sets.iter().map(|set| set.what.as_str()).collect()
}

#[test]
fn the_edges_of_a_schema_are_tried() {
    for (name, fitting, broken) in [
        (
            "bounded whole number",
            &[json!({ "count": 1 }), json!({ "count": 200 })][..],
            &[
                json!({}),
                json!({ "count": "text" }),
                json!({ "count": 1.5 }),
                json!({ "count": 0 }),
                json!({ "count": 201 }),
            ][..],
        ),
        (
            "bounded text",
            &[json!({ "q": "tex" }), json!({ "q": "text textx" })],
            &[
                json!({}),
                json!({ "q": "te" }),
                json!({ "q": "text text t" }),
                json!({ "q": "text", "no_such_argument": "text" }),
            ],
        ),
        (
            "choice",
            &[
                json!({ "format": "human" }),
                json!({ "format": "iso" }),
                json!({ "format": 7 }),
                json!({ "format": null }),
            ],
            &[json!({ "format": "no such value" })],
        ),
        (
            "exclusive bounds of draft 4",
            &[json!({ "n": 1 }), json!({ "n": 2 })],
            &[json!({ "n": 0 }), json!({ "n": 3 })],
        ),
        (
            "large whole numbers",
            &[json!({ "id": 9_223_372_036_854_775_807_i64 })],
            &[json!({ "id": 9_223_372_036_854_775_808_u64 })],
        ),
        ("pattern of a date", &[json!({ "day": "1111-11-11" })], &[json!({ "day": "" })]),
        ("date and time", &[json!({ "day": "2024-02-29", "at": "2024-02-29T23:59:59Z" })], &[]),
        (
            "list of texts",
            &[json!({ "tags": ["text", "text", "text", "text", "text"] })],
            &[
                json!({ "tags": [] }),
                json!({ "tags": ["text", "text", "text", "text", "text", "text"] }),
                json!({ "tags": [7] }),
            ],
        ),
        ("different entries", &[], &[json!({ "ids": [1, 1, 1, 1, 1, 1, 1] })]),
        ("tuple", &[json!({ "point": [1, 1, "text"] })], &[]),
        ("contains", &[json!({ "list": ["must"] })], &[]),
        (
            "nested object",
            &[
                json!({ "filter": { "field": "t", "op": "eq" } }),
                json!({ "filter": { "field": "text", "op": "lt" } }),
            ],
            &[json!({ "filter": { "op": "eq" } }), json!({ "filter": { "field": "", "op": "eq" } })],
        ),
        ("map", &[], &[json!({ "labels": { "extra_0": "text", "extra_1": "text", "no_such_argument": 7 } })]),
        (
            "either",
            &[json!({ "target": "text" }), json!({ "target": 0 }), json!({ "target": null })],
            &[json!({ "target": -1 })],
        ),
        (
            "one of two",
            &[
                json!({ "shape": { "kind": "circle", "radius": 1 } }),
                json!({ "shape": { "kind": "square", "side": 1 } }),
            ],
            &[json!({ "shape": { "kind": "circle" } })],
        ),
        ("any of at the root", &[json!({ "mode": "fast" }), json!({ "mode": "slow", "wait": 5 })], &[]),
        (
            "all of",
            &[json!({ "a": 9, "b": "text" })],
            &[json!({ "a": 4, "b": "text" }), json!({ "a": 10, "b": "text" })],
        ),
        (
            "reference",
            &[json!({ "from": { "city": "text", "zip": "00000" }, "to": { "city": "text" } })],
            &[],
        ),
        (
            "recursive",
            &[
                json!({ "tree": { "name": "text", "left": { "name": "text" }, "right": { "name": "text" }, "children": [{ "name": "text" }] } }),
            ],
            &[],
        ),
        (
            "comes with another",
            &[json!({ "card": "text", "billing": "text" })],
            &[json!({ "billing": "text" })],
        ),
        ("comes with another, inside", &[json!({ "payment": { "card": "text", "billing": "text" } })], &[]),
        (
            "no types",
            &[json!({ "a": "text", "b": 3, "c": "te" })],
            &[json!({ "a": "text", "b": 2, "c": "text" })],
        ),
        ("not both", &[json!({}), json!({ "path": "text" }), json!({ "url": "text" })], &[]),
        ("condition", &[json!({ "unit": "c", "value": 1 })], &[json!({ "value": 1 })]),
        ("odd names", &[], &[json!({ "c~d": "text", "日本": true, " ": null })]),
    ] {
        let made = synthesise(&schema(name)).unwrap();
        for (wanted, sets) in [(fitting, &made.fitting), (broken, &made.broken)] {
            for arguments in wanted {
                let found = sets.iter().any(|set| json!(set.arguments) == *arguments);
                assert!(found, "{name}: {arguments} is not in {sets:#?}");
            }
        }
    }
}

#[test]
fn the_plainest_is_first_and_each_says_what_it_is() {
    let made = synthesise(&schema("latitude")).unwrap();
    assert_eq!(
        made.fitting[0].arguments,
        json!({ "latitude": 1, "longitude": 1 }).as_object().unwrap().clone()
    );
    assert_eq!(whats(&made.fitting)[..3], ["only what is required", "everything", "`latitude` is the least"]);
    assert_eq!(whats(&made.broken)[..2], ["without `latitude`", "`latitude` is a text, the wrong type"]);
}

#[test]
fn what_could_not_be_made_is_said() {
    for (name, gap) in [
        ("hard pattern, optional", "no value was found that fits `code`"),
        ("hard pattern", "no fitting arguments were found: no value for `code` could be made"),
        ("nothing fits", "no fitting arguments were found: no value for `n` could be made"),
    ] {
        assert_eq!(synthesise(&schema(name)).unwrap().gaps, [gap], "{name}");
    }
    for name in ["one of at the root", "true and false", "recursive", "nested object"] {
        assert!(synthesise(&schema(name)).unwrap().gaps.is_empty(), "{name}");
    }
    assert!(synthesise(&json!({ "type": "array" })).is_err());
}

#[test]
fn a_schema_that_refers_to_itself_in_many_places_is_given_up_on_in_time() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let node = names.map(|name| (name.to_owned(), json!({ "$ref": "#/$defs/node" })));
    let node = json!({ "type": "object", "properties": Map::from_iter(node) });
    let schema = json!({ "type": "object", "properties": { "tree": { "$ref": "#/$defs/node" } }, "$defs": { "node": node } });
    let maker = Maker::new(&schema);
    maker.afresh(&json!({ "$ref": "#/$defs/node" }));
    assert!(maker.steps.get() < 2 * MOST_STEPS, "{} steps", maker.steps.get());
    keeps_its_word(&schema);
}
