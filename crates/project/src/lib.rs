//! What files of a project and of its user say to models.
//!
//! The crate finds the files, bounds them and builds the text that a model gets. It reads a file only through the function
//! that the caller passes, decides nothing about trust, and knows no model and no terminal.

mod command;
mod directories;
mod front_matter;
mod instructions;
mod listing;
mod problem;
mod skill;

pub use command::Command;
pub use instructions::{InstructionFile, Instructions, MAX_FILE_BYTES, MAX_PROJECT_BYTES, Origin};
pub use listing::{MAX_LISTING, SKILL_TOOL};
pub use problem::{Place, Problem, ProblemKind};
pub use skill::{MAX_SKILL_FILE, SKILL_FILE, Skill, SkillFile};
