//! Providers and models from the settings, as types of the provider crate.

use converse_config::{
    AuthPlan, ChangePlan, Dialect as SaidDialect, ModelPlan, PatchPlan, ProviderPlan,
    ReasoningReplay as SaidReplay, Structured as SaidStructured, ThinkingPlan, ToolsPlan,
};
use converse_provider::{
    AcceptedMedia, AuthScheme, Change, Dialect, Facts, Patch, Price, Quirks, ReasoningReplay, Structured,
    Thinking, ToolProtocol,
};

pub(super) fn dialect(said: SaidDialect) -> Dialect {
    match said {
        SaidDialect::Anthropic => Dialect::AnthropicMessages,
        SaidDialect::OpenAiChat => Dialect::OpenAiChat,
        SaidDialect::OpenAiResponses => Dialect::OpenAiResponses,
        SaidDialect::Gemini => Dialect::Gemini,
        SaidDialect::Ollama => Dialect::Ollama,
    }
}

pub(super) fn auth(said: &AuthPlan) -> AuthScheme {
    match said {
        AuthPlan::None => AuthScheme::None,
        AuthPlan::Bearer => AuthScheme::Bearer,
        // Leaks a few bytes for each server in the settings, once per run.
        AuthPlan::Header(name) => AuthScheme::Header(Box::leak(name.clone().into_boxed_str())),
    }
}

pub(super) fn tools(said: ToolsPlan) -> ToolProtocol {
    match said {
        ToolsPlan::Native => ToolProtocol::Native,
        ToolsPlan::Prompted => ToolProtocol::Prompted,
    }
}

/// Missing values keep the known ones.
pub(super) fn quirks(had: Quirks, plan: &ProviderPlan) -> Quirks {
    let said = &plan.quirks;
    Quirks {
        max_tokens_key: said.max_tokens_key.unwrap_or(had.max_tokens_key),
        stream_options: said.stream_options.unwrap_or(had.stream_options),
        replay_reasoning: match said.replay_reasoning {
            None => had.replay_reasoning,
            Some(SaidReplay::Never) => ReasoningReplay::Never,
            Some(SaidReplay::InTurn) => ReasoningReplay::InTurn,
            Some(SaidReplay::Always(key)) => ReasoningReplay::Always(key),
        },
        nine_char_ids: said.nine_char_ids.unwrap_or(had.nine_char_ids),
        effort: said.effort.unwrap_or(had.effort),
        null_content: said.null_content.unwrap_or(had.null_content),
        user_after_tool: said.user_after_tool.unwrap_or(had.user_after_tool),
        retired_tools: said.retired_tools.unwrap_or(had.retired_tools),
        structured: match said.structured {
            None => had.structured,
            Some(SaidStructured::None) => Structured::None,
            Some(SaidStructured::JsonObject) => Structured::JsonObject,
            Some(SaidStructured::JsonSchema) => Structured::JsonSchema,
        },
        format_beside_tools: said.format_beside_tools.unwrap_or(had.format_beside_tools),
        developer_role: said.developer_role.unwrap_or(had.developer_role),
        include_encrypted: said.include_encrypted.unwrap_or(had.include_encrypted),
        stored: plan.store.unwrap_or(had.stored),
        cache_control: said.cache_control.unwrap_or(had.cache_control),
        fallbacks: said.fallbacks.unwrap_or(had.fallbacks),
    }
}

pub(super) fn patches(said: &PatchPlan) -> impl Iterator<Item = Patch> + '_ {
    said.changes.iter().map(|change| Patch {
        models: said.models.clone(),
        change: match change.clone() {
            ChangePlan::Remove { at } => Change::Remove { at },
            ChangePlan::Rename { at, to } => Change::Rename { at, to },
            ChangePlan::Set { at, value } => Change::Set { at, value },
        },
    })
}

pub(super) fn facts(said: &ModelPlan) -> Facts {
    Facts {
        window: said.window,
        wanted_window: said.window,
        max_output: said.max_output,
        takes: AcceptedMedia { images: said.images, documents: said.documents, audio: said.audio },
        tools: said.tools,
        sampling: said.sampling,
        structured: said.structured,
        thinking: said.thinking.map(|thinking| match thinking {
            ThinkingPlan::None => Thinking::None,
            ThinkingPlan::Budget => Thinking::Budget,
            ThinkingPlan::Effort => Thinking::Effort,
        }),
        needs_responses: said.needs_responses.unwrap_or(false),
        price: said.price.map(|price| Price {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
            above: None,
        }),
    }
}
