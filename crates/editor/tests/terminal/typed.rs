//! Reads entries until the end and says each; driven through a terminal by `tests/`.
//!
//! `typed [--plain] [--vi] [--history FILE] [--editor WORD]… [--until FILE]`; the entry `again` fills in the next one,
//! `wait` drops the wait for it, `hold` reads nothing until the file is there, `tell` writes above the next ones when it is.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use converse_editor::{
    Complete, Editor, EditorError, Inserted, Mark, Meaning, Nature, Prompt, Read, Setup, Suggestion,
};

/// Knows three commands.
struct Commands;

/// Stands for a picture, which Ctrl-V and the paste `/dropped` give.
const PICTURE: &str = "[a picture]";

const COMMANDS: [(&str, &str); 3] =
    [("/help", "says what there is"), ("/model", "another model"), ("/mode", "another")];

impl Complete for Commands {
    fn complete(&self, line: &str, at: usize) -> Vec<Suggestion> {
        let typed = line.get(..at).unwrap_or_default();
        let fitting = COMMANDS.iter().filter(|(name, _)| typed.starts_with('/') && name.starts_with(typed));
        fitting
            .map(|(name, about)| Suggestion {
                value: (*name).to_owned(),
                about: (*about).to_owned(),
                from: 0,
                to: at,
                space: true,
            })
            .collect()
    }

    fn hint(&self, line: &str) -> Option<String> {
        (line == "/he").then(|| "lp".to_owned())
    }

    fn marks(&self, line: &str) -> Vec<Mark> {
        let to = line.find(' ').unwrap_or(line.len());
        let name = line.get(..to).filter(|name| name.starts_with('/'));
        let is_known = name.is_some_and(|name| COMMANDS.iter().any(|(known, _)| *known == name));
        let nature = if is_known { Nature::Command } else { Nature::Unknown };
        let pictures = line.match_indices(PICTURE);
        let pictures =
            pictures.map(|(from, text)| Mark { from, to: from + text.len(), nature: Nature::Picture });
        name.map(|_| Mark { from: 0, to, nature }).into_iter().chain(pictures).collect()
    }
}

fn safe(text: &str) -> Cow<'_, str> {
    let acts = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
    match text.chars().any(acts) {
        true => text
            .chars()
            .map(|c| if acts(c) { c.escape_unicode().to_string() } else { c.to_string() })
            .collect(),
        false => Cow::Borrowed(text),
    }
}

fn setup() -> (Setup, PathBuf) {
    let mut until = PathBuf::new();
    let switched = Arc::new(AtomicUsize::new(0));
    let shown = Arc::clone(&switched);
    let inserted = Inserted::default();
    let pictures = inserted.clone();
    let mut setup = Setup {
        history: None,
        vi: false,
        colour: true,
        light: false,
        asks_background: false,
        plain: false,
        ascii: false,
        editor: None,
        scratch: std::env::temp_dir(),
        can_stop: || true,
        asks: Arc::new(|| {}),
        switch: Arc::new(move || {
            switched.fetch_add(1, Ordering::SeqCst);
        }),
        status: Arc::new(move || "+".repeat(shown.load(Ordering::SeqCst))),
        complete: Arc::new(Commands),
        meaning: Meaning {
            acts: |entry| entry.trim_start().starts_with('!') && !entry.trim_start().starts_with("!!"),
            pasted: Arc::new(|text| (text == "/dropped").then(|| PICTURE.to_owned())),
            picture: Arc::new(move || pictures.put(PICTURE.to_owned())),
            ..Meaning::default()
        },
        inserted,
        safe,
        clean: Arc::new(str::to_owned),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--plain" => setup.plain = true,
            "--vi" => setup.vi = true,
            "--history" => setup.history = words.next().map(PathBuf::from),
            "--until" => until = words.next().map(PathBuf::from).unwrap_or_default(),
            "--editor" => setup.editor.get_or_insert_default().extend(words.next()),
            _ => {}
        }
    }
    (setup, until)
}

fn main() -> Result<(), EditorError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (setup, until) = setup();
    runtime.block_on(entries(Editor::start(setup)?, &until))?;
    say("left")?;
    Ok(())
}

async fn entries(editor: Editor, until: &Path) -> Result<(), EditorError> {
    let prompt = Prompt::new("provider/model");
    say(if editor.is_plain() { "plain" } else { "drawn" })?;
    loop {
        match editor.read(&prompt).await? {
            Read::Line(line) => {
                say(&format!("got {line:?}"))?;
                match line.as_str() {
                    "again" => editor.prefill("again and\nagain"),
                    "wait" => {
                        let waited =
                            tokio::time::timeout(Duration::from_millis(500), editor.read(&prompt)).await;
                        say(if waited.is_err() { "nobody waits" } else { "heard" })?;
                    }
                    "tell" => {
                        let (above, until) = (editor.above(), until.to_owned());
                        std::thread::spawn(move || {
                            while !until.exists() {
                                std::thread::sleep(Duration::from_millis(10));
                            }
                            above.write(&(1..=30).map(|line| format!("told {line}\n")).collect::<String>());
                        });
                    }
                    "hold" => {
                        while !until.exists() {
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    }
                    _ => {}
                }
            }
            Read::Interrupted { after_keys: false } => say("interrupted")?,
            Read::Interrupted { after_keys: true } => say("interrupted after keys")?,
            Read::Back => say("back")?,
            Read::End => return Ok(()),
        }
    }
}

fn say(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}
