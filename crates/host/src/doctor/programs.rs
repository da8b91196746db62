//! Programs that descriptors often start.

use super::finding::Finding;
use crate::confined;
use crate::world::World;

const NAMES: [&str; 6] = ["node", "npx", "uvx", "python3", "git", "bwrap"];

pub(super) fn look(world: &World) -> Vec<Finding> {
    let finding = |name| match confined::program(world, name) {
        Some(path) => Finding::fine(name, path.display().to_string()),
        None => Finding::fine(name, "not found"),
    };
    NAMES.into_iter().map(finding).collect()
}
