//! The cost of checking a schema, known before it is compiled.
//!
//! Two things explode: references (`allOf` of two references, forty levels deep, is 3 kB and an hour of work), and
//! recursion with more than one branch. Both are counted without following them: for each depth of the arguments, how
//! often at worst a reference leads to one value. Simple recursion grows with the arguments.

use converse_canister::json_length;
use serde_json::Value;

use super::graph::{Graph, Node, REFERENCES};
use super::{SchemaError, SchemaFault};

const MAX_BYTES: usize = 64 * 1024;
const MAX_VALUES: usize = 5_000;
/// Limit on the levels of a schema, and of arguments.
const MAX_DEPTH: usize = 64;
/// Limit on the references followed for one value of small arguments.
const MAX_UNROLLED: u64 = 50_000;
/// Limit on the targets of references, because compiling nests them.
const MAX_TARGETS: usize = 400;
/// Arguments of this depth must be checkable, or the schema is refused.
const USEFUL_DEPTH: usize = 2;
/// Limit on values of the arguments times references followed for each: about a tenth of a second.
const MAX_WORK: u64 = 10_000_000;

#[derive(Debug)]
pub(super) struct Weight {
    /// By depth of the arguments: references followed at worst for one value.
    unrolled: Vec<u64>,
}

impl Weight {
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let (values, depth) = measure(schema);
        let too = |what: String| Err(SchemaError::new("", what));
        if depth > MAX_DEPTH {
            return too(format!("the schema has more than {MAX_DEPTH} levels of nesting"));
        }
        if values > MAX_VALUES {
            return too(format!("the schema has {values} values; the limit is {MAX_VALUES}"));
        }
        let bytes = json_length(schema);
        if bytes > MAX_BYTES {
            return too(format!("the schema has {bytes} bytes; the limit is {MAX_BYTES}"));
        }
        if !has_references(schema) {
            // Most schemas have no references.
            return Ok(Self { unrolled: vec![0; MAX_DEPTH] });
        }
        let graph = Graph::of(schema)?;
        let targets: std::collections::HashSet<_> =
            graph.nodes.iter().flat_map(|node| &node.references).collect();
        if targets.len() > MAX_TARGETS {
            return too(format!("the references have {} targets; the limit is {MAX_TARGETS}", targets.len()));
        }
        let unrolled = unroll(&graph)?;
        if unrolled.get(USEFUL_DEPTH).is_none_or(|count| *count > MAX_UNROLLED) {
            return too(format!("following the references takes more than {MAX_UNROLLED} steps"));
        }
        Ok(Self { unrolled })
    }

    /// Returns a fault if checking these arguments would take too long.
    pub(super) fn too_much_for(&self, arguments: &Value) -> Option<SchemaFault> {
        let (values, depth) = measure(arguments);
        let Some(each) = self.unrolled.get(depth.saturating_sub(1)) else {
            return Some(SchemaFault::whole(format!("more than {MAX_DEPTH} levels of nesting")));
        };
        let work = (values as u64).saturating_mul(each.saturating_add(1));
        (work > MAX_WORK)
            .then(|| SchemaFault::whole("too large or too deeply nested to be checked".to_owned()))
    }
}

/// Returns the number of values and their depth (a scalar is one level).
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

/// Returns whether any object has a key that could be a reference, including properties with such a name.
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

/// Returns the references followed at worst for one value, for arguments nested 0, 1, … levels below the root.
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

/// Returns all nodes, each after those that it applies to the same value. There is no such order if a reference returns to
/// the same value; checking would then never end.
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
        Err(SchemaError::new("", "a `$ref` refers to itself without descending into the arguments"))
    }
}
