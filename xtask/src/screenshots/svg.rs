//! A picture as SVG: a window with rounded corners, text that stays text. It brings its own paper, so that it can be read
//! on a light page and on a dark one.

use std::fmt::Write as _;

use super::picture::{Picture, Row, Style};

const CELL: (f64, f64) = (8.4, 19.0);
const FONT: f64 = 14.0;
const MARGIN: f64 = 18.0;
const BAR: f64 = 36.0;
/// From the top of a row to the line that letters stand on.
const BASELINE: f64 = 14.0;

const PAPER: &str = "#1c1f2b";
const FRAME: &str = "#313648";
const INK: &str = "#d5daea";
const FAINT: &str = "#8b93ad";
/// Black, red, green, yellow, blue, magenta, cyan, white; then their bright ones.
const COLOURS: [&str; 16] = [
    "#3b4058", "#f2798f", "#9fd67f", "#e6c07b", "#7ba7f7", "#c79bf2", "#6fcbd6", "#b9c1d9", "#7a82a0",
    "#ff9aab", "#b8ec9a", "#f5d79a", "#9dbfff", "#dcb8ff", "#90e1ea", "#f4f6fc",
];

pub(super) fn written(picture: &Picture, title: &str) -> String {
    let (width, height) = (
        picture.columns as f64 * CELL.0 + 2.0 * MARGIN,
        picture.rows.len() as f64 * CELL.1 + BAR + 1.5 * MARGIN,
    );
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n<style>text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,\
         'DejaVu Sans Mono','Liberation Mono',monospace;fill:{INK};white-space:pre}}\
         .b{{font-weight:700}}.i{{font-style:italic}}.d{{fill:{FAINT}}}.u{{text-decoration:underline}}{}</style>\n",
        colours(),
        title = escaped(title),
    );
    let _ = write!(
        out,
        "<rect x=\".5\" y=\".5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"10\" fill=\"{PAPER}\" stroke=\"{FRAME}\"/>\n\
         <circle cx=\"20\" cy=\"18\" r=\"5.5\" fill=\"#f2798f\"/><circle cx=\"38\" cy=\"18\" r=\"5.5\" fill=\"#e6c07b\"/>\
         <circle cx=\"56\" cy=\"18\" r=\"5.5\" fill=\"#9fd67f\"/>\n\
         <text x=\"{:.0}\" y=\"22\" text-anchor=\"middle\" class=\"d\">{}</text>\n",
        width - 1.0,
        height - 1.0,
        width / 2.0,
        escaped(title),
    );
    for (index, row) in picture.rows.iter().enumerate() {
        let top = BAR + MARGIN / 2.0 + index as f64 * CELL.1;
        runs(row).iter().for_each(|run| run.write(&mut out, top));
    }
    if let Some((row, column)) = picture.cursor {
        let (x, y) = (MARGIN + column as f64 * CELL.0, BAR + MARGIN / 2.0 + row as f64 * CELL.1);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{}\" height=\"{}\" fill=\"{INK}\" opacity=\".8\"/>",
            y + 1.0,
            CELL.0,
            CELL.1 - 2.0
        );
    }
    out + "</svg>\n"
}

fn colours() -> String {
    COLOURS.iter().enumerate().map(|(index, colour)| format!(".c{index}{{fill:{colour}}}")).collect()
}

/// Neighbours that look alike, with no more than one blank between them: some viewers make one of several.
struct Run {
    column: usize,
    columns: usize,
    text: String,
    style: Style,
}

fn runs(row: &Row) -> Vec<Run> {
    let (mut runs, mut column): (Vec<Run>, usize) = (Vec::new(), 0);
    for glyph in row {
        let goes_on = |run: &&mut Run| {
            let is_gap = run.text.ends_with(' ') && glyph.text == " ";
            run.style == glyph.style && (is_visible(run.style) || !is_gap)
        };
        match runs.last_mut().filter(goes_on) {
            Some(run) => {
                run.text.push_str(&glyph.text);
                run.columns += glyph.columns;
            }
            None => {
                let (text, style) = (glyph.text.clone(), glyph.style);
                runs.push(Run { column, columns: glyph.columns, text, style });
            }
        }
        column += glyph.columns;
    }
    runs
}

/// Blanks of it are seen.
fn is_visible(blank: Style) -> bool {
    blank.paper.is_some() || blank.inverse
}

impl Run {
    fn write(&self, out: &mut String, top: f64) {
        let (x, width) = (MARGIN + self.column as f64 * CELL.0, self.columns as f64 * CELL.0);
        let (ink, paper) = match (self.style.inverse, self.style.ink, self.style.paper) {
            (false, ink, paper) => (ink.map(colour), paper.map(colour)),
            (true, ink, paper) => (Some(paper.map_or(PAPER, colour)), Some(ink.map_or(INK, colour))),
        };
        if let Some(paper) = paper {
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{paper}\"/>",
                CELL.1
            );
        }
        // Where nothing is there is nothing to draw; and a browser squeezes what begins with blanks.
        let text = self.text.trim_end();
        let lead = text.len() - text.trim_start().len();
        let text = text.trim_start();
        if text.is_empty() {
            return;
        }
        let cut = self.text.len() - self.text.trim_end().len();
        let columns = self.columns - lead - cut;
        let mut classes = Vec::new();
        let marks = [(self.style.bold, "b"), (self.style.italic, "i"), (self.style.underlined, "u")];
        classes.extend(marks.iter().filter(|(set, _)| *set).map(|(_, class)| (*class).to_owned()));
        match (self.style.inverse, self.style.ink, self.style.dim) {
            (false, Some(index), _) => classes.push(format!("c{index}")),
            (false, None, true) => classes.push("d".to_owned()),
            _ => {}
        }
        let class =
            if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
        let fill = if self.style.inverse {
            format!(" style=\"fill:{}\"", ink.unwrap_or(INK))
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" textLength=\"{:.1}\"{class}{fill}>{}</text>",
            x + lead as f64 * CELL.0,
            top + BASELINE,
            columns as f64 * CELL.0,
            escaped(text)
        );
    }
}

fn colour(index: u8) -> &'static str {
    COLOURS.get(usize::from(index)).copied().unwrap_or(INK)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::picture::{Glyph, PLAIN};
    use super::*;

    fn glyphs(text: &str, style: Style) -> Vec<Glyph> {
        text.chars().map(|c| Glyph { text: c.to_string(), columns: 1, style }).collect()
    }

    #[test]
    fn text_stays_text_and_is_escaped() {
        let bold = Style { bold: true, ink: Some(2), ..PLAIN };
        let row = [glyphs("  a<b", PLAIN), glyphs(" &\"", bold)].concat();
        let row = [row, glyphs(" a   z", PLAIN)].concat();
        let svg = written(&Picture { columns: 20, rows: vec![row], cursor: None }, "x");
        assert!(svg.contains(">a</text>") && svg.contains(">z</text>"), "a gap is no text: {svg}");
        assert!(svg.contains(">a&lt;b</text>") && svg.contains("class=\"b c2\">&amp;&quot;</text>"), "{svg}");
        assert!(svg.contains("<text x=\"34.8\""), "blanks move what is behind them: {svg}");
    }

    #[test]
    fn what_is_inverse_has_its_colours_swapped() {
        let style = Style { inverse: true, ink: Some(6), ..PLAIN };
        let picture = Picture { columns: 4, rows: vec![glyphs("ab", style)], cursor: Some((0, 2)) };
        let svg = written(&picture, "x");
        assert!(svg.contains("fill=\"#6fcbd6\"") && svg.contains("style=\"fill:#1c1f2b\""), "{svg}");
    }
}
