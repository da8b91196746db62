//! Validated names: a value of one of these types satisfies its rule.

use serde::{Deserialize, Serialize};

/// Error of a string that is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a valid {kind}: {rule}")]
pub struct BadName {
    pub kind: &'static str,
    pub name: String,
    pub rule: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $kind:literal, $max:literal, $rule:literal, $first:expr, $rest:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            pub fn new(name: impl Into<String>) -> Result<Self, BadName> {
                let name = name.into();
                let first: fn(char) -> bool = $first;
                let rest: fn(char) -> bool = $rest;
                let good = name.len() <= $max && name.starts_with(first) && name.chars().all(rest);
                if good { Ok(Self(name)) } else { Err(BadName { kind: $kind, name, rule: $rule }) }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // Pads where a width is asked for, as a plain string does.
                f.pad(&self.0)
            }
        }

        impl TryFrom<String> for $type {
            type Error = BadName;
            fn try_from(name: String) -> Result<Self, BadName> {
                Self::new(name)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> String {
                name.0
            }
        }
    };
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

name!(
    /// The name of an ensemble: what people write before the dot of `ensemble.invoker`.
    EnsembleName, "ensemble name", 64, "1 to 64 of a-z A-Z 0-9 _ -, a letter or digit first",
    |c| c.is_ascii_alphanumeric(), word
);
name!(
    /// The name of an invoker within its ensemble. Wider than an ensemble's, since MCP servers choose theirs
    /// (MCP 2025-11-25 allows `.` and `/` is seen in the wild).
    InvokerName, "invoker name", 128, "1 to 128 of a-z A-Z 0-9 _ - . /",
    |c| word(c) || c == '.' || c == '/', |c| word(c) || c == '.' || c == '/'
);
name!(
    /// A tool's name as a model sees it, within every provider's limits: at most 64 characters
    /// (OpenAI `^[a-zA-Z0-9_-]{1,64}$`), a letter or underscore first (Gemini).
    /// What a model *asks for* need not be such a name; see `Invocation::tool`.
    ToolName, "tool name", 64, "1 to 64 of a-z A-Z 0-9 _ -, a letter or _ first",
    |c| c.is_ascii_alphabetic() || c == '_', word
);
name!(
    /// A provider, as written before the slash of a model id: `anthropic`, `openai`, `ollama` …
    ProviderName, "provider name", 32, "1 to 32 of a-z 0-9 -, a letter first",
    |c| c.is_ascii_lowercase(), |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
);
name!(
    /// The name of a view of the gateway, as in `/mcp/NAME`.
    ViewName, "view name", 32, "1 to 32 of a-z 0-9 -, a letter first",
    |c| c.is_ascii_lowercase(), |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
);
name!(
    /// Our id of an invocation; what the server called it is `Invocation::wire_id`. The charset is the narrowest one
    /// providers accept for foreign ids (Anthropic `^[a-zA-Z0-9_-]+$`).
    InvocationId, "invocation id", 64, "1 to 64 of a-z A-Z 0-9 _ -",
    word, word
);

impl ToolName {
    /// Converts a text to a valid name: other characters become `_`, a leading digit or `-` gets a `_` in front, and the rest
    /// after 64 characters is cut.
    pub fn cleaned(text: &str) -> Self {
        let clean = text.chars().map(|c| if word(c) { c } else { '_' });
        let start = if text.starts_with(|c: char| c.is_ascii_alphabetic() || !word(c) || c == '_') {
            ""
        } else {
            "_"
        };
        Self(start.chars().chain(clean).take(64).collect())
    }
}

impl InvocationId {
    /// Returns the id of the `index`th invocation of a turn, unique in a transcript because turns are.
    pub fn of(turn: TurnId, index: usize) -> Self {
        Self(format!("inv_{}_{index}", turn.0))
    }
}

/// One reply of a model, whatever it contains: its texts and invocations share it. Numbered from 1 in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(pub u64);

impl TurnId {
    /// The highest number: JSON readers that use floating point represent all integers up to it exactly.
    pub const LAST: Self = Self((1 << 53) - 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_rules() {
        assert!(EnsembleName::new("weather-2").is_ok());
        for bad in ["", "-x", "a b", "a.b", "é", &"x".repeat(65)] {
            assert!(EnsembleName::new(bad).is_err(), "{bad:?}");
        }
        assert!(InvokerName::new("admin.tools/list").is_ok());
        assert!(InvokerName::new("a\u{202e}b").is_err());
        assert!(ToolName::new("io__read_file").is_ok());
        for bad in ["1x", "a.b", "", &"x".repeat(65)] {
            assert!(ToolName::new(bad).is_err(), "{bad:?}");
        }
        assert!(ProviderName::new("openai-chat").is_ok());
        assert!(ProviderName::new("OpenAI").is_err());
    }

    #[test]
    fn any_text_can_be_cleaned_into_a_tool_name() {
        for (text, name) in
            [("io__x", "io__x"), ("a.b/c", "a_b_c"), ("2x", "_2x"), ("", "_"), ("-", "_-"), ("é", "_")]
        {
            assert_eq!(ToolName::cleaned(text).as_str(), name);
            assert!(ToolName::new(name).is_ok());
        }
        assert_eq!(ToolName::cleaned(&"9".repeat(99)).as_str().len(), 64);
    }

    #[test]
    fn names_pad_like_strings() {
        assert_eq!(format!("[{:<5}]", EnsembleName::new("io").unwrap()), "[io   ]");
    }

    #[test]
    fn a_bad_name_does_not_deserialise() {
        let error = serde_json::from_str::<ToolName>("\"a b\"").unwrap_err().to_string();
        assert!(error.contains("not a valid tool name"), "{error}");
    }
}
