//! A conversation for reading: `sessions export --format html` is one page that loads nothing, and `sessions show` lays
//! answers out on a terminal.

use converse_screen::{Look, markdown};
use serde_json::json;

use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;
use crate::screen::Screen;

const QUESTION: &str = "# Not *Markdown*\n  - as typed <b>\n";
const ANSWER: &str = "## Plan\n\nIt is **42**, see [the docs](https://docs.example/a?b=c&d) or \
    [bank.example](https://evil.example/x).\n\n- [x] one\n- two\n\n| a | b |\n|---|--:|\n| `c` | 1 |\n\n\
    ```rust\nlet x = \"<42>\"; // so\n```\n\n> quoted\n";
/// All of it would load or do something, if it came through.
const EVIL: &str = "<script>alert(1)</script>\n\n<img src=\"https://evil.example/pixel\" onerror=\"alert(1)\">\n\n\
    ![pixel](https://evil.example/pixel.png) [x](javascript:alert(1)) [y](data:text/html,z) [z](/local)\n\n\
    a <style>@import url(//evil.example)</style> <a href=\"https://evil.example\">b</a> \u{202e}evil \u{1b}[31m \
    &lt;script&gt; &#x202e; [\"](https://evil.example/\"onclick=alert(1))\n\n```\"><script>\n</code></pre><script>\n```\n";

/// A question and an answer that are kept, with a call between them.
fn kept(question: &str, answer: &'static str) -> TestEnv {
    let call = calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
    let provider = Provider::chat([call.with_text(answer), text(answer).thinking(answer)]);
    let env = provider.env(TestEnv::new());
    env.run(&["ask", question, "-m", provider.model()]).exits(0);
    env
}

fn page(env: &TestEnv) -> String {
    env.run(&["sessions", "export", "last", "--format", "html"]).exits(0).stdout
}

#[test]
fn an_answer_is_laid_out_and_a_question_stands_as_it_was_typed() {
    let html = page(&kept(QUESTION, ANSWER));
    for part in [
        "<div class=\"typed\"># Not *Markdown*\n  - as typed &lt;b&gt;</div>",
        "<h4>Plan</h4>",
        "<strong>42</strong>",
        "<span class=\"to\">(docs.example/a?b=c&amp;d)</span>",
        ">bank.example</a> <span class=\"to\">(evil.example/x)</span>",
        "<td class=\"right\">1</td>",
        "<span class=\"keyword\">let</span> x = <span class=\"string\">&quot;&lt;42&gt;&quot;</span>;",
        "<blockquote>",
        "<summary>Reasoning</summary><div class=\"prose\">",
        "<h3>Arguments</h3><div class=\"code\"><span>json</span>",
        "<h3>Result</h3><div class=\"code\"><span>json</span>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn a_page_loads_nothing_and_does_nothing() {
    for answer in [ANSWER, EVIL] {
        let html = page(&kept(answer, answer));
        assert!(
            html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:;"),
            "{html}"
        );
        let (_, style) = html.split_once("<style>").unwrap();
        let (style, rest) = style.split_once("</style>").unwrap();
        assert!(
            !style.contains("url(") && !style.contains('@') || style.matches('@').count() == 2,
            "{style}"
        );
        assert!(!style.contains("@import") && !rest.contains("<style"));
        // What is no tag is text: each `<` of a text is escaped.
        let mut open = Vec::new();
        for tag in html.split('<').skip(1).map(|tag| tag.split_once('>').unwrap().0) {
            let (name, attributes) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
            if let Some(ended) = name.strip_prefix('/') {
                assert_eq!(open.pop(), Some(ended), "{tag}");
                continue;
            }
            is_known(name, attributes);
            if !["!doctype", "meta", "br", "hr", "img"].contains(&name) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        for hidden in ['\u{1b}', '\u{202e}'] {
            assert!(!html.contains(hidden));
        }
    }
}

#[test]
fn a_markdown_export_loads_nothing() {
    let env = kept(EVIL, EVIL);
    let markdown = env.run(&["sessions", "export", "last", "--format", "md"]).exits(0).stdout;
    // Once in the question, which is quoted, and in each of the two answers.
    assert_eq!(markdown.matches("!\\[pixel](https://evil.example/pixel.png)").count(), 3, "{markdown}");
    assert_eq!(markdown.matches("&lt;img src=\"https://evil.example/pixel\"").count(), 3, "{markdown}");
    for loading in ["![", "<img", "<style", "<a href"] {
        assert!(!markdown.contains(loading), "{loading}: {markdown}");
    }
    let markdown = kept("Use `vec![1]`", ANSWER).run(&["sessions", "export", "last"]).exits(0).stdout;
    for code in ["> Use `vec![1]`\n", "let x = \"<42>\"; // so\n"] {
        assert!(markdown.contains(code), "{code}: {markdown}");
    }
}

/// One of our tags, with attributes that load nothing and run nothing.
#[track_caller]
fn is_known(tag: &str, attributes: &str) {
    let known = "!doctype html head meta title style body header h1 h2 h3 h4 h5 h6 ul ol li main article span time div pre \
                 code details summary b i p footer em strong del a br hr blockquote table thead tbody tr th td";
    assert!(known.split_whitespace().any(|one| one == tag), "<{tag} {attributes}>");
    let mut parts = attributes.split('"');
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        let fine = match (tag, name.trim().trim_end_matches('=')) {
            (_, "class" | "id") | ("html", "lang") | ("meta", "charset" | "name" | "content") => true,
            ("meta", "http-equiv") => value == "Content-Security-Policy",
            ("a", "rel") => value == "noopener noreferrer nofollow",
            ("a", "href" | "title") => value.starts_with("https://") && !value.contains([' ', '<', '>']),
            _ => false,
        };
        assert!(fine, "{name}{value} of <{tag}>");
    }
}

#[test]
fn on_a_terminal_answers_are_laid_out_and_in_a_pipe_they_are_not() {
    let env = kept(QUESTION, ANSWER);
    let mut screen = Screen::run(&env, &["sessions", "show", "last"]);
    assert_eq!(screen.finishes(), 0);
    let raw = screen.raw().replace("\r\n", "\n");
    // As wide as the screen, but for the column that the REPL leaves free, too.
    let look = Look { width: 99, colour: true, light: false, links: false, unicode: true };
    let painted: String = markdown(ANSWER, &look).iter().map(|line| line.painted(&look) + "\n").collect();
    assert!(raw.matches(&painted).count() == 2 && painted.contains("\u{1b}[95mlet"), "{raw}");
    assert!(raw.contains("# Not *Markdown*\n  - as typed <b>\n"), "{raw}");
    for plain in [&["--plain"][..], &["--color", "never"]] {
        let mut screen = Screen::run(&env, &[&["sessions", "show", "last"], plain].concat());
        assert_eq!(screen.finishes(), 0);
        let raw = screen.raw().replace("\r\n", "\n");
        assert_eq!(raw.contains(ANSWER.trim_end()), plain == ["--plain"], "{raw}");
        assert!(!raw.contains('\u{1b}'), "{raw}");
    }
    let piped = env.run(&["sessions", "show", "last"]).exits(0).stdout;
    assert!(piped.contains(ANSWER.trim_end()), "{piped}");
}
