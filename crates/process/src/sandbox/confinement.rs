//! What a sandbox leaves open, and how much the program may take.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One program's sandbox. Handed over as JSON in an argument, which every process of the same user can read: it holds
/// paths and no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    pub strictness: Strictness,
    /// Absolute. Files and directories that it may read and execute, beside [`system()`](crate::sandbox::system()).
    pub reads: Vec<PathBuf>,
    /// Absolute. Files and directories that it may change as well.
    pub writes: Vec<PathBuf>,
    /// Whether the program may open connections.
    pub network: bool,
    pub limits: Limits,
    /// Where it is said what came of it: a file that exists, alone in its directory. Its name is removed before the
    /// program starts: who wants to read it has it open by then.
    pub report: PathBuf,
}

/// What must be in force for the program to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strictness {
    Everything,
    /// Something else restricts files and the network: bubblewrap around this process.
    EverythingButFiles,
    WhatIsThere,
}

/// Limits for each process, except `processes` and `threads`, which the parent counts: the process limit of the kernel
/// counts all processes of a user on the machine, and does not apply to root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The longest file that it can write, in bytes.
    pub file_bytes: u64,
    pub open_files: u64,
    /// Time of the processor, in seconds.
    pub cpu_seconds: u64,
    /// Memory of its own, in bytes. Not the address space: engines of JavaScript, Go and Java reserve more of that than
    /// any machine has.
    pub memory_bytes: u64,
    pub processes: usize,
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1024 * 1024 * 1024;
        Self {
            file_bytes: GIB,
            open_files: 1024,
            cpu_seconds: 3600,
            memory_bytes: 8 * GIB,
            processes: 256,
            threads: 4096,
        }
    }
}
