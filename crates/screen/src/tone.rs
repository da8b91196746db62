//! What a piece of text is, and how that looks on a dark and on a light background. No background is ever set.
//!
//! Each tone has a contrast of at least 4.5:1 (WCAG 2.2) with the palette of xterm. Of the terminal's sixteen colours, only
//! red, the blues and magenta have it on white, so that green, yellow and grey are of the 256 there.

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
    fn codes(self, light: bool) -> &'static str {
        match (self, light) {
            (Self::Plain | Self::Quote, _) => "",
            (Self::Strong, _) => "1",
            (Self::Emphasis, _) => "3",
            (Self::Link, _) => "4",
            (Self::Code | Self::Number | Self::Accent, false) => "36",
            (Self::Code | Self::Number | Self::Accent, true) => "34",
            (Self::Heading, false) => "1;36",
            (Self::Heading, true) => "1;34",
            (Self::Dim | Self::Comment, false) => "2",
            (Self::Dim | Self::Comment, true) => "38;5;241",
            (Self::Keyword, false) => "95",
            (Self::Keyword, true) => "35",
            (Self::Type | Self::Warning, false) => "33",
            (Self::Type | Self::Warning, true) => "38;5;130",
            (Self::String | Self::Added | Self::Ok, false) => "32",
            (Self::String | Self::Added | Self::Ok, true) => "38;5;28",
            (Self::Removed | Self::Error, false) => "91",
            (Self::Removed | Self::Error, true) => "31",
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
    pub(crate) fn codes(&self, light: bool) -> String {
        let more = [(self.strong, "1"), (self.emphasis, "3"), (self.struck, "9"), (self.link.is_some(), "4")];
        let more = more.into_iter().filter_map(|(set, code)| set.then_some(code));
        let tone = Some(self.tone.codes(light)).filter(|codes| !codes.is_empty());
        tone.into_iter().chain(more).collect::<Vec<_>>().join(";")
    }
}

impl From<Tone> for Style {
    fn from(tone: Tone) -> Self {
        Self { tone, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Tone; 19] = [
        Tone::Plain,
        Tone::Strong,
        Tone::Emphasis,
        Tone::Code,
        Tone::Heading,
        Tone::Dim,
        Tone::Link,
        Tone::Quote,
        Tone::Keyword,
        Tone::Type,
        Tone::String,
        Tone::Comment,
        Tone::Number,
        Tone::Added,
        Tone::Removed,
        Tone::Error,
        Tone::Warning,
        Tone::Ok,
        Tone::Accent,
    ];

    /// The first sixteen colours of xterm (its `XTerm-col.ad`, read 2026-11-29).
    const XTERM: [u32; 16] = [
        0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000,
        0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
    ];

    fn colour_256(number: u32) -> u32 {
        let level = |level: u32| if level == 0 { 0 } else { 55 + 40 * level };
        match number {
            0..16 => XTERM[number as usize],
            16..232 => {
                let cube = number - 16;
                level(cube / 36) << 16 | level(cube / 6 % 6) << 8 | level(cube % 6)
            }
            _ => (8 + 10 * (number - 232)) * 0x01_01_01,
        }
    }

    fn luminance(colour: u32) -> f64 {
        let linear = |shift: u32| {
            let value = f64::from(colour >> shift & 0xff) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(16) + 0.7152 * linear(8) + 0.0722 * linear(0)
    }

    fn contrast(one: u32, other: u32) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        one.max(other) / one.min(other)
    }

    /// The colour that the codes set. Faint text is two thirds of the text's own, as xterm, VTE and Alacritty draw it.
    fn colour(codes: &str, light: bool) -> u32 {
        let text = if light { 0x000000 } else { XTERM[7] };
        let numbers: Vec<u32> = codes.split(';').filter_map(|code| code.parse().ok()).collect();
        match numbers[..] {
            [38, 5, number] => colour_256(number),
            [2] => (text & 0xff) * 2 / 3 * 0x01_01_01,
            [.., code @ 30..38] => XTERM[code as usize - 30],
            [.., code @ 90..98] => XTERM[code as usize - 82],
            _ => text,
        }
    }

    #[test]
    fn every_tone_can_be_read() {
        assert!((contrast(0x000000, 0xffffff) - 21.0).abs() < 0.01);
        for (light, background) in [(false, 0x000000), (true, 0xffffff)] {
            for tone in ALL {
                let contrast = contrast(colour(tone.codes(light), light), background);
                assert!(contrast >= 4.5, "{tone:?} has {contrast:.2}:1 on {background:06x}");
            }
        }
    }
}
