//! How much care is taken.

/// What is done when a conversation or its tools would fill the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Care {
    /// Near the window, old results are shortened and the beginning is summarised.
    pub compact: bool,
    /// The share of what the window leaves for a request at which that begins.
    pub compact_at: f64,
    /// The share of the window beyond which tools are offered by a search; 0 is never.
    pub lazy_tools: f64,
}

impl Care {
    /// Nothing is left out by itself.
    pub const NONE: Self = Self { compact: false, compact_at: 0.8, lazy_tools: 0.0 };
}

impl Default for Care {
    fn default() -> Self {
        Self { compact: true, compact_at: 0.8, lazy_tools: 0.1 }
    }
}
