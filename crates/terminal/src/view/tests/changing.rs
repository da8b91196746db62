//! What calls change in files is below their lines.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::changes::fingerprint;
use converse_screen::Line;

struct Desk {
    dir: tempfile::TempDir,
    play: Play,
}

impl Desk {
    fn new(style: Style) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let play = Play::new(60, style);
        let root: PathBuf = dir.path().canonicalize().unwrap();
        play.view.shows_changes(move |call| {
            let path = call.arguments.object.get("path")?.as_str()?;
            (call.tool == "io__write_file").then(|| root.join(path))
        });
        Self { dir, play }
    }

    /// The nth call makes this of a file.
    fn writes(&self, number: usize, name: &str, text: &str) {
        let one = call(number, "io__write_file", &format!(r#"{{"content":"…","path":"{name}"}}"#));
        self.play.asked_for(std::slice::from_ref(&one));
        self.play.hears(&Event::Started { invocations: std::slice::from_ref(&one), has_effects: true });
        fs::write(self.dir.path().join(name), text).unwrap();
        self.play.finished(&one, Outcome::Success, "done", 5);
    }

    /// The rows below the last call.
    fn rows(&self) -> Vec<String> {
        let rows = self.play.rows();
        let last = rows.iter().rposition(|row| row.contains("io.write_file")).unwrap();
        rows[last + 1..].to_vec()
    }
}

fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn what_a_call_changes_is_below_its_line() {
    for style in [RICH, PLAIN] {
        let desk = Desk::new(style);
        desk.writes(0, "a.txt", &lines(40));
        let rows = desk.rows();
        assert_eq!(rows[..3], ["  a.txt: new, 40 lines", "  + │ line 1", "  + │ line 2"]);
        assert_eq!((rows.len(), rows[12].as_str()), (13, "  … 29 more lines, /show 1"));
        let other = lines(40).replace("line 20\n", "line twenty\n");
        let changed = [
            "  a.txt: 1 line removed, 1 added",
            "    ⋮ 17 unchanged lines",
            "    │ line 18",
            "    │ line 19",
            "  - │ line 20",
            "  + │ line twenty",
            "    │ line 21",
            "    │ line 22",
            "    ⋮ 18 unchanged lines",
        ];
        desk.writes(1, "a.txt", &other);
        assert_eq!(desk.rows(), changed);
        // The same once more changes nothing.
        desk.writes(2, "a.txt", &other);
        assert!(desk.rows().is_empty(), "{:?}", desk.rows());
        // All of it on demand, as wide as the terminal is then.
        let all: Vec<String> = desk.play.view.call_in_full(1).unwrap().iter().map(Line::text).collect();
        assert!(all.contains(&"  + │ line 40".to_owned()) && all.contains(&"change".to_owned()), "{all:?}");
    }
}

#[test]
fn what_a_question_has_shown_is_not_shown_again() {
    let desk = Desk::new(RICH);
    let asks = |number, change: Option<(&str, &str)>| {
        let change = change.map(|(old, new)| fingerprint(old, new));
        desk.play.view.asks_about_change(&InvocationId::of(TurnId(1), number), change);
    };
    asks(0, Some(("", "one\n")));
    desk.writes(0, "a.txt", "one\n");
    assert!(desk.rows().is_empty(), "{:?}", desk.rows());
    // Somebody else has changed the file meanwhile.
    asks(1, Some(("other\n", "two\n")));
    desk.writes(1, "a.txt", "two\n");
    assert_eq!(desk.rows(), ["  a.txt: 1 line removed, 1 added", "  - │ one", "  + │ two"]);
    // The person has edited the call.
    asks(2, Some(("two\n", "three\n")));
    asks(2, None);
    desk.writes(2, "a.txt", "three\n");
    assert_eq!(desk.rows().len(), 3);
    let all = desk.play.view.call_in_full(1).unwrap();
    assert!(all.iter().any(|line| line.text() == "  + │ one"), "all of it is there on demand");
}

#[test]
fn keys_are_not_shown_and_what_is_no_text_is_not_compared() {
    let desk = Desk::new(RICH);
    desk.writes(0, "a.txt", "key = sk-secret-0123456789\n\u{202e}\n");
    let rows = desk.rows();
    assert!(rows[1].starts_with("  + │ key = ") && rows[2] == "  + │ \\u{202e}", "{rows:?}");
    assert!(!desk.play.written().contains("sk-secret"));
    fs::write(desk.dir.path().join("b"), [0xff, 0xfe, 0]).unwrap();
    desk.writes(1, "b", "text\n");
    assert!(desk.rows().is_empty(), "{:?}", desk.rows());
    let quiet = Desk::new(Style { detail: Detail::Notices, ..BESIDE });
    quiet.writes(0, "a.txt", "one\n");
    assert!(!quiet.play.written().contains("new, 1 line"), "{}", quiet.play.written());
}
