//! What the suite starts as "the client": it tells what it wants by variables and the address as the last word
//! (<https://github.com/modelcontextprotocol/conformance>, checked 2026-11), the program is told by flags. All
//! scenarios get the same flags: none of them is known here by its name.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::Value;

use crate::Result;
use crate::interop::process;

/// The first argument that makes this binary the client: then the program, then the address.
pub(crate) const WRAPPER: &str = "conformance-client";

/// Shorter than the suite's own, so that it is us who say what hung.
const LIMIT: Duration = Duration::from_secs(28);
/// Where the program reads a client's secret.
const SECRET: &str = "CONFORMANCE_CLIENT_SECRET";
/// The variable that names a file for how the program ended in each scenario: the suite does not write it down.
pub(super) const EXITS: &str = "CONFORMANCE_EXITS";
/// The one that the suite's authorization server knows.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// As the suite wants it: words, split at blanks.
pub(super) fn command(binary: &Path) -> Result<String> {
    let own = std::env::current_exe()?;
    let words =
        [own.to_string_lossy().into_owned(), WRAPPER.to_owned(), binary.to_string_lossy().into_owned()];
    match words.iter().find(|word| word.contains(char::is_whitespace)) {
        Some(word) => Err(format!("the suite takes no command with blanks in a word: `{word}`").into()),
        None => Ok(words.join(" ")),
    }
}

/// One scenario: a program without a past, in a home of its own.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let [binary, url] = words else { return Err(format!("usage: {WRAPPER} PROGRAM URL").into()) };
    let said = |name: &str| std::env::var(name).unwrap_or_default();
    let context: Value = serde_json::from_str(&said("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default();
    let home = tempfile::tempdir()?;
    let mut command = Command::new(binary);
    command.env_clear().env("HOME", home.path()).env("PATH", said("PATH")).current_dir(home.path());
    if let Some(secret) = context["client_secret"].as_str() {
        command.env(SECRET, secret);
    }
    command.args(flags(url, &said("MCP_CONFORMANCE_PROTOCOL_VERSION"), &context));
    let ran = process::run(&mut command, LIMIT)?;
    print!("{}", ran.stdout);
    eprint!("{}", ran.stderr);
    if ran.late {
        eprintln!("`{}` did not end", ran.command);
    }
    let code = ran.code.and_then(|code| u8::try_from(code).ok()).unwrap_or(128);
    note(&said(EXITS), &said("MCP_CONFORMANCE_SCENARIO"), code)?;
    Ok(ExitCode::from(code))
}

/// A line of its own, whoever else writes at the same time.
fn note(file: &str, scenario: &str, code: u8) -> Result<()> {
    if !file.is_empty() {
        let mut file = File::options().append(true).create(true).open(file)?;
        file.write_all(format!("{scenario} {code}\n").as_bytes())?;
    }
    Ok(())
}

fn flags(url: &str, revision: &str, context: &Value) -> Vec<String> {
    let revision = if revision.is_empty() { "auto" } else { revision };
    let fixed = ["mcp", "probe", url, "--protocol", revision, "--elicit", "defaults", "--oauth", "headless"];
    let mut flags: Vec<String> = fixed.map(str::to_owned).into();
    flags.extend(["--client-metadata-url".to_owned(), METADATA.to_owned()]);
    if let Some(id) = context["client_id"].as_str() {
        flags.extend(["--client-id".to_owned(), id.to_owned()]);
    }
    if context["client_secret"].is_string() {
        flags.extend(["--client-secret-env".to_owned(), SECRET.to_owned()]);
    }
    match context["toolCalls"].as_array() {
        Some(calls) => {
            for call in calls {
                let name = call["name"].as_str().unwrap_or_default().to_owned();
                flags.extend(["--call".to_owned(), name, given(&call["arguments"]).to_string()]);
            }
        }
        None => flags.push("--call-all".to_owned()),
    }
    flags
}

/// By null the suite means what is not given; where a schema says `boolean`, null is refused before anything is sent.
fn given(arguments: &Value) -> Value {
    let given = arguments.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(name, value)| (name.clone(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_suite_says_becomes_flags() {
        let all =
            "mcp probe URL --protocol 2025-11-25 --elicit defaults --oauth headless --client-metadata-url";
        let all = format!("{all} {METADATA}");
        assert_eq!(flags("URL", "2025-11-25", &Value::Null).join(" "), format!("{all} --call-all"));
        let context = json!({ "client_id": "i", "client_secret": "s", "toolCalls": [{ "name": "t", "arguments": { "a": 1, "b": null } }] });
        let some = flags("URL", "2025-11-25", &context).join(" ");
        assert_eq!(some, format!("{all} --client-id i --client-secret-env {SECRET} --call t {{\"a\":1}}"));
        assert!(flags("URL", "", &Value::Null).contains(&"auto".to_owned()));
    }
}
