//! Code blocks in Markdown text, as far as needed to find their ends. Everything inside is code.

/// The text, with what is open at its end closed: so that what follows is not part of it.
pub(super) fn closed(text: &str) -> String {
    let mut open: Option<Fence> = None;
    for line in text.lines() {
        match (open, Fence::of(line)) {
            (None, Some((fence, _))) => open = Some(fence),
            (Some(opened), Some((fence, ""))) if fence.closes(opened) => open = None,
            _ => {}
        }
    }
    let text = text.trim_end_matches('\n');
    match open {
        Some(Fence { sign, length }) => format!("{text}\n{}", sign.to_string().repeat(length)),
        None => text.to_owned(),
    }
}

/// Code in a fence that is longer than any in it.
pub(super) fn fenced(language: &str, code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", code.trim_end_matches('\n'))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    sign: char,
    length: usize,
}

impl Fence {
    /// CommonMark 0.31, section 4.5 (spec.commonmark.org, checked 2026-11): three or more of a sign, at most three
    /// blanks before it, and no backtick behind backticks. With what is said of the code.
    fn of(line: &str) -> Option<(Self, &str)> {
        let line = line.trim_end();
        let inner = line.trim_start_matches(' ');
        let sign = inner.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let rest = inner.trim_start_matches(sign);
        let length = inner.len() - rest.len();
        let sound = line.len() - inner.len() <= 3 && length >= 3 && !(sign == '`' && rest.contains('`'));
        sound.then_some((Self { sign, length }, rest.trim()))
    }

    fn closes(self, opened: Self) -> bool {
        self.sign == opened.sign && self.length >= opened.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_gets_out_of_its_fence() {
        for code in ["x", "```\nout", "a ````` b", "~~~", ""] {
            assert_eq!(outside(&format!("{}\nafter", fenced("", code))), "after", "{code}");
        }
        for text in ["```\nopen", "~~~~\n~~~", "```\nx\n```", "````\n```", "```\n``` not closing\nx"] {
            assert_eq!(outside(&format!("{}\n\nafter", closed(text))), "after", "{text}");
        }
        for fine in ["fine", "    ```\nindented", "``` a`b", ""] {
            assert_eq!(closed(fine), fine);
        }
    }

    /// The words that a reader of CommonMark finds in no code block.
    fn outside(text: &str) -> String {
        let page = converse_screen::html::markdown(text);
        let mut words = String::new();
        for (index, part) in page.split("<pre><code>").enumerate() {
            let part =
                if index == 0 { part } else { part.split_once("</pre></div>").map_or("", |(_, rest)| rest) };
            words.push_str(part);
        }
        let tags = ["<div class=\"code\">", "</p>", "<p>"];
        tags.iter().fold(words, |words, tag| words.replace(tag, "")).trim().to_owned()
    }
}
