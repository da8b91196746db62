//! The words of a question: what would run, what it does, and why it is asked.

use converse_ensemble::Pending;
use converse_ensemble::disclosure::effects_in_words;
use converse_screen::{Line, Look, Tone, broken, wrapped};
use serde_json::{Map, Value};

use super::change::{FileChange, is_text};
use super::shown::{self, Much};
use super::visible::visible;
use crate::changes::Paint;
use crate::render::quoted::columns;
use converse_host::secrets::Redactor;
use converse_text::safe_line;
use converse_text::wording::counted;

/// Lines of an entry of a list; a longer one is shown when it is chosen.
const FEW: usize = 3;
/// Before what belongs to an entry of a list.
const INDENT: &str = "   ";

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

    /// What the call would change in a file.
    pub(super) fn change(&self) -> Option<FileChange> {
        FileChange::of(self.pending)
    }

    /// With the arguments, and whether some of them are not shown. `change` is of this call.
    pub(super) fn lines(&self, change: Option<&FileChange>, much: Much, look: &Look) -> (Vec<Line>, bool) {
        let pending = self.pending;
        let mut lines = vec![Line::new(), Line::toned(Tone::Strong, &self.title())];
        lines.extend(self.why(look.width).lines().map(|line| Line::toned(Tone::Dim, line)));
        if let Some(reason) = pending.reason() {
            lines.push(Line::plain(&format!("  ({})", safe_line(reason, 400))));
        }
        let (arguments, cut) = self.arguments(change, much, look);
        lines.extend(arguments);
        (lines, cut)
    }

    /// What is run or reached, if the descriptor says, and the arguments.
    fn arguments(&self, change: Option<&FileChange>, much: Much, look: &Look) -> (Vec<Line>, bool) {
        let mut lines = Vec::new();
        if let Some(way) = self.pending.declared().as_ref().and_then(way) {
            lines.push(Line::plain(&format!("  {way}")));
        }
        lines.extend(self.pending.named_elsewhere().map(|named| Line::plain(&format!("  {named}"))));
        let (arguments, defaults) = self.without_defaults(much);
        let (shown, cut) = match change {
            Some(change) => change.lines(&arguments, much, self.paint(look)),
            None => shown::arguments(&arguments, look, much),
        };
        lines.extend(shown);
        lines.extend(defaults.as_ref().map(|defaults| Line::toned(Tone::Dim, &format!("  {defaults}"))));
        (lines, cut || defaults.is_some())
    }

    /// The arguments without defaults, and a word about those that the model wrote itself: only they are shown with all.
    fn without_defaults(&self, much: Much) -> (Map<String, Value>, Option<String>) {
        let (mut arguments, mut count) = (self.pending.arguments().clone(), 0);
        for (name, is_written) in self.pending.defaults() {
            if !(is_written && much == Much::All) {
                arguments.shift_remove(name);
                count += usize::from(is_written);
            }
        }
        (arguments, (count > 0).then(|| format!("and {}", counted(count, "default"))))
    }

    fn paint<'p>(&'p self, look: &'p Look) -> Paint<'p> {
        Paint { look, redactor: self.redactor, cleans_new: false }
    }

    /// An entry of a list, in as few lines as possible, and whether some of it is not shown. The number is shown with
    /// the total, because the calls of a turn have their own numbers. `change` is of this call.
    pub(super) fn in_short(
        &self,
        change: Option<&FileChange>,
        (number, count): (usize, usize),
        look: &Look,
    ) -> (Vec<Line>, bool) {
        let head = Line::plain(&format!("  {number} of {count}  ")).with(Tone::Strong, self.pending.tool());
        let declared = self.pending.declared();
        let ways = declared.as_ref().and_then(way).into_iter();
        let ways = ways.chain(self.pending.named_elsewhere().map(str::to_owned));
        let ways = ways.chain(change.and_then(|change| change.notice.clone()));
        let way: String = ways.map(|way| format!("  ({way})")).collect();
        let narrower = Look { width: look.width.saturating_sub(INDENT.len()), ..*look };
        let changed = change.and_then(|change| change.in_short(Much::of_each(count), self.paint(&narrower)));
        let (mut arguments, defaults) = self.without_defaults(Much::first());
        arguments.retain(|name, _| changed.is_none() || !is_text(name));
        if change.is_some()
            && let Some(path) = arguments.shift_remove("path")
        {
            arguments.shift_insert(0, "path".to_owned(), path);
        }
        let defaults = defaults.map_or(String::new(), |defaults| format!(", {defaults}"));
        let arguments = Line::plain(&format!("{way} {}{defaults}", shown::in_short(&arguments)));
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
        let why = self.why(narrower.width);
        lines.extend(why.lines().map(|line| Line::toned(Tone::Dim, &format!("{INDENT}{line}"))));
        let (changed, more) = changed.unwrap_or_default();
        lines.extend(changed.into_iter().map(|row| {
            let mut line = Line::plain(INDENT);
            line.append(row);
            line
        }));
        (lines, cut || more)
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
