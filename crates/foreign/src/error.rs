//! Why a whole file cannot be taken over. None of these holds any text of the file but names of keys.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignError {
    #[error("the file is larger than {most} bytes")]
    TooLarge { most: usize },
    #[error("line {line}, column {column}: this is not {what}: {reason}")]
    Syntax { what: &'static str, line: usize, column: usize, reason: String },
    #[error(
        "this is neither JSON (as mcp-servers, gemini, vscode, opencode, zed and list are; it does not begin with `{{`) \
         nor TOML (as codex is; line {line}, column {column}: {reason})"
    )]
    Neither { line: usize, column: usize, reason: String },
    #[error("the file is empty")]
    Empty,
    #[error("no MCP servers were recognised in this file; name its format if it has some")]
    Unknown,
    #[error("the file has no `{key}` with servers in it, as the format `{format}` has")]
    Missing { format: &'static str, key: &'static str },
    #[error("the file has more than {most} servers")]
    TooMany { most: usize },
}
