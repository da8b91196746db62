//! What a schema may cost, known before it is compiled.
//!
//! Two things explode: references (`allOf` of two references, forty levels deep, is 3 kB and an hour of work) and
//! recursion with more than one way down. Both are counted here without doing them: for each depth of arguments, how
//! often at worst one value is looked at through a reference. Recursion itself is fine; it grows with the arguments.

use serde_json::Value;

use super::graph::{Graph, Node, REFERENCES};
use super::{SchemaError, SchemaFault};

const MAX_BYTES: usize = 64 * 1024;
const MAX_VALUES: usize = 5_000;
/// Levels of a schema, and of arguments.
const MAX_DEPTH: usize = 64;
/// References followed for one value of small arguments.
const MAX_UNROLLED: u64 = 50_000;
/// Subschemas that are led to by references: compiling follows them one inside the other.
const MAX_TARGETS: usize = 400;
/// Arguments this deep must be checkable, or the schema is of no use.
const USEFUL_DEPTH: usize = 2;
/// Values of the arguments times references followed for each: about a tenth of a second.
const MAX_WORK: u64 = 10_000_000;

#[derive(Debug)]
pub(super) struct Weight {
    /// By depth of the arguments: references followed, at worst, on the way to one value.
    unrolled: Vec<u64>,
}

impl Weight {
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let (values, depth) = measure(schema);
        let too = |what: String| Err(SchemaError::new("", what));
        if depth > MAX_DEPTH {
            return too(format!("the schema is nested deeper than {MAX_DEPTH} levels"));
        }
        if values > MAX_VALUES {
            return too(format!("the schema has {values} values; at most {MAX_VALUES} are taken"));
        }
        let bytes = length(schema);
        if bytes > MAX_BYTES {
            return too(format!("the schema has {bytes} bytes; at most {MAX_BYTES} are taken"));
        }
        if !has_references(schema) {
            // Most schemas: nothing is followed, however deep the arguments are.
            return Ok(Self { unrolled: vec![0; MAX_DEPTH] });
        }
        let graph = Graph::of(schema)?;
        let targets: std::collections::HashSet<_> =
            graph.nodes.iter().flat_map(|node| &node.references).collect();
        if targets.len() > MAX_TARGETS {
            return too(format!(
                "references lead to {} places; at most {MAX_TARGETS} are taken",
                targets.len()
            ));
        }
        let unrolled = unroll(&graph)?;
        if unrolled.get(USEFUL_DEPTH).is_none_or(|count| *count > MAX_UNROLLED) {
            return too(format!("following its references takes more than {MAX_UNROLLED} steps"));
        }
        Ok(Self { unrolled })
    }

    /// What is said of arguments that this schema cannot be checked against in reasonable time.
    pub(super) fn too_much_for(&self, arguments: &Value) -> Option<SchemaFault> {
        let (values, depth) = measure(arguments);
        let Some(each) = self.unrolled.get(depth.saturating_sub(1)) else {
            return Some(SchemaFault::whole(format!("nested deeper than {MAX_DEPTH} levels")));
        };
        let work = (values as u64).saturating_mul(each.saturating_add(1));
        (work > MAX_WORK)
            .then(|| SchemaFault::whole("too large or too deeply nested to be checked".to_owned()))
    }
}

/// How many values there are, and how deeply they are nested (a scalar is one level).
fn measure(value: &Value) -> (usize, usize) {
    let (mut count, mut deepest) = (0, 0);
    let mut waiting = vec![(value, 1)];
    while let Some((value, depth)) = waiting.pop() {
        count += 1;
        deepest = deepest.max(depth);
        match value {
            Value::Array(list) => waiting.extend(list.iter().map(|value| (value, depth + 1))),
            Value::Object(map) => waiting.extend(map.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    (count, deepest)
}

/// Does any object in it have a key that could be a reference? A property of that name counts too; it costs a look.
fn has_references(value: &Value) -> bool {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(list) => waiting.extend(list),
            Value::Object(map) if map.keys().any(|key| REFERENCES.contains(&key.as_str())) => return true,
            Value::Object(map) => waiting.extend(map.values()),
            _ => {}
        }
    }
    false
}

/// Bytes of the text, which is not made for it.
pub(crate) fn length(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// For arguments nested 0, 1, … levels below the root: the references followed, at worst, for one value.
fn unroll(graph: &Graph) -> Result<Vec<u64>, SchemaError> {
    let order = inner_first(&graph.nodes)?;
    let mut above = vec![0_u64; graph.nodes.len()];
    let mut by_depth = Vec::with_capacity(MAX_DEPTH);
    for _ in 0..MAX_DEPTH {
        let mut here = vec![0_u64; graph.nodes.len()];
        for &id in &order {
            let node = &graph.nodes[id];
            let sum = |ids: &[usize], of: &[u64], each: u64| {
                ids.iter().fold(0_u64, |sum, id| sum.saturating_add(of[*id]).saturating_add(each))
            };
            let worst_part = node.parts.iter().map(|part| above[*part]).max().unwrap_or(0);
            here[id] = sum(&node.in_place, &here, 0)
                .saturating_add(sum(&node.references, &here, 1))
                .saturating_add(sum(&node.shared_parts, &above, 0))
                .saturating_add(worst_part);
        }
        by_depth.push(here.first().copied().unwrap_or(0));
        above = here;
    }
    Ok(by_depth)
}

/// All nodes, each after those it applies to the same value. There is no such order if a reference comes back to the
/// same value: checking would never end.
fn inner_first(nodes: &[Node]) -> Result<Vec<usize>, SchemaError> {
    let mut needed_by = vec![Vec::new(); nodes.len()];
    let mut open = vec![0_usize; nodes.len()];
    for (id, node) in nodes.iter().enumerate() {
        for &inner in node.in_place.iter().chain(&node.references) {
            needed_by[inner].push(id);
            open[id] += 1;
        }
    }
    let mut order: Vec<usize> = (0..nodes.len()).filter(|id| open[*id] == 0).collect();
    let mut at = 0;
    while let Some(&done) = order.get(at) {
        at += 1;
        for &outer in &needed_by[done] {
            open[outer] -= 1;
            if open[outer] == 0 {
                order.push(outer);
            }
        }
    }
    if order.len() == nodes.len() {
        Ok(order)
    } else {
        Err(SchemaError::new("", "a `$ref` comes back to itself without going into the arguments"))
    }
}
