//! One line of what the doctor says.

/// Lines that belong together.
#[derive(Debug)]
pub struct Section {
    pub name: &'static str,
    pub findings: Vec<Finding>,
}

#[derive(Debug)]
pub struct Finding {
    pub name: String,
    pub state: State,
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Fine,
    /// Worth knowing; nothing fails for it alone.
    Note,
    /// Something that was asked for will not work.
    Broken,
}

impl State {
    pub fn label(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Broken => "broken",
        }
    }
}

impl Finding {
    pub fn new(state: State, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state, detail: detail.into() }
    }

    pub fn fine(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(State::Fine, name, detail)
    }

    pub fn note(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(State::Note, name, detail)
    }

    pub fn broken(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(State::Broken, name, detail)
    }

    /// In one line, and without what must not be said.
    pub fn cleaned(self, clean: impl Fn(String) -> String) -> Self {
        let detail = clean(self.detail).split_whitespace().collect::<Vec<_>>().join(" ");
        Self { detail, ..self }
    }
}
