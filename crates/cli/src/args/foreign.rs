//! `converse ensembles import` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::Places;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The other client's configuration file; `-` reads stdin
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Import only these servers
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// The format of the file [default: detected]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ForeignFormat>,
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

// Where new descriptors are written.
#[derive(Debug, Args)]
pub(crate) struct Destination {
    /// Write to this directory [default: `./ensembles` if it exists, else your own]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) into: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the descriptors instead of writing them
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Destination {
    /// The flag with which other commands find the new descriptors, with a space before it.
    pub(crate) fn flag(&self, of_project: bool) -> String {
        match &self.into {
            Some(dir) if !of_project => format!(" --ensembles {}", dir.display()),
            _ => String::new(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Export only these ensembles
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ForeignFormat {
    /// `mcpServers`: Claude Desktop, Claude Code, Cursor, Windsurf and others
    McpServers,
    /// Gemini CLI's `settings.json`
    Gemini,
    /// VS Code's `mcp.json`
    Vscode,
    /// codex's `config.toml`
    Codex,
    /// `opencode.json`
    Opencode,
    /// Zed's `settings.json`
    Zed,
    /// `{"servers": [{"id": …}]}`
    List,
}
