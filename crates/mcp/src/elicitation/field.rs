//! One field of a form: its name, its type and the values that are valid.

use converse_config::ValueSchema;
use serde_json::{Value, json};

use super::{Format, MAX_CHOICES};
use crate::sanitize;

/// Bytes of a name, a title or a choice; bytes of a description.
const NAME: usize = 200;
const DESCRIPTION: usize = 2000;

/// A field of a form. All its text is foreign and must be cleaned before it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub required: bool,
    pub kind: Kind,
    /// The default, if it is valid.
    pub default: Option<Value>,
    /// The whole schema, for keywords that forms must not use but some do, such as `pattern`.
    pub(super) schema: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A string. Lengths are in characters.
    Text {
        min: Option<u64>,
        max: Option<u64>,
        format: Option<Format>,
    },
    Number {
        min: Option<f64>,
        max: Option<f64>,
        whole: bool,
    },
    YesOrNo,
    One(Vec<Choice>),
    Several {
        choices: Vec<Choice>,
        min: Option<u64>,
        max: Option<u64>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value that is sent.
    pub value: String,
    /// The label, if it differs from the value.
    pub title: Option<String>,
}

impl Field {
    pub(super) fn read(name: &str, schema: &Value, required: bool) -> Result<Self, String> {
        let kind =
            Kind::read(schema).map_err(|why| format!("field `{}` {why}", sanitize::clean(name, 100)))?;
        let text = |key: &str, most| schema[key].as_str().map(|text| sanitize::clean(text, most));
        if name.len() > NAME {
            return Err("the name of a field is too long".to_owned());
        }
        let field = Self {
            name: name.to_owned(),
            title: text("title", NAME),
            description: text("description", DESCRIPTION),
            required,
            kind,
            default: None,
            schema: schema.clone(),
        };
        let default = schema.get("default").filter(|default| field.check(default).is_ok()).cloned();
        Ok(Self { default, ..field })
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// Why the value is not valid, for the user.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.fits(value)?;
        let compiled = ValueSchema::compile(&self.schema).ok();
        let faults = compiled.map(|schema| schema.check(value)).unwrap_or_default();
        faults.first().map_or(Ok(()), |fault| Err(fault.message.clone()))
    }

    fn fits(&self, value: &Value) -> Result<(), String> {
        match &self.kind {
            Kind::Text { min, max, format } => {
                let text = value.as_str().ok_or("it must be a text")?;
                let length = text.chars().count() as u64;
                within(length, *min, *max, "characters")?;
                format.as_ref().map_or(Ok(()), |format| format.check(text))
            }
            Kind::Number { min, max, whole } => {
                let number = value.as_f64().ok_or("it must be a number")?;
                if *whole && number.fract() != 0.0 {
                    return Err("it must be a whole number".to_owned());
                }
                match (min, max) {
                    (Some(min), _) if number < *min => Err(format!("it must be at least {min}")),
                    (_, Some(max)) if number > *max => Err(format!("it must be at most {max}")),
                    _ => Ok(()),
                }
            }
            Kind::YesOrNo => value.as_bool().map(|_| ()).ok_or_else(|| "it must be yes or no".to_owned()),
            Kind::One(choices) => one_of(choices, value),
            Kind::Several { choices, min, max } => {
                let chosen = value.as_array().ok_or("it must be a list")?;
                within(chosen.len() as u64, *min, *max, "choices")?;
                chosen.iter().try_for_each(|value| one_of(choices, value))
            }
        }
    }

    /// Describes the valid values, for example `a whole number, at least 1`.
    pub fn expected(&self) -> String {
        match &self.kind {
            Kind::Text { min, max, format } => {
                let what = format.as_ref().map_or("text", |format| format.description());
                format!("{what}{}", bounds(min.as_ref(), max.as_ref(), " characters"))
            }
            Kind::Number { min, max, whole } => {
                let what = if *whole { "a whole number" } else { "a number" };
                format!("{what}{}", bounds(min.as_ref(), max.as_ref(), ""))
            }
            Kind::YesOrNo => "yes or no".to_owned(),
            Kind::One(_) => "one of these".to_owned(),
            Kind::Several { min, max, .. } => {
                format!("any of these, with commas between{}", bounds(min.as_ref(), max.as_ref(), ""))
            }
        }
    }

    /// Parses the user's input as a value of this field. The caller handles empty input.
    ///
    /// # Errors
    ///
    /// Why the input is not valid, for the user.
    pub fn value(&self, words: &str) -> Result<Value, String> {
        let words = words.trim();
        let value = match &self.kind {
            Kind::Text { .. } => json!(words),
            Kind::Number { whole, .. } => number(words, *whole)?,
            Kind::YesOrNo => json!(yes_or_no(words)?),
            Kind::One(choices) => json!(chosen(choices, words)?),
            Kind::Several { choices, .. } => several(choices, words)?,
        };
        self.check(&value)?;
        Ok(value)
    }

    pub fn choices(&self) -> &[Choice] {
        match &self.kind {
            Kind::One(choices) | Kind::Several { choices, .. } => choices,
            _ => &[],
        }
    }
}

impl Kind {
    fn read(schema: &Value) -> Result<Self, String> {
        let count = |key: &str| schema[key].as_u64();
        match schema["type"].as_str().unwrap_or_default() {
            "string" => match choices(schema, "oneOf")? {
                Some(choices) => Ok(Self::One(choices)),
                None => {
                    let format = schema["format"].as_str().and_then(Format::read);
                    Ok(Self::Text { min: count("minLength"), max: count("maxLength"), format })
                }
            },
            kind @ ("number" | "integer") => Ok(Self::Number {
                min: schema["minimum"].as_f64(),
                max: schema["maximum"].as_f64(),
                whole: kind == "integer",
            }),
            "boolean" => Ok(Self::YesOrNo),
            "array" => {
                let choices = choices(&schema["items"], "anyOf")?.ok_or("is a list of anything")?;
                Ok(Self::Several { choices, min: count("minItems"), max: count("maxItems") })
            }
            _ => Err("is neither a text, a number, yes or no, nor a choice".to_owned()),
        }
    }
}

/// Reads the choices: plain values, values with `enumNames`, or `const` and `title` pairs under `titled`.
fn choices(schema: &Value, titled: &str) -> Result<Option<Vec<Choice>>, String> {
    let choice = |value: &Value, title: &Value| {
        let value = value.as_str().filter(|value| value.len() <= NAME)?;
        let title = title.as_str().map(|title| sanitize::clean(title, NAME));
        Some(Choice { value: value.to_owned(), title })
    };
    let choices: Option<Vec<Choice>> = if let Some(values) = schema["enum"].as_array() {
        let titles = &schema["enumNames"];
        values
            .iter()
            .take(MAX_CHOICES + 1)
            .enumerate()
            .map(|(at, value)| choice(value, &titles[at]))
            .collect()
    } else if let Some(values) = schema[titled].as_array() {
        values.iter().take(MAX_CHOICES + 1).map(|one| choice(&one["const"], &one["title"])).collect()
    } else {
        return Ok(None);
    };
    match choices {
        Some(choices) if choices.is_empty() => Err("has nothing to choose from".to_owned()),
        Some(choices) if choices.len() > MAX_CHOICES => Err(format!("has more than {MAX_CHOICES} choices")),
        Some(choices) => Ok(Some(choices)),
        None => Err("has choices that are not short strings".to_owned()),
    }
}

fn one_of(choices: &[Choice], value: &Value) -> Result<(), String> {
    let known = value.as_str().is_some_and(|value| choices.iter().any(|choice| choice.value == value));
    if known { Ok(()) } else { Err("it must be one of the choices".to_owned()) }
}

fn within(count: u64, min: Option<u64>, max: Option<u64>, what: &str) -> Result<(), String> {
    match (min, max) {
        (Some(min), _) if count < min => Err(format!("it must have at least {min} {what}")),
        (_, Some(max)) if count > max => Err(format!("it must have at most {max} {what}")),
        _ => Ok(()),
    }
}

fn bounds<T: std::fmt::Display>(min: Option<&T>, max: Option<&T>, unit: &str) -> String {
    match (min, max) {
        (None, None) => String::new(),
        (Some(min), None) => format!(", at least {min}{unit}"),
        (None, Some(max)) => format!(", at most {max}{unit}"),
        (Some(min), Some(max)) => format!(", {min} to {max}{unit}"),
    }
}

fn number(words: &str, whole: bool) -> Result<Value, String> {
    if let Ok(number) = words.parse::<i64>() {
        return Ok(json!(number));
    }
    let number = words.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or("it must be a number")?;
    // Larger numbers lose precision in JSON.
    if whole && number.abs() > 9e15 { Err("it is too large".to_owned()) } else { Ok(json!(number)) }
}

fn yes_or_no(words: &str) -> Result<bool, String> {
    match words.to_lowercase().as_str() {
        "y" | "yes" | "true" | "д" | "да" => Ok(true),
        "n" | "no" | "false" | "н" | "нет" => Ok(false),
        _ => Err("it must be yes or no".to_owned()),
    }
}

/// Finds a choice by its value, its title or its position from 1, in this order, because values may be numbers.
fn chosen<'a>(choices: &'a [Choice], words: &str) -> Result<&'a str, String> {
    let by_value = choices.iter().find(|choice| choice.value == words);
    let titled = |choice: &&Choice| {
        let title = choice.title.as_deref().unwrap_or(&choice.value);
        title.to_lowercase() == words.to_lowercase()
    };
    let by_place = || choices.get(words.parse::<usize>().ok()?.checked_sub(1)?);
    let choice = by_value.or_else(|| choices.iter().find(titled)).or_else(by_place);
    choice.map(|choice| choice.value.as_str()).ok_or_else(|| "it must be one of the choices".to_owned())
}

fn several(choices: &[Choice], words: &str) -> Result<Value, String> {
    // A choice may contain commas.
    if let Ok(one) = chosen(choices, words) {
        return Ok(json!([one]));
    }
    let mut values: Vec<&str> = Vec::new();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let value = chosen(choices, word)?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Ok(json!(values))
}
