//! What calls change in files, shown below their lines: the files are read before the calls and after them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use converse_canister::{Invocation, InvocationId};
use converse_engine::Event;
use converse_screen::{Line, Tone};
use converse_session::files::open_regular;
use converse_text::wording::counted;

use super::TerminalView;
use super::call::Call;
use super::frame::Frame;
use super::style::{Answers, Detail};
use crate::changes::{Changes, Drawn, Paint, content, fingerprint};

/// Rows of a change below the line of its call, besides the one with the path.
const ROWS: usize = 11;
/// Bytes of a change that are kept for `/show`.
const MOST_BYTES: usize = 64 * 1024;
/// Characters of a path.
const PATH: usize = 200;

/// Finds the file that a call is about to write.
type WrittenFile = dyn Fn(&Invocation) -> Option<PathBuf> + Send + Sync;

/// The files that calls are writing.
#[derive(Default)]
pub(super) struct FileWatch {
    written: Option<Box<WrittenFile>>,
    /// Before the calls, by the model that makes the call.
    before: HashMap<(Option<usize>, InvocationId), (PathBuf, Content)>,
    /// The changes that questions have shown.
    asked: HashMap<InvocationId, u64>,
}

/// What is at a path.
enum Content {
    Absent,
    Text(String),
    Unknown,
}

impl Content {
    fn of(path: &Path) -> Self {
        match path.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::Absent,
            Err(_) => Self::Unknown,
            Ok(_) => open_regular(path).ok().and_then(content).map_or(Self::Unknown, Self::Text),
        }
    }
}

/// A change of a file that a call has made.
#[derive(Debug, Clone)]
pub(super) struct FileEdit {
    changes: Changes,
    is_new: bool,
    /// The question about the call has shown it.
    pub(super) was_asked: bool,
}

impl FileWatch {
    /// Follows the calls. Returns what one has changed that has ended.
    fn hear(&mut self, model: Option<usize>, event: &Event<'_>) -> Option<FileEdit> {
        match event {
            Event::Started { invocations, has_effects: true } => {
                let written = self.written.as_ref()?;
                for invocation in *invocations {
                    if let Some(path) = written(invocation) {
                        let before = Content::of(&path);
                        self.before.insert((model, invocation.id.clone()), (path, before));
                    }
                }
                None
            }
            Event::Finished { invocation, .. } => {
                let (path, before) = self.before.remove(&(model, invocation.id.clone()))?;
                let asked = self.asked.get(&invocation.id);
                let (old, is_new) = match before {
                    Content::Absent => (String::new(), true),
                    Content::Text(old) => (old, false),
                    Content::Unknown => return None,
                };
                let Content::Text(new) = Content::of(&path) else { return None };
                FileEdit::between(&old, &new, is_new, asked.copied())
            }
            _ => None,
        }
    }
}

impl FileEdit {
    /// Returns `None` if nothing has changed.
    fn between(old: &str, new: &str, is_new: bool, asked: Option<u64>) -> Option<Self> {
        if old == new && !is_new {
            return None;
        }
        let was_asked = asked == Some(fingerprint(old, new));
        // Ends of lines are shown only where nothing else differs.
        let [plain_old, plain_new] = [old, new].map(|text| text.replace("\r\n", "\n"));
        let changes = match plain_old == plain_new {
            true => Changes::between(old, new),
            false => Changes::between(&plain_old, &plain_new),
        };
        Some(Self { changes: changes.bounded(MOST_BYTES), is_new, was_asked })
    }

    /// The path and the first rows, for below the line of the call; all that is kept if it is asked for.
    pub(super) fn lines(&self, call: &Call, is_all: bool, frame: &Frame<'_>) -> Vec<Line> {
        let path = call.invocation.arguments.object.get("path").and_then(|path| path.as_str());
        let path = frame.brief(path.unwrap_or_default(), PATH);
        let sums = match self.is_new {
            true => format!("new, {}", counted(self.changes.added, "line")),
            false => self.changes.sums(),
        };
        let head = Line::plain(&format!("  {path}: ")).with(Tone::Dim, &sums);
        let paint = Paint { look: &frame.look, redactor: frame.redactor, cleans_new: true };
        let most = if is_all { usize::MAX } else { ROWS };
        let Drawn { lines, .. } = self.changes.drawn(most, paint, |left| {
            let more = counted(left, "more line");
            match frame.style.answers {
                _ if is_all => format!("{more}, not kept"),
                Answers::Elsewhere => more,
                _ => format!("{more}, /show {}", call.number),
            }
        });
        std::iter::once(head).chain(lines).collect()
    }
}

impl TerminalView {
    /// From now on, what calls change in files is shown below their lines, unless a question has shown it. `written`
    /// finds the file that a call is about to write.
    pub fn shows_changes(&self, written: impl Fn(&Invocation) -> Option<PathBuf> + Send + Sync + 'static) {
        if self.style().detail == Detail::Activity {
            self.files.lock().written = Some(Box::new(written));
        }
    }

    /// Forgets the calls that were followed.
    pub(super) fn forget_changes(&self) {
        *self.files.lock() = FileWatch::default();
    }

    /// A question about this call shows a change of a file, or another one than before.
    pub(crate) fn asks_about_change(&self, id: &InvocationId, fingerprint: Option<u64>) {
        let mut files = self.files.lock();
        match fingerprint {
            Some(fingerprint) => files.asked.insert(id.clone(), fingerprint),
            None => files.asked.remove(id),
        };
    }

    pub(super) fn follow_files(&self, model: Option<usize>, event: &Event<'_>) -> Option<FileEdit> {
        self.files.lock().hear(model, event)
    }
}
