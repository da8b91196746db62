use super::*;

#[test]
fn each_block_is_a_tag_of_ours() {
    for (source, expected) in [
        ("a\nb  \nc<br>d", "<p>a<br>\nb<br>\nc<br>d</p>\n"),
        ("# A\n## B\n### C\n#### D\nE\n=", "<h3>A</h3>\n<h4>B</h4>\n<h5>C</h5>\n<h6>D</h6>\n<h3>E</h3>\n"),
        ("*a* **b** ~~c~~ `d<e`", "<p><em>a</em> <strong>b</strong> <del>c</del> <code>d&lt;e</code></p>\n"),
        ("- a\n  1. b\n", "<ul>\n<li>a<ol>\n<li>b</li>\n</ol>\n</li>\n</ul>\n"),
        ("7. a\n\n8. b", "<ol start=\"7\">\n<li><p>a</p>\n</li>\n<li><p>b</p>\n</li>\n</ol>\n"),
        ("- [x] a", "<ul>\n<li><span class=\"task\">☑</span> a</li>\n</ul>\n"),
        ("> a\n\n***", "<blockquote>\n<p>a</p>\n</blockquote>\n<hr>\n"),
        (
            "a | b | c\n-|:-:|-:\nd | `e` | *f*\ng",
            "<div class=\"wide\"><table>\n<thead><tr><th>a</th><th class=\"centre\">b</th><th class=\"right\">c</th></tr></thead>\n\
             <tbody>\n<tr><td>d</td><td class=\"centre\"><code>e</code></td><td class=\"right\"><em>f</em></td></tr>\n\
             <tr><td>g</td><td class=\"centre\"></td><td class=\"right\"></td></tr>\n</tbody>\n</table></div>\n",
        ),
        (
            "```rust,ignore\nlet a = \"<\";\n\n\t// b\n```",
            "<div class=\"code\"><span>rust</span><pre><code><span class=\"keyword\">let</span> a = \
             <span class=\"string\">&quot;&lt;&quot;</span>;\n\n\t<span class=\"comment\">// b</span></code></pre></div>\n",
        ),
        ("    a\n", "<div class=\"code\"><pre><code>a</code></pre></div>\n"),
        ("", ""),
    ] {
        assert_eq!(markdown(source), expected, "{source:?}");
    }
}

#[test]
fn a_link_tells_where_it_leads_or_is_none() {
    let link = |address: &str, words: &str| {
        format!("<a href=\"{address}\" rel=\"noopener noreferrer nofollow\" title=\"{address}\">{words}</a>")
    };
    let to = |place: &str| format!(" <span class=\"to\">({place})</span>");
    for (source, expected) in [
        ("<https://e.com/a>", link("https://e.com/a", "https://e.com/a")),
        ("[e.com](https://e.com/a)", link("https://e.com/a", "e.com")),
        ("[a][b]\n\n[b]: HTTP://e.com/?a&b 'c'", link("HTTP://e.com/?a&amp;b", "a") + &to("e.com/?a&amp;b")),
        (
            "[bank.com](https://bank.com@e.com)",
            link("https://bank.com@e.com", "bank.com") + &to("bank.com@e.com"),
        ),
        ("<a@e.com>", link("mailto:a@e.com", "a@e.com")),
        ("[*a*](<https://e.com/\"'>)", link("https://e.com/%22&#39;", "<em>a</em>") + &to("e.com/%22&#39;")),
        ("[a](/b)", "a".to_owned() + &to("/b")),
        ("[a](javascript:b)", "a".to_owned() + &to("javascript:b")),
        ("[a](&#106;avascript:b)", "a".to_owned() + &to("javascript:b")),
        ("[a]()", "a".to_owned()),
        (
            "![a](https://e.com/b.png \"c\")",
            "<span class=\"image\">image: a</span>".to_owned() + &to("https://e.com/b.png"),
        ),
    ] {
        assert_eq!(markdown(source), format!("<p>{expected}</p>\n"), "{source:?}");
    }
}

#[test]
fn html_is_text() {
    for (source, expected) in [
        (
            "a <b onclick=\"c\">d</b>",
            "<p>a <span class=\"raw\">&lt;b onclick=&quot;c&quot;&gt;</span>d<span class=\"raw\">&lt;/b&gt;</span></p>\n",
        ),
        (
            "<img src=a onerror=b>\nc",
            "<div class=\"code\"><span>html</span><pre><code><span class=\"keyword\">&lt;img</span> <span class=\"type\">src</span>=\
             <span class=\"type\">a</span> <span class=\"type\">onerror</span>=<span class=\"type\">b</span>\
             <span class=\"keyword\">&gt;</span>\nc</code></pre></div>\n",
        ),
        ("&lt;b&gt; &amp;lt;", "<p>&lt;b&gt; &amp;lt;</p>\n"),
        ("`</code>` &#x202e;\u{202e}\0", "<p><code>&lt;/code&gt;</code> \\u{202e}\\u{202e}\\x00</p>\n"),
        (
            "```\"><i>\n</pre>\n```",
            "<div class=\"code\"><span>&quot;&gt;&lt;i&gt;</span><pre><code>&lt;/pre&gt;</code></pre></div>\n",
        ),
    ] {
        assert_eq!(markdown(source), expected, "{source:?}");
    }
    assert_eq!(text("\u{1b}[1m<&'\">"), "\\x1b[1m&lt;&amp;&#39;&quot;&gt;");
    assert_eq!(line("a\n<bcd", 4), "a\\n&lt;b…");
}

#[test]
fn what_is_too_long_or_too_deep_is_still_told() {
    let long = markdown(&"*a* <b>\n".repeat(LONGEST / 8 + 1));
    assert!(long.starts_with("<div class=\"plain\">*a* &lt;b&gt;\n") && !long.contains("<em>"));
    let deep = markdown(&format!("{}needle", "> - ".repeat(2000)));
    assert!(deep.contains("needle") && deep.matches("<blockquote>").count() < 64);
    let pictures = markdown(&format!("{}needle{}", "![".repeat(500), "](a)".repeat(500)));
    assert!(pictures.contains("needle") && pictures.matches("<span").count() <= 16);
}
