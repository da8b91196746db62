//! The text of an answer: results in the order of the calls, or what the understudy is and which tools there are.
//!
//! Of a JSON object the main field is shown with the question (`15% of 2500 = 375`). Nothing is added to a result,
//! and a long one is cut with a note of how much is missing. The language is that of the prompt.

use serde_json::{Map, Value};

use crate::request::Made;
use crate::route::Toolbox;
use crate::tokens::quoted;
use crate::tool::{Parameter, Takes, Tool, spoken};
use crate::words::{front, is_cyrillic, words};

/// The language of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Russian,
}

impl Language {
    /// Russian if any word outside of quotes is.
    pub(crate) fn of(prompt: &str) -> Self {
        let text = front(prompt, 4096);
        let quoted = quoted(text);
        let russian = words(text).iter().any(|word| {
            let outside = quoted.iter().all(|(_, start, end)| word.end <= *start || *end <= word.start);
            outside && word.text.chars().all(is_cyrillic)
        });
        if russian { Self::Russian } else { Self::English }
    }

    fn pick<'a>(self, english: &'a str, russian: &'a str) -> &'a str {
        match self {
            Self::English => english,
            Self::Russian => russian,
        }
    }
}

/// Characters of one result.
const RESULT: usize = 4000;
/// Characters of a result that may be on one line with its label.
const SHORT: usize = 200;
const FIELDS: usize = 12;
/// Tools and clauses that are listed.
const LISTED: usize = 20;
/// Characters of a description.
const DESCRIPTION: usize = 120;

/// Keys of an object that contain its answer, the better ones first.
const TELLING: &str =
    "text result answer value output content message summary datetime description data response";

/// Returns the results of all calls as text.
pub(crate) fn answer(made: &[Made], toolbox: &Toolbox, language: Language) -> String {
    made.iter().map(|made| result_text(made, toolbox, language)).collect::<Vec<_>>().join("\n")
}

/// Returns whether a result reports that its call failed: `error (refused): …`.
pub(crate) fn is_failure(result: &str) -> bool {
    failure(result).is_some()
}

/// The outcome and the message of a failure.
fn failure(result: &str) -> Option<(&str, &str)> {
    let (outcome, message) = result.trim_start().strip_prefix("error (")?.split_once("):")?;
    let good = outcome.len() <= 40 && outcome.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == ' ');
    good.then(|| (outcome, message.trim()))
}

fn result_text(made: &Made, toolbox: &Toolbox, language: Language) -> String {
    let name = spoken(&made.tool);
    let Some(result) = &made.result else {
        return format!("`{name}`: {}", language.pick("no result", "нет результата"));
    };
    if let Some((outcome, message)) = failure(result) {
        let failed = language.pick("failed", "не выполнен");
        return format!(
            "`{name}` {failed} ({}): {}",
            outcome_text(outcome, language),
            cut(message, language)
        );
    }
    let text = telling_text(result);
    if text.trim().is_empty() {
        return format!("`{name}`: {}", language.pick("done, nothing was said", "выполнено, ответ пуст"));
    }
    let short = !text.contains('\n') && text.chars().count() <= SHORT;
    match label(made, toolbox.named(&made.tool), result) {
        Some((sum, true)) if short => format!("{sum} = {text}"),
        Some((label, false)) if short && !text.contains(&label) => format!("{label}: {text}"),
        Some((label, false)) if !short => format!("{label}:\n{}", cut(&text, language)),
        _ => cut(&text, language),
    }
}

fn outcome_text(outcome: &str, language: Language) -> &str {
    let russian = match outcome {
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
    language.pick(if outcome == "no_such_tool" { "no such tool" } else { outcome }, russian)
}

fn cut(text: &str, language: Language) -> String {
    let mut characters = text.trim_end().chars();
    let kept: String = characters.by_ref().take(RESULT).collect();
    match characters.count() {
        0 => kept,
        more => format!("{kept}… ({more} {})", language.pick("more characters", "символов ещё")),
    }
}

/// Returns the main field of a JSON object, else its fields, else the unchanged text.
pub(crate) fn telling_text(result: &str) -> String {
    let object = match serde_json::from_str::<Value>(result) {
        Ok(Value::Object(object)) => object,
        Ok(Value::String(text)) => return text,
        _ => return result.to_owned(),
    };
    let plain = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    if let Some(text) = TELLING.split(' ').find_map(|key| object.get(key).and_then(plain)) {
        return text;
    }
    let nested = object.values().any(|value| value.is_object() || value.is_array());
    let fields = object.iter().take(FIELDS);
    let fields =
        fields.map(|(key, value)| format!("{key}: {}", plain(value).unwrap_or_else(|| value.to_string())));
    fields.collect::<Vec<_>>().join(if nested || object.len() > 6 { "\n" } else { ", " })
}

/// Returns the question, and whether it is a sum: the result's own place or zone, else the place, file or address of the call.
fn label(made: &Made, tool: Option<&Tool>, result: &str) -> Option<(String, bool)> {
    let arguments: Map<String, Value> = serde_json::from_str(&made.arguments).unwrap_or_default();
    let argument = |wanted: &[Takes]| {
        let mut parameters = tool?.parameters.iter().filter(|parameter| wanted.contains(&parameter.takes));
        parameters.find_map(|parameter| arguments.get(&parameter.name)?.as_str())
    };
    if let Some(sum) = argument(&[Takes::Expression]) {
        return Some((sum.to_owned(), true));
    }
    let object: Map<String, Value> = serde_json::from_str(result).unwrap_or_default();
    let own = ["timezone", "location", "city", "place"].iter().find_map(|key| object.get(*key)?.as_str());
    let of_call = argument(&[Takes::Zone, Takes::Place, Takes::Path, Takes::Directory, Takes::Url]);
    own.or(of_call).map(|label| (label.to_owned(), false))
}

/// Returns the answer if no tool can be called: what the understudy is, the tools, and how to configure a model.
pub(crate) fn guide(toolbox: &Toolbox, language: Language) -> String {
    let mut text = language
        .pick(
            "I am the understudy: a router that looks for tools by keywords, not a language model. I found no tool for this.",
            "Я дублёр: маршрутизатор, который ищет инструменты по ключевым словам, а не языковая модель. Для этого запроса инструмента не нашлось.",
        )
        .to_owned();
    match toolbox.tools.first() {
        None => text.push_str(language.pick(
            "\n\nNo tools are offered in this conversation.",
            "\n\nВ этом разговоре инструменты не предложены.",
        )),
        Some(first) => {
            text.push_str(language.pick("\n\nTools:\n", "\n\nИнструменты:\n"));
            for tool in toolbox.tools.iter().take(LISTED) {
                let sentence: String = tool.first_sentence().chars().take(DESCRIPTION).collect();
                let dash = if sentence.is_empty() { "" } else { " — " };
                text.push_str(&format!("- {}{dash}{sentence}\n", tool.spoken()));
            }
            if let Some(more) = toolbox.tools.len().checked_sub(LISTED).filter(|more| *more > 0) {
                text.push_str(&match language {
                    Language::English => format!("… and {more} more\n"),
                    Language::Russian => format!("… и ещё {more}\n"),
                });
            }
            text.push_str(language.pick(
                "\nA tool can always be named outright, for example:\n",
                "\nИнструмент всегда можно назвать прямо, например:\n",
            ));
            text.push_str(&format!("  {}", example(first)));
        }
    }
    text.push_str(language.pick(
        "\n\nFor a real model set a key (`export ANTHROPIC_API_KEY=…` or `export OPENAI_API_KEY=…`) or choose one with `-m provider/model`.",
        "\n\nДля настоящей модели задайте ключ (`export ANTHROPIC_API_KEY=…` или `export OPENAI_API_KEY=…`) или выберите её через `-m provider/model`.",
    ));
    text
}

/// `@ensemble.invoker key=value`, made from the schema.
fn example(tool: &Tool) -> String {
    let mut parameters: Vec<&Parameter> = tool.parameters.iter().filter(|one| one.required).take(4).collect();
    if parameters.is_empty() {
        parameters = tool.parameters.iter().take(1).collect();
    }
    let pairs = parameters.into_iter().map(|parameter| format!(" {}={}", parameter.name, sample(parameter)));
    format!("@{}{}", tool.spoken(), pairs.collect::<String>())
}

fn sample(parameter: &Parameter) -> String {
    let minimum = parameter.schema.get("minimum").filter(|minimum| minimum.is_number());
    match parameter.takes {
        Takes::Choice => parameter.choices().next().map_or_else(|| "\"…\"".to_owned(), Value::to_string),
        Takes::Number | Takes::Whole => minimum.map_or_else(|| "1".to_owned(), Value::to_string),
        Takes::Switch => "true".to_owned(),
        Takes::Expression => "\"15% of 2500\"".to_owned(),
        Takes::Zone => "Asia/Tokyo".to_owned(),
        Takes::Place => "Tokyo".to_owned(),
        Takes::Path => "notes.txt".to_owned(),
        Takes::Directory => "docs".to_owned(),
        Takes::Url => "https://example.org".to_owned(),
        Takes::Nothing if parameter.kind() != Some("string") => "{}".to_owned(),
        _ => "\"…\"".to_owned(),
    }
}

/// Returns the remarks beside results: the clauses without a tool, and whether a step was left out after a failure.
pub(crate) fn unrouted(clauses: &[String], left_out: bool, language: Language) -> Option<String> {
    let mut lines = Vec::new();
    if !clauses.is_empty() {
        let head = language.pick(
            "I am a router, no language model, and found no tool for:",
            "Я маршрутизатор, а не языковая модель, и не нашёл инструмента для:",
        );
        let named = clauses.iter().take(LISTED);
        let named = named.map(|clause| format!("«{}»", clause.chars().take(DESCRIPTION).collect::<String>()));
        lines.push(format!("{head} {}", named.collect::<Vec<_>>().join(", ")));
    }
    if left_out {
        let english = "A further step was left out, because the one before it gave nothing to go on with.";
        lines
            .push(language.pick(english, "Следующий шаг пропущен: предыдущий не дал результата.").to_owned());
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
