//! Results into words: one line or piece each, in the order of the calls.
//!
//! Of a JSON object the telling field is shown, labelled by what was asked (`15% of 2500 = 375`). A failure is said as
//! one. Nothing is added to what a tool said, and a long text is cut with a note of how much is missing.

use serde_json::{Map, Value};

use crate::guide::Language;
use crate::request::Made;
use crate::tool::{Tool, Wants, spoken};
use crate::toolbox::Toolbox;

/// Characters of one result.
const RESULT: usize = 4000;
/// Characters of a result that may stand on a line behind its label.
const SHORT: usize = 200;
const FIELDS: usize = 12;

/// Keys of an object that tell what came out, the better ones first.
const TELLING: [&str; 12] = [
    "text",
    "result",
    "answer",
    "value",
    "output",
    "content",
    "message",
    "summary",
    "datetime",
    "description",
    "data",
    "response",
];

pub(crate) fn worded(made: &[Made], toolbox: &Toolbox, language: Language) -> String {
    made.iter().map(|made| line(made, toolbox, language)).collect::<Vec<_>>().join("\n")
}

/// Whether a result says that its call did not succeed: `error (refused): …`.
pub(crate) fn is_failure(result: &str) -> bool {
    failure(result).is_some()
}

/// The label and the words of a failure.
fn failure(result: &str) -> Option<(&str, &str)> {
    let rest = result.trim_start().strip_prefix("error (")?;
    let (label, words) = rest.split_once("):")?;
    let good = label.len() <= 40 && label.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == ' ');
    good.then(|| (label, words.trim()))
}

fn line(made: &Made, toolbox: &Toolbox, language: Language) -> String {
    let name = spoken(&made.tool);
    let Some(result) = &made.result else {
        return format!("`{name}`: {}", language.pick("no result", "нет результата"));
    };
    if let Some((label, words)) = failure(result) {
        let failed = language.pick("failed", "не выполнен");
        return format!("`{name}` {failed} ({}): {}", said(label, language), cut(words, language));
    }
    let text = telling(result);
    if text.trim().is_empty() {
        return format!("`{name}`: {}", language.pick("done, nothing was said", "выполнено, ответ пуст"));
    }
    let tool = toolbox.named(&made.tool).and_then(|at| toolbox.tools.get(at));
    let short = !text.contains('\n') && text.chars().count() <= SHORT;
    match label(made, tool, result) {
        Some(Label::Sum(sum)) if short => format!("{sum} = {text}"),
        Some(Label::Sum(label) | Label::Thing(label)) if short && !text.contains(&label) => {
            format!("{label}: {text}")
        }
        Some(Label::Thing(label)) if !short => format!("{label}:\n{}", cut(&text, language)),
        _ => cut(&text, language),
    }
}

/// An outcome's label in the language of the answer.
fn said(label: &str, language: Language) -> &str {
    let russian = match label {
        "no_such_tool" => "нет такого инструмента",
        "invalid" => "неверные аргументы",
        "refused" => "отказано",
        "timeout" => "время вышло",
        "unreachable" => "недоступен",
        "failed" => "ошибка",
        "cancelled" => "отменён",
        "interrupted" => "прерван",
        other => other,
    };
    let english = if label == "no_such_tool" { "no such tool" } else { label };
    language.pick(english, russian)
}

fn cut(text: &str, language: Language) -> String {
    let mut characters = text.trim_end().chars();
    let kept: String = characters.by_ref().take(RESULT).collect();
    match characters.count() {
        0 => kept,
        more => format!("{kept}… ({more} {})", language.pick("more characters", "символов ещё")),
    }
}

/// What a result says: the telling field of a JSON object, its fields, or the text as it is.
pub(crate) fn telling(result: &str) -> String {
    match serde_json::from_str::<Value>(result) {
        Ok(Value::Object(object)) => of_object(&object),
        Ok(Value::String(text)) => text,
        _ => result.to_owned(),
    }
}

fn of_object(object: &Map<String, Value>) -> String {
    let said = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    };
    if let Some(text) = TELLING.iter().find_map(|key| object.get(*key).and_then(said)) {
        return text;
    }
    let field = |(key, value): (&String, &Value)| {
        format!("{key}: {}", said(value).unwrap_or_else(|| value.to_string()))
    };
    let separator =
        if object.values().all(|value| !value.is_object() && !value.is_array()) && object.len() <= 6 {
            ", "
        } else {
            "\n"
        };
    object.iter().take(FIELDS).map(field).collect::<Vec<_>>().join(separator)
}

enum Label {
    Sum(String),
    Thing(String),
}

/// What was asked: the sum, or the place, zone, file or address; the result's own word for it goes first.
fn label(made: &Made, tool: Option<&Tool>, result: &str) -> Option<Label> {
    let arguments: Map<String, Value> = serde_json::from_str(&made.arguments).unwrap_or_default();
    let argument = |wanted: &[Wants]| {
        let mut parameters = tool?.parameters.iter().filter(|parameter| wanted.contains(&parameter.wants));
        parameters.find_map(|parameter| arguments.get(&parameter.name)?.as_str())
    };
    if let Some(sum) = argument(&[Wants::Expression]) {
        return Some(Label::Sum(sum.to_owned()));
    }
    let object: Map<String, Value> = serde_json::from_str(result).unwrap_or_default();
    let own = ["timezone", "location", "city", "place"].iter().find_map(|key| object.get(*key)?.as_str());
    let asked = argument(&[Wants::Zone, Wants::Place, Wants::Path, Wants::Directory, Wants::Url]);
    own.or(asked).map(|label| Label::Thing(label.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn toolbox() -> Toolbox {
        let tool = |name: &str, parameter: &str| {
            let schema = json!({"properties": {parameter: {"type": "string"}}});
            Tool::read(&json!({"function": {"name": name, "parameters": schema}}))
        };
        Toolbox::new(
            [tool("x__sum", "expression"), tool("x__when", "timezone"), tool("x__open", "path")]
                .into_iter()
                .flatten()
                .collect(),
        )
    }

    fn said_of(tool: &str, arguments: Value, result: &str, language: Language) -> String {
        let made = Made {
            id: String::new(),
            tool: tool.to_owned(),
            arguments: arguments.to_string(),
            result: Some(result.to_owned()),
        };
        worded(&[made], &toolbox(), language)
    }

    #[test]
    fn results_are_worded() {
        let sum = json!({"expression": "15% of 2500"});
        let path = json!({"path": "a.txt"});
        let when = r#"{"timezone":"Asia/Tokyo","datetime":"2026-11-21T08:55:12+09:00","text":"Saturday, 21 November 2026, 08:55:12 (UTC+09:00)","unix":1}"#;
        for (tool, arguments, result, text) in [
            (
                "x__sum",
                sum.clone(),
                r#"{"expression":"15% of 2500","result":"375","exact":true}"#,
                "15% of 2500 = 375",
            ),
            ("x__sum", sum.clone(), "375", "15% of 2500 = 375"),
            ("x__when", json!({}), when, "Asia/Tokyo: Saturday, 21 November 2026, 08:55:12 (UTC+09:00)"),
            ("x__when", json!({"timezone": "UTC"}), "noon", "UTC: noon"),
            ("x__open", path.clone(), "one line", "a.txt: one line"),
            ("x__open", path.clone(), "two\nlines\n", "a.txt:\ntwo\nlines"),
            ("x__open", path.clone(), "wrote 5 bytes to a.txt", "wrote 5 bytes to a.txt"),
            ("x__open", path.clone(), "", "`x.open`: done, nothing was said"),
            ("gone__tool", json!({}), r#"{"a":1,"b":"two"}"#, "a: 1, b: two"),
            ("gone__tool", json!({}), r#"[1,2]"#, "[1,2]"),
            (
                "x__open",
                path.clone(),
                "error (refused): not allowed",
                "`x.open` failed (refused): not allowed",
            ),
            ("x__open", path, "error (of mine) is text", "a.txt: error (of mine) is text"),
        ] {
            assert_eq!(said_of(tool, arguments, result, Language::English), text);
        }
        let refused = said_of("x__sum", sum, "error (no_such_tool): x", Language::Russian);
        assert_eq!(refused, "`x.sum` не выполнен (нет такого инструмента): x");
    }

    #[test]
    fn long_results_are_cut_and_missing_ones_said() {
        let text = said_of("gone__tool", json!({}), &"ж".repeat(5000), Language::English);
        assert!(text.ends_with("… (1000 more characters)") && text.chars().count() < 4100);
        let open = Made { id: String::new(), tool: "a__b".into(), arguments: "{}".into(), result: None };
        assert_eq!(worded(&[open], &toolbox(), Language::English), "`a.b`: no result");
    }
}
