use converse_canister::ToolName;
use serde_json::json;

use super::*;

fn tools() -> Vec<Declaration> {
    let city = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    [("weather", city.clone()), ("io__read_file", city), ("now", json!({ "type": "object" }))]
        .map(|(name, arguments)| Declaration {
            name: ToolName::new(name).unwrap(),
            description: String::new(),
            arguments: arguments.into(),
        })
        .into()
}

fn extracted(text: &str) -> Vec<String> {
    text_calls(text, &tools()).into_iter().map(|call| format!("{} {}", call.tool, call.form)).collect()
}

#[test]
fn the_forms_of_many_models_are_recognised() {
    for (text, calls) in [
        (
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
            "weather <tool_call>",
        ),
        ("I look.\n<tool_call>{\"name\":\"weather\"}", "weather <tool_call>"),
        (
            "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
            "weather <tool_call>",
        ),
        (
            "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
            "weather <function=…>",
        ),
        ("<function=weather>{\"city\": \"Oslo\"}</function>", "weather <function=…>"),
        ("<|tool_call|>[{\"name\": \"now\", \"arguments\": {}}]", "now <|tool_call|>"),
        (
            "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
            "weather [TOOL_CALLS]",
        ),
        ("[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\"}", "weather [TOOL_CALLS]"),
        (
            "<|python_tag|>{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}",
            "weather <|python_tag|>",
        ),
        ("<|python_tag|>weather.call(city=\"Oslo\")", "weather <|python_tag|>"),
        ("functools[{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]", "weather functools[…]"),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{}\n```<｜tool▁call▁end｜>",
            "weather <｜tool▁sep｜>",
        ),
        ("<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{}<｜tool▁call▁end｜>", "weather <｜tool▁call▁begin｜>"),
        ("<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">", "weather <｜DSML｜invoke>"),
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
            "weather <|tool_call_begin|>",
        ),
        ("<invoke name=\"weather\">\n<parameter name=\"city\">Oslo</parameter>", "weather <invoke>"),
        (
            "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{}<|call|>",
            "weather to=functions.…",
        ),
        (
            "<start_function_call>call:weather{city:<escape>Oslo<escape>}<end_function_call>",
            "weather <start_function_call>",
        ),
        ("```tool_code\nprint(default_api.weather(city='Oslo'))\n```", "weather print(default_api.…)"),
        ("```tool_code\nweather(city='Oslo')\n```\n", "weather ```tool_code"),
        ("Thought: hm\nAction: weather\nAction Input: {\"city\": \"Oslo\"}", "weather Action:"),
        ("Action: weather\nAction Input: {}", "weather Action:"),
        ("I call:\n```tool_call\n{\"name\": \"weather\"}\n```\nand wait.", "weather ```tool_call"),
        (
            "I call:\n```json\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```\n",
            "weather ```json",
        ),
        (
            "```\n{\"name\": \"weather\", \"arguments\": \"{\\\"city\\\": \\\"Oslo\\\"}\"}\n```",
            "weather ```json",
        ),
        ("{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}", "weather json"),
        ("Let me see.\n\n{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}", "weather json"),
        (
            "{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"parameters\":{\"city\":\"Oslo\"}}}",
            "weather json",
        ),
        ("{\"tool_calls\":[{\"name\":\"now\",\"arguments\":{}}]}", "now json"),
        ("[weather(city='Oslo')]", "weather python"),
        ("weather(city='Oslo')", "weather python"),
        ("<tool_call>{\"name\": \"read_file\", \"arguments\": {}}</tool_call>", "io__read_file <tool_call>"),
    ] {
        assert_eq!(extracted(text), [calls], "{text}");
    }
}

#[test]
fn several_are_all_recognised() {
    for (text, calls) in [
        (
            "<tool_call>{\"name\":\"weather\"}</tool_call>\n<tool_call>{\"name\":\"now\"}</tool_call>",
            ["weather <tool_call>", "now <tool_call>"],
        ),
        (
            "{\"name\":\"weather\",\"parameters\":{}}; {\"name\":\"now\",\"parameters\":{}}",
            ["weather json", "now json"],
        ),
        (
            "[{\"name\":\"weather\",\"arguments\":{}},{\"name\":\"now\",\"arguments\":{}}]",
            ["weather json", "now json"],
        ),
        ("[weather(city='Oslo'), now()]", ["weather python", "now python"]),
    ] {
        assert_eq!(extracted(text), calls, "{text}");
    }
}

#[test]
fn what_only_looks_like_it_is_left_alone() {
    for text in [
        "",
        "It is sunny.",
        // No tool of that name is offered.
        "<tool_call>{\"name\": \"forecast\", \"arguments\": {}}</tool_call>",
        "{\"name\": \"forecast\", \"arguments\": {}}",
        "[TOOL_CALLS] [{\"name\": \"forecast\"}]",
        // Answers in JSON that have a name.
        "{\"name\": \"weather\"}",
        "{\"name\": \"weather\", \"arguments\": [\"city\"]}",
        "{\"name\": \"weather\", \"description\": \"asks for it\", \"parameters\": {\"city\": \"Oslo\"}}",
        "{\"name\": \"weather\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}",
        "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\", \"days\": 3}}",
        "{\"name\": \"now\", \"input\": {\"zone\": 1}}",
        "{\"name\": \"weather\", \"arguments\": \"none\"}",
        "{\"tools\": [{\"name\": \"weather\", \"arguments\": {}}]}",
        "[{\"name\": \"weather\", \"arguments\": {}}, {\"name\": \"Anna\", \"age\": 3}]",
        "{\"name\": \"weather\", \"arguments\": {}} and so on",
        "{\"name\": \"weather\", \"arguments\": {}",
        // JSON that is not the end.
        "Send this:\n```json\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```\nto the server.",
        "```python\nprint(weather(city='Oslo'))\n```",
        "```rust\nweather(city);\n```",
        // Prose and quotations.
        "The marker `<tool_call>{\"name\": \"weather\"}</tool_call>` is Hermes's.",
        "The tool weather(city) tells it, and now() the time.",
        "weather (in Oslo) is fine",
        "<function=forecast>{}</function>",
        "[weather] (see below)",
        "Action: weatherproof the door\nAction Input: none",
    ] {
        assert_eq!(extracted(text), [""; 0], "{text}");
    }
    assert!(text_calls("<tool_call>{\"name\":\"weather\"}</tool_call>", &[]).is_empty());
}

/// A megabyte of each: this does not end if stretches are read again and again.
#[test]
fn long_texts_are_read_once() {
    for piece in [
        "<tool_call>{\"name\":",
        "{",
        "\n{",
        "[TOOL_CALLS][",
        "```json\n{",
        "```",
        "functools[",
        "`",
        "weather(",
    ] {
        let text = piece.repeat(1_000_000 / piece.len());
        assert!(extracted(&text).len() <= MAX_CALLS);
    }
}
