//! Stdout and stderr are one terminal: what is said of a run never stands behind words of the answer.

use serde_json::json;

use crate::body::{Says, calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;
use crate::terminal::Terminal;

fn shown(provider: &Provider) -> String {
    let env = provider.env(TestEnv::new());
    let words = ["ask", "go", "-m", provider.model(), "--ephemeral"];
    let (code, shown) = Terminal::run(&env, &words).ends_showing();
    assert_eq!(code, 0, "{shown:?}");
    shown
}

#[test]
fn a_line_about_a_tool_begins_on_a_line_of_its_own() {
    let first = calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
    let provider = Provider::chat([Says { text: "I work it out:", ..first }, text("It is 42.")]);
    let shown = shown(&provider);
    assert!(shown.contains("I work it out:\r\n"), "{shown:?}");
    assert!(shown.ends_with("It is 42.\r\n"), "one end of the line is enough: {shown:?}");
    let before = shown.split("It is 42.").next().unwrap();
    assert!(before.ends_with("\r\n"), "two replies stand apart: {shown:?}");
}
