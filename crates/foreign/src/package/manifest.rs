//! `manifest.json` of a bundle, up to version 0.4.

use serde_json::{Map, Value};

use crate::draft::{Draft, DraftReach, RawText};
use crate::entry::Entry;
use crate::name::variable;
use crate::note::Notes;
use crate::server::{Drafts, ForeignError};
use crate::text::{Dialect, Piece, Text};

/// Whether this is the manifest of a bundle; `dxt_version` is its name before 2025-09.
pub(super) fn is_one(manifest: &Map<String, Value>) -> bool {
    manifest.contains_key("manifest_version") || manifest.contains_key("dxt_version")
}

pub(super) fn drafts(
    manifest: &Map<String, Value>,
    directory: &str,
    notes: &mut Notes,
) -> Result<Drafts, ForeignError> {
    let missing = |key| ForeignError::Missing { format: "mcpb", key };
    let name = manifest.get("name").and_then(Value::as_str).ok_or(missing("name"))?;
    let server = manifest.get("server").and_then(Value::as_object).ok_or(missing("server"))?;
    note_platforms(manifest, name, notes);
    let context =
        Context { name, directory, options: manifest.get("user_config").and_then(Value::as_object) };
    let text = |key| server.get(key).and_then(Value::as_str);
    let (command, environment) = match server.get("mcp_config").and_then(Value::as_object) {
        Some(config) => {
            let config = with_override(config);
            let mut entry = Entry::new(name, &config, notes);
            let arguments = entry.texts("args");
            let program = entry.text("command").ok_or(missing("command"))?;
            let environment: Vec<_> = entry.table("env");
            (context.command(&program, &arguments), environment)
        }
        // Such a server is started by the program that has the bundle.
        None if text("type") == Some("uv") => {
            let script = text("entry_point").ok_or(missing("entry_point"))?;
            let words = ["run".to_owned(), "--directory".to_owned(), directory.to_owned(), script.to_owned()];
            (context.command("uv", &words), Vec::new())
        }
        None => return Err(missing("mcp_config")),
    };
    let environment = environment.into_iter().map(|(key, value)| match value {
        RawText::Foreign(text) => (key, RawText::Parsed(context.filled_in(&text))),
        parsed => (key, parsed),
    });
    let reach = DraftReach::Stdio {
        command: command.into_iter().map(RawText::Parsed).collect(),
        environment: environment.collect(),
        cwd: Some(directory.to_owned()),
    };
    let mut draft = Draft::new(name, Dialect::None, reach);
    draft.description = manifest.get("description").and_then(Value::as_str).map(str::to_owned);
    context.note_options(notes);
    Ok(Drafts::of(vec![draft]))
}

/// What the configuration says for Linux counts before the rest.
fn with_override(config: &Map<String, Value>) -> Map<String, Value> {
    let mut config = config.clone();
    let overrides = config.remove("platform_overrides");
    if let Some(Value::Object(own)) = overrides.and_then(|all| all.get("linux").cloned()) {
        for (key, value) in own {
            match (config.get_mut(&key), value) {
                (Some(Value::Object(all)), Value::Object(more)) => all.extend(more),
                (_, value) => drop(config.insert(key, value)),
            }
        }
    }
    config
}

fn note_platforms(manifest: &Map<String, Value>, name: &str, notes: &mut Notes) {
    let platforms = manifest.get("compatibility").and_then(|compatibility| compatibility.get("platforms"));
    let platforms = platforms.and_then(Value::as_array);
    if platforms.is_some_and(|platforms| !platforms.iter().any(|platform| platform == "linux")) {
        notes.server(name, "its manifest does not name Linux among its platforms");
    }
}

struct Context<'m> {
    name: &'m str,
    directory: &'m str,
    /// `user_config`.
    options: Option<&'m Map<String, Value>>,
}

impl Context<'_> {
    /// A relative program with a `/`, and a relative entry point, are below the directory, in which the server starts.
    fn command(&self, program: &str, arguments: &[String]) -> Vec<Text> {
        let is_inside = program.contains('/') && !program.starts_with(['/', '$']);
        let program = if is_inside { format!("{}/{program}", self.directory) } else { program.to_owned() };
        let program = self.filled_in(&program);
        std::iter::once(program).chain(arguments.iter().flat_map(|word| self.words(word))).collect()
    }

    /// An option with several values becomes several words.
    fn words(&self, word: &str) -> Vec<Text> {
        let whole = word.strip_prefix("${user_config.").and_then(|rest| rest.strip_suffix('}'));
        let values = whole.and_then(|key| self.option(key)?.get("default")?.as_array());
        match values {
            Some(values) => {
                values.iter().filter_map(Value::as_str).map(|value| self.filled_in(value)).collect()
            }
            None => vec![self.filled_in(word)],
        }
    }

    fn option(&self, key: &str) -> Option<&Map<String, Value>> {
        self.options?.get(key)?.as_object()
    }

    fn filled_in(&self, text: &str) -> Text {
        let text = text.replace("${__dirname}", self.directory);
        let mut pieces = Text::new();
        let mut rest = text.as_str();
        while let Some((before, inside)) = rest.split_once("${") {
            let Some((inside, after)) = inside.split_once('}') else { break };
            pieces.push(Piece::Plain(before.to_owned()));
            pieces.push(self.meaning(inside));
            rest = after;
        }
        pieces.push(Piece::Plain(rest.to_owned()));
        pieces.retain(|piece| !matches!(piece, Piece::Plain(plain) if plain.is_empty()));
        pieces
    }

    fn meaning(&self, inside: &str) -> Piece {
        if let Some(key) = inside.strip_prefix("user_config.") {
            return Piece::Variable { name: variable(&[self.name, key]), default: self.default(key) };
        }
        match inside {
            "/" | "pathSeparator" => Piece::Plain("/".to_owned()),
            "HOME" => Piece::Variable { name: "HOME".to_owned(), default: None },
            _ => Piece::Unknown,
        }
    }

    /// The default of an option; empty if it need not be set, `None` if it must.
    fn default(&self, key: &str) -> Option<String> {
        let option = self.option(key)?;
        let is = |key: &str| option.get(key).and_then(Value::as_bool).unwrap_or_default();
        let default = match option.get("default").filter(|_| !is("sensitive")) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => Some(value.to_string()),
            _ => None,
        };
        default.filter(|text| !text.contains(['{', '}'])).or_else(|| (!is("required")).then(String::new))
    }

    fn note_options(&self, notes: &mut Notes) {
        let names = self.options.into_iter().flat_map(|options| options.keys());
        let names: Vec<String> = names.map(|key| format!("`{}`", variable(&[self.name, key]))).collect();
        if !names.is_empty() {
            notes.server(self.name, format!("its options are variables: {}", names.join(", ")));
        }
    }
}
