//! `converse ensembles schema`: for editors and other people's validators; starts and reads nothing.

use converse_config::{ensemble_schema, invoker_schema, schema_text};

use crate::args::{SchemaArgs, SchemaOf};
use converse_host::failure::Failure;
use converse_terminal::render::output::write_stdout;

pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let schema = match args.of {
        SchemaOf::Ensemble => ensemble_schema(),
        SchemaOf::Invoker => invoker_schema(),
    };
    Ok(write_stdout(&schema_text(&schema))?)
}
