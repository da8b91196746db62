//! Commands: their lines, and their lives.

mod lines;
mod lives;
