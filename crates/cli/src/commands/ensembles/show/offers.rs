//! What a server has besides tools: resources, resource templates, prompts.

use converse_mcp::{McpConnection, OfferError, Offered, Prompt, Resource, Template};
use serde_json::{Value, json};

use converse_text::safe_line;

/// The number of lines in each section of the text.
const MOST_LINES: usize = 50;

/// The lists of a server, and what could not be listed.
pub(super) struct ServerOffers {
    resources: Offered<Resource>,
    templates: Offered<Template>,
    prompts: Offered<Prompt>,
    /// What is missing, with the reason.
    unlisted: Vec<String>,
}

impl ServerOffers {
    /// Requests all lists at once. A list that fails does not affect the others.
    pub(super) async fn of(server: &McpConnection) -> Self {
        let (resources, templates, prompts) =
            tokio::join!(server.resources(), server.templates(), server.prompts());
        let mut unlisted = Vec::new();
        Self {
            resources: listed("resources", resources, &mut unlisted),
            templates: listed("resource templates", templates, &mut unlisted),
            prompts: listed("prompts", prompts, &mut unlisted),
            unlisted,
        }
    }

    /// The keys that are added to the JSON object of the ensemble.
    pub(super) fn json(&self) -> [(&'static str, Value); 4] {
        let resource = |one: &Resource| {
            json!({ "uri": one.uri, "name": one.name, "title": one.title, "description": one.description,
                    "mime": one.mime, "size": one.size })
        };
        let template = |one: &Template| {
            json!({ "uri_template": one.uri, "name": one.name, "title": one.title,
                    "description": one.description, "mime": one.mime, "variables": one.variables() })
        };
        [
            ("resources", self.resources.items.iter().map(resource).collect()),
            ("templates", self.templates.items.iter().map(template).collect()),
            ("prompts", self.prompts.items.iter().map(prompt_json).collect()),
            ("unlisted", json!(self.unlisted)),
        ]
    }

    /// The non-empty sections.
    pub(super) fn text(&self, ensemble: &str) -> String {
        let mut text = String::new();
        section(&mut text, "resources", &self.resources.items, |one| {
            let about = about(one.description.as_ref().or(one.title.as_ref()));
            let mime = one.mime.as_ref().map(|mime| format!(" ({mime})")).unwrap_or_default();
            format!("  mcp:{ensemble}:{}{mime}{about}\n", safe_line(&one.uri, 400))
        });
        section(&mut text, "resource templates", &self.templates.items, |one| {
            let about = about(one.description.as_ref().or(one.title.as_ref()));
            format!("  mcp:{ensemble}:{}{about}\n", safe_line(&one.uri, 400))
        });
        section(&mut text, "prompts", &self.prompts.items, |one| prompt_text(ensemble, one));
        for line in &self.unlisted {
            text.push_str(&format!("\n{}\n", safe_line(line, 400)));
        }
        text
    }
}

fn listed<T>(what: &str, listed: Result<Offered<T>, OfferError>, unlisted: &mut Vec<String>) -> Offered<T> {
    let listed = listed.unwrap_or_else(|error| {
        unlisted.push(format!("its {what} could not be listed: {error}"));
        Offered::default()
    });
    unlisted.extend(listed.skipped.iter().map(|line| format!("left out of its {what}: {line}")));
    listed
}

fn prompt_json(prompt: &Prompt) -> Value {
    let arguments: Vec<Value> = prompt
        .arguments
        .iter()
        .map(|one| json!({ "name": one.name, "description": one.description, "required": one.required }))
        .collect();
    json!({ "name": prompt.name, "title": prompt.title, "description": prompt.description, "arguments": arguments })
}

fn prompt_text(ensemble: &str, prompt: &Prompt) -> String {
    let line = about(prompt.description.as_ref().or(prompt.title.as_ref()));
    let mut text = format!("  {ensemble}.{}{line}\n", safe_line(&prompt.name, 256));
    for argument in &prompt.arguments {
        let need = if argument.required { "required" } else { "optional" };
        let about = about(argument.description.as_ref());
        text.push_str(&format!("    {} ({need}){about}\n", safe_line(&argument.name, 256)));
    }
    text
}

fn about(text: Option<&String>) -> String {
    text.map(|text| format!("  {}", safe_line(text, 200))).unwrap_or_default()
}

fn section<T>(text: &mut String, title: &str, items: &[T], line: impl Fn(&T) -> String) {
    if items.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}:\n"));
    items.iter().take(MOST_LINES).for_each(|item| text.push_str(&line(item)));
    if items.len() > MOST_LINES {
        text.push_str(&format!("  … and {} more: `--json` shows all\n", items.len() - MOST_LINES));
    }
}
