use super::*;
use crate::{AcceptedMedia, AuthScheme, Price, Quirks, Thinking};

fn endpoint(dialect: Dialect, base_url: &str) -> Endpoint {
    let provider = converse_canister::ProviderName::new("p").unwrap();
    Endpoint::new(provider, dialect, base_url.to_owned(), AuthScheme::Bearer, Quirks::OPENAI)
}

fn uri(dialect: Dialect, base_url: &str, next: Option<&str>) -> String {
    list_request(&endpoint(dialect, base_url), next).unwrap().uri().to_string()
}

fn read(dialect: Dialect, body: &str) -> Page {
    read_list(&endpoint(dialect, "https://h"), body.as_bytes()).unwrap()
}

#[test]
fn each_wire_has_its_own_place() {
    for (dialect, base, next, expected) in [
        (Dialect::AnthropicMessages, "https://h/v1/", None, "https://h/v1/models?limit=1000"),
        (
            Dialect::AnthropicMessages,
            "https://h",
            Some("a&b"),
            "https://h/v1/models?limit=1000&after_id=a%26b",
        ),
        (Dialect::Gemini, "https://h", None, "https://h/v1beta/models?pageSize=1000"),
        (
            Dialect::Gemini,
            "https://h",
            Some("t=="),
            "https://h/v1beta/models?pageSize=1000&pageToken=t%3D%3D",
        ),
        (Dialect::Ollama, "http://h:1", None, "http://h:1/api/tags"),
        (Dialect::OpenAiChat, "https://h/v1", None, "https://h/v1/models"),
        (Dialect::OpenAiResponses, "https://h/v1", None, "https://h/v1/models"),
        (
            Dialect::OpenAiChat,
            "https://h/v1",
            Some("https://elsewhere/models?offset=5"),
            "https://h/v1/models?offset=5",
        ),
    ] {
        assert_eq!(uri(dialect, base, next), expected);
    }
    let anthropic = list_request(&endpoint(Dialect::AnthropicMessages, "https://h"), None).unwrap();
    assert_eq!(anthropic.headers()["anthropic-version"], "2023-06-01");
    let azure =
        Endpoint { version: Some("2024-10-21".into()), ..endpoint(Dialect::OpenAiChat, "https://h/openai") };
    assert_eq!(
        list_request(&azure, None).unwrap().uri().to_string(),
        "https://h/openai/models?api-version=2024-10-21"
    );
}

#[test]
fn anthropic_says_what_a_model_can() {
    let page = read(
        Dialect::AnthropicMessages,
        r#"{"data":[{"type":"model","id":"claude-x","display_name":"X","created_at":"2026-01-01T00:00:00Z",
        "lifecycle":"deprecated","max_input_tokens":1000000,"max_tokens":64000,"retires_at":"2027-02-03T00:00:00Z",
        "capabilities":{"image_input":{"supported":true},"pdf_input":{"supported":false},
        "structured_outputs":{"supported":true},
        "thinking":{"supported":true,"types":{"adaptive":{"supported":true},"enabled":{"supported":true}}}}},
        {"id":"old"},{"no":"id"}],"has_more":true,"first_id":"claude-x","last_id":"old"}"#,
    );
    assert_eq!(page.next.as_deref(), Some("old"));
    assert_eq!(
        page.models,
        [
            ListedModel {
                name: "claude-x".into(),
                facts: Facts {
                    window: Some(1_000_000),
                    max_output: Some(64_000),
                    takes: AcceptedMedia { images: Some(true), documents: Some(false), audio: None },
                    structured: Some(true),
                    thinking: Some(Thinking::Effort),
                    ..Facts::default()
                },
                ends: Some("2027-02-03".into()),
            },
            ListedModel { name: "old".into(), facts: Facts::default(), ends: None },
        ]
    );
    assert_eq!(read(Dialect::AnthropicMessages, r#"{"data":[],"has_more":false,"last_id":"x"}"#).next, None);
}

#[test]
fn servers_like_openai_add_what_they_know() {
    let page = read(
        Dialect::OpenAiChat,
        r#"{"object":"list","data":[
        {"id":"gpt-x","object":"model","created":1,"owned_by":"openai","shutdown_date":"2027-01-14"},
        {"id":"a/b","context_length":200000,"architecture":{"input_modalities":["text","image","file"]},
         "pricing":{"prompt":"0.0000001","completion":"0.0000005","input_cache_read":"0.00000001","request":"0"},
         "top_provider":{"max_completion_tokens":4096},"supported_parameters":["tools","temperature"]},
        {"id":"router","pricing":{"prompt":"-1","completion":"-1"},"context_length":null},
        {"id":"free:free","pricing":{"prompt":"0","completion":"0"}},
        {"id":"groq","context_window":131072,"max_completion_tokens":65536},
        {"id":"mistral","max_context_length":32768,"capabilities":{"function_calling":true,"vision":false},
         "deprecation":"2026-12-01T12:00:00Z"},
        {"id":"vllm","max_model_len":8192,"pricing":{"input":0.2}}],
        "links":{"next":"/api/v1/models?offset=500&limit=500"}}"#,
    );
    assert_eq!(page.next.as_deref(), Some("/api/v1/models?offset=500&limit=500"));
    let facts = |name: &str| page.models.iter().find(|model| model.name == name).unwrap();
    assert_eq!(facts("gpt-x").ends.as_deref(), Some("2027-01-14"));
    assert_eq!(
        facts("a/b").facts,
        Facts {
            window: Some(200_000),
            max_output: Some(4096),
            takes: AcceptedMedia { images: Some(true), documents: Some(true), audio: Some(false) },
            tools: Some(true),
            sampling: Some(true),
            structured: Some(false),
            price: Some(Price {
                input: 100_000,
                output: 500_000,
                cache_read: Some(10_000),
                ..Price::default()
            }),
            ..Facts::default()
        }
    );
    assert_eq!(facts("router").facts, Facts::default(), "what depends is not known");
    assert_eq!(facts("free:free").facts.price, Some(Price::default()), "nothing is a price");
    assert_eq!((facts("groq").facts.window, facts("groq").facts.max_output), (Some(131_072), Some(65_536)));
    let mistral = &facts("mistral");
    assert_eq!((mistral.facts.tools, mistral.facts.takes.images), (Some(true), Some(false)));
    assert_eq!((mistral.facts.window, mistral.ends.as_deref()), (Some(32_768), Some("2026-12-01")));
    assert_eq!((facts("vllm").facts.window, facts("vllm").facts.price), (Some(8192), None));
    assert_eq!(read(Dialect::OpenAiChat, r#"[{"id":"together","context_length":1}]"#).models.len(), 1);
}

#[test]
fn gemini_lists_what_generates() {
    let page = read(
        Dialect::Gemini,
        r#"{"models":[{"name":"models/gemini-x","inputTokenLimit":1048576,"outputTokenLimit":65536,
        "supportedGenerationMethods":["generateContent","countTokens"]},
        {"name":"models/embed","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"t"}"#,
    );
    let facts = Facts { window: Some(1_048_576), max_output: Some(65_536), ..Facts::default() };
    assert_eq!(page.models, [ListedModel { name: "gemini-x".into(), facts, ends: None }]);
    assert_eq!(page.next.as_deref(), Some("t"));
    assert_eq!(read(Dialect::Gemini, r#"{"models":[],"nextPageToken":""}"#).next, None);
}

#[test]
fn ollama_lists_what_is_installed() {
    let page =
        read(Dialect::Ollama, r#"{"models":[{"name":"qwen3:8b","model":"qwen3:8b","size":1,"details":{}}]}"#);
    assert_eq!(page.models[0].name, "qwen3:8b");
}

#[test]
fn names_that_cannot_be_shown_are_left_out_and_other_pages_are_errors() {
    let page =
        read(Dialect::OpenAiChat, r#"{"data":[{"id":"a\u001b[31m"},{"id":""},{"id":"a b"},{"id":"ok"}]}"#);
    assert_eq!(page.models.len(), 1);
    for body in ["", "<html>", "{}", r#"{"error":{"message":"no"}}"#, r#"{"data":{}}"#] {
        for dialect in Dialect::ALL {
            assert!(
                read_list(&endpoint(dialect, "https://h"), body.as_bytes()).is_err(),
                "{dialect:?} {body}"
            );
        }
    }
}
