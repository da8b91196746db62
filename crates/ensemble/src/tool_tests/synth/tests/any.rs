//! Schemas that nobody thought of: sane ones and mad ones.

use proptest::prelude::*;

use super::*;

/// Schemas as people write them, with nothing in them that could not be filled.
fn sane(depth: u32) -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        (0..5_usize, 0..40_usize).prop_map(
            |(least, more)| json!({ "type": "string", "minLength": least, "maxLength": least + more })
        ),
        (-5..5_i64, 0..9_i64).prop_map(
            |(least, more)| json!({ "type": "integer", "minimum": least, "maximum": least + more })
        ),
        (-5..5_i64, 1..9_i64).prop_map(
            |(least, more)| json!({ "type": "number", "exclusiveMinimum": least, "maximum": least + more })
        ),
        Just(json!({ "type": "boolean" })),
        Just(json!({ "type": ["string", "null"], "format": "date" })),
        prop::collection::btree_set("[a-z]{1,5}", 1..5).prop_map(|listed| json!({ "enum": listed })),
        "[a-z]{1,4}".prop_map(|text| json!({ "type": "string", "pattern": format!("^{text}[0-9]{{2,4}}$") })),
    ];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0..3_usize, 0..3_usize).prop_map(|(items, least, more)| {
                json!({ "type": "array", "items": items, "minItems": least, "maxItems": least + more })
            }),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|forms| json!({ "anyOf": forms })),
            objects(inner),
        ]
    })
    .boxed()
}

fn objects(inner: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    let properties = prop::collection::btree_map("[a-e~/ ]{1,3}", (inner, any::<bool>()), 0..4);
    (properties, any::<bool>())
        .prop_map(|(properties, closed)| {
            let required: Vec<&String> =
                properties.iter().filter(|(_, (_, required))| *required).map(|(name, _)| name).collect();
            let mut schema = json!({ "type": "object", "required": required });
            schema["properties"] = properties
                .iter()
                .map(|(name, (schema, _))| (name.clone(), schema.clone()))
                .collect::<Map<_, _>>()
                .into();
            if closed {
                schema["additionalProperties"] = json!(false);
            }
            schema
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_sane_schema_is_filled_and_broken(schema in objects(sane(3))) {
        let made = keeps_its_word(&schema);
        prop_assert!(made.gaps.is_empty(), "{:?} {schema}", made.gaps);
        let required: HashSet<String> =
            schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        let first: HashSet<String> = made.fitting[0].arguments.keys().cloned().collect();
        prop_assert_eq!(&first, &required);
        for name in &required {
            let missing = format!("without `{name}`");
            prop_assert!(made.broken.len() == 15 || whats(&made.broken).contains(&missing.as_str()), "{missing} {schema}");
        }
        let closed = schema["additionalProperties"] == json!(false);
        let unknown = whats(&made.broken).contains(&"with `no_such_argument`");
        prop_assert!(unknown == closed || closed && made.broken.len() == 15, "{schema}");
    }

    /// Whatever stands where keywords stand: it ends, and keeps its word.
    #[test]
    fn a_mad_schema_does_no_harm(keywords in prop::collection::vec((0..30_usize, mad()), 0..8)) {
        const KEYS: [&str; 30] = [
            "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
            "multipleOf", "enum", "const", "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains",
            "properties", "required", "additionalProperties", "minProperties", "anyOf", "oneOf", "allOf", "$ref", "not",
            "if", "then", "examples", "default",
        ];
        let inner: Map<String, Value> = keywords.into_iter().map(|(at, value)| (KEYS[at].to_owned(), value)).collect();
        let schema = json!({ "type": "object", "required": ["a"], "properties": { "a": inner, "b": { "$ref": "#/properties/a" } } });
        if ArgumentsSchema::compile(&schema).is_ok() {
            keeps_its_word(&schema);
        }
    }
}

fn mad() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-10..10_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z#/$(){}|*+?^\\[\\]]{0,6}".prop_map(Value::from),
        Just(json!("#")),
        Just(json!("#/properties/b")),
        Just(json!({ "type": "string" })),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
