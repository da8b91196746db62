use super::*;

/// What is not plain, as `tone:text`.
fn marked(language: &str, code: &str) -> Vec<String> {
    let mut highlighter = Highlighter::new(language);
    let lines: Vec<Line> = code.lines().map(|line| highlighter.line(line)).collect();
    for (line, text) in lines.iter().zip(code.lines()) {
        assert_eq!(line.text(), text, "a character was changed");
    }
    let spans = lines.iter().flat_map(Line::spans).filter(|span| span.style.tone != Tone::Plain);
    spans.map(|span| format!("{:?}:{}", span.style.tone, span.text).to_lowercase()).collect()
}

#[test]
fn each_language_shows_what_is_its_own() {
    for (language, code, expected) in [
        (
            "rust",
            "let x: &'a str = \"s\"; // c",
            &["keyword:let", "type:str", "string:\"s\"", "comment:// c"][..],
        ),
        (
            "rs",
            "/* a /* b */\nc */ 1..2 'x' r#\"q\"\n\"#",
            &[
                "comment:/* a /* b */",
                "comment:c */",
                "number:1",
                "number:2",
                "string:'x'",
                "string:r#\"q\"",
                "string:\"#",
            ],
        ),
        (
            "python",
            "def f():\n  \"\"\"doc\n  def\"\"\" # no",
            &["keyword:def", "string:\"\"\"doc", "string:  def\"\"\"", "comment:# no"],
        ),
        (
            "ts",
            "const a = `x\n${b}` as number",
            &["keyword:const", "string:`x", "string:${b}`", "keyword:as", "type:number"],
        ),
        (
            "json",
            "{\"a\": \"b\", \"c\": [1.5e-3, null]}",
            &["type:\"a\"", "string:\"b\"", "type:\"c\"", "number:1.5e-3", "keyword:null"],
        ),
        (
            "toml",
            "[a.b]\nkey-x = true # c\nu = \"a#b\"",
            &["keyword:[a.b]", "type:key-x", "keyword:true", "comment:# c", "type:u", "string:\"a#b\""],
        ),
        (
            "yaml",
            "a: true\n- b: 'it''s'\nu: x#y",
            &["type:a", "keyword:true", "type:b", "string:'it''s'", "type:u"],
        ),
        (
            "sh",
            "if x; then echo \"$a\" # c\nfi; a=b#c",
            &["keyword:if", "keyword:then", "type:echo", "string:\"$a\"", "comment:# c", "keyword:fi"],
        ),
        (
            "go",
            "func f() error { return nil }",
            &["keyword:func", "type:error", "keyword:return", "keyword:nil"],
        ),
        (
            "c++",
            "int x = 0x1F; /* a\nb */ char c = '\\n';",
            &["type:int", "number:0x1f", "comment:/* a", "comment:b */", "type:char", "string:'\\n'"],
        ),
        ("java", "@Override public int x()", &["keyword:@override", "keyword:public", "type:int"]),
        (
            "html",
            "<a href=\"x\">t</a> <!-- c\nd --> 1 < 2",
            &[
                "keyword:<a",
                "type:href",
                "string:\"x\"",
                "keyword:>",
                "keyword:</a>",
                "comment:<!-- c",
                "comment:d -->",
            ],
        ),
        ("css", "a { color: red; } /* c */", &["type:color", "comment:/* c */"]),
        ("sql", "SELECT a FROM t -- c", &["keyword:select", "keyword:from", "comment:-- c"]),
        ("diff", "--- a\n+b\n-c\n@@ 1\n d", &["strong:--- a", "added:+b", "removed:-c", "keyword:@@ 1"]),
        ("nonsense", "let x = 1;", &[]),
        ("rust", "\"\\\"é\" 'é' '\\''", &["string:\"\\\"é\"", "string:'é'", "string:'\\''"]),
    ] {
        assert_eq!(marked(language, code), expected, "{language}: {code}");
    }
}

proptest::proptest! {
    #[test]
    fn no_code_is_ever_changed(code in "(?s)[ -~\\né日'\"`/*#<>]{0,200}", which in 0..16usize) {
        let names = ["rust", "python", "js", "json", "toml", "yaml", "sh", "go", "c", "java", "html", "css", "sql", "diff", "make", "ruby"];
        marked(names[which], &code);
    }
}
