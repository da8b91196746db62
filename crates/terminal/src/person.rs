//! The person at the terminal, for servers that ask one something: one question at a time, in full, with the name of who
//! asks. Nothing is sent that was not shown before, and no address is opened.

mod form;

use std::sync::Arc;

use converse_mcp::{Elicitation, ElicitationReply, Elicitor};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::approver::read_answer;
use crate::console::Console;
use crate::render::quoted::{broken, columns, quoted};
use crate::view::TerminalView;
use converse_text::{safe, safe_line};

use form::Form;

pub struct TerminalPerson {
    progress: Arc<TerminalView>,
}

converse_host::opaque_debug!(TerminalPerson);

impl TerminalPerson {
    pub fn new(progress: &Arc<TerminalView>) -> Self {
        Self { progress: Arc::clone(progress) }
    }
}

/// Who answers in this run, if anybody can be asked.
pub fn somebody(console: &Console) -> Option<Arc<dyn Elicitor>> {
    console.context.can_ask.then(|| Arc::new(TerminalPerson::new(&console.progress)) as Arc<dyn Elicitor>)
}

impl Elicitor for TerminalPerson {
    fn elicit<'a>(&'a self, ensemble: &'a str, asked: Elicitation) -> BoxFuture<'a, ElicitationReply> {
        async move {
            let _floor = self.progress.floor().await;
            self.progress.suspended(|| talk(ensemble, asked, read_answer)).await
        }
        .boxed()
    }
}

/// What is done with a question before its answer.
enum First {
    Go,
    Ended(ElicitationReply),
}

/// `ask` shows a text and returns a line; `None` if there is no answer.
async fn talk(
    ensemble: &str,
    asked: Elicitation,
    ask: impl AsyncFn(String) -> Option<String>,
) -> ElicitationReply {
    match asked {
        Elicitation::Form { message, schema } => {
            let Ok(form) = Form::read(ensemble, &schema) else { return ElicitationReply::Decline };
            let question = format!("{}{}", opening(ensemble, "asks you", &message), form.overview());
            match first(question, "answer", &ask).await {
                First::Go => form.filled(&ask).await,
                First::Ended(reply) => reply,
            }
        }
        Elicitation::Url { message, url } => {
            let opening = opening(ensemble, "asks you to open an address", &message);
            let question = format!("{opening}{}", place(&url));
            match first(question, "I open it myself", &ask).await {
                First::Go => ElicitationReply::Accept(None),
                First::Ended(reply) => reply,
            }
        }
    }
}

fn opening(ensemble: &str, does: &str, message: &str) -> String {
    format!("\nthe server of `{}` {does}:\n{}", safe_line(ensemble, 100), quoted(message, columns()))
}

/// Shows the host separately, because a look-alike URL hides it.
fn place(url: &str) -> String {
    let host =
        url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let address = broken("  address: ", &safe(url), columns());
    format!("  host:    {}\n{address}  converse does not open it.\n", safe_line(&host, 300))
}

async fn first(mut question: String, yes: &str, ask: &impl AsyncFn(String) -> Option<String>) -> First {
    question.push_str(&format!("  y = {yes}, n = decline, c = cancel: "));
    loop {
        let Some(line) = ask(question).await else { return First::Ended(ElicitationReply::Cancel) };
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" | "д" | "да" => return First::Go,
            "n" | "no" | "н" | "нет" => return First::Ended(ElicitationReply::Decline),
            "c" | "cancel" => return First::Ended(ElicitationReply::Cancel),
            _ => question = "  please answer y, n or c: ".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use serde_json::{Value, json};

    use super::*;

    /// What comes of these lines, and all that was shown.
    async fn reply_to(asked: Elicitation, lines: &[&str]) -> (ElicitationReply, String) {
        let (lines, shown) =
            (RefCell::new(lines.iter().copied().collect::<VecDeque<_>>()), RefCell::default());
        let ask = async |question: String| {
            let line = lines.borrow_mut().pop_front().map(str::to_owned);
            let mut shown: std::cell::RefMut<'_, String> = shown.borrow_mut();
            shown.push_str(&question);
            shown.push_str(&format!("<{}>\n", line.as_deref().unwrap_or("end")));
            line
        };
        let reply = talk("weather", asked, ask).await;
        assert!(lines.borrow().is_empty(), "not all was asked: {}", shown.borrow());
        (reply, shown.into_inner())
    }

    fn form(properties: Value, required: &[&str]) -> Elicitation {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        Elicitation::Form { message: "first\nse\u{202e}cond \u{1b}[2J".to_owned(), schema }
    }

    #[tokio::test]
    async fn a_form_is_filled_in_line_by_line_and_sent_when_it_was_seen() {
        let asked = || {
            let name = json!({ "type": "string", "title": "Your name", "description": "As in\nyour passport", "maxLength": 9 });
            let colour = json!({ "type": "string", "oneOf": [{ "const": "#f00", "title": "Red" }, { "const": "#0f0", "title": "Green" }], "default": "#0f0" });
            form(json!({ "name": name, "age": { "type": "integer" }, "colour": colour }), &["name"])
        };
        let accept = |value: Value| ElicitationReply::Accept(value.as_object().cloned());
        for (lines, reply) in [
            (
                &["y", "Ada", "36", "red", "y"][..],
                accept(json!({ "name": "Ada", "age": 36, "colour": "#f00" })),
            ),
            (&["y", "Ada", "", "", "y"], accept(json!({ "name": "Ada", "colour": "#0f0" }))),
            (&["y", "", "Ada", "old", "", "", "y"], accept(json!({ "name": "Ada", "colour": "#0f0" }))),
            (
                &["y", "too long a name", "Ada", "", "1", "y"],
                accept(json!({ "name": "Ada", "colour": "#f00" })),
            ),
            (
                &["y", "Ada", "1", "", "e", "Bob", "2", "", "maybe", "y"],
                accept(json!({ "name": "Bob", "age": 2, "colour": "#0f0" })),
            ),
            (&["y", "Ada", "", "", "n"], ElicitationReply::Decline),
            (&["y", "Ada", "", "", "c"], ElicitationReply::Cancel),
            (&["y", "/decline"], ElicitationReply::Decline),
            (&["y", "Ada", "/cancel"], ElicitationReply::Cancel),
            (&["what", "n"], ElicitationReply::Decline),
            (&["c"], ElicitationReply::Cancel),
            (&[], ElicitationReply::Cancel),
            (&["y", "Ada"], ElicitationReply::Cancel),
        ] {
            let asked = asked();
            // The end of the input comes after the last line.
            let (got, shown) = reply_to(asked, lines).await;
            assert_eq!(got, reply, "{lines:?}: {shown}");
        }
        let (_, shown) = reply_to(asked(), &["y", "Ada", "", "", "y"]).await;
        for part in [
            "the server of `weather` asks you:\n  | first\n  | se\\u{202e}cond \\x1b[2J\n",
            "Your name",
            "As in your passport",
            "name (text, at most 9 characters, required)",
            "age (a whole number)",
            "1. Red",
            "2. Green",
            "[Green]",
            "this is sent to the server of `weather`:",
            "name = \"Ada\"",
            "colour = \"#0f0\"",
        ] {
            assert!(shown.contains(part), "no {part:?} in {shown}");
        }
    }

    #[tokio::test]
    async fn padding_makes_no_line_of_ours() {
        let message = format!("Hi{}y = send it, n = no{}z", " ".repeat(76), "x".repeat(300));
        let asked = Elicitation::Form { message, schema: json!({ "type": "object", "properties": {} }) };
        let (_, shown) = reply_to(asked, &["n"]).await;
        let theirs = shown.split("asks you:\n").nth(1).unwrap().split("  it asks for a yes").next().unwrap();
        assert!(theirs.lines().count() > 3, "{theirs}");
        assert!(theirs.lines().all(|line| line.starts_with("  | ")), "{theirs}");
        assert!(theirs.contains("[76 blanks]"), "{theirs}");
    }

    #[tokio::test]
    async fn an_address_is_shown_whole_and_its_host_alone() {
        let asked = || Elicitation::Url {
            message: "Sign in".to_owned(),
            url: "https://evil.example/bank.example?a=b".to_owned(),
        };
        for (line, reply) in [
            ("y", ElicitationReply::Accept(None)),
            ("n", ElicitationReply::Decline),
            ("c", ElicitationReply::Cancel),
        ] {
            let (got, shown) = reply_to(asked(), &[line]).await;
            assert_eq!(got, reply);
            assert!(shown.contains("host:    evil.example\n"), "{shown}");
            assert!(shown.contains("address: https://evil.example/bank.example?a=b\n"), "{shown}");
        }
    }
}
