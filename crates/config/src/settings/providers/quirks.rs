//! `[providers.NAME.quirks]`: where a server differs from its wire format. The keys are those of the provider crate.

use crate::table::Table;

/// The quirks; an absent key is as in the provider that this one resembles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuirksPlan {
    pub max_tokens_key: Option<&'static str>,
    pub stream_options: Option<bool>,
    pub replay_reasoning: Option<ReasoningReplay>,
    pub nine_char_ids: Option<bool>,
    pub effort: Option<bool>,
    pub null_content: Option<bool>,
    pub user_after_tool: Option<bool>,
    pub retired_tools: Option<bool>,
    pub structured: Option<Structured>,
    pub format_beside_tools: Option<bool>,
    pub developer_role: Option<bool>,
    pub include_encrypted: Option<bool>,
    pub cache_control: Option<bool>,
    pub fallbacks: Option<bool>,
}

/// How reasoning is sent back to a server with calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningReplay {
    /// `none`
    Never,
    /// `in_turn`: until the user speaks again, under the key it came under.
    InTurn,
    /// In all later requests, under this key.
    Always(&'static str),
}

/// What a server supports of `response_format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structured {
    /// `none`
    None,
    /// `json_object`
    JsonObject,
    /// `json_schema`
    JsonSchema,
}

pub(super) fn quirks(provider: &Table<'_, '_>) -> QuirksPlan {
    let Some(table) = provider.table("quirks") else { return QuirksPlan::default() };
    let flag = |key| table.boolean(key).map(|value| value.value);
    let words = |key, words: &'static [&'static str]| {
        let words: Vec<_> = words.iter().map(|word| (*word, *word)).collect();
        table.choice(key, &words).map(|word| word.value)
    };
    let structured = [
        ("none", Structured::None),
        ("json_object", Structured::JsonObject),
        ("json_schema", Structured::JsonSchema),
    ];
    let replayed = [
        ("none", ReasoningReplay::Never),
        ("in_turn", ReasoningReplay::InTurn),
        ("reasoning_content", ReasoningReplay::Always("reasoning_content")),
        ("reasoning_details", ReasoningReplay::Always("reasoning_details")),
        ("reasoning", ReasoningReplay::Always("reasoning")),
    ];
    let quirks = QuirksPlan {
        max_tokens_key: words("max_tokens_key", &["max_tokens", "max_completion_tokens"]),
        stream_options: flag("stream_options"),
        replay_reasoning: table.choice("replay_reasoning", &replayed).map(|word| word.value),
        nine_char_ids: flag("nine_char_ids"),
        effort: flag("effort"),
        null_content: flag("null_content"),
        user_after_tool: flag("user_after_tool"),
        retired_tools: flag("retired_tools"),
        structured: table.choice("structured", &structured).map(|word| word.value),
        format_beside_tools: flag("format_beside_tools"),
        developer_role: flag("developer_role"),
        include_encrypted: flag("include_encrypted"),
        cache_control: flag("cache_control"),
        fallbacks: flag("fallbacks"),
    };
    table.finish();
    quirks
}
