//! A question on a terminal that has no more than ASCII.

use serde_json::json;

use crate::body::calls;
use crate::env::TestEnv;
use crate::provider::Provider;
use crate::terminal::{ASKED, Terminal};

#[test]
fn a_question_is_drawn_with_what_the_locale_has() {
    let content = format!("{}{}\n", "line\n".repeat(50), "long ".repeat(50));
    let writes = || calls([("io__write_file", json!({ "path": "x".repeat(200), "content": content }))]);
    for (locale, bar, more) in [("C", "  1 | line", "... 4"), ("C.UTF-8", "  1 │ line", "… 4")] {
        let provider = Provider::chat([writes()]);
        let env = provider.env(TestEnv::new()).var("LC_ALL", locale).var("NO_COLOR", "1");
        let mut terminal = Terminal::run(&env, &["ask", "go", "-m", provider.model(), "--ephemeral"]);
        let asked = terminal.shows(ASKED).to_owned();
        assert!(asked.contains(bar) && asked.contains(more), "{locale}: {asked}");
        let question = asked.split_once("allow io.write_file?").unwrap().1;
        assert_eq!(question.is_ascii(), locale == "C", "{locale}: {question}");
        terminal.interrupts();
        assert_eq!(terminal.ends(), 130, "{locale}");
    }
}
