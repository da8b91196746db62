//! Sets of arguments that must be refused: one thing is wrong with each.

use converse_config::ArgumentsSchema;
use serde_json::{Map, Value, json};

use super::flat::{Flat, list, number, types};
use super::objects::properties;
use super::{Drawn, Kept, MAX_DEPTH, Maker, Sample, in_turn, numbers, texts};

/// A name that no tool has an argument of.
const UNKNOWN: &str = "no_such_argument";
/// Entries of a list that is too long.
const MOST_ITEMS: usize = 1_000;

impl Maker<'_> {
    /// `base` fits; it is empty where nothing does.
    pub(super) fn broken(
        &self,
        checker: &ArgumentsSchema,
        base: &Map<String, Value>,
        broken: &mut Vec<Sample>,
    ) {
        if checker.check(base).is_err() {
            // If the base is invalid, a sample could fail for another reason than the intended one.
            return broken.push(Sample { what: "nothing at all".to_owned(), arguments: Map::new() });
        }
        self.steps.set(0);
        let mut lists = Vec::new();
        for form in self.branches(self.root) {
            let mut missing = without_each(base, &form);
            missing.push(self.with_unknown(base, &form, MAX_DEPTH));
            lists.push(missing);
            for (name, schema) in properties(&form) {
                self.steps.set(0);
                let bad = self.unfit(schema, MAX_DEPTH).into_iter();
                lists.push(
                    bad.map(|bad| {
                        Drawn::new(format!("`{name}` is {}", bad.note), with(base, name, bad.value))
                    })
                    .collect(),
                );
            }
        }
        let mut kept = Kept::default();
        for Drawn { note, value } in in_turn(lists) {
            let Value::Object(arguments) = value else { continue };
            if checker.check(&arguments).is_err() && kept.admits(broken, &arguments) {
                broken.push(Sample { what: note, arguments });
            }
        }
    }

    /// Values that should not fit; some may, after all.
    fn unfit(&self, schema: &Value, depth: usize) -> Vec<Drawn> {
        let ways = self.branches(schema);
        in_turn(ways.iter().map(|flat| self.unfit_flat(flat, depth)).collect())
    }

    fn unfit_flat(&self, flat: &Flat, depth: usize) -> Vec<Drawn> {
        let mut bad = wrong_type(flat);
        if flat.contains_key("enum") || flat.contains_key("const") {
            bad.push(Drawn::new("none of the listed values", "no such value"));
            bad.push(Drawn::new("none of the listed values", -987_654_321));
        }
        for kind in types(flat) {
            match kind {
                "string" => bad.extend(texts::unfit(flat)),
                "integer" | "number" => bad.extend(numbers::outside(flat)),
                "array" => bad.extend(self.unfit_lists(flat, depth)),
                "object" => bad.extend(self.unfit_objects(flat, depth)),
                _ => {}
            }
        }
        bad
    }

    /// Adds an undeclared property: of a wrong type, if such properties have a schema.
    fn with_unknown(&self, object: &Map<String, Value>, flat: &Flat, depth: usize) -> Drawn {
        let others = flat.get("additionalProperties").filter(|schema| schema.is_object());
        let wrong = others.and_then(|schema| self.unfit(schema, depth.saturating_sub(1)).into_iter().next());
        let value = wrong.map_or_else(|| "text".into(), |wrong| wrong.value);
        Drawn::new(format!("with `{UNKNOWN}`"), with(object, UNKNOWN, value))
    }

    fn unfit_lists(&self, flat: &Flat, depth: usize) -> Vec<Drawn> {
        let Some(below) = depth.checked_sub(1) else { return Vec::new() };
        let anything = json!({});
        let items = flat.get("items").filter(|items| !items.is_array()).unwrap_or(&anything);
        let entry = self.one(items, below).unwrap_or(Value::Null);
        let of = |length: usize| Value::Array(vec![entry.clone(); length]);
        let mut bad = Vec::new();
        if let Some(fewer) = number(flat, "minItems").and_then(|least| least.checked_sub(1)) {
            bad.push(Drawn::new("too short a list", of(fewer.min(MOST_ITEMS))));
        }
        if let Some(most) = number(flat, "maxItems").filter(|most| *most < MOST_ITEMS) {
            bad.push(Drawn::new("too long a list", of(most + 1)));
        }
        let length = number(flat, "minItems").unwrap_or(0).clamp(2, MOST_ITEMS);
        bad.push(Drawn::new("a list of the same", of(length)));
        let in_list = |wrong: Drawn| {
            let entries = std::iter::once(wrong.value).chain(vec![entry.clone(); length - 2]);
            Drawn::new(format!("a list with an entry that is {}", wrong.note), entries.collect::<Value>())
        };
        bad.extend(self.unfit(items, below).into_iter().map(in_list));
        bad
    }

    fn unfit_objects(&self, flat: &Flat, depth: usize) -> Vec<Drawn> {
        let Some(below) = depth.checked_sub(1) else { return Vec::new() };
        let good = self.objects(flat, depth, false).into_iter().next().map(|drawn| drawn.value);
        let Some(Value::Object(good)) = good else { return Vec::new() };
        let mut bad = without_each(&good, flat);
        bad.push(self.with_unknown(&good, flat, below));
        let inner = properties(flat).map(|(name, schema)| {
            let wrong = self.unfit(schema, below).into_iter();
            wrong
                .map(|wrong| {
                    Drawn::new(format!("with `{name}`: {}", wrong.note), with(&good, name, wrong.value))
                })
                .collect()
        });
        bad.extend(in_turn(inner.collect()));
        bad
    }
}

fn with(object: &Map<String, Value>, name: &str, value: Value) -> Value {
    let mut object = object.clone();
    object.insert(name.to_owned(), value);
    Value::Object(object)
}

fn without_each(object: &Map<String, Value>, flat: &Flat) -> Vec<Drawn> {
    let names = list(flat, "required").iter().filter_map(Value::as_str);
    let without = |name: &str| {
        let mut object = object.clone();
        object.shift_remove(name);
        Drawn::new(format!("without `{name}`"), object)
    };
    names.map(without).collect()
}

/// One of a type that is not asked for; a fraction, where only whole numbers are.
fn wrong_type(flat: &Flat) -> Vec<Drawn> {
    let types = types(flat);
    if types.is_empty() || !flat.contains_key("type") {
        return Vec::new();
    }
    let others = [
        ("string", "a text", json!("text")),
        ("number", "a number", json!(7)),
        ("boolean", "true", json!(true)),
        ("array", "a list", json!([])),
        ("object", "an object", json!({})),
        ("null", "null", Value::Null),
    ];
    let is_asked =
        |kind: &str| types.iter().any(|asked| *asked == kind || (*asked == "integer" && kind == "number"));
    let other = others.into_iter().find(|(kind, ..)| !is_asked(kind));
    let other = other.map(|(_, note, value)| Drawn::new(format!("{note}, the wrong type"), value));
    let fraction = types.contains(&"integer") && !types.contains(&"number");
    let fraction = fraction.then(|| Drawn::new("a fraction, the wrong type", 1.5));
    other.into_iter().chain(fraction).collect()
}
