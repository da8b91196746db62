//! Where words of others may stand in a text of Markdown.

type Around = fn(&str) -> String;
/// With what makes the Markdown around it.
pub(crate) const PLACES: [(&str, Around); 14] = [
    ("a heading", |evil| format!("# {evil}\n\ntext")),
    ("an item", |evil| format!("- a\n  - {evil}\n")),
    ("a quotation", |evil| format!("> {evil}\n")),
    ("a cell", |evil| format!("| {evil} | b |\n| --- | :-: |\n| c | {evil} |\n")),
    ("code in a line", |evil| format!("`{evil}`")),
    ("code", |evil| format!("```rust\nlet x = \"{evil}\"; // {evil}\n```\n")),
    ("what stands behind a fence", |evil| format!("```{evil}\nx\n```\n")),
    ("indented code", |evil| format!("    {evil}\n")),
    ("a link's words", |evil| format!("[{evil}](https://example.com)")),
    ("a link's address", |evil| format!("[x](https://example.com/{evil})")),
    ("a link's address in brackets", |evil| format!("[x](<https://example.com/{evil}>)")),
    ("a link's title", |evil| format!("[x](https://example.com '{evil}')")),
    ("a picture's words", |evil| format!("![{evil}](https://example.com/x.png)")),
    ("an autolink", |evil| format!("<https://example.com/{evil}>")),
];
