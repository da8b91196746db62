//! Words that would like to act on a terminal, and what a terminal was given of them.

#[path = "../../../../screen/tests/corpus/guard.rs"]
mod guard;
#[path = "../../../../screen/tests/corpus/sequences.rs"]
mod sequences;

use vt100::{Callbacks, MouseProtocolMode, Parser};

pub(super) use guard::Manner;
use guard::foreign;
use sequences::sequences;

use crate::env::TestEnv;
use crate::screen::Screen;

/// Around each of them, so that it is known where the words of others are.
const MARKS: [char; 2] = ['⟦', '⟧'];
/// Longer ones are too much for places that hold all of them.
const SHORT: usize = 400;

/// Each sequence between marks; invalid bytes are as a reader of text replaces them.
pub(super) fn each() -> Vec<String> {
    let short = sequences().into_iter().filter(|one| one.bytes.len() < SHORT);
    let [open, close] = MARKS;
    short.map(|one| format!("{open}{}{close}", String::from_utf8_lossy(&one.bytes))).collect()
}

/// All of them, a line each.
pub(super) fn words() -> String {
    each().join("\n")
}

/// In so many parts.
pub(super) fn parts(count: usize) -> Vec<String> {
    let each = each();
    each.chunks(each.len().div_ceil(count)).map(|part| part.join("\n")).collect()
}

/// As an argument, a name of a file or a variable may be: not with a NUL.
pub(super) fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

/// With the long ones, and with invalid bytes as they are.
pub(super) fn all_bytes() -> Vec<u8> {
    let mut all = Vec::new();
    for one in sequences() {
        all.extend(format!("it {}: {}", one.what, MARKS[0]).bytes());
        all.extend(one.bytes);
        all.extend(MARKS[1].to_string().bytes());
        all.push(b'\n');
    }
    all
}

/// Lives as long as the test's process: what scripts of providers are made of.
pub(super) fn lasting(text: impl Into<String>) -> &'static str {
    text.into().leak()
}

/// Runs it on a terminal, plainly and then as people do, and holds what was written. What each wrote must have `told` in it, so
/// that nothing is held which never came there.
#[track_caller]
pub(super) fn is_clean(env: &TestEnv, args: &[&str], told: &str) {
    for (flags, manner) in [(&["--plain"][..], Manner::Plain), (&[], Manner::Drawn)] {
        let mut screen = Screen::run(env, &[args, flags].concat());
        screen.finishes();
        holds(screen.bytes(), manner, args, told);
    }
}

/// Nothing in these bytes acts but what is ours.
#[track_caller]
pub(super) fn holds(bytes: &[u8], manner: Manner, args: &[&str], told: &str) {
    let text = String::from_utf8_lossy(bytes);
    let end: String = text.chars().take(3000).collect();
    assert_eq!(foreign(bytes, manner), None, "{args:?}");
    assert!(text.contains(told), "{args:?} does not tell of {told:?}: {end:?}");
    // Whatever we draw and colour, the words themselves are text.
    let laid_out = ["repl", "show"].iter().any(|command| args.contains(command));
    let within = if laid_out { Manner::Styled } else { Manner::Plain };
    // What is cut has no end, and something else may follow; on the same line only words of the same writer do.
    let pieces = text
        .lines()
        .flat_map(|line| line.rsplit_once(MARKS[1]).map_or("", |(before, _)| before).split(MARKS[1]));
    for piece in pieces {
        if let Some((_, words)) = piece.rsplit_once(MARKS[0]).filter(|_| manner == Manner::Drawn) {
            assert_eq!(foreign(words.as_bytes(), within), None, "{args:?}");
        }
    }
    let mut parser = Parser::new_with_callbacks(60, 100, 0, Alarm::default());
    parser.process(bytes);
    assert_eq!(parser.callbacks().0, Vec::<String>::new(), "{args:?}");
    let screen = parser.screen();
    assert_eq!(screen.mouse_protocol_mode(), MouseProtocolMode::None, "{args:?}");
    let modes = [
        screen.alternate_screen(),
        screen.application_keypad(),
        screen.application_cursor(),
        screen.hide_cursor(),
    ];
    assert_eq!(modes, [false; 4], "{args:?}");
}

/// Notes whatever a terminal would do beside showing text.
#[derive(Default)]
struct Alarm(Vec<String>);

impl Callbacks for Alarm {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("bell".to_owned());
    }
    fn visual_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("flash".to_owned());
    }
    fn resize(&mut self, _: &mut vt100::Screen, size: (u16, u16)) {
        self.0.push(format!("resize {size:?}"));
    }
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.0.push(format!("icon {name:?}"));
    }
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        // Ours, with the name of the directory.
        if title != "converse · work".as_bytes() {
            self.0.push(format!("title {title:?}"));
        }
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, kind: &[u8], _: &[u8]) {
        self.0.push(format!("clipboard {kind:?}"));
    }
    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, kind: &[u8]) {
        self.0.push(format!("paste {kind:?}"));
    }
}
