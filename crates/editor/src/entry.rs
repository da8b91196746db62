//! Entries: when an entry is complete, and which part of it is content.
//!
//! A `\` at the end of a line continues the entry on the next line, `"""` at the start of an entry opens a block that
//! the next `"""` closes. Both are for the editor and not part of the entry. A pasted block keeps its backslashes,
//! since it is likely a script.

use converse_text::clusters;
use parking_lot::Mutex;

use crate::Safe;
use crate::folds::Folds;
use crate::room::{Before, Drawing};

/// Opens and closes a block.
pub const FENCE: &str = "\"\"\"";

/// Shown for a tab in the line, for the editor counts columns and a tab has no fixed number of them.
pub(crate) const TAB: char = '␉';

/// Behind the backslash of an escape that stands for a character, and at the end of the mark of a paste. It has no shape.
pub(crate) const MARK: char = '\u{fe01}';

/// Begins an escape that stands for a character. A text that holds the mark itself is shown with an escape for it, so that
/// no text can be written that is read as another.
const STANDS: &str = "\\\u{fe01}";

/// What is known of the entry that is being typed, besides its text.
#[derive(Debug, Default)]
pub(crate) struct Typing(Mutex<State>, Folds);

#[derive(Debug, Default, Clone)]
struct State {
    has_text: bool,
    searches: bool,
    /// Esc was pressed while there was nothing in it, and no key since.
    is_escaped: bool,
    is_pasted: bool,
    is_continued: bool,
    /// There was something in it since it began.
    was_used: bool,
    /// Typed in one breath with a Ctrl-C and after it: the library takes it for a part of the line that ends there.
    behind: Option<String>,
    /// The pastes of several lines in it, and the earlier entries of several lines: as they are sent.
    pastes: Vec<String>,
    /// Text of a paste may have been cut, from this entry or an earlier one.
    has_cut: bool,
    /// Text that may be of a paste was put back.
    has_yanked: bool,
    /// The history is asked for a hint, which puts nothing into the line.
    hints: bool,
    /// The line and the byte that the cursor is at, as they are drawn next.
    line: (String, usize),
    /// No key since then has changed them in a way that is not known.
    is_current: bool,
    /// The earlier entry that was found last.
    found: String,
    /// What is on the screen, and whether the terminal has changed its size since.
    drawn: Option<Drawing>,
    is_resized: bool,
    /// Text was put into it since it was drawn.
    has_new: bool,
    /// More keys came at once with the last Enter, or with the last key of a command.
    follows: bool,
    /// What was put into the line since it was drawn may begin a command.
    may_act: bool,
}

impl Typing {
    pub(crate) fn begins(&self) {
        let mut state = self.0.lock();
        // What was cut can be put into a later entry.
        *state = State { has_cut: state.has_cut, follows: state.follows, ..State::default() };
        self.1.forget_oldest();
    }

    /// The long pastes that stand in lines as marks.
    pub(crate) fn folds(&self) -> &Folds {
        &self.1
    }

    /// A long paste is put into the line, which is shown so. Returns the mark that stands for it; none where the line begins
    /// like a command, for what it does is seen, and none if the text is not for this line.
    pub(crate) fn folded(&self, shown: &str) -> Option<String> {
        let paste = written(shown);
        let mut state = self.0.lock();
        let is_line = state.behind.is_none() && !state.searches;
        if !is_line || state.may_act || is_like_command(&state.line.0) {
            return None;
        }
        let mark = self.1.fold(&paste)?;
        state.pastes.push(paste);
        Some(mark)
    }

    /// The paste whose mark is before the cursor of the line that is known, and the number of characters of the mark.
    pub(crate) fn unfolds(&self) -> Option<(usize, String)> {
        let state = self.0.lock();
        let (line, cursor) = &state.line;
        let (from, to) = self.1.marks(line).into_iter().find(|(_, to)| to == cursor)?;
        let mark = line.get(from..to)?;
        let text = self.1.unfolded(mark, str::to_owned, str::to_owned);
        Some((clusters(mark, usize::MAX).count(), text))
    }

    /// Returns whether a command would run that is not seen as a whole.
    pub(crate) fn hides(&self, line: &str) -> bool {
        !line.contains('\n') && !self.1.marks(line).is_empty()
    }

    /// The line as it is now. `acts`: it would do more than send words. `has_more`: more keys have come.
    pub(crate) fn is_seen(&self, line: &str, cursor: usize, acts: bool, has_more: fn() -> bool) {
        let mut state = self.0.lock();
        (state.line, state.is_current) = ((line.to_owned(), cursor), true);
        (state.has_new, state.follows) = (false, (state.follows || acts) && has_more());
        state.may_act = false;
        (state.has_text, state.searches) = (!line.is_empty(), false);
        state.was_used |= state.has_text;
    }

    /// A key comes. Returns whether the line is known, which it is not any more.
    pub(crate) fn is_known(&self) -> bool {
        std::mem::take(&mut self.0.lock().is_current)
    }

    /// The line that is known.
    pub(crate) fn line(&self) -> String {
        self.0.lock().line.0.clone()
    }

    /// A key removes what is before the cursor of the line that is known, or behind it. Returns the number of characters:
    /// several if one of the stretches of bytes ends there, which are removed as a whole. A word may have spaces beside it.
    pub(crate) fn removes(
        &self,
        is_before: bool,
        is_word: bool,
        wholes: impl Fn(&str) -> Vec<(usize, usize)>,
    ) -> Option<usize> {
        let mut state = self.0.lock();
        let (line, cursor) = &mut state.line;
        let is_at = |(from, to): &(usize, usize)| {
            let between = if is_before { line.get(*to..*cursor) } else { line.get(*cursor..*from) };
            between.is_some_and(|between| between.is_empty() || (is_word && between.trim().is_empty()))
        };
        let (from, to) = wholes(line).into_iter().find(is_at)?;
        let (from, to) = if is_before { (from, *cursor) } else { (*cursor, to) };
        let count = clusters(line.get(from..to)?, usize::MAX).count();
        line.replace_range(from..to, "");
        *cursor = from;
        state.is_current = true;
        Some(count)
    }

    /// A Ctrl-C: what is put into the line from now on belongs to the next one.
    pub(crate) fn breaks_off(&self) {
        self.0.lock().behind = Some(String::new());
    }

    /// These pastes are in the line.
    pub(crate) fn holds(&self, pastes: &[String]) {
        self.0.lock().pastes.extend_from_slice(pastes);
    }

    pub(crate) fn pastes(&self) -> Vec<String> {
        self.0.lock().pastes.clone()
    }

    /// Text of the line may be cut.
    pub(crate) fn cuts(&self) {
        let mut state = self.0.lock();
        state.has_cut |= !state.pastes.is_empty();
    }

    /// What was cut last is put back.
    pub(crate) fn yanks(&self) {
        let mut state = self.0.lock();
        state.has_yanked |= state.has_cut;
    }

    /// The entry is sent or left, with this text. Which part of it was yanked is not known: all of it counts as a paste.
    pub(crate) fn ends(&self, meant: &str) {
        let mut state = self.0.lock();
        if state.has_yanked {
            state.pastes.extend(one_paste(meant));
        }
    }

    /// This is about to be drawn. Returns what is there.
    pub(crate) fn draws(&self, next: Drawing) -> Before {
        let mut state = self.0.lock();
        let drawn = state.drawn.replace(next);
        Before { drawn, is_resized: std::mem::take(&mut state.is_resized) }
    }

    /// The terminal has another size.
    pub(crate) fn resizes(&self) {
        self.0.lock().is_resized = true;
    }

    /// Returns whether it has, and nothing was drawn since. While the history is searched, a key draws nothing by itself.
    pub(crate) fn awaits_size(&self) -> bool {
        let state = self.0.lock();
        state.is_resized && !state.searches
    }

    /// Something else is on the screen.
    pub(crate) fn is_gone(&self) {
        self.0.lock().drawn = None;
    }

    /// Returns the line as it is drawn behind a prompt of so many columns.
    pub(crate) fn at_prompt(&self, prompt: usize) -> Drawing {
        let state = self.0.lock();
        Drawing::at_prompt(&state.line.0, state.line.1, prompt)
    }

    /// What the next line begins with, as it is sent.
    pub(crate) fn behind(&self) -> String {
        written(&self.0.lock().behind.take().unwrap_or_default())
    }

    /// Enter was pressed. Returns whether it came at once with other keys, as pasted text does in a terminal that does not
    /// bracket it.
    pub(crate) fn enters(&self, has_more: bool) -> bool {
        let mut state = self.0.lock();
        let at_once = state.has_new || state.follows || has_more;
        state.follows = has_more;
        at_once
    }

    /// Something is put into the line, before it is seen.
    pub(crate) fn gains(&self, text: &str, is_pasted: bool) {
        let mut state = self.0.lock();
        state.has_new = true;
        if let Some(behind) = &mut state.behind {
            return behind.push_str(text);
        }
        state.may_act |= is_like_command(text);
        state.has_text |= !text.is_empty();
        state.was_used |= state.has_text;
        state.is_pasted |= is_pasted && text.contains('\n');
    }

    /// A paste is put into the line, which is shown so.
    pub(crate) fn pastes_in(&self, shown: &str) {
        self.holds(&one_paste(&written(shown)));
    }

    /// An earlier entry is about to be put into the line, which is shown so. Who wrote it is not known any more.
    pub(crate) fn recalls(&self, shown: &str) {
        let mut state = self.0.lock();
        if !state.hints {
            state.found = shown.to_owned();
            let fresh = one_paste(&written(shown)).into_iter().filter(|paste| !state.pastes.contains(paste));
            let fresh: Vec<String> = fresh.collect();
            state.pastes.extend(fresh);
        }
    }

    /// Looks at earlier entries without putting one into the line.
    pub(crate) fn hints<T>(&self, look: impl FnOnce() -> T) -> T {
        self.0.lock().hints = true;
        let seen = look();
        self.0.lock().hints = false;
        seen
    }

    /// Another key was pressed: Esc on an empty line, or something else. Returns whether it is the second Esc there.
    pub(crate) fn is_pressed(&self, is_escape: bool) -> bool {
        let mut state = self.0.lock();
        let is_here = is_escape && !state.has_text && !state.searches;
        let was_escaped = std::mem::replace(&mut state.is_escaped, is_here);
        is_here && was_escaped
    }

    /// Returns whether another Esc would go back.
    pub(crate) fn is_escaped(&self) -> bool {
        self.0.lock().is_escaped
    }

    /// The history is searched. Returns the entry that is shown.
    pub(crate) fn searches(&self, term: &str, is_found: bool) -> String {
        let mut state = self.0.lock();
        if !is_found || (!state.searches && term.is_empty()) {
            state.found.clear();
        }
        (state.searches, state.was_used) = (true, true);
        state.found.clone()
    }

    /// Returns whether there is text that Ctrl-C would clear.
    pub(crate) fn has_something(&self) -> bool {
        let state = self.0.lock();
        state.has_text || state.searches
    }

    /// Returns whether anything was typed since the entry began, even if it was removed again.
    pub(crate) fn was_used(&self) -> bool {
        self.0.lock().was_used
    }

    /// Returns whether the entry continues after this line.
    pub(crate) fn goes_on(&self, text: &str) -> bool {
        let continued = is_continued(text);
        self.0.lock().is_continued |= continued;
        continued || is_open(text)
    }

    /// The text without the backslashes that continued it.
    pub(crate) fn joined(&self, text: &str) -> String {
        let state = self.0.lock();
        if state.is_continued && !state.is_pasted { joined(text) } else { text.to_owned() }
    }

    /// What is meant by the text.
    pub(crate) fn meant(&self, text: &str) -> String {
        self.1.unfolded(&unfenced(&self.joined(text)), str::to_owned, written)
    }
}

/// Returns whether the line has the character only for what stands for another.
pub fn is_reserved(c: char) -> bool {
    matches!(c, TAB | MARK)
}

/// Returns whether the text begins like a command.
pub(crate) fn is_like_command(text: &str) -> bool {
    text.trim_start().starts_with(['/', '!'])
}

/// Returns the text as a paste, if it has several lines.
pub(crate) fn one_paste(text: &str) -> Vec<String> {
    if text.contains('\n') { vec![text.to_owned()] } else { Vec::new() }
}

/// Returns the text in the form in which the line can show it: with escapes for what a terminal must not get, and for the
/// characters that would be read as something else.
pub(crate) fn shown(text: &str, safe: Safe) -> String {
    let text = text.replace("\r\n", "\n");
    if safe(&text) == text && !text.contains(|c| c == '\t' || is_reserved(c)) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let mut buffer = [0; 4];
        let one: &str = c.encode_utf8(&mut buffer);
        match safe(one) {
            _ if c == '\t' => out.push(TAB),
            _ if is_reserved(c) => {
                out.push_str(STANDS);
                out.push_str(&format!("u{{{:x}}}", u32::from(c)));
            }
            same if same == one => out.push(c),
            escape => {
                out.push_str(STANDS);
                out.push_str(escape.trim_start_matches('\\'));
            }
        }
    }
    out
}

/// Returns the text of which [`shown`] made this: each escape that stands for a character is that character again.
pub(crate) fn written(text: &str) -> String {
    let text = text.replace(TAB, "\t");
    let mut parts = text.split(STANDS);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (c, rest) = stands_for(part).unwrap_or(('\\', part));
        out.push(c);
        out.push_str(rest);
    }
    out
}

/// The character of an escape without its backslash, and what follows; `None` if somebody has changed it.
fn stands_for(escape: &str) -> Option<(char, &str)> {
    if let Some(rest) = escape.strip_prefix('r') {
        return Some(('\r', rest));
    }
    let (digits, rest) = match escape.strip_prefix("u{") {
        Some(escape) => escape.split_once('}')?,
        None => escape.strip_prefix('x')?.split_at_checked(2)?,
    };
    let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
    Some((c, rest))
}

/// An odd number of backslashes: two are one that is meant.
pub(crate) fn is_continued(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

pub(crate) fn is_open(text: &str) -> bool {
    text.starts_with(FENCE) && text.matches(FENCE).count() % 2 == 1
}

pub(crate) fn joined(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(before) if is_continued(before) => {
                whole.push_str(before.strip_suffix('\\').unwrap_or(before));
                whole.push('\n');
            }
            _ => whole.push_str(line),
        }
    }
    whole
}

/// Returns the inside of a block, or the entry itself.
pub(crate) fn unfenced(text: &str) -> String {
    let inside = text.trim_end().strip_prefix(FENCE).and_then(|rest| rest.strip_suffix(FENCE));
    match inside.filter(|inside| !inside.contains(FENCE)) {
        Some(inside) => {
            let inside = inside.strip_prefix('\n').unwrap_or(inside);
            inside.strip_suffix('\n').unwrap_or(inside).to_owned()
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_typed_and_what_is_meant() {
        for (typed, goes_on, meant) in [
            ("one", false, "one"),
            ("one\\", true, "one\\"),
            ("C:\\\\", false, "C:\\\\"),
            ("one\\\ntwo", false, "one\ntwo"),
            ("one\\\\\ntwo", false, "one\\\\\ntwo"),
            ("\"\"\"", true, "\"\"\""),
            ("\"\"\"\na\\\nb", true, "\"\"\"\na\nb"),
            ("\"\"\"\none\ntwo\n\"\"\"", false, "one\ntwo"),
            ("\"\"\"one\"\"\"", false, "one"),
            ("\"\"\"\"\"\"", false, ""),
            ("say \"\"\" please", false, "say \"\"\" please"),
            ("\"\"\"Doc.\"\"\"\nx = 1", false, "\"\"\"Doc.\"\"\"\nx = 1"),
            ("a␉b", false, "a\tb"),
        ] {
            let typing = Typing::default();
            typing.goes_on("begun \\");
            assert_eq!(typing.goes_on(typed), goes_on, "{typed:?}");
            assert_eq!(typing.meant(typed), meant, "{typed:?}");
        }
    }

    #[test]
    fn what_cannot_be_shown_is_sent_as_it_was() {
        for text in [
            "a\u{200b}b\u{feff}\u{2028}\u{202e}c\t",
            "\x1b[31m \u{9b}2J \r",
            r"an escape \u{200b} is text",
            "\u{200b}",
        ] {
            let shown = shown(text, converse_text::safe);
            assert_eq!(converse_text::safe(&shown), shown);
            assert_eq!(Typing::default().meant(&shown), text, "{shown:?}");
        }
        assert_eq!(shown("␉\u{fe01}", converse_text::safe).replace(STANDS, "\\"), r"\u{2409}\u{fe01}");
        assert_eq!(shown("a\u{200b}", converse_text::safe).replace(STANDS, "\\"), r"a\u{200b}");
        // Half of it was removed.
        let half = shown("\u{200b}x", converse_text::safe).replace("b}", "");
        assert_eq!(Typing::default().meant(&half), r"\u{200x");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

        #[test]
        fn every_text_is_sent_as_it_was(
            pieces in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(vec![
                        "\\", "\u{fe01}", STANDS, "␉", "\t", "\n", "\r", "\r\n", "u{40}", "u{fe01}", "x41", "r", "@", "\u{200b}",
                        "\x1b", "\u{9b}", "\u{202e}", "{", "}",
                    ])
                    .prop_map(str::to_owned),
                    any::<String>(),
                ],
                0..16,
            ),
        ) {
            let text = pieces.concat();
            let shown = shown(&text, converse_text::safe);
            prop_assert_eq!(written(&shown), text.replace("\r\n", "\n"));
        }
    }

    #[test]
    fn no_text_is_sent_as_another() {
        for text in ["a\n\\\u{fe01}u{40}/etc/passwd", "a\n@two␉words", "\\\u{fe01}r"] {
            let shown = shown(text, converse_text::safe);
            assert_eq!(Typing::default().meant(&shown), text, "{shown:?}");
        }
    }

    #[test]
    fn an_enter_among_other_keys_is_not_the_users() {
        let typing = Typing::default();
        let seen = |has_more: fn() -> bool| typing.is_seen("", 0, false, has_more);
        typing.is_seen("!ls", 0, true, || true);
        assert!(typing.enters(false));
        assert!(!typing.enters(false));
        typing.gains("x", false);
        assert!(typing.enters(false));
        seen(|| false);
        assert!(!typing.enters(false) && typing.enters(true));
        typing.begins();
        seen(|| true);
        assert!(typing.enters(false), "it follows another one");
        seen(|| false);
        assert!(!typing.enters(false));
        assert!(typing.enters(true));
        seen(|| false);
        assert!(!typing.enters(false), "others have read the rest");
    }

    #[test]
    fn a_whole_is_removed_by_one_key_where_the_line_is_known() {
        let typing = Typing::default();
        typing.is_seen("see [a é] [b]!", 10, false, || false);
        assert!(typing.is_known() && !typing.is_known(), "until it is drawn again");
        let wholes = |line: &str| {
            let at = |whole: &str| line.find(whole).map(|from| (from, from + whole.len()));
            ["[a é]", "[b]"].into_iter().filter_map(at).collect::<Vec<_>>()
        };
        assert_eq!(typing.removes(false, false, wholes), None, "a space is behind the cursor");
        assert_eq!(typing.removes(true, false, wholes), Some(5));
        assert!(typing.is_known());
        assert_eq!(typing.removes(true, false, wholes), None, "another space is before it");
        typing.is_seen("[b]!", 0, false, || false);
        assert_eq!(
            (typing.removes(true, false, wholes), typing.removes(false, false, wholes)),
            (None, Some(3))
        );
        typing.is_seen("é  [b]  !", 3, false, || false);
        assert_eq!(
            (typing.removes(false, false, wholes), typing.removes(false, true, wholes)),
            (None, Some(4))
        );
        typing.is_seen("é  [b]  !", 9, false, || false);
        assert_eq!(
            (typing.removes(true, false, wholes), typing.removes(true, true, wholes)),
            (None, Some(5))
        );
    }

    #[test]
    fn what_is_folded_is_sent_as_it_was() {
        let typing = Typing::default();
        let pasted = "\"\"\"\nends \\\n@a\u{200b}\t\\\u{fe01}u{40}\n".repeat(9);
        let mark = typing.folded(&shown(&pasted, converse_text::safe)).unwrap();
        assert_eq!(typing.pastes(), std::slice::from_ref(&pasted), "what it mentions attaches nothing");
        assert!(!typing.goes_on(&mark) && typing.goes_on("typed \\"));
        let line = format!("\"\"\"\nsee \\\n{mark}\n\"\"\"");
        assert_eq!(typing.meant(&line), format!("see \n{pasted}"));
        // One that is put back into a later entry, and one that was changed.
        typing.begins();
        assert_eq!(typing.meant(&format!("{mark}!")), format!("{pasted}!"));
        assert_eq!(typing.meant(&mark.replace("lines", "line")), "[pasted 27 line]");
        typing.is_seen(&format!("é {mark}"), 3 + mark.len(), false, || false);
        assert_eq!(typing.unfolds(), Some((mark.chars().count() - 1, pasted.clone())));
        let folds = typing.folds();
        assert_eq!(typing.removes(true, false, |line| folds.marks(line)), Some(mark.chars().count() - 1));
        assert_eq!(typing.unfolds(), None);
    }

    #[test]
    fn no_command_is_folded() {
        let typing = Typing::default();
        let pasted = "x".repeat(2_000);
        for (line, is_folded) in [("", true), ("see ", true), ("!", false), (" /system ", false)] {
            typing.is_seen(line, line.len(), false, || false);
            assert_eq!(typing.folded(&pasted).is_some(), is_folded, "{line}");
        }
        // Typed in one breath with the paste, and behind a Ctrl-C.
        typing.is_seen("", 0, false, || false);
        typing.gains("!", false);
        assert_eq!(typing.folded(&pasted), None);
        typing.is_seen("", 0, false, || false);
        typing.breaks_off();
        assert_eq!(typing.folded(&pasted), None);
        let mark = typing.folds().fold(&pasted).unwrap();
        for (line, hides) in
            [(format!("!{mark}"), true), (format!("!\n{mark}"), false), ("!ls".to_owned(), false)]
        {
            assert_eq!(typing.hides(&line), hides, "{line}");
        }
    }

    #[test]
    fn pastes_are_kept_as_they_are_sent() {
        let typing = Typing::default();
        for paste in ["@one", "a\n@\u{200b}b\t\\\u{fe01}u{40}"] {
            typing.pastes_in(&shown(paste, converse_text::safe));
        }
        assert_eq!(typing.pastes(), ["a\n@\u{200b}b\t\\\u{fe01}u{40}"]);
        typing.begins();
        assert!(typing.pastes().is_empty());
    }

    #[test]
    fn what_came_with_ctrl_c_is_sent_as_it_was() {
        let typing = Typing::default();
        typing.breaks_off();
        typing.gains(&shown("a\n␉\t", converse_text::safe), true);
        assert_eq!(typing.behind(), "a\n␉\t");
        assert_eq!(typing.behind(), "");
    }

    #[test]
    fn earlier_entries_of_several_lines_count_as_pastes() {
        let typing = Typing::default();
        typing.hints(|| typing.recalls("hinted\n@a"));
        for entry in ["one line", "two\n@lines␉", "two\n@lines␉"] {
            typing.recalls(entry);
        }
        assert_eq!(typing.pastes(), ["two\n@lines\t"]);
    }

    #[test]
    fn what_was_cut_from_a_paste_is_one_where_it_is_put_back() {
        let typing = Typing::default();
        for text in ["typed", "two\nlines"] {
            typing.cuts();
            typing.yanks();
            typing.ends(text);
            assert!(typing.pastes().is_empty(), "nothing was pasted");
        }
        typing.pastes_in("one\n@a");
        typing.cuts();
        typing.begins();
        typing.ends("not\nyanked");
        typing.yanks();
        typing.ends("one line");
        assert!(typing.pastes().is_empty());
        typing.ends("see\n@a");
        assert_eq!(typing.pastes(), ["see\n@a"]);
    }

    #[test]
    fn a_pasted_script_keeps_its_backslashes() {
        let typing = Typing::default();
        typing.gains("cat \\\n  file", true);
        assert!(!typing.goes_on("cat \\\n  file"));
        assert_eq!(typing.meant("cat \\\n  file"), "cat \\\n  file");
        // Recalled: nothing was continued.
        typing.begins();
        assert_eq!(typing.meant("cat \\\n  file"), "cat \\\n  file");
    }

    #[test]
    fn esc_counts_twice_in_a_row_where_nothing_is_typed() {
        let typing = Typing::default();
        assert!(!typing.is_pressed(true) && typing.is_escaped());
        assert!(!typing.is_pressed(false) && !typing.is_escaped());
        assert!(!typing.is_pressed(true) && typing.is_pressed(true));
        typing.begins();
        typing.gains("a", false);
        assert!(!typing.is_pressed(true) && !typing.is_escaped() && !typing.is_pressed(true));
    }

    #[test]
    fn ctrl_c_has_something_to_clear() {
        let typing = Typing::default();
        assert!(!typing.has_something());
        typing.gains("a", false);
        assert!(typing.has_something());
        typing.is_seen("", 0, false, || false);
        assert!(!typing.has_something());
        typing.searches("", true);
        assert!(typing.has_something());
        typing.is_seen("", 0, false, || false);
        assert!(!typing.has_something());
    }
}
