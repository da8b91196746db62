//! As Markdown, for other programs and for people.
//!
//! What the user said is quoted, and a code block that a text leaves open is closed: no message ends anywhere but where
//! it ends. Pictures and HTML are text, so that a program that shows the file loads nothing.

use converse_canister::{Canister, Content, Invocation, InvocationResult};
use converse_session::{Document, Kept};

use super::edits::Edits;
use super::fences::{closed, fenced};
use super::{CUT_SHORT, ended, facts, is_cut, minute, results, title};
use converse_screen::inert;
use converse_text::safe_line;

/// The whole of it.
pub fn markdown(document: &Document) -> String {
    let mut parts =
        vec![inert(&format!("# {}", safe_line(&title(document), 500))), line(&facts(document).join(" · "))];
    if !document.tags.is_empty() {
        parts.push(line(&document.tags.join(", ")));
    }
    let (results, edits) = (results(document), Edits::of(document));
    for (kept, number) in document.canisters.iter().zip(1..) {
        let result = match &kept.canister {
            Canister::Invocation(invocation) => results.get(&invocation.id).map(|(_, result)| *result),
            _ => None,
        };
        parts.extend(match (edits.made(&kept.canister), &kept.canister) {
            (Some(made), Canister::Invocation(asked)) => Some(call(&made, Some(asked), result, number)),
            _ => message(kept, number, result),
        });
    }
    parts.join("\n\n") + "\n"
}

fn message(kept: &Kept, number: usize, result: Option<&InvocationResult>) -> Option<String> {
    let heading = |who: &str| format!("## {number} · {who} · {}", minute(kept.at));
    let quote = |text: &str| {
        let lines = text.trim_end().lines().map(|line| format!("> {line}").trim_end().to_owned());
        inert(&lines.collect::<Vec<_>>().join("\n"))
    };
    match &kept.canister {
        Canister::Supervisor(supervisor) => {
            Some(format!("{}\n\n{}", heading("System"), quote(&supervisor.text)))
        }
        Canister::User(user) => Some(format!("{}\n\n{}", heading("You"), quote(&words(&user.content)))),
        Canister::Document(document) => {
            let text = fenced("", &words(&document.content));
            let name = line(&format!("{} ({})", document.name, document.mime));
            Some(format!("{}\n\n{name}\n\n{text}", heading("You, a document")))
        }
        Canister::Assistant(assistant) => {
            let words = words(&assistant.content);
            let said = !words.trim().is_empty();
            let cut = if is_cut(assistant) { format!("\n\n{CUT_SHORT}") } else { String::new() };
            said.then(|| format!("{}\n\n{}{cut}", heading("Model"), inert(&closed(&words))))
        }
        Canister::Invocation(invocation) => Some(call(invocation, None, result, number)),
        // Shown with its call.
        Canister::Result(_) => None,
    }
}

/// `asked`: what the model wrote, where the user has changed it.
fn call(
    invocation: &Invocation,
    asked: Option<&Invocation>,
    result: Option<&InvocationResult>,
    number: usize,
) -> String {
    let tool = safe_line(&invocation.tool, 500).replace('`', "'");
    let edited = asked.map_or(String::new(), |asked| {
        format!("\n\nEdited by the user; the model asked for:\n\n{}", arguments(asked))
    });
    let (sign, word) = result.map_or(("?", "no result".to_owned()), |result| ended(result.outcome));
    let heading = format!("### {number} · `{tool}` {sign} {word}");
    let result = result.map(|result| fenced("", &crate::render::result_text(result))).unwrap_or_default();
    format!("{heading}\n\n{}{edited}\n\n{result}", arguments(invocation)).trim_end().to_owned()
}

fn arguments(invocation: &Invocation) -> String {
    let arguments = match &invocation.arguments.malformed {
        None => format!("{:#}", serde_json::Value::from(invocation.arguments.object.clone())),
        Some(_) => invocation.arguments.raw.to_string(),
    };
    fenced("json", &arguments)
}

fn words(content: &[Content]) -> String {
    let pieces = content.iter().filter_map(|piece| match piece {
        Content::Text { text, .. } => Some(text.clone()),
        Content::Blob { mime, name, .. } => {
            let name = format!("{} ({mime})", name.as_deref().unwrap_or("a file"));
            Some(format!("*{}*", safe_line(&name, 500)))
        }
        Content::Resource { uri, .. } => Some(fenced("", uri)),
        Content::Structured { value } => Some(fenced("json", &format!("{value:#}"))),
        Content::Reasoning { .. } => None,
    });
    pieces.collect::<Vec<_>>().join("\n\n")
}

/// One line that cannot be more, loads nothing, and begins no code block.
fn line(text: &str) -> String {
    let text = safe_line(text.trim_start(), 500);
    inert(&if text.starts_with(['`', '~']) { format!("\\{text}") } else { text })
}

#[cfg(test)]
mod tests {
    use converse_canister::Document as Attached;

    use super::*;
    use crate::render::transcript::tests::of;

    #[test]
    fn names_load_nothing_and_begin_nothing() {
        let evil = "~~~ ![x](https://evil.example/x)";
        let content = vec![Content::text("~~~\n![x](https://evil.example/x)")];
        let attached = Attached { name: evil.into(), mime: "text/plain".into(), content, labels: None };
        let document = of(vec![Canister::Document(attached)]);
        let page = markdown(&Document { name: Some(evil.into()), tags: vec![evil.into()], ..document });
        assert_eq!(page.matches("!\\[x](https://evil.example/x)").count(), 3, "{page}");
        let html = converse_screen::html::markdown(&page);
        assert!(!html.contains("class=\"image\""), "{html}");
    }
}
