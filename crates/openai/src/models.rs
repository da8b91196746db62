//! `GET /v1/models` and `GET /v1/models/{id}`.

use serde::Serialize;

/// A model that clients can name: a model of a provider, or a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEntry {
    pub id: String,
    /// Unix time in seconds.
    pub created: u64,
    pub owned_by: String,
    /// What the model or preset is for; an extension of OpenAI's object.
    pub description: Option<String>,
}

#[derive(Serialize)]
struct ModelObject<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

#[derive(Serialize)]
struct ListObject<'a> {
    object: &'static str,
    data: Vec<ModelObject<'a>>,
}

impl<'a> From<&'a ModelEntry> for ModelObject<'a> {
    fn from(entry: &'a ModelEntry) -> Self {
        let ModelEntry { id, created, owned_by, description } = entry;
        Self { id, object: "model", created: *created, owned_by, description: description.as_deref() }
    }
}

/// Returns the body that describes one model.
pub fn model(entry: &ModelEntry) -> Vec<u8> {
    serde_json::to_vec(&ModelObject::from(entry)).unwrap_or_default()
}

/// Returns the body that lists the models.
pub fn model_list<'a>(entries: impl IntoIterator<Item = &'a ModelEntry>) -> Vec<u8> {
    let data = entries.into_iter().map(ModelObject::from).collect();
    serde_json::to_vec(&ListObject { object: "list", data }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_one_object_for_each_model() {
        let plain = ModelEntry {
            id: "openai/gpt-6".into(),
            created: 1_790_000_000,
            owned_by: "openai".into(),
            description: None,
        };
        let preset = ModelEntry {
            id: "scout".into(),
            created: 1_790_000_001,
            owned_by: "converse".into(),
            description: Some("Reads \"everything\"".into()),
        };
        assert_eq!(
            String::from_utf8(model_list([&plain, &preset])).unwrap(),
            r#"{"object":"list","data":[{"id":"openai/gpt-6","object":"model","created":1790000000,"owned_by":"openai"},{"id":"scout","object":"model","created":1790000001,"owned_by":"converse","description":"Reads \"everything\""}]}"#
        );
        super::super::golden::assert_golden("model.json", &model(&preset));
        assert_eq!(
            String::from_utf8(model(&plain)).unwrap(),
            r#"{"id":"openai/gpt-6","object":"model","created":1790000000,"owned_by":"openai"}"#
        );
        assert_eq!(String::from_utf8(model_list([])).unwrap(), r#"{"object":"list","data":[]}"#);
    }
}
