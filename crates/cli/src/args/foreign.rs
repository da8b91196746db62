//! `converse ensembles import` and `export`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueHint};
use converse_foreign::{Client, Format};

use super::{Places, Rules};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) of: Option<ImportOf>,
    /// The other client's configuration file, an `.mcpb` bundle, or the directory of a plugin; `-` reads stdin
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) file: Option<PathBuf>,
    /// Import only these servers
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// The format of the file [default: detected]
    #[arg(long, value_parser = PossibleValuesParser::new(Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.about()))).try_map(|name| Format::ALL.into_iter().find(|format| format.name() == name).ok_or("unknown")))]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportOf {
    /// Import the operations of an OpenAPI document as HTTP tools
    #[command(after_help = super::examples::IMPORT_OPENAPI)]
    Openapi(OpenapiArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OpenapiArgs {
    /// The document (OpenAPI 3.0 or 3.1, JSON or YAML): a file or a URL; `-` reads stdin
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) document: PathBuf,
    /// Name of the ensemble [default: from the title]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Import the operations with this tag (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Import the operations on this path, or below it with `*` at the end (repeatable)
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Import the operation with this `operationId` (repeatable)
    #[arg(long = "operation", value_name = "ID")]
    pub(crate) operations: Vec<String>,
    /// Send the requests to this server [default: the first server of the document]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) server: Option<String>,
    /// Use this security scheme where the document offers several
    #[arg(long, value_name = "SCHEME")]
    pub(crate) security: Option<String>,
    /// Pass on only this part of the responses that have it: a JSON pointer such as `/data`
    #[arg(long, value_name = "POINTER")]
    pub(crate) result: Option<String>,
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
    /// Export only this ensemble, as NAME does (repeatable)
    #[arg(short, long, value_name = "NAME", conflicts_with = "url")]
    pub(crate) ensemble: Vec<String>,
    /// Print the entry with which this client uses the gateway (`converse serve`)
    #[arg(long, value_parser = PossibleValuesParser::new(Client::ALL.map(Client::name)).try_map(|name| Client::named(&name).ok_or("unknown")))]
    pub(crate) client: Option<Client>,
    /// The address of the gateway for `--client`, if it runs elsewhere
    #[arg(long, value_name = "URL", requires = "client", conflicts_with = "names")]
    pub(crate) url: Option<String>,
    /// Write the entry to the client's file, or to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, requires = "client", value_hint = ValueHint::FilePath)]
    pub(crate) write: Option<Option<PathBuf>>,
    /// Replace another entry of the same name
    #[arg(long, requires = "write")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) rules: Rules,
}
