//! Describes an HTML page that came instead of a reply by its title.

/// Returns whether a text looks like an HTML page.
pub(crate) fn is_page(text: &str) -> bool {
    let start: String = text.trim_start_matches('\u{feff}').trim_start().chars().take(14).collect();
    let start = start.to_ascii_lowercase();
    ["<!doctype html", "<html", "<head", "<body", "<!--", "<center", "<h1"]
        .iter()
        .any(|tag| start.starts_with(tag))
}

/// Describes a page in a few words.
pub(crate) fn describe(page: &str) -> String {
    match title(page) {
        Some(title) => format!("HTML page titled \"{title}\""),
        None => "HTML page without a title".to_owned(),
    }
}

fn title(page: &str) -> Option<String> {
    // ASCII only, so that offsets in both are the same.
    let lower = page.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title").unwrap_or(lower.len() - start);
    let words: Vec<&str> = page.get(start..end)?.split_whitespace().collect();
    let title: String = unescape(&words.join(" ")).chars().take(200).collect();
    (!title.is_empty()).then_some(title)
}

fn unescape(text: &str) -> String {
    // `&amp;` last, or it would make new entities.
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_told_by_its_title() {
        for (page, words) in [
            ("<html><head><title>502 Bad\n  Gateway</title>", "HTML page titled \"502 Bad Gateway\""),
            ("<!DOCTYPE html><TITLE lang=en>A &amp; B</TITLE>", "HTML page titled \"A & B\""),
            ("<html><title>cut", "HTML page titled \"cut\""),
            ("<html><title> </title>", "HTML page without a title"),
            ("<html><title", "HTML page without a title"),
            ("<html><body>x</body>", "HTML page without a title"),
            ("<html>İ<title>İ</title>", "HTML page titled \"İ\""),
        ] {
            assert!(is_page(page), "{page}");
            assert_eq!(describe(page), words);
        }
        assert!(!is_page("{\"a\":1}"));
        assert!(!is_page("<think>hm"));
    }
}
