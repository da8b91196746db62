//! What is said when nothing can be called: that this is no language model, which tools there are, how to name one
//! outright, how to get a real model. In the prompt's language.

use serde_json::Value;

use crate::tokens;
use crate::tool::{Parameter, Tool, Wants};
use crate::toolbox::Toolbox;
use crate::words::{is_cyrillic, words};

/// The language of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Russian,
}

impl Language {
    /// Russian if any word outside of quotes is.
    pub(crate) fn of(prompt: &str) -> Self {
        let text = crate::clauses::front(prompt, 4096);
        let quoted = tokens::quoted(text);
        let russian = words(text).iter().any(|word| {
            let outside = quoted.iter().all(|(_, start, end)| word.end <= *start || *end <= word.start);
            outside && word.text.chars().all(is_cyrillic)
        });
        if russian { Self::Russian } else { Self::English }
    }

    pub(crate) fn pick<'a>(self, english: &'a str, russian: &'a str) -> &'a str {
        match self {
            Self::English => english,
            Self::Russian => russian,
        }
    }
}

/// Tools that are listed.
const LISTED: usize = 20;
/// Characters of a description.
const DESCRIPTION: usize = 120;

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
            list(&mut text, &toolbox.tools, language);
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

fn list(text: &mut String, tools: &[Tool], language: Language) {
    for tool in tools.iter().take(LISTED) {
        let sentence: String = tool.first_sentence().chars().take(DESCRIPTION).collect();
        let dash = if sentence.is_empty() { "" } else { " — " };
        text.push_str(&format!("- {}{dash}{sentence}\n", tool.spoken()));
    }
    if let Some(more) = tools.len().checked_sub(LISTED).filter(|more| *more > 0) {
        text.push_str(&match language {
            Language::English => format!("… and {more} more\n"),
            Language::Russian => format!("… и ещё {more}\n"),
        });
    }
}

/// `@ensemble.invoker key=value`, made from the schema.
fn example(tool: &Tool) -> String {
    let mut parameters: Vec<&Parameter> =
        tool.parameters.iter().filter(|parameter| parameter.required).take(4).collect();
    if parameters.is_empty() {
        parameters = tool.parameters.iter().take(1).collect();
    }
    let pairs = parameters.into_iter().map(|parameter| format!(" {}={}", parameter.name, sample(parameter)));
    format!("@{}{}", tool.spoken(), pairs.collect::<String>())
}

fn sample(parameter: &Parameter) -> String {
    let minimum = parameter.schema.get("minimum").filter(|minimum| minimum.is_number());
    match parameter.wants {
        Wants::Choice => parameter.choices().next().map_or_else(|| "\"…\"".to_owned(), Value::to_string),
        Wants::Number | Wants::Whole => minimum.map_or_else(|| "1".to_owned(), Value::to_string),
        Wants::Truth => "true".to_owned(),
        Wants::Expression => "\"15% of 2500\"".to_owned(),
        Wants::Zone => "Asia/Tokyo".to_owned(),
        Wants::Place => "Tokyo".to_owned(),
        Wants::Path => "notes.txt".to_owned(),
        Wants::Directory => "docs".to_owned(),
        Wants::Url => "https://example.org".to_owned(),
        Wants::Email => "someone@example.org".to_owned(),
        Wants::Date => "2026-11-20".to_owned(),
        Wants::Clock => "15:30".to_owned(),
        Wants::Nothing => "{}".to_owned(),
        _ => "\"…\"".to_owned(),
    }
}

/// Said beside results: which clauses nothing was found for, and whether a step was left out after a failure.
pub(crate) fn unrouted(clauses: &[String], left_out: bool, language: Language) -> Option<String> {
    let mut lines = Vec::new();
    if !clauses.is_empty() {
        let head = language.pick(
            "I am a router, no language model, and found no tool for:",
            "Я маршрутизатор, а не языковая модель, и не нашёл инструмента для:",
        );
        let named = clauses
            .iter()
            .take(LISTED)
            .map(|clause| format!("«{}»", clause.chars().take(DESCRIPTION).collect::<String>()));
        lines.push(format!("{head} {}", named.collect::<Vec<_>>().join(", ")));
    }
    if left_out {
        let english = "A further step was left out, because the one before it gave nothing to go on with.";
        lines
            .push(language.pick(english, "Следующий шаг пропущен: предыдущий не дал результата.").to_owned());
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_language_is_that_of_the_words_outside_quotes() {
        for (text, language) in [
            ("What is it?", Language::English),
            ("Прочитай Cargo.toml", Language::Russian),
            ("Translate «привет» to English", Language::English),
            ("@a.b x=1", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }

    #[test]
    fn the_example_is_made_from_the_schema() {
        let schema = json!({"required": ["n", "kind", "path"], "properties": {
            "n": {"type": "integer", "minimum": 3}, "kind": {"enum": ["a b", "c"]}, "path": {"type": "string"}, "other": {"type": "string"}}});
        let tool = Tool::read(&json!({"function": {"name": "x__y", "parameters": schema}})).unwrap();
        assert_eq!(example(&tool), "@x.y n=3 kind=\"a b\" path=notes.txt");
    }

    #[test]
    fn many_tools_are_not_all_listed() {
        let tools: Vec<Tool> = (0..30)
            .filter_map(|n| {
                Tool::read(&json!({"function": {"name": format!("e__t{n}"), "description": "Does. More."}}))
            })
            .collect();
        let text = guide(&Toolbox::new(tools), Language::Russian);
        assert!(
            text.contains("e.t19 — Does\n") && !text.contains("e.t20") && text.contains("ещё 10"),
            "{text}"
        );
        assert!(text.contains("ANTHROPIC_API_KEY") && text.contains("-m provider/model"));
    }
}
