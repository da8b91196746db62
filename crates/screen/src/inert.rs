//! Markdown that loads nothing: a picture or an HTML tag in a text of others would make a request when the file is opened.
//!
//! All that may begin a picture or a tag is escaped, not only what a parser takes for one: what it is may depend on the
//! rest of the file, and programs differ. Only code stays as it is.

use std::ops::Range;

use converse_text::safe;
use pulldown_cmark::{Event, Options, Parser, Tag};

/// Bytes of Markdown that are parsed. In a longer text, code is escaped too.
const LONGEST: usize = 512 * 1024;
/// How often the code of a text is looked for, since escaping moves it: a line that was an HTML block becomes a paragraph,
/// which goes on in lines that were code. After that, code is escaped too.
const PASSES: usize = 4;
/// What `<` may begin without being a tag.
const LINKS: [&str; 3] = ["http://", "https://", "mailto:"];

/// Returns Markdown in which pictures and HTML are text, with their addresses. Characters that are not text are escaped,
/// because they decide where code is. A quotation must be marked as one already, for the same reason.
pub fn inert(markdown: &str) -> String {
    let markdown = safe(markdown);
    if !markdown.contains(['!', '<']) {
        return markdown.into_owned();
    }
    let mut text = markdown.into_owned();
    for _ in 0..PASSES {
        let escaped = escaped(&text, code(&text));
        if escaped == text {
            return text;
        }
        text = escaped;
    }
    escaped(&text, Vec::new())
}

/// Escapes all that is not in these ranges, which are in order.
fn escaped(markdown: &str, code: Vec<Range<usize>>) -> String {
    let mut code = code.into_iter().peekable();
    let mut text = String::with_capacity(markdown.len() + 16);
    let mut chars = markdown.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        while code.next_if(|range| range.end <= at).is_some() {}
        let is_code = code.peek().is_some_and(|range| range.contains(&at));
        match (c, chars.peek().map(|(_, next)| *next)) {
            _ if is_code => text.push(c),
            ('!', Some('[')) => text.push_str("!\\"),
            ('<', Some(next)) if begins_tag(next) && !is_link(markdown.get(at + 1..).unwrap_or_default()) => {
                text.push_str("&lt;")
            }
            _ => text.push(c),
        }
    }
    text
}

fn begins_tag(next: char) -> bool {
    next.is_alphabetic() || matches!(next, '/' | '!' | '?')
}

fn is_link(rest: &str) -> bool {
    LINKS.iter().any(|link| rest.starts_with(link))
}

/// Returns where code is, in order.
fn code(markdown: &str) -> Vec<Range<usize>> {
    if markdown.len() > LONGEST {
        return Vec::new();
    }
    let events =
        Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS).into_offset_iter();
    let code = events.filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))));
    code.map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether a reader of CommonMark finds a picture or a tag.
    fn loads(markdown: &str) -> bool {
        let loading = |event: Event<'_>| {
            matches!(
                event,
                Event::Start(Tag::Image { .. } | Tag::HtmlBlock) | Event::Html(_) | Event::InlineHtml(_)
            )
        };
        Parser::new(markdown).any(loading)
    }

    #[test]
    fn pictures_and_tags_become_text_and_code_stays() {
        for (markdown, expected) in [
            ("![a](https://evil.example/x)", "!\\[a](https://evil.example/x)"),
            ("\\![a](b) and ![c][d]", "\\!\\[a](b) and !\\[c][d]"),
            ("<img src=x> \\<b> 1 < 2 <3", "&lt;img src=x> \\&lt;b> 1 < 2 <3"),
            ("<https://a.example> </p><!-- c --><?x?>", "<https://a.example> &lt;/p>&lt;!-- c -->&lt;?x?>"),
            ("`vec![1] <b>` vec![1]", "`vec![1] <b>` vec!\\[1]"),
            ("```\nvec![1]\n<b>\n```\n![x](y)", "```\nvec![1]\n<b>\n```\n!\\[x](y)"),
            ("- a\n\n      ![code](x)\n", "- a\n\n      ![code](x)\n"),
            ("# a\r    ![x](y)", "# a\\r    !\\[x](y)"),
            ("| a |\n|---|\n| `<b>` <b> |", "| a |\n|---|\n| `<b>` &lt;b> |"),
            ("> </p>\n\t</p>", "> &lt;/p>\n\t&lt;/p>"),
        ] {
            assert_eq!(inert(markdown), expected);
            assert!(!loads(expected), "{expected}");
        }
        let long = "`![x](y)` ".repeat(LONGEST / 8);
        assert!(!inert(&long).contains("!["), "what is too long to be parsed is escaped throughout");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

        #[test]
        fn nothing_is_loaded_however_it_is_written(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "![", "!", "[", "]", "](u)", "<", "img", " src=x>", "</p>", "<!--", "-->", "`", "``", "```", "~~~", "\n", "\r",
                    "    ", "> ", "- ", "1. ", "\\", "a", " ", "\t", "[r]: u\n", "![r]", "|", "---", "<?", "<b>", "&lt;",
                ]),
                0..24,
            ),
        ) {
            let text = pieces.concat();
            let quoted: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
            for text in [text, quoted.join("\n")].map(|text| inert(&text)) {
                let page = format!("{text}\n\n## Next\n\n[r]: https://evil.example\n");
                prop_assert!(!loads(&page), "{page:?}");
            }
        }
    }
}
