//! What files of a project and of its user say to models.
//!
//! The crate finds the files, bounds them and builds the text that a model gets. It reads a file only through the function
//! that the caller passes, decides nothing about trust, and knows no model and no terminal.

mod instructions;

pub use instructions::{InstructionFile, Instructions, MAX_FILE_BYTES, MAX_PROJECT_BYTES, Origin};
