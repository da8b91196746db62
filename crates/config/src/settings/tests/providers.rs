use serde_json::json;

use super::*;

const ODD: &str = "\
[providers.odd]
base_url = \"https://odd.example/v1\"
like = \"groq\"
auth = \"Api-Key\"
version = \"2024-10-21\"
tools = \"prompted\"
store = true

[providers.odd.headers]
X-Title = \"converse\"
X-Portkey-Api-Key = \"env:PORTKEY\"
X-Team = \"env:TEAM\"

[providers.odd.quirks]
max_tokens_key = \"max_tokens\"
replay_reasoning = \"none\"
structured = \"json_object\"
format_beside_tools = false
user_after_tool = false
retired_tools = true

[[providers.odd.patch]]
models = \"qwen*\"
remove = [\"/stream_options\"]
rename = { \"/max_tokens\" = \"max_new_tokens\" }
set = { \"/options/num_ctx\" = 8192, \"/a~1b\" = [true] }

[models.\"odd/qwen3:8b\"]
window = 40960
images = false
thinking = \"none\"
price = { input = 0.1, output = 0.25, cache_read = 0 }
";

#[test]
fn an_odd_server_can_be_said_whole() {
    let (plan, findings) = read(Scope::User, ODD);
    assert_eq!(findings, [""; 0]);
    let odd = &plan.providers[&ProviderName::new("odd").unwrap()];
    assert_eq!(odd.like.as_ref().map(|like| like.value.as_str()), Some("groq"));
    assert_eq!(odd.auth, Some(AuthPlan::Header("api-key".into())));
    assert_eq!(
        (odd.version.as_deref(), odd.tools, odd.store),
        (Some("2024-10-21"), Some(ToolsPlan::Prompted), Some(true))
    );
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(odd.headers, [pair("X-Title", "converse")]);
    assert_eq!(odd.secret_headers, [pair("X-Portkey-Api-Key", "PORTKEY"), pair("X-Team", "TEAM")]);
    assert_eq!(
        odd.quirks,
        QuirksPlan {
            max_tokens_key: Some("max_tokens"),
            replay_reasoning: Some(ReasoningReplay::Never),
            structured: Some(Structured::JsonObject),
            format_beside_tools: Some(false),
            user_after_tool: Some(false),
            retired_tools: Some(true),
            ..QuirksPlan::default()
        }
    );
    assert_eq!(
        odd.patches,
        [PatchPlan {
            models: Some("qwen*".into()),
            changes: vec![
                ChangePlan::Remove { at: "/stream_options".into() },
                ChangePlan::Rename { at: "/max_tokens".into(), to: "max_new_tokens".into() },
                ChangePlan::Set { at: "/options/num_ctx".into(), value: json!(8192) },
                ChangePlan::Set { at: "/a~1b".into(), value: json!([true]) },
            ],
        }]
    );
    assert_eq!(
        plan.models["odd/qwen3:8b"],
        ModelPlan {
            window: Some(40960),
            images: Some(false),
            thinking: Some(ThinkingPlan::None),
            price: Some(PricePlan {
                input: 100_000,
                output: 250_000,
                cache_read: Some(0),
                cache_write: None
            }),
            ..ModelPlan::default()
        }
    );
}

#[test]
fn a_project_says_nothing_of_servers_and_models() {
    let (plan, findings) = read(Scope::Project, ODD);
    assert!(findings.iter().all(|finding| finding.starts_with("project-scope ")), "{findings:?}");
    assert_eq!(findings.len(), 2);
    assert!(plan.providers.is_empty() && plan.models.is_empty());
}

#[test]
fn mistakes_in_servers_are_pointed_at() {
    for (text, expected) in [
        ("[providers.x]\nauth = \"baerer\"\n", "bad-value 2:8"),
        ("[providers.x]\nauth = \"host\"\n", "bad-value 2:8"),
        ("[providers.x]\nversion = \"1&x\"\n", "bad-value 2:11"),
        ("[providers.x]\ntools = \"yes\"\n", "bad-value 2:9"),
        ("[providers.x]\nlike = 3\n", "wrong-type 2:8"),
        ("[providers.x.headers]\nAuthorization = \"Bearer x\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nX-Portkey-Api-Key = \"x\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\ncf-aig-authorization = \"x\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nX-Amz-Security-Token = \"x\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nX-CLIENT-SECRET = \"x\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nSet-Cookie = \"x\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nX-Credentials = \"x\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nX-Api-Key = \"env:sk-abc\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nX-Api-Key = \"env:\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nContent-Type = \"env:A\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\nHost = \"env:A\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\n\"a b\" = \"x\"\n", "bad-value 2:1"),
        ("[providers.x.headers]\na = \"x\\ny\"\n", "bad-value 2:5"),
        ("[providers.x.headers]\na = 1\n", "wrong-type 2:5"),
        ("[providers.x.quirks]\nstream_option = true\n", "unknown-key 2:1"),
        ("[providers.x.quirks]\neffort = \"yes\"\n", "wrong-type 2:10"),
        ("[providers.x.quirks]\nstructured = \"must\"\n", "bad-value 2:14"),
        ("[providers.x.quirks]\nstrict = true\n", "unknown-key 2:1"),
        ("[[providers.x.patch]]\nmodels = \"*\"\n", "missing-key 1:1"),
        ("[[providers.x.patch]]\nremove = [\"seed\"]\n", "bad-value 2:11"),
        ("[[providers.x.patch]]\nremove = [\"/messages\"]\n", "bad-value 2:11"),
        ("[[providers.x.patch]]\nrename = { \"/tools\" = \"functions\" }\n", "bad-value 2:12"),
        ("[[providers.x.patch]]\nrename = { \"/a\" = \"/b\" }\n", "bad-value 2:19"),
        ("[[providers.x.patch]]\nrename = { \"/seed\" = \"messages\" }\n", "bad-value 2:22"),
        ("[[providers.x.patch]]\nremove = [\"/*\"]\n", "bad-value 2:11"),
        ("[[providers.x.patch]]\nremove = [\"/seed\",\n  \"/*/0\"]\n", "bad-value 3:3"),
        ("[[providers.x.patch]]\nremove = [\"/messages/*\"]\n", "bad-value 2:11"),
        ("[[providers.x.patch]]\nset = { \"/tools/*\" = 1 }\n", "bad-value 2:22"),
        ("[[providers.x.patch]]\nset = { \"/input\" = 1 }\n", "bad-value 2:20"),
        ("[[providers.x.patch]]\nset = { \"/seed\" = inf }\n", "out-of-range 2:19"),
        ("[[providers.x.patch]]\nadd = { \"/seed\" = 1 }\nremove = []\n", "unknown-key 2:1"),
        ("[models.gpt-x]\nwindow = 1\n", "bad-name 1:9"),
        ("[models.\"a/b\"]\nwindow = 0\n", "out-of-range 2:10"),
        ("[models.\"a/b\"]\nwindows = 5\n", "unknown-key 2:1"),
        ("[models.\"a/b\"]\nprice = { input = 1 }\n", "missing-key 2:1"),
        ("[models.\"a/b\"]\nprice = { input = -1, output = 1 }\n", "out-of-range 2:19"),
    ] {
        assert_eq!(read(Scope::User, text).1, [expected], "{text}");
    }
}

#[test]
fn what_may_be_a_key_is_not_repeated() {
    for text in [
        "[providers.x]\nauth = \"sk-secret/1234\"\n",
        "[providers.x.headers]\nAuthorization = \"sk-secret-1234\"\n",
        "[providers.x.headers]\na = \"sk-secret\\n1234\"\n",
        "[providers.x.headers]\nx-key = \"env:sk-secret-1\"\n",
        "[providers.x]\nbase_url = \"https://me:sk-secret@a/v1\"\n",
        "[providers.x]\nbase_url = \"https://a/v1?key=sk-secret\"\n",
        "[providers.x]\nbase_url = \"sk-secret\"\n",
    ] {
        let mut sources = SourceMap::new();
        let id = sources.add("s.toml", Scope::User, text);
        let found = parse_settings(&sources, id).diagnostics;
        assert!(!found[0].render(&sources).contains("sk-secret"), "{}", found[0].render(&sources));
    }
}
