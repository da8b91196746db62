//! Pages and the texts they make.

use converse_testkit::hang_guard;

use super::*;

/// Resolves what the pages below contain, relative to `https://example.org/dir/page?q=1`.
fn link(href: &str) -> Option<String> {
    match href.split_once(':') {
        Some(("http" | "https", _)) => Some(href.to_owned()),
        Some(_) => None,
        None if href.starts_with('/') => Some(format!("https://example.org{href}")),
        None => Some(format!("https://example.org/dir/{href}")),
    }
}

fn text(html: &str) -> String {
    let (text, is_whole) = to_text(html, &link, 1 << 20);
    assert!(is_whole);
    text
}

#[test]
fn pages_are_read_as_a_reader_would() {
    for (html, expected) in [
        ("", ""),
        ("plain  \n text", "plain text"),
        ("<p>One<p>Two &amp; three&nbsp;four", "One\n\nTwo & three four"),
        ("<h1>A</h1><h3>B <em>c</em></h3>d", "# A\n\n### B c\n\nd"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("a<br>b<hr>c", "a\nb\n\n---\n\nc"),
        (
            "<ul><li>a<li>b<ol><li>x</li><li><p>y</p></li></ol><li>c</ul>z",
            "- a\n- b\n  1. x\n  2. y\n- c\n\nz",
        ),
        ("<li>alone", "- alone"),
        ("<ul><li></li><li> </li></ul>x", "x"),
        ("<table><tr><th>a<th>b<tr><td>1</td><td>2</td></table>", "a | b\n1 | 2"),
        ("<pre>\n  a\n    b &lt;\n\n</pre>c", "```\n  a\n    b <\n```\n\nc"),
        ("<a href=other>x <b>y</b></a> z", "[x y](https://example.org/dir/other) z"),
        ("<a href='/p?a=1&amp;b=2#c'>x</a>", "[x](https://example.org/p?a=1&b=2#c)"),
        ("<a href=#there>x</a><a href='javascript:x()'>y</a><a href='data:,'>z</a><a>w</a>", "xyzw"),
        ("<a href=x><img src=y></a><a href=x></a>z", "z"),
        ("<a href=x><h2>t</h2><p>u</p></a>v", "## [t\n\nu](https://example.org/dir/x)\n\nv"),
        (
            "<a href=x>never closed <a href=y>z",
            "[never closed](https://example.org/dir/x) [z](https://example.org/dir/y)",
        ),
        ("<img alt='a cat'><img alt=''>", "[image: a cat]"),
        ("<script>if (a<b) '<p>no'</script><style>p{}</style><noscript><p>no</noscript>yes", "yes"),
        ("<iframe><p>no</iframe><textarea><p>no</textarea><!-- no -->yes", "yes"),
        ("<title>T\n t</title><body><h1>T t</h1>x", "# T t\n\nx"),
        ("<title>T</title>x<title>no</title>", "# T\n\nxno"),
        ("<svg><title>no</title><text>no</text></svg><svg/>x", "x"),
        ("<title>never closed <p>x", "# never closed <p>x"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn what_nobody_sees_is_left_out() {
    for (html, expected) in [
        ("a<nav><ul><li><a href=x>menu</a></ul></nav>b", "a b"),
        ("a<p hidden>no</p>b", "a b"),
        ("a<div style='color:red; Display : none'><div>no</div>no</div>b", "a b"),
        ("a<span style=visibility:hidden>no</span>b", "a b"),
        ("<template>no</template><dialog>no</dialog><dialog open>yes</dialog>", "yes"),
        ("<select><option>no<option>no</select><video>no</video>yes", "yes"),
        ("<p hidden>no<p>yes<p>yes</p>", "yes\n\nyes"),
        ("<ul><li hidden>no<li>yes</ul>", "- yes"),
        ("<input hidden>yes<br hidden>yes", "yes\nyes"),
        ("<ol><li>a</li><li hidden>no</li><li>b</li></ol>", "1. a\n2. b"),
        ("a<nav><script>no</script></nav>b", "a b"),
        // Better a menu too much than a page too little.
        ("a<nav>menu <script>no</script>b", "a\n\nmenu b"),
        ("a\u{e0041}\u{e0042}\u{7}b", "ab"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

/// A page may be built to take long, to be deep, or to grow.
#[test]
fn bombs_do_no_harm() {
    let link = |href: &str| Some(format!("https://example.org/{}{href}", "d/".repeat(900)));
    let limit = 2 << 20;
    for (opening, closing) in [
        ("<div>", "</div>"),
        ("<b>", ""),
        ("<a href=x>y", ""),
        ("<p hidden>", ""),
        ("<nav>", "</nav>"),
        ("<ul><li>x", "</ul>"),
        ("<ol>", ""),
        ("<table><tr><td>", ""),
        ("<pre>\n\n", ""),
        ("<h1>", "</h1>"),
        ("<svg><title>", ""),
        ("<a href=x hidden>y", ""),
        ("<a href=x><p hidden>", "</p>"),
        ("</div>", ""),
        ("&notit;", ""),
        ("<!--", "-->"),
        ("<!--<!--", ""),
        ("<x a=1 b=2 c=3 a=4>", ""),
        ("</title", ""),
        ("<script></scr", ""),
    ] {
        let count = (limit / opening.len()).min(200_000);
        let html = format!("{}text{}", opening.repeat(count), closing.repeat(count));
        let (text, _) = hang_guard::run(opening, move || to_text(&html, &link, limit));
        assert!(text.len() <= limit, "{opening}");
    }
    let attributes: String = (0..100_000).map(|index| format!(" a{index}=b")).collect();
    assert_eq!(to_text(&format!("<p{attributes}>x"), &link, limit), ("x".to_owned(), true));
    assert_eq!(to_text("abc def", &link, 5), ("abc d".to_owned(), false));
}
