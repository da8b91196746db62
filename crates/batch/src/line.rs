//! One line of the input: a conversation. Pure.

use converse_canister::{Assistant, Canister, Stop, Supervisor, TurnId, User};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::placeholders::filled;

/// Bytes of an id.
const MOST_ID: usize = 512;
const EXAMPLE: &str = r#"a line is an object such as {"id": "1", "prompt": "What is 2+2?"}"#;

/// A conversation to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub id: String,
    /// Messages before the last question.
    pub before: Vec<Message>,
    /// The last question.
    pub question: String,
    /// Files and URLs that are attached to the last question.
    pub attachments: Vec<String>,
    /// The JSON Schema of the answer.
    pub schema: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    role: Role,
    content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    User,
    Assistant,
}

impl Message {
    /// A message of the system.
    pub fn of_system(text: impl Into<String>) -> Self {
        Self { role: Role::System, content: text.into() }
    }

    /// The text of a message of the system.
    pub fn system(&self) -> Option<&str> {
        (self.role == Role::System).then_some(self.content.as_str())
    }

    /// `turn` is that of the next reply, and grows with each message of the assistant.
    pub(crate) fn canister(&self, turn: &mut TurnId) -> Canister {
        let text = self.content.clone();
        match self.role {
            Role::System => Canister::Supervisor(Supervisor { text }),
            Role::User => Canister::User(User::text(text)),
            Role::Assistant => {
                let content = vec![converse_canister::Content::text(text)];
                let (native, response_id) = (None, None);
                let reply = Assistant { turn: *turn, content, native, stop: Stop::End, response_id };
                *turn = TurnId(turn.0 + 1);
                Canister::Assistant(reply)
            }
        }
    }
}

/// What is wrong with a line, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Byte in the line.
    pub at: usize,
    pub code: &'static str,
    pub message: String,
    pub hint: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Fields<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
    #[serde(borrow)]
    attachments: Option<&'a RawValue>,
}

/// A line while it is read.
struct Reader<'a> {
    text: &'a str,
}

impl Line {
    /// Reads a line. `template` is the prompt of lines that have none.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn parse(text: &str, template: Option<&str>) -> Result<Self, Fault> {
        let reader = Reader { text };
        if !text.trim_start().starts_with('{') {
            return Err(reader.fault(None, "bad-line", "the line is not a JSON object".to_owned(), EXAMPLE));
        }
        let fields: Fields<'_> = serde_json::from_str(text).map_err(|error| reader.json(&error, 0))?;
        let id = reader.id(&fields)?;
        let (mut before, mut question) = reader.conversation(&fields, template)?;
        if fields.variables.is_some() || is_from_template(&fields) {
            let variables = fields.variables.map(|raw| reader.value::<Map<String, Value>>(raw));
            let variables = variables.transpose()?.unwrap_or_default();
            let fill = |text: &str| filled(text, &variables).map_err(|name| reader.unset(&fields, &name));
            question = fill(&question)?;
            for message in &mut before {
                message.content = fill(&message.content)?;
            }
        }
        let attachments = fields.attachments.map(|raw| reader.attachments(raw)).transpose()?;
        let schema = fields.schema.map(|raw| reader.value(raw)).transpose()?;
        Ok(Self { id, before, question, attachments: attachments.unwrap_or_default(), schema })
    }

    /// Returns the place of a field in the line, for a fault that only its reader finds.
    pub(crate) fn place(text: &str, field: &str) -> usize {
        let fields: Result<Fields<'_>, _> = serde_json::from_str(text);
        let raw = fields.ok().and_then(|fields| match field {
            "schema" => fields.schema,
            "attachments" => fields.attachments,
            _ => fields.id,
        });
        raw.map_or(0, |raw| Reader { text }.offset(raw))
    }
}

fn is_from_template(fields: &Fields<'_>) -> bool {
    fields.prompt.is_none() && fields.messages.is_none()
}

impl Reader<'_> {
    /// Where a value of the line begins.
    fn offset(&self, raw: &RawValue) -> usize {
        raw.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr()).min(self.text.len())
    }

    /// `base`: where the text begins that was read.
    fn json(&self, error: &serde_json::Error, base: usize) -> Fault {
        let message = error.to_string();
        // The place is told apart.
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        let at = (base + error.column().saturating_sub(1)).min(self.text.len());
        let code = if error.is_data() { "bad-line" } else { "bad-json" };
        Fault { at, code, message, hint: EXAMPLE.to_owned() }
    }

    fn value<T: DeserializeOwned>(&self, raw: &RawValue) -> Result<T, Fault> {
        serde_json::from_str(raw.get()).map_err(|error| self.json(&error, self.offset(raw)))
    }

    fn fault(&self, raw: Option<&RawValue>, code: &'static str, message: String, hint: &str) -> Fault {
        Fault { at: raw.map_or(0, |raw| self.offset(raw)), code, message, hint: hint.to_owned() }
    }

    fn id(&self, fields: &Fields<'_>) -> Result<String, Fault> {
        let Some(raw) = fields.id else {
            let message = "the line has no `id`".to_owned();
            return Err(self.fault(None, "no-id", message, r#"add a unique text: "id": "1""#));
        };
        let id: String = self.value(raw)?;
        if id.trim().is_empty() || id.len() > MOST_ID {
            let message = format!("`id`: expected a text of 1 to {MOST_ID} bytes, found {} bytes", id.len());
            return Err(self.fault(Some(raw), "bad-id", message, r#""id": "1""#));
        }
        Ok(id)
    }

    fn conversation(
        &self,
        fields: &Fields<'_>,
        template: Option<&str>,
    ) -> Result<(Vec<Message>, String), Fault> {
        match (fields.prompt, fields.messages, template) {
            (Some(raw), None, _) => {
                let prompt: String = self.value(raw)?;
                if prompt.trim().is_empty() {
                    let message = "`prompt` is empty".to_owned();
                    return Err(self.fault(Some(raw), "no-prompt", message, r#""prompt": "What is 2+2?""#));
                }
                Ok((Vec::new(), prompt))
            }
            (None, Some(raw), _) => self.messages(raw),
            (None, None, Some(template)) => Ok((Vec::new(), template.to_owned())),
            (None, None, None) => {
                let message = "the line has neither `prompt` nor `messages`".to_owned();
                let hint =
                    "add a \"prompt\", or give one for all lines with `--template 'Translate: {{text}}'`";
                Err(self.fault(None, "no-prompt", message, hint))
            }
            (Some(_), Some(raw), _) => {
                let message = "the line has both `prompt` and `messages`".to_owned();
                Err(self.fault(Some(raw), "two-prompts", message, "leave one of them out"))
            }
        }
    }

    /// At most one system message, the first; then user and assistant, and a question at the end.
    fn messages(&self, raw: &RawValue) -> Result<(Vec<Message>, String), Fault> {
        let mut messages: Vec<Message> = self.value(raw)?;
        let hint = r#""messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Who are you?"}]"#;
        let fault = |message: String| self.fault(Some(raw), "bad-messages", message, hint);
        let mut last = None;
        for (place, message) in messages.iter().enumerate() {
            let role = message.role;
            if message.content.trim().is_empty() {
                return Err(fault(format!("`messages[{place}]` is empty")));
            }
            if role == Role::System && place > 0 {
                return Err(fault(format!(
                    "`messages[{place}]`: only the first message may be of the system"
                )));
            }
            if role == Role::Assistant && last != Some(Role::User) {
                return Err(fault(format!("`messages[{place}]`: the assistant answers a user")));
            }
            last = Some(role);
        }
        match messages.pop() {
            Some(Message { role: Role::User, content }) => Ok((messages, content)),
            _ => Err(fault("`messages`: expected a message of the user at the end".to_owned())),
        }
    }

    fn attachments(&self, raw: &RawValue) -> Result<Vec<String>, Fault> {
        let names: Vec<String> = self.value(raw)?;
        match names.iter().find(|name| *name == "-" || name.starts_with("mcp:")) {
            None => Ok(names),
            Some(name) => {
                let message = format!("`{name}` cannot be attached to a line: expected a file or a URL");
                Err(self.fault(Some(raw), "bad-attachment", message, r#""attachments": ["report.pdf"]"#))
            }
        }
    }

    fn unset(&self, fields: &Fields<'_>, name: &str) -> Fault {
        let raw = fields.variables.or(fields.prompt).or(fields.messages);
        let message = format!("the prompt has `{{{{{name}}}}}`, and the line has no variable `{name}`");
        self.fault(raw, "no-variable", message, &format!(r#""variables": {{"{name}": "…"}}"#))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn fault(text: &str) -> (usize, &'static str) {
        let fault = Line::parse(text, None).unwrap_err();
        assert!(!fault.message.is_empty() && !fault.hint.is_empty());
        (fault.at, fault.code)
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        for (text, at, code) in [
            ("{\"id\": \"1\"", Some(9), "bad-json"),
            (r#"["1", "x", [], {}, {}, []]"#, Some(0), "bad-line"),
            (r#"{"id": "1", "promt": "x"}"#, None, "bad-line"),
            (r#"{"id": "1", "id": "2", "prompt": "x"}"#, None, "bad-line"),
            (r#"{"prompt": "x"}"#, Some(0), "no-id"),
            (r#"{"id": 7, "prompt": "x"}"#, Some(7), "bad-line"),
            (r#"{"id": " ", "prompt": "x"}"#, Some(7), "bad-id"),
            (r#"{"id": "1"}"#, Some(0), "no-prompt"),
            (r#"{"id": "1", "prompt": " "}"#, Some(22), "no-prompt"),
            (r#"{"id": "1", "prompt": "x", "messages": []}"#, Some(39), "two-prompts"),
            (r#"{"id": "1", "messages": []}"#, Some(24), "bad-messages"),
            (r#"{"id": "1", "messages": [{"role": "assistant", "content": "x"}]}"#, Some(24), "bad-messages"),
            (r#"{"id": "1", "messages": [{"role": "tool", "content": "x"}]}"#, None, "bad-line"),
            (r#"{"id": "1", "prompt": "{{a}}", "variables": {"b": 1}}"#, Some(44), "no-variable"),
            (r#"{"id": "1", "prompt": "x", "attachments": ["mcp:a:b"]}"#, Some(42), "bad-attachment"),
        ] {
            let (found, found_code) = fault(text);
            // `None`: the place is where the JSON reader stopped, which is within the line.
            assert_eq!((at.unwrap_or(found), code), (found, found_code), "{text}");
            assert!(found < text.len(), "{text}");
        }
    }

    #[test]
    fn variables_fill_the_line_or_the_template_and_nothing_else() {
        let line = |text: &str| Line::parse(text, Some("Say {{word}}")).unwrap();
        assert_eq!(line(r#"{"id": "1", "variables": {"word": "hi"}}"#).question, "Say hi");
        assert_eq!(line(r#"{"id": "1", "prompt": "{{word}}"}"#).question, "{{word}}");
        assert_eq!(Line::parse(r#"{"id": "1"}"#, Some("Say {{word}}")).unwrap_err().code, "no-variable");
        let whole = line(
            r#"{"id": "1", "messages": [{"role": "system", "content": "Be {{how}}"}, {"role": "user", "content": "{{q}}"}],
                "variables": {"how": "brief", "q": 1}, "schema": {"type": "object"}, "attachments": ["a.txt"]}"#,
        );
        assert_eq!((whole.before[0].content.as_str(), whole.question.as_str()), ("Be brief", "1"));
        assert_eq!(
            (whole.schema, whole.attachments),
            (Some(json!({ "type": "object" })), vec!["a.txt".into()])
        );
    }
}
