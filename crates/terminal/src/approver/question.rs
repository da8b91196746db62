//! The words of a question: what would run, what it does, and why it is asked.

use converse_ensemble::Pending;
use converse_ensemble::disclosure::effects_in_words;
use converse_screen::{Line, Look, Tone, broken, wrapped};
use serde_json::Value;

use super::change::FileChange;
use super::shown::{self, Much};
use super::visible::visible;
use crate::render::quoted::columns;
use converse_host::secrets::Redactor;
use converse_text::safe_line;

/// Lines of an entry of a list; a longer one is shown when it is chosen.
const FEW: usize = 3;

/// A call that is asked about, among others.
#[derive(Clone, Copy)]
pub(super) struct QuestionText<'a> {
    pub(super) pending: &'a Pending,
    /// The position and the total.
    pub(super) place: (usize, usize),
    /// Told where several models may ask.
    pub(super) who: Option<&'a str>,
    /// For what comes from a file. What the model wrote is shown as it runs.
    pub(super) redactor: &'a Redactor,
}

impl QuestionText<'_> {
    /// `allow io.write_file?`
    pub(super) fn title(&self) -> String {
        let (index, count) = self.place;
        let place = if count > 1 { format!(" ({index} of {count})") } else { String::new() };
        format!("{}allow {}?{place}", self.caller(), self.pending.tool())
    }

    /// The name of the model before a title, where several may ask.
    pub(super) fn caller(&self) -> String {
        self.who.map_or(String::new(), |who| format!("{}: ", safe_line(who, 100)))
    }

    /// With the arguments, and whether some of them are not shown.
    pub(super) fn lines(&self, much: Much, look: &Look) -> (Vec<Line>, bool) {
        let pending = self.pending;
        let mut lines = vec![Line::new(), Line::toned(Tone::Strong, &self.title())];
        lines.extend(self.why(look.width).lines().map(|line| Line::toned(Tone::Dim, line)));
        if let Some(reason) = pending.reason() {
            lines.push(Line::plain(&format!("  ({})", safe_line(reason, 400))));
        }
        let (arguments, cut) = self.arguments(much, look);
        lines.extend(arguments);
        (lines, cut)
    }

    /// What is run or reached, if the descriptor says, and the arguments.
    fn arguments(&self, much: Much, look: &Look) -> (Vec<Line>, bool) {
        let mut lines = Vec::new();
        if let Some(way) = self.pending.declared().as_ref().and_then(way) {
            lines.push(Line::plain(&format!("  {way}")));
        }
        lines.extend(self.pending.named_elsewhere().map(|named| Line::plain(&format!("  {named}"))));
        let change = FileChange::of(self.pending);
        let (arguments, cut) = match &change {
            Some(change) => change.lines(self.pending.arguments(), look, much, self.redactor),
            None => shown::arguments(self.pending.arguments(), look, much),
        };
        lines.extend(arguments);
        (lines, cut)
    }

    /// An entry of a list, in as few lines as possible, and whether some of it is not shown. The number is shown with
    /// the total, because the calls of a turn have their own numbers.
    pub(super) fn in_short(&self, number: usize, count: usize, look: &Look) -> (Vec<Line>, bool) {
        let head = Line::plain(&format!("  {number} of {count}  ")).with(Tone::Strong, self.pending.tool());
        let declared = self.pending.declared();
        let ways = declared.as_ref().and_then(way).into_iter();
        let ways = ways.chain(self.pending.named_elsewhere().map(str::to_owned));
        let ways = ways.chain(FileChange::of(self.pending).and_then(|change| change.notice));
        let way: String = ways.map(|way| format!("  ({way})")).collect();
        let arguments = Line::plain(&format!("{way} {}", shown::in_short(self.pending.arguments())));
        let columns = look.width;
        let mut whole = head.clone();
        whole.append(arguments.clone());
        let mut lines =
            broken(&whole, columns, &Line::toned(Tone::Dim, &format!("     {} ", look.either("│", "|"))));
        let cut = lines.len() > FEW;
        if cut {
            let mut line = head.clone();
            line.append(arguments.clipped(columns.saturating_sub(head.width()).max(8)));
            lines = vec![line];
        }
        let why = self.why(columns.saturating_sub(3));
        lines.extend(why.lines().map(|line| Line::toned(Tone::Dim, &format!("   {line}"))));
        (lines, cut)
    }

    /// What the tool does, and which rule requires the approval.
    fn why(&self, columns: usize) -> String {
        let (effects, rule) = (effects_in_words(self.pending.effects()), safe_line(self.pending.rule(), 200));
        within(&format!("{effects}; asked because of {rule}"), columns)
    }
}

/// The program or the address of a tool that a descriptor declares.
fn way(definition: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(|text| visible(text, false));
    let word = |value: &Value| match value {
        Value::Array(parts) => parts.iter().filter_map(text).collect::<Vec<_>>().join(" "),
        one => text(one).unwrap_or_default(),
    };
    let kind = definition.get("kind")?;
    if let Some(Value::Array(argv)) = kind.pointer("/command/argv") {
        return Some(format!("runs: {}", argv.iter().map(word).collect::<Vec<_>>().join(" ")));
    }
    let http = kind.get("http")?;
    Some(format!("sends: {} {}", text(http.get("method")?)?, text(http.get("url")?)?))
}

/// For the terminal, a line each.
pub(super) fn painted(lines: &[Line], look: &Look) -> String {
    lines.iter().flat_map(|line| shown::fitted(line, look)).map(|line| line.painted(look) + "\n").collect()
}

/// Words of our own, broken between words.
pub(super) fn flowing(text: &str) -> String {
    within(text, columns())
}

fn within(text: &str, columns: usize) -> String {
    let (words, end) = text.split_at(text.trim_end().len());
    let room = columns.saturating_sub(4).max(8);
    let lines = words.lines().flat_map(|line| wrapped(&Line::plain(line.trim_start()), room));
    let lines: Vec<String> = lines.map(|line| format!("  {}", line.text().trim_end())).collect();
    lines.join("\n") + end
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_of_ours_are_broken_between_words() {
        let told = super::super::answers::SEVERAL;
        for columns in [20, 40, 60, 100] {
            let flowed = within(&format!("{told}: "), columns);
            assert!(flowed.lines().all(|line| line.len() <= columns), "{columns}: {flowed}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&flowed), words(&format!("{told}: ")), "{columns}");
            assert!(flowed.ends_with(": "));
        }
    }

    #[test]
    fn a_descriptor_says_what_is_run_or_reached() {
        for (kind, told) in [
            (json!({ "command": { "argv": ["git", ["--", "{path}"]] } }), Some("runs: git -- {path}")),
            (
                json!({ "http": { "method": "POST", "url": "https://a.bc/{id}" } }),
                Some("sends: POST https://a.bc/{id}"),
            ),
            (json!({ "builtin": "calculator" }), None),
        ] {
            assert_eq!(way(&json!({ "kind": kind })).as_deref(), told);
        }
    }
}
