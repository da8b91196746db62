//! Valid schemas that providers reject, as data: the provider, the place, the effect and the source.
//!
//! "Error text" names a public report that quotes the provider's own 400. All checked 2026-11.
//!
//! OpenAI's pattern for names of properties, its `$ref` only into top-level definitions and its required
//! `additionalProperties` are rules of strict mode, which converse never requests, so they have no rows.

use serde_json::Value;

use super::finds::{
    Finding, UNHEEDED, beyond_parameters, boolean, empty_object, finding_if, has_in_enum, large, no_items,
    no_properties, no_type, odd_names, root_type, strict_limits, unknown_required,
};
use super::walk::{SchemaNode, escaped};
use super::{Effect, Fault, LintTarget};
use Effect::{OtherField, Refused, Unheeded};
use LintTarget::{Anthropic, Gemini, OpenAi};

struct Row {
    kind: &'static str,
    whom: &'static [LintTarget],
    find: Find,
    effect: Effect,
    /// Follows the provider's name; `{}` is replaced by the matched keyword.
    says: &'static str,
}

enum Find {
    /// Keywords at the root.
    Root(&'static [&'static str]),
    Anywhere(&'static [&'static str]),
    By(fn(&SchemaNode<'_>) -> Vec<Finding>),
}

const ALL: &[LintTarget] = &[Anthropic, OpenAi, Gemini];

const ROWS: &[Row] = &[
    // <https://platform.claude.com/docs/en/api/messages>, <https://platform.openai.com/docs/guides/function-calling>:
    // `type` is `object`. Gemini: google-genai 3.4.0, `parameters_json_schema`: "must describe an object".
    Row {
        kind: "root-type",
        whom: ALL,
        find: Find::By(root_type),
        effect: Refused,
        says: "requires `type` to be `object` at the root of the arguments",
    },
    // Recorded refusals; a root without `type` is one for OpenAI.
    Row {
        kind: "root-reference",
        whom: ALL,
        find: Find::Root(&["$ref"]),
        effect: Refused,
        says: "does not accept `$ref` at the root of the arguments",
    },
    // Error text: <https://github.com/anthropics/claude-code/issues/44788>,
    // <https://github.com/langchain-ai/langchainjs/issues/9804>
    Row {
        kind: "root-combinator",
        whom: &[Anthropic, OpenAi],
        find: Find::Root(&["anyOf", "oneOf", "allOf"]),
        effect: Refused,
        says: "does not accept `{}` at the root of the arguments",
    },
    // Error text: <https://github.com/goruck/home-generative-agent/pull/545>
    Row {
        kind: "root-keyword",
        whom: &[OpenAi],
        find: Find::Root(&["enum", "const", "not"]),
        effect: Refused,
        says: "does not accept `{}` at the root of the arguments",
    },
    // Error text: <https://github.com/openai/openai-agents-python/issues/449>
    Row {
        kind: "no-properties",
        whom: &[OpenAi],
        find: Find::By(no_properties),
        effect: Refused,
        says: "requires `properties` at the root of the arguments",
    },
    // Error text: <https://github.com/anthropics/claude-code/issues/79418>; the top level only:
    // <https://github.com/decocms/studio/pull/6874>
    Row {
        kind: "property-name",
        whom: &[Anthropic],
        find: Find::By(|node| odd_names(node, 64, "_.-", false).filter(|_| node.is_root()).collect()),
        effect: Refused,
        says: "accepts only argument names of at most 64 letters, digits, `_`, `.` and `-`; `{}` is not accepted",
    },
    // Error text: <https://github.com/zed-industries/zed/pull/47578>
    Row {
        kind: "array-without-items",
        whom: &[OpenAi],
        find: Find::By(no_items),
        effect: Refused,
        says: "requires `items` in each array",
    },
    // <https://platform.openai.com/docs/guides/structured-outputs>: limits of strict mode.
    Row {
        kind: "strict-limit",
        whom: &[OpenAi],
        find: Find::By(strict_limits),
        effect: Unheeded,
        says: "accepts {} in strict mode, which converse does not use",
    },
    // No vendor names a limit; this is about the price.
    Row {
        kind: "large-schema",
        whom: ALL,
        find: Find::By(large),
        effect: Unheeded,
        says: "is sent a schema of {} with each request, which costs tokens each time",
    },
    // google-genai 3.4.0, `response_json_schema`: "only the following properties are supported", and none of these.
    Row {
        kind: "unheeded-keyword",
        whom: &[Gemini],
        find: Find::Anywhere(UNHEEDED),
        effect: Unheeded,
        says: "does not enforce `{}`: the model may write a value that the tool refuses",
    },
    // google-genai 3.4.0, `class Schema`. Error text: <https://github.com/zed-industries/zed/issues/44875>
    Row {
        kind: "unknown-keyword",
        whom: &[Gemini],
        find: Find::By(beyond_parameters),
        effect: OtherField,
        says: "does not support `{}` in `parameters`",
    },
    // Error text: <https://github.com/taylorwilsdon/google_workspace_mcp/issues/1099>
    Row {
        kind: "several-types",
        whom: &[Gemini],
        find: Find::By(|node| finding_if(node.get("type").is_some_and(Value::is_array), "/type")),
        effect: OtherField,
        says: "accepts only one `type` per schema in `parameters`",
    },
    // Error text: <https://github.com/brightwave-inc/tidebreak/pull/1537>
    Row {
        kind: "no-type",
        whom: &[Gemini],
        find: Find::By(no_type),
        effect: OtherField,
        says: "requires a `type` in each schema in `parameters`",
    },
    // Error text ("items: missing field"): <https://github.com/DEEIX-AI/DEEIX-Chat/issues/546>
    Row {
        kind: "array-without-items",
        whom: &[Gemini],
        find: Find::By(no_items),
        effect: OtherField,
        says: "requires `items` in each array in `parameters`",
    },
    // `parameters` is a protobuf message, which does not allow a boolean as a schema.
    Row {
        kind: "boolean-schema",
        whom: &[Gemini],
        find: Find::By(boolean),
        effect: OtherField,
        says: "does not accept `true` or `false` as a schema in `parameters`",
    },
    // Refused by older models: <https://ai.google.dev/gemini-api/docs/function-calling>
    Row {
        kind: "no-properties",
        whom: &[Gemini],
        find: Find::By(empty_object),
        effect: OtherField,
        says: "requires at least one property in each object in `parameters`",
    },
    // <https://github.com/promptfoo/promptfoo/issues/6902>
    Row {
        kind: "properties-of-no-object",
        whom: &[Gemini],
        find: Find::By(|node| {
            finding_if(node.get("properties").is_some() && !node.may_be("object"), "/properties")
        }),
        effect: OtherField,
        says: "accepts `properties` only if `type` is `object` in `parameters`",
    },
    // Error text: "required[0]: property is not defined", of `parameters`. No source says that the other field accepts it.
    Row {
        kind: "required-unknown",
        whom: &[Gemini],
        find: Find::By(unknown_required),
        effect: Refused,
        says: "has rejected {} in `required`, because it is not in `properties`",
    },
    // google-genai 3.4.0: `Schema.enum` is texts; `response_json_schema`: "for strings and numbers".
    Row {
        kind: "enum-of-numbers",
        whom: &[Gemini],
        find: Find::By(|node| finding_if(has_in_enum(node, Value::is_number), "/enum")),
        effect: OtherField,
        says: "accepts only strings in an `enum` of `parameters`",
    },
    Row {
        kind: "enum-of-others",
        whom: &[Gemini],
        find: Find::By(|node| {
            finding_if(has_in_enum(node, |value| !value.is_number() && !value.is_string()), "/enum")
        }),
        effect: Unheeded,
        says: "enforces only strings and numbers in an `enum`",
    },
    // google-genai 3.4.0, `FunctionDeclaration.parameters`.
    Row {
        kind: "property-name",
        whom: &[Gemini],
        find: Find::By(|node| odd_names(node, 64, "_", true).collect()),
        effect: OtherField,
        says: "documents argument names of at most 64 letters, digits and `_` for `parameters`; `{}` is not such a name",
    },
];

pub(super) fn faults(which: LintTarget, nodes: &[SchemaNode<'_>]) -> Vec<Fault> {
    let rows = || ROWS.iter().filter(|row| row.whom.contains(&which));
    nodes.iter().flat_map(|node| rows().flat_map(move |row| row.faults(node))).collect()
}

impl Row {
    fn faults(&self, node: &SchemaNode<'_>) -> Vec<Fault> {
        let keywords = |keys: &[&str]| {
            let present = keys.iter().filter(|key| node.get(key).is_some());
            present.map(|key| (format!("/{}", escaped(key)), (*key).to_owned())).collect()
        };
        let hits: Vec<Finding> = match self.find {
            Find::Root(keys) if node.is_root() => keywords(keys),
            Find::Root(_) => Vec::new(),
            Find::Anywhere(keys) => keywords(keys),
            Find::By(find) => find(node),
        };
        let fault = |(below, what): Finding| Fault {
            kind: self.kind,
            pointer: format!("{}{below}", node.pointer),
            says: self.says.replacen("{}", &what, 1),
            effect: self.effect,
        };
        hits.into_iter().map(fault).collect()
    }
}
