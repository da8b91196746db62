//! One line of what is shown of an ensemble.

/// What it says is of the ensemble, or of one of its invokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    invoker: Option<String>,
    text: String,
    /// It would start, contact, replace or allow something: it is said once more, before the question.
    pub acts: bool,
}

impl Line {
    pub(super) fn telling(text: String) -> Self {
        Self { invoker: None, text, acts: false }
    }

    pub(super) fn acting(text: String) -> Self {
        Self { invoker: None, text, acts: true }
    }

    pub(super) fn of(self, invoker: &str) -> Self {
        Self { invoker: Some(invoker.to_owned()), ..self }
    }

    /// Among the lines of its ensemble, where its invoker is the one above.
    pub fn text(&self) -> String {
        let indent = if self.invoker.is_some() { "    " } else { "  " };
        format!("{indent}{}", self.text)
    }

    /// Alone.
    pub fn alone(&self) -> String {
        match &self.invoker {
            Some(invoker) => format!("  {invoker}: {}", self.text),
            None => format!("  {}", self.text),
        }
    }
}
