//! Numbers within bounds, and at them.

use serde_json::{Number, Value};

use super::Drawn;
use super::flat::Flat;

/// Bounds of whole numbers; wide enough for all that JSON holds here.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least: Option<i128>,
    most: Option<i128>,
}

/// An exclusive bound as draft 4 writes it (`true`, beside the bound) or as a number of its own.
fn exclusive(flat: &Flat, key: &str, beside: &str) -> Option<(f64, Option<i128>)> {
    match flat.get(key)? {
        Value::Bool(true) => Some(flat.get(beside)?).and_then(read),
        Value::Bool(false) => None,
        value => read(value),
    }
}

/// As a float, and exactly where it is whole.
fn read(value: &Value) -> Option<(f64, Option<i128>)> {
    let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let float = value.as_f64()?;
    let whole = whole.or_else(|| (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128));
    Some((float, whole))
}

impl Bounds {
    fn of(flat: &Flat) -> Self {
        let inclusive = |key: &str| flat.get(key).and_then(read);
        let up = |(float, whole): (f64, Option<i128>)| whole.unwrap_or(float.ceil() as i128);
        let down = |(float, whole): (f64, Option<i128>)| whole.unwrap_or(float.floor() as i128);
        let above = exclusive(flat, "exclusiveMinimum", "minimum").map(|bound| match bound.1 {
            Some(whole) => whole + 1,
            None => up(bound),
        });
        let below = exclusive(flat, "exclusiveMaximum", "maximum").map(|bound| match bound.1 {
            Some(whole) => whole - 1,
            None => down(bound),
        });
        let least = inclusive("minimum").map(up).max(above);
        let most = [inclusive("maximum").map(down), below].into_iter().flatten().min();
        Self { least, most }
    }

    fn holds(&self, number: i128) -> bool {
        self.least.is_none_or(|least| number >= least) && self.most.is_none_or(|most| number <= most)
    }
}

pub(super) fn integers(flat: &Flat) -> Vec<Drawn> {
    let bounds = Bounds::of(flat);
    let step = flat
        .get("multipleOf")
        .and_then(read)
        .and_then(|(_, whole)| whole)
        .filter(|step| *step > 0)
        .unwrap_or(1);
    let least = bounds
        .least
        .map(|least| least.div_euclid(step) * step + if least.rem_euclid(step) == 0 { 0 } else { step });
    let most = bounds.most.map(|most| most.div_euclid(step) * step);
    let plain = Some(step).filter(|one| bounds.holds(*one));
    let candidates = [
        ("a number", plain),
        ("the least", least),
        ("the greatest", most),
        ("zero", Some(0)),
        ("below zero", Some(-step)),
    ];
    let fits = |(note, number): (&str, Option<i128>)| {
        number
            .filter(|number| bounds.holds(*number))
            .and_then(|number| Some(Drawn::new(note, whole(number)?)))
    };
    candidates.into_iter().filter_map(fits).collect()
}

pub(super) fn numbers(flat: &Flat) -> Vec<Drawn> {
    let float = |key: &str| flat.get(key).and_then(Value::as_f64);
    let (least, most) = (
        float("minimum").into_iter().chain(float("exclusiveMinimum")).reduce(f64::max),
        float("maximum").into_iter().chain(float("exclusiveMaximum")).reduce(f64::min),
    );
    let step = float("multipleOf").filter(|step| *step > 0.0);
    let between = match (least, most) {
        (Some(least), Some(most)) => least + (most - least) / 2.0,
        (Some(least), None) => least + 0.5,
        (None, Some(most)) => most - 0.5,
        (None, None) => 0.5,
    };
    let edges = [
        ("a fraction", step.is_none().then_some(between)),
        ("the least", least),
        ("the greatest", most),
        ("one step", step),
    ];
    let edges =
        edges.into_iter().filter_map(|(note, float)| Some(Drawn::new(note, Number::from_f64(float?)?)));
    integers(flat).into_iter().chain(edges).collect()
}

/// Of the same type and outside of the bounds.
pub(super) fn outside(flat: &Flat) -> Vec<Drawn> {
    let Bounds { least, most } = Bounds::of(flat);
    let below = least.and_then(|least| whole(least - 1)).map(|value| Drawn::new("below the least", value));
    let above = most.and_then(|most| whole(most + 1)).map(|value| Drawn::new("above the greatest", value));
    let step = flat.get("multipleOf").and_then(Value::as_f64).filter(|step| *step > 0.0);
    let between = step
        .and_then(|step| Number::from_f64(step * 1.5))
        .map(|value| Drawn::new("between the steps", value));
    let between = between.map(|drawn| match drawn.value.as_f64() {
        Some(float) if float.fract() == 0.0 => Drawn::new(drawn.note, float as i64),
        _ => drawn,
    });
    below.into_iter().chain(above).chain(between).collect()
}

fn whole(number: i128) -> Option<Value> {
    let signed = i64::try_from(number).map(Value::from).ok();
    signed.or_else(|| u64::try_from(number).map(Value::from).ok())
}
