//! Descriptors for the program to read.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use serde_json::json;

/// Tools of a written ensemble that is no server.
pub(super) const TOOLS: usize = 5;
/// Of these, as many have a file of their own.
const FILES: usize = 2;

/// The name of a server, which its tools are shown with.
pub(super) fn server(index: usize) -> String {
    format!("s{index}")
}

/// One ensemble for each server, all of them started by the same command.
pub(super) fn servers(dir: &Path, count: usize, command: &[&str]) -> io::Result<()> {
    // A list of strings is the same in JSON and in TOML.
    let command = json!(command);
    for name in (0..count).map(server) {
        let text = format!(
            "[ensemble]\nname = \"{name}\"\ndescription = \"A server that does nothing, quickly\"\n\n\
             [defaults]\npermission = \"allow\"\ntimeout = 60\n\n\
             [connection]\ntransport = \"stdio\"\ncommand = {command}\n"
        );
        fs::write(dir.join(format!("{name}.toml")), text)?;
    }
    Ok(())
}

/// Ensembles of declared tools, with arguments as people write them.
pub(super) fn ensembles(dir: &Path, count: usize) -> io::Result<()> {
    for name in (0..count).map(|index| format!("e{index}")) {
        let mut text = format!(
            "[ensemble]\nname = \"{name}\"\ndescription = \"Records of department {name}\"\n\n\
             [defaults]\ntimeout = 20\nresult_limit = \"32 KiB\"\n"
        );
        fs::create_dir(dir.join(&name))?;
        for tool in 0..TOOLS {
            if tool < FILES {
                let source = format!("{name}/tool_{tool}.toml");
                fs::write(dir.join(&source), invoker("[invoker]", "arguments", &name, tool))?;
                let _ = write!(text, "\n[[invokers]]\nsource = \"{source}\"\nmax_retries = 1\n");
            } else {
                let _ = write!(text, "\n{}", invoker("[[invokers]]", "invokers.arguments", &name, tool));
            }
        }
        fs::write(dir.join(format!("{name}.toml")), text)?;
    }
    Ok(())
}

fn invoker(head: &str, arguments: &str, ensemble: &str, index: usize) -> String {
    format!(
        r#"{head}
name = "tool_{index}"
description = "Reads records of kind {index} of department {ensemble}, those that pass the filter"
builtin = "read_file"
permission = "ask"
idempotent = true

[{arguments}]
type = "object"
required = ["path"]
additionalProperties = false

[{arguments}.properties.path]
type = "string"
description = "The record, relative to those of the department"
maxLength = 200

[{arguments}.properties.limit]
type = "integer"
minimum = 1
maximum = 1000
default = 100
description = "At most so many lines"

[{arguments}.properties.encoding]
type = "string"
enum = ["utf-8", "base64"]
default = "utf-8"
description = "How the text is given"
"#
    )
}
