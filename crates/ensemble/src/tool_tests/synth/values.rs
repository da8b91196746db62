//! Values that should fit a schema: the plainest first, then those at its edges.

use serde_json::{Value, json};

use super::flat::{Flat, list, number, types};
use super::{Drawn, MOST_VALUES, Maker, in_turn};

/// Entries of a list; longer ones are not made.
const MOST_ITEMS: usize = 64;
/// What fits where nothing is said.
pub(super) const ANYTHING: &str = "text";

impl Maker<'_> {
    /// The plainest one. `depth` levels are left below it.
    pub(super) fn one(&self, schema: &Value, depth: usize) -> Option<Value> {
        let ways = self.branches(schema);
        ways.iter()
            .find_map(|flat| self.plain(flat, depth, false).into_iter().next())
            .map(|drawn| drawn.value)
    }

    /// `depth` levels are left below them.
    pub(super) fn values(&self, schema: &Value, depth: usize) -> Vec<Drawn> {
        let ways = self.branches(schema);
        let several = ways.len() > 1;
        let of_way = |(number, flat): (usize, &Flat)| {
            let mut drawn = self.plain(flat, depth, true);
            if several {
                drawn.iter_mut().for_each(|one| one.note = format!("{} (form {})", one.note, number + 1));
            }
            drawn
        };
        let mut drawn = in_turn(ways.iter().enumerate().map(of_way).collect());
        drawn.truncate(MOST_VALUES);
        drawn
    }

    /// `wide`: of lists and objects more than the plainest, too.
    fn plain(&self, flat: &Flat, depth: usize, wide: bool) -> Vec<Drawn> {
        if let Some(value) = flat.get("const") {
            return vec![Drawn::new("the only value", value.clone())];
        }
        if flat.contains_key("enum") {
            let listed = list(flat, "enum").iter().take(MOST_VALUES);
            return listed.map(|value| Drawn::new(format!("listed: {value}"), value.clone())).collect();
        }
        let examples =
            list(flat, "examples").iter().take(2).map(|value| Drawn::new("an example", value.clone()));
        let default = flat.get("default").map(|value| Drawn::new("the default", value.clone()));
        let given: Vec<Drawn> = examples.chain(default).collect();
        let kinds = types(flat);
        if kinds.is_empty() {
            return given.into_iter().chain([Drawn::new("a text", ANYTHING)]).collect();
        }
        let typed = in_turn(kinds.into_iter().map(|kind| self.of_type(kind, flat, depth, wide)).collect());
        given.into_iter().chain(typed).collect()
    }

    fn of_type(&self, kind: &str, flat: &Flat, depth: usize, wide: bool) -> Vec<Drawn> {
        match kind {
            "string" => super::texts::texts(flat),
            "integer" => super::numbers::integers(flat),
            "number" => super::numbers::numbers(flat),
            "boolean" => vec![Drawn::new("true", true), Drawn::new("false", false)],
            "null" => vec![Drawn::new("null", Value::Null)],
            "array" => self.arrays(flat, depth),
            "object" => self.objects(flat, depth, wide),
            _ => Vec::new(),
        }
    }

    fn arrays(&self, flat: &Flat, depth: usize) -> Vec<Drawn> {
        let least = number(flat, "minItems").unwrap_or(0);
        let most = number(flat, "maxItems");
        let mut lengths = vec![(1.max(least), "a list"), (least, "the shortest list")];
        lengths.extend(most.map(|most| (most, "the longest list")));
        lengths.retain(|(length, _)| *length <= most.unwrap_or(MOST_ITEMS).min(MOST_ITEMS));
        if depth == 0 {
            lengths.retain(|(length, _)| *length == 0);
        }
        if lengths.iter().all(|(length, _)| *length == 0) {
            return lengths
                .into_iter()
                .map(|(_, note)| Drawn::new(note, Value::Array(Vec::new())))
                .take(1)
                .collect();
        }
        let first = self.leading(flat, depth);
        let rest = self.following(flat, depth);
        let made =
            |(length, note): (usize, &str)| Some(Drawn::new(note, entries(length, &first, &rest, flat)?));
        lengths.into_iter().filter_map(made).collect()
    }

    /// The first of each place that has a schema of its own (and of `contains`); `None` where nothing fits.
    fn leading(&self, flat: &Flat, depth: usize) -> Vec<Option<Value>> {
        let places = match flat.get("items") {
            Some(Value::Array(places)) => places.as_slice(),
            _ => list(flat, "prefixItems"),
        };
        let contained = flat.get("contains").filter(|_| places.is_empty());
        let below = depth.saturating_sub(1);
        places.iter().chain(contained).take(MOST_ITEMS).map(|schema| self.one(schema, below)).collect()
    }

    fn following(&self, flat: &Flat, depth: usize) -> Vec<Value> {
        let schema = match flat.get("items") {
            Some(Value::Array(_)) => flat.get("additionalItems"),
            other => other,
        };
        let anything = json!({});
        let (schema, below) = (schema.unwrap_or(&anything), depth.saturating_sub(1));
        if flat.get("uniqueItems") != Some(&Value::Bool(true)) {
            return self.one(schema, below).into_iter().collect();
        }
        self.values(schema, below).into_iter().map(|drawn| drawn.value).collect()
    }
}

/// `None` if there is nothing for one of the places.
fn entries(length: usize, first: &[Option<Value>], rest: &[Value], flat: &Flat) -> Option<Value> {
    let unique = flat.get("uniqueItems") == Some(&Value::Bool(true));
    let mut list: Vec<Value> = Vec::with_capacity(length);
    for place in 0..length {
        let entry = match first.get(place) {
            Some(entry) => entry.clone()?,
            None => nth(rest, place - first.len().min(place), unique)?,
        };
        list.push(entry);
    }
    Some(Value::Array(list))
}

/// One after the other; where each must be another, what there is is varied by its number.
fn nth(values: &[Value], n: usize, unique: bool) -> Option<Value> {
    if !unique {
        return values.first().cloned();
    }
    if let Some(value) = values.get(n) {
        return Some(value.clone());
    }
    match values.first()? {
        Value::String(text) => Some(format!("{text}{n}").into()),
        Value::Number(number) => Some((number.as_i64()?.checked_add(i64::try_from(n).ok()?)?).into()),
        _ => None,
    }
}
