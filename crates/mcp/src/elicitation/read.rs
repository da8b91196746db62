//! Words of a person as the value of a field.

use serde_json::{Value, json};

use super::{Choice, Field, Kind};

impl Field {
    /// The value that somebody means, if it fits; else why not, in words for them. An empty line is the caller's to
    /// understand.
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
}

fn number(words: &str, whole: bool) -> Result<Value, String> {
    if let Ok(number) = words.parse::<i64>() {
        return Ok(json!(number));
    }
    let number = words.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or("it has to be a number")?;
    // Beyond what a server would read as the same number.
    if whole && number.abs() > 9e15 { Err("it is too large".to_owned()) } else { Ok(json!(number)) }
}

fn yes_or_no(words: &str) -> Result<bool, String> {
    match words.to_lowercase().as_str() {
        "y" | "yes" | "true" | "д" | "да" => Ok(true),
        "n" | "no" | "false" | "н" | "нет" => Ok(false),
        _ => Err("it has to be yes or no".to_owned()),
    }
}

/// By what is sent, by its title, or by its place from 1; in this order, as values may be numbers.
fn chosen<'a>(choices: &'a [Choice], words: &str) -> Result<&'a str, String> {
    let by_value = choices.iter().find(|choice| choice.value == words);
    let titled = |choice: &&Choice| {
        let title = choice.title.as_deref().unwrap_or(&choice.value);
        title.to_lowercase() == words.to_lowercase()
    };
    let by_place = || choices.get(words.parse::<usize>().ok()?.checked_sub(1)?);
    let choice = by_value.or_else(|| choices.iter().find(titled)).or_else(by_place);
    choice.map(|choice| choice.value.as_str()).ok_or_else(|| "it has to be one of the choices".to_owned())
}

fn several(choices: &[Choice], words: &str) -> Result<Value, String> {
    // A choice may have commas in it.
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
