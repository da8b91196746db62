//! The texts of new descriptors, with comments that explain them.

use std::fmt::Write as _;

use crate::server::Server;
use crate::toml_text::{bare_or_quoted, list, quoted};

/// The descriptor of a server.
pub(super) fn server(server: &Server) -> String {
    let mut text = String::from("# One MCP server is one ensemble. Its tools are the tools of the server.\n");
    text.push_str(&server.toml());
    text.push_str(
        r#"
# Put secrets into variables: `env:NAME` is the value of a variable, `${NAME}` inserts it into a text.
# Use them in `[connection.environment]` (for a program) or `[connection.headers]` (for a URL).
#
# Every tool asks before it runs. Allow single tools here, or all tools in `[defaults]`:
#
# [tools]
# include = ["get_*"]
#
# [tools.get_something]
# permission = "allow"
# effects = "read"
"#,
    );
    text
}

/// The descriptor of an ensemble with one declared tool.
pub(super) fn declared(name: &str, description: &str, source: &str) -> String {
    format!(
        r#"# An ensemble is a group of tools. Each `[[invokers]]` is one tool, in its own file.
[ensemble]
name = {name}
description = {description}

# For all tools of the ensemble. Keys of a tool override these keys.
[defaults]
timeout = "30s"

[[invokers]]
source = {source}
"#,
        name = quoted(name),
        description = quoted(description),
        source = quoted(source),
    )
}

pub(super) fn command(name: &str, description: &str, argv: &[String]) -> String {
    let placeholders = placeholders(argv.iter().map(String::as_str));
    let body = format!(
        "[command]\n# There is no shell: each element is one argument of the program. `{{name}}` is an argument of the call.\n\
         # An element is left out if its argument is not given.\nargv = {}\n",
        list(argv)
    );
    file(name, description, &body, &placeholders)
}

pub(super) fn request(
    name: &str,
    description: &str,
    method: &str,
    url: &str,
    headers: &[(String, String)],
) -> String {
    let placeholders = placeholders([url].into_iter().chain(headers.iter().map(|(_, value)| value.as_str())));
    let mut body = format!(
        "[http]\n# `{{name}}` is an argument of the call. It can be in the path, in `query`, `headers`, `form` or `body`.\n\
         method = {}\nurl = {}\n",
        quoted(method),
        quoted(url)
    );
    if !headers.is_empty() {
        body.push_str("\n[http.headers]\n");
        for (name, value) in headers {
            let _ = writeln!(body, "{} = {}", bare_or_quoted(name), quoted(value));
        }
    }
    file(name, description, &body, &placeholders)
}

/// The file of a tool, with a test that `ensembles test` runs.
fn file(name: &str, description: &str, body: &str, placeholders: &[String]) -> String {
    let mut text = format!(
        "# One tool. A model chooses it by its description and reads the descriptions of its arguments.\n\
         [invoker]\nname = {}\ndescription = {}\n\
         # Effects: none, read, write or external. The tool asks before it runs, unless you add\n\
         # `permission = \"allow\"`.\neffects = \"external\"\n\n{body}\n{}",
        quoted(name),
        quoted(description),
        arguments(placeholders)
    );
    text.push_str("\n# `converse ensembles test` runs this test, without a model.\n[[tests]]\n");
    text.push_str(if placeholders.is_empty() {
        "name = \"it runs\"\narguments = {}\nexpect.outcome = \"success\"\n"
    } else {
        "name = \"an argument is missing\"\narguments = {}\nexpect.outcome = \"invalid\"\n"
    });
    text
}

/// The schema of the arguments: required strings.
fn arguments(placeholders: &[String]) -> String {
    let mut text = format!(
        "# A JSON Schema, written as TOML. Calls that do not match the schema do not run.\n[arguments]\n\
         type = \"object\"\nrequired = {}\nadditionalProperties = false\n",
        list(placeholders)
    );
    for name in placeholders {
        let _ = write!(
            text,
            "\n[arguments.properties.{}]\ntype = \"string\"\ndescription = {}\n",
            bare_or_quoted(name),
            quoted(&format!("Describe `{name}` for the model here"))
        );
    }
    text
}

/// The names in `{name}`, each once. `{{` is a brace and `${NAME}` a variable.
fn placeholders<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, behind) = rest.split_at(at);
            if let Some(after) = behind.strip_prefix("{{") {
                rest = after;
                continue;
            }
            let Some(end) = behind.find('}') else { break };
            let name = behind.get(1..end).unwrap_or_default();
            if !before.ends_with('$') && !name.is_empty() && !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
            rest = behind.get(end + 1..).unwrap_or_default();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_once() {
        let texts = ["{a}-{b}", "${HOME}/{a}", "{{c}} {d", "{e.f}"];
        assert_eq!(placeholders(texts.into_iter()), ["a", "b", "e.f"]);
    }
}
