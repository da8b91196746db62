//! How blocks begin and end. Each is asked about a line behind its indentation.
//! <https://spec.commonmark.org/0.31.2/> (checked 2026-11)

/// `# Heading`.
pub(super) fn is_heading(line: &str) -> bool {
    let behind = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - behind.len())) && (behind.is_empty() || behind.starts_with([' ', '\t']))
}

/// `---`, `* * *`.
pub(super) fn is_rule(line: &str) -> bool {
    let Some(mark) = line.chars().next().filter(|c| matches!(c, '-' | '_' | '*')) else { return false };
    line.chars().all(|c| c == mark || c == ' ' || c == '\t') && line.matches(mark).count() >= 3
}

/// What makes a heading of the paragraph above it.
pub(super) fn is_underline(line: &str) -> bool {
    let line = line.trim_end_matches([' ', '\t']);
    !line.is_empty() && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-'))
}

/// What may make a table of the line above it.
pub(super) fn is_delimiters(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '-' | '|' | ':' | ' ' | '\t'))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    pub(super) mark: char,
    pub(super) length: usize,
    pub(super) info: &'a str,
}

pub(super) fn fence(line: &str) -> Option<Fence<'_>> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();
    let lawful = length >= 3 && !(mark == '`' && info.contains('`'));
    lawful.then_some(Fence { mark, length, info: info.trim() })
}

pub(super) fn closes_fence(line: &str, mark: char, length: usize) -> bool {
    let behind = line.trim_start_matches(mark);
    line.len() - behind.len() >= length && behind.trim_matches([' ', '\t']).is_empty()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// `-`, `*`, `+`, `.` or `)`: items of one list have the same.
    pub(super) kind: char,
    pub(super) number: Option<u64>,
    /// In bytes.
    pub(super) length: usize,
}

/// `- item`, `1. item`.
pub(super) fn marker(line: &str) -> Option<Marker> {
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - behind.len();
    let kind = behind.chars().next()?;
    let known = if digits == 0 { matches!(kind, '-' | '*' | '+') } else { matches!(kind, '.' | ')') };
    let apart = behind.get(1..).is_some_and(|text| text.is_empty() || text.starts_with([' ', '\t']));
    if !known || !apart || digits > 9 {
        return None;
    }
    let number = line.get(..digits).and_then(|digits| digits.parse().ok());
    Some(Marker { kind, number, length: digits + 1 })
}

/// Returns whether the list item may interrupt a paragraph.
pub(super) fn interrupts(marker: &Marker, line: &str) -> bool {
    let text = line.get(marker.length..).unwrap_or_default();
    !text.trim().is_empty() && marker.number.is_none_or(|number| number == 1)
}

/// Where HTML ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// With the line that has one of these.
    Words(&'static [&'static str]),
    Blank,
}

impl Until {
    pub(super) fn is_met(self, line: &str) -> bool {
        match self {
            Self::Words(words) => {
                let line = line.to_ascii_lowercase();
                words.iter().any(|word| line.contains(word))
            }
            Self::Blank => false,
        }
    }
}

const VERBATIM: [&str; 4] = ["script", "pre", "style", "textarea"];
const BLOCKS: &str = " address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead title tr track ul ";

/// HTML that is a block of its own; some of it may not begin in the middle of a paragraph.
pub(super) fn html(line: &str, in_paragraph: bool) -> Option<Until> {
    let inner = line.strip_prefix('<')?;
    for (begin, end) in [("!--", &["-->"][..]), ("?", &["?>"]), ("![CDATA[", &["]]>"])] {
        if inner.starts_with(begin) {
            return Some(Until::Words(end));
        }
    }
    if inner.strip_prefix('!').is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic())) {
        return Some(Until::Words(&[">"]));
    }
    let closing = inner.starts_with('/');
    let text = inner.strip_prefix('/').unwrap_or(inner);
    let behind = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
    let name = text.get(..text.len() - behind.len()).unwrap_or_default().to_ascii_lowercase();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let ended = behind.is_empty() || behind.starts_with([' ', '\t', '>']);
    if !closing && ended && VERBATIM.contains(&name.as_str()) {
        return Some(Until::Words(&["</script>", "</pre>", "</style>", "</textarea>"]));
    }
    if (ended || behind.starts_with("/>")) && BLOCKS.contains(&format!(" {name} ")) {
        return Some(Until::Blank);
    }
    let alone = (ended || behind.starts_with('/'))
        && behind.trim_end().strip_suffix('>').is_some_and(|inside| !inside.contains(['<', '>']));
    (alone && !in_paragraph && !VERBATIM.contains(&name.as_str())).then_some(Until::Blank)
}
