//! What a piece of text is, and how that looks in the terminal's own colours: its theme decides what they are, and no
//! background is ever set.

use std::sync::Arc;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Strong,
    Emphasis,
    Code,
    Heading,
    /// What may be skipped: bars, labels, times.
    Dim,
    Link,
    Quote,
    Keyword,
    Type,
    String,
    Comment,
    Number,
    Added,
    Removed,
    Error,
    Warning,
    Ok,
    /// What runs, or waits for an answer.
    Accent,
}

impl Tone {
    /// Of SGR; empty for what is as all else is.
    fn codes(self) -> &'static str {
        match self {
            Self::Plain | Self::Quote => "",
            Self::Strong => "1",
            Self::Emphasis => "3",
            Self::Code | Self::Number | Self::Accent => "36",
            Self::Heading => "1;34",
            Self::Dim | Self::Comment => "2",
            Self::Link => "4",
            Self::Keyword => "35",
            Self::Type | Self::Warning => "33",
            Self::String | Self::Added | Self::Ok => "32",
            Self::Removed | Self::Error => "31",
        }
    }
}

/// A tone, and what Markdown heaps upon it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Style {
    pub tone: Tone,
    pub strong: bool,
    pub emphasis: bool,
    pub struck: bool,
    /// As an escape sequence takes it.
    pub(crate) link: Option<Arc<str>>,
}

impl Style {
    /// `31;1`, say; empty for plain text.
    pub(crate) fn codes(&self) -> String {
        let more = [(self.strong, "1"), (self.emphasis, "3"), (self.struck, "9"), (self.link.is_some(), "4")];
        let more = more.into_iter().filter_map(|(set, code)| set.then_some(code));
        let tone = Some(self.tone.codes()).filter(|codes| !codes.is_empty());
        tone.into_iter().chain(more).collect::<Vec<_>>().join(";")
    }
}

impl From<Tone> for Style {
    fn from(tone: Tone) -> Self {
        Self { tone, ..Self::default() }
    }
}
