#![allow(clippy::disallowed_methods)]
use bytes::Bytes;
use serde_json::json;
#[test]
fn t() {
    let tools: serde_json::Value = serde_json::from_str(include_str!("tools.json")).unwrap();
    let prompts = [
        "hi".to_owned(),
        "(".repeat(70_000),
        "@".repeat(70_000),
        "\"' «".repeat(20_000),
        "5 and 6 ".repeat(9_000),
        "a.b/c ".repeat(9_000),
        "1+".repeat(40_000),
        "@a.b x={".repeat(8_000),
        "Tokyo and ".repeat(7_000),
    ];
    for p in prompts {
        let b = json!({"model":"u","messages":[{"role":"user","content":p}],"tools":tools}).to_string();
        let r = http::Request::post("/chat/completions").body(Bytes::from(b)).unwrap();
        let t = std::time::Instant::now();
        converse_understudy::respond(&r);
        println!("{:?} {}", t.elapsed(), &p.chars().take(10).collect::<String>());
    }
}
