//! The colours of the line. Each has at least 4.5:1 against its background with the palette of xterm; a light one leaves so
//! few of the sixteen that two are of the 256.

use reedline::Color;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tones {
    pub(crate) accent: Color,
    pub(crate) wrong: Color,
    pub(crate) good: Color,
    pub(crate) dim: Color,
}

impl Tones {
    pub(crate) fn on(light: bool) -> Self {
        match light {
            false => {
                Self { accent: Color::Cyan, wrong: Color::LightRed, good: Color::Green, dim: Color::DarkGray }
            }
            true => Self {
                accent: Color::Blue,
                wrong: Color::Red,
                good: Color::Fixed(28),
                dim: Color::Fixed(241),
            },
        }
    }
}
