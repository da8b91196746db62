//! A form on a terminal: each field with what it wants, then all of it once more before it is sent.

use converse_mcp::ElicitationReply;
use converse_mcp::elicitation::{Field, Kind, fields};
use serde_json::{Map, Value};

use crate::render::quoted::{broken, columns};
use converse_text::safe_line;

const NAME: usize = 100;
const DESCRIPTION: usize = 500;
const VALUE: usize = 2000;

pub(super) struct Form<'a> {
    ensemble: &'a str,
    fields: Vec<Field>,
}

/// What a line says to the form itself.
enum FormAnswer {
    Value(Option<Value>),
    Ended(ElicitationReply),
}

impl<'a> Form<'a> {
    pub(super) fn read(ensemble: &'a str, schema: &Value) -> Result<Self, String> {
        fields(schema).map(|fields| Self { ensemble, fields })
    }

    /// What it asks for, before anybody begins.
    pub(super) fn overview(&self) -> String {
        if self.fields.is_empty() {
            return "  it asks for a yes, and nothing else\n".to_owned();
        }
        let names: Vec<String> = self.fields.iter().map(|field| safe_line(&field.name, NAME)).collect();
        broken("  it asks for: ", &names.join(", "), columns())
    }

    pub(super) async fn filled(&self, ask: &impl AsyncFn(String) -> Option<String>) -> ElicitationReply {
        let mut lead =
            "  an empty line takes [what stands there] or leaves it out; /decline and /cancel end it\n";
        loop {
            let mut values = Map::new();
            for field in &self.fields {
                match value(field, lead, ask).await {
                    FormAnswer::Value(Some(value)) => drop(values.insert(field.name.clone(), value)),
                    FormAnswer::Value(None) => {}
                    FormAnswer::Ended(reply) => return reply,
                }
                lead = "";
            }
            match self.sends(&values, ask).await {
                Some(ElicitationReply::Accept(_)) => return ElicitationReply::Accept(Some(values)),
                Some(reply) => return reply,
                None => {}
            }
        }
    }

    /// Whether it is sent as it is; `None`: it is filled in again.
    async fn sends(
        &self,
        values: &Map<String, Value>,
        ask: &impl AsyncFn(String) -> Option<String>,
    ) -> Option<ElicitationReply> {
        let line = |(name, value): (&String, &Value)| {
            let lead = format!("    {} = ", safe_line(name, NAME));
            broken(&lead, &safe_line(&value.to_string(), VALUE), columns())
        };
        let lines: String = values.iter().map(line).collect();
        let lines = if lines.is_empty() { "    nothing but your yes\n".to_owned() } else { lines };
        let mut question = format!(
            "  this is sent to the server of `{}`:\n{lines}  y = send it, e = fill it in again, n = decline, c = cancel: ",
            safe_line(self.ensemble, NAME)
        );
        loop {
            let Some(line) = ask(question).await else { return Some(ElicitationReply::Cancel) };
            match line.trim().to_lowercase().as_str() {
                "y" | "yes" | "д" | "да" => return Some(ElicitationReply::Accept(None)),
                "e" => return None,
                "n" | "no" | "н" | "нет" => return Some(ElicitationReply::Decline),
                "c" | "cancel" => return Some(ElicitationReply::Cancel),
                _ => question = "  please answer y, e, n or c: ".to_owned(),
            }
        }
    }
}

/// Until it fits.
async fn value(field: &Field, lead: &str, ask: &impl AsyncFn(String) -> Option<String>) -> FormAnswer {
    let mut question = format!("{lead}{}", described(field));
    loop {
        let Some(line) = ask(question).await else { return FormAnswer::Ended(ElicitationReply::Cancel) };
        let wrong = match line.trim() {
            "/decline" => return FormAnswer::Ended(ElicitationReply::Decline),
            "/cancel" => return FormAnswer::Ended(ElicitationReply::Cancel),
            "" if field.default.is_some() => return FormAnswer::Value(field.default.clone()),
            "" if !field.required => return FormAnswer::Value(None),
            "" => "it is required".to_owned(),
            words => match field.value(words) {
                Ok(value) => return FormAnswer::Value(Some(value)),
                Err(wrong) => wrong,
            },
        };
        question = format!("  {}: ", safe_line(&wrong, DESCRIPTION));
    }
}

fn described(field: &Field) -> String {
    let mut text = String::new();
    let about = [&field.title, &field.description].into_iter().flatten();
    let about: Vec<String> = about.map(|about| safe_line(about, DESCRIPTION)).collect();
    if !about.is_empty() {
        text.push_str(&broken("  ", &about.join(" – "), columns()));
    }
    for (place, choice) in field.choices().iter().enumerate() {
        let shown = choice.title.as_deref().unwrap_or(&choice.value);
        let lead = format!("    {}. ", place + 1);
        text.push_str(&broken(&lead, &safe_line(shown, NAME), columns()));
    }
    let required = if field.required { ", required" } else { "" };
    let default =
        field.default.as_ref().map(|default| format!(" [{}]", safe_line(&in_words(field, default), NAME)));
    text.push_str(&format!(
        "  {} ({}{required}){}: ",
        safe_line(&field.name, NAME),
        field.expected(),
        default.unwrap_or_default()
    ));
    text
}

/// As a person reads it.
fn in_words(field: &Field, value: &Value) -> String {
    let title = |value: &Value| {
        let value = value.as_str().unwrap_or_default();
        let choice = field.choices().iter().find(|choice| choice.value == value);
        choice.and_then(|choice| choice.title.clone()).unwrap_or_else(|| value.to_owned())
    };
    match (&field.kind, value) {
        (Kind::YesOrNo, Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
        (Kind::Several { .. }, Value::Array(values)) => {
            values.iter().map(title).collect::<Vec<_>>().join(", ")
        }
        (_, Value::String(_)) => title(value),
        (_, value) => value.to_string(),
    }
}
