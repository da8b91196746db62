//! `--schema`: stdout is the value that fits, or nothing.

use serde_json::{Value, json};

use crate::body::{Dialect, Says, calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::{KEY, Provider};

const CITY: &str = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}"#;
const NUMBERS: &str = r#"{"type":"array","items":{"type":"integer"}}"#;

fn setting(provider: &Provider, schema: &str) -> TestEnv {
    let env = provider.env(TestEnv::hasty());
    env.write("work/answer.json", schema);
    env
}

fn ask(env: &TestEnv, provider: &Provider, rest: &[&str]) -> Ran {
    env.run(&[&["ask", "-m", provider.model(), "--schema", "answer.json", "which?"], rest].concat())
}

#[test]
fn every_wire_is_told_and_the_value_is_all_there_is() {
    for (dialect, native) in [
        (Dialect::Anthropic, "/output_config/format"),
        (Dialect::Chat, "/response_format"),
        (Dialect::Responses, "/text/format"),
        (Dialect::Gemini, "/generationConfig/responseJsonSchema"),
        (Dialect::Ollama, "/format"),
    ] {
        let provider = Provider::new(dialect, [text("{\"city\":\n  \"Oslo\"}")]);
        let env = setting(&provider, CITY);
        let ran = ask(&env, &provider, &["--no-tools"]).exits(0);
        assert_eq!(ran.stdout, "{\"city\":\"Oslo\"}\n", "{dialect:?}");
        let request = &provider.requests()[0];
        let held = request.pointer(native).map(Value::to_string).unwrap_or_default();
        assert!(held.contains("\"city\""), "{dialect:?}: {request:#}");
        provider.is_content();
    }
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_and_never_shown() {
    for dialect in Dialect::ALL {
        let script =
            [text("Oslo, I think."), text("{\"city\":7}"), text("```json\n{\"city\":\"Oslo\"}\n```")];
        let provider = Provider::new(dialect, script);
        let env = setting(&provider, CITY);
        let ran = ask(&env, &provider, &[]).exits(0);
        assert_eq!(ran.stdout, "{\"city\":\"Oslo\"}\n", "{dialect:?}");
        let requests = provider.requests();
        assert!(requests[1].to_string().contains("not JSON"), "{dialect:?}");
        assert!(requests[2].to_string().contains("/city"), "{dialect:?}: {}", requests[2]);
        provider.is_content();
    }
}

#[test]
fn an_answer_whose_numbers_or_keys_would_be_lost_is_asked_for_again() {
    let script = [text(r#"[9007199254740993.5]"#), text(r#"{"value":[1],"value":[2]}"#), text("[12]")];
    let provider = Provider::chat(script);
    let env = setting(&provider, r#"{"type":"array","items":{"type":"number"}}"#);
    assert_eq!(ask(&env, &provider, &[]).exits(0).stdout, "[12]\n");
    let requests = provider.requests();
    assert!(requests[1].to_string().contains("cannot be held exactly"), "{}", requests[1]);
    assert!(requests[2].to_string().contains("given twice"), "{}", requests[2]);
    provider.is_content();
}

#[test]
fn what_never_fits_is_exit_6_and_stays_in_the_session() {
    let never = || [text("Oslo."), text("Bergen."), text("Oslo again.")];
    let provider = Provider::chat(never());
    let env = setting(&provider, CITY);
    let ran = ask(&env, &provider, &[]).exits(6);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("error[unfit-answer]") && ran.stderr.contains("not JSON"), "{}", ran.stderr);
    provider.is_content();

    let provider = Provider::chat(never());
    let env = setting(&provider, CITY);
    let object = ask(&env, &provider, &["-o", "json"]).exits(6).json();
    assert_eq!((&object["answer"], &object["value"]), (&json!("Oslo again."), &Value::Null));
    assert_eq!(object["error"]["code"], "unfit-answer");
    let session = object["session"].as_str().unwrap();
    let journal = env.path(&format!("home/.local/share/converse/sessions/{session}/journal.jsonl"));
    assert!(std::fs::read_to_string(journal).unwrap().contains("Oslo again."));
    provider.is_content();
}

#[test]
fn a_root_of_any_kind_is_asked_for_and_taken_out_again() {
    for dialect in Dialect::ALL {
        let provider = Provider::new(dialect, [text("{\"value\":[1,2]}")]);
        let env = setting(&provider, NUMBERS);
        let ran = ask(&env, &provider, &["--no-tools"]).exits(0);
        assert_eq!(ran.stdout, "[1,2]\n", "{dialect:?}");
        provider.is_content();
    }
}

#[test]
fn programs_get_the_value_beside_the_text() {
    let provider = Provider::chat([text("{\"value\": [3]}"), text("{\"value\":[3]}")]);
    let env = setting(&provider, NUMBERS);
    let object = ask(&env, &provider, &["-o", "json"]).exits(0).json();
    assert_eq!((&object["value"], &object["answer"]), (&json!([3]), &json!("{\"value\": [3]}")));
    let records = ask(&env, &provider, &["-o", "jsonl"]).exits(0).records();
    let [.., answer, done] = &records[..] else { panic!("{records:?}") };
    assert_eq!((&answer["type"], &answer["value"]), (&json!("answer"), &json!([3])));
    assert_eq!((&done["type"], &done["exit"]), (&json!("done"), &json!(0)));
    provider.is_content();
}

#[test]
fn tools_come_first_and_their_words_are_not_the_answer() {
    let call = calls([("essentials__calculator", json!({ "expression": "1+2" }))]).with_text("Let me see.");
    let provider = Provider::chat([call, text("{\"value\":[3]}")]);
    let env = setting(&provider, NUMBERS);
    assert_eq!(ask(&env, &provider, &[]).exits(0).stdout, "[3]\n");
    provider.is_content();
}

#[test]
fn a_server_that_takes_no_format_beside_tools_is_told_in_words() {
    let env = TestEnv::new().var("GROQ_API_KEY", KEY);
    env.write("work/answer.json", CITY);
    env.write(
        "home/.config/converse/config.toml",
        "[providers.able]\nlike = \"vllm\"\nquirks = { format_beside_tools = true }\n",
    );
    let ask = |model: &str, rest: &[&str]| {
        let ask = ["ask", "-m", model, "--schema", "answer.json", "which?", "--dry-run"];
        env.run(&[&ask, rest].concat()).exits(0).stdout
    };
    for (model, beside) in [
        ("groq/openai/gpt-oss-20b", false),
        ("vllm/m", false),
        ("ollama/m", false),
        ("llamacpp/m", false),
        ("lmstudio/m", false),
        ("able/m", true),
    ] {
        let (offering, alone) = (ask(model, &[]), ask(model, &["--no-tools"]));
        assert!(offering.contains("\"tools\""), "{model}: {offering}");
        assert_eq!(offering.contains("response_format"), beside, "{model}: {offering}");
        assert_eq!(offering.contains("JSON Schema"), !beside, "{model}: {offering}");
        assert!(alone.contains("response_format") && !alone.contains("JSON Schema"), "{model}: {alone}");
    }

    let provider = Provider::chat([text("{\"city\":\"Oslo\"}")]);
    let env = setting(&provider, CITY);
    env.write(
        "home/.config/converse/config.toml",
        "[providers.openai-chat]\nquirks = { format_beside_tools = false }\n",
    );
    assert_eq!(self::ask(&env, &provider, &[]).exits(0).stdout, "{\"city\":\"Oslo\"}\n");
    let request = &provider.requests()[0];
    assert_eq!(request.get("response_format"), None);
    assert!(request["messages"].to_string().contains("JSON Schema"), "{request:#}");
    provider.is_content();
}

#[test]
fn a_schema_that_is_none_ends_the_run_before_it_begins() {
    let provider = Provider::chat(Vec::<Says>::new());
    for (schema, words) in [
        ("{", "not JSON"),
        ("[]", "not a schema"),
        (r#"{"type":"strin"}"#, "/type"),
        (r#"{"$ref":"https://example.org/x"}"#, "example.org"),
    ] {
        let env = setting(&provider, schema);
        let ran = ask(&env, &provider, &[]).exits(2);
        assert!(ran.stderr.contains("error[schema-file]") && ran.stderr.contains(words), "{}", ran.stderr);
    }
    provider.is_content();
}
