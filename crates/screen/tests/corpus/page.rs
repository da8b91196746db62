//! Whatever Markdown it is made of, a page holds our own tags and text, and nothing that hides or turns round letters.

use converse_screen::html;
use converse_testkit::hang_guard;
use proptest::prelude::*;

use crate::guard::{Manner, foreign};
use crate::places::PLACES;
use crate::sequences::sequences;
use crate::strict::{self, words};

/// What has acted in pages of others.
const EVIL: [&str; 40] = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//e.com/x></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<img src=\"https://e.com/pixel\">",
    "<svg/onload=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<base href=//e.com/>",
    "<link rel=stylesheet href=//e.com/>",
    "<meta http-equiv=refresh content='0;url=//e.com'>",
    "<form action=//e.com><button>x",
    "<style>@import '//e.com'</style>",
    "<details open ontoggle=alert(1)>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "<!-- x",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php x ?>",
    "</code></pre></div></main><script>x</script>",
    "</title></style></textarea><script>x</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\" onmouseover=\"alert(1)",
    "' onmouseover='alert(1)",
    "`` ` `` <b>`</b>",
    "[x](javascript:alert(1))",
    "[x](JaVa&#x53;cript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](\u{1}javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](//e.com)",
    "[x](https://e.com/\"onmouseover=alert(1)//)",
    "[x](https://e.com 'x\" onmouseover=\"alert(1)')",
    "[x]: javascript:alert(1) \"x\"\n\n[x]",
    "![x](https://e.com/pixel)",
    "![x](x\" onerror=\"alert(1))",
    "<javascript:alert(1)>",
    "| a |\n|---|\n| <script>x</script> |",
];

#[track_caller]
fn is_ours(html: &str, what: &str) -> String {
    assert_eq!(foreign(html.as_bytes(), Manner::Plain), None, "{what}");
    words(html).unwrap_or_else(|wrong| panic!("{what}: {wrong}: {html}"))
}

#[test]
fn the_strict_reader_lets_pass_what_we_write_and_nothing_else() {
    for (html, passes) in [
        ("<p class=\"to\">a &lt;b&gt;<br></p>", true),
        (
            "<a href=\"https://e.com\" rel=\"noopener noreferrer nofollow\" title=\"https://e.com\">x</a>",
            true,
        ),
        ("<a href=\"https://e.com\">x</a>", false),
        (
            "<a href=\"javascript:x\" rel=\"noopener noreferrer nofollow\" title=\"https://e.com\">x</a>",
            false,
        ),
        ("<p onclick=\"x\">a</p>", false),
        ("<p style=\"x\">a</p>", false),
        ("<p class=\"other\">a</p>", false),
        ("<img>", false),
        ("<script></script>", false),
        ("<p>", false),
        ("<em><p></em></p>", false),
        ("</p>", false),
        ("<!-- -->", false),
    ] {
        assert_eq!(words(html).is_ok(), passes, "{html}");
    }
    for evil in EVIL.iter().filter(|evil| evil.starts_with('<') && !evil.starts_with("<java")) {
        assert!(words(evil).is_err(), "{evil}");
    }
}

#[test]
fn the_corpus_and_whatever_else_is_nothing_but_text() {
    let sequences = sequences();
    let evil = sequences.iter().map(|one| String::from_utf8_lossy(&one.bytes).into_owned());
    for evil in evil.chain(EVIL.map(str::to_owned)) {
        let what = evil.chars().take(200).collect::<String>();
        is_ours(&html::markdown(&evil), &what);
        for text in [html::text(&evil), html::line(&evil, 1000)] {
            assert_eq!(foreign(text.as_bytes(), Manner::Plain), None, "{what:?}");
            assert!(!text.contains(['<', '>', '"', '\'']), "{what:?}");
        }
        if evil.len() > 1000 {
            continue;
        }
        for (place, made) in PLACES {
            is_ours(&html::markdown(&made(&evil)), &format!("{evil:?} in {place}"));
        }
        for language in ["rust", "html", "diff", "toml", "sh", &evil] {
            is_ours(&html::code(language, &format!("{evil}\n{evil}")), &evil);
        }
    }
}

/// The text of a page is that of the Markdown, with its signs.
#[test]
fn what_is_shown_as_text_is_told_whole() {
    for evil in
        EVIL.iter().filter(|evil| evil.starts_with('<') && !evil.contains('&') && !evil.starts_with("<java"))
    {
        let words = is_ours(&html::markdown(evil), evil);
        assert!(words.contains(evil), "{evil}: {words}");
    }
}

#[test]
fn no_page_takes_long() {
    for text in [
        "[".repeat(500_000),
        "![".repeat(250_000),
        "*a _b ".repeat(80_000),
        "a`".repeat(200_000),
        "<a ".repeat(160_000),
        "<!--".repeat(120_000),
        "&".repeat(500_000),
        format!("{}x", "> - ".repeat(120_000)),
        format!("{}x{}", "![".repeat(100_000), "](a)".repeat(60_000)),
        format!("{}\n{}\n{}", "|a".repeat(20_000), "|-".repeat(20_000), "|\n".repeat(200_000)),
        format!("```html\n{}", "<b c=\"d\" ".repeat(50_000)),
        format!("```rust\n{}", "/*".repeat(120_000)),
    ] {
        let begin: String = text.chars().take(40).collect();
        hang_guard::run(&begin, move || html::markdown(&text));
    }
}

fn anything() -> impl Strategy<Value = String> {
    let marks = vec![
        "\n",
        "\n",
        "\n\n",
        " ",
        "    ",
        "\t",
        "- ",
        "* ",
        "1. ",
        "12) ",
        "> ",
        "# ",
        "```",
        "~~~",
        "```rust\n",
        "---\n",
        "|",
        "|-|-|\n",
        "a | b\n--|:-:\n",
        "`",
        "**",
        "_",
        "~~",
        "[",
        "]",
        "](",
        "(",
        ")",
        "![",
        "<",
        ">",
        "\"",
        "'",
        "\\",
        "&",
        "&lt;",
        "&#x202e;",
        "&#0;",
        "<b>",
        "</p>",
        "<!--",
        "-->",
        "<script>",
        "<br>",
        "https://e.com/",
        "<https://e.com>",
        "javascript:",
        "mailto:",
        "[a]: https://e.com\n",
        "[a]",
        "[x] ",
        "- [ ] ",
        "a",
        "word",
        "\u{202e}",
        "\u{1b}[1m",
        "\0",
        "\r",
        "é",
        "日本",
        "\u{ffff}",
    ];
    let pieces = prop_oneof![8 => prop::sample::select(marks).prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_page_is_our_tags_and_text(text in anything(), language in ".{0,8}") {
        for html in [html::markdown(&text), html::code(&language, &text)] {
            prop_assert_eq!(foreign(html.as_bytes(), Manner::Plain), None);
            prop_assert!(words(&html).is_ok(), "{:?}: {}", words(&html), html);
        }
    }

    /// Nothing of it is left out.
    #[test]
    fn no_words_are_lost(words in prop::collection::vec("[a-z]{1,12}", 1..20), joints in prop::collection::vec(prop::sample::select(vec![
        " ", "\n", "\n\n", "\n- ", "\n  - ", "\n> ", "\n# ", "\n1. ", "\n```\n", "\n    ", " **", "** ", " <b>", "\n<p>\n", "\n| a |\n|-|\n| ", " ![", "](", ")",
    ]), 20)) {
        let text: String = words.iter().zip(&joints).map(|(word, joint)| word.clone() + joint).collect();
        let all = strict::words(&html::markdown(&text)).unwrap();
        for word in words {
            prop_assert!(all.contains(&word), "{word} of {text:?} in {all}");
        }
    }

    #[test]
    fn code_is_told_to_the_letter(text in anything(), language in prop::sample::select(vec!["rust", "html", "diff", "py", ""])) {
        let html = html::code(language, &text);
        let code = html.split_once("<pre>").unwrap().1;
        let told = strict::words(code.trim_end_matches("</div>\n").trim_end_matches("</pre>")).unwrap();
        let shown = converse_text::safe(&text);
        prop_assert_eq!(told, shown.trim_end_matches('\n'));
    }
}
