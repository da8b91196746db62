//! The body of a request as written: a `body` that is text or becomes JSON, or a `form`.

use toml::de::DeValue;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::document::Problems;
use crate::json::{Conversion, MAX_DEPTH};
use crate::plan::{BodyPlan, JsonTemplate};
use crate::source::{Span, Spanned};
use crate::table::Table;
use crate::template::{Template, TemplatePiece};
use crate::templates;

#[derive(Debug, Clone, PartialEq)]
pub struct BodyDescriptor {
    pub plan: BodyPlan,
    /// The texts in the body, with their positions.
    pub templates: Vec<Spanned<Template>>,
}

impl BodyDescriptor {
    /// Returns `None` if there is no body, or an invalid one; the problems are reported.
    pub(crate) fn read(table: &Table<'_, '_>) -> Option<Self> {
        if let (Some(first), Some(form)) = (table.key_span("body"), table.key_span("form")) {
            let message = "a request cannot have both `body` and `form`";
            let hint = "remove `body` to send a form, or remove `form`";
            table.problems.push(Diagnostic::bad_value(form, message, hint).related(first, "the body"));
        }
        Self::body(table).or(Self::form(table))
    }

    fn form(table: &Table<'_, '_>) -> Option<Self> {
        table.key_span("form")?;
        let named = table.templates("form", |name| name.is_empty().then_some("the name is empty"));
        let entries = named.iter().map(|(name, template)| (name.clone(), template.value.clone())).collect();
        let templates = named.into_iter().map(|(_, template)| template).collect();
        Some(Self { plan: BodyPlan::Form(entries), templates })
    }

    fn body(table: &Table<'_, '_>) -> Option<Self> {
        let (name, value) = table.get("body")?;
        let span = table.problems.span(value.span());
        match value.get_ref() {
            DeValue::String(text) => {
                let template = templates::parse(text, span, table.problems)?;
                Some(Self { plan: BodyPlan::Text(template.value.clone()), templates: vec![template] })
            }
            DeValue::Table(_) | DeValue::Array(_) => {
                let mut reader = Reader { problems: table.problems, templates: Vec::new() };
                let name = table.problems.span(name.span());
                let json = reader.read(value.get_ref(), name, MAX_DEPTH)?;
                Some(Self { plan: BodyPlan::Json(json), templates: reader.templates })
            }
            other => {
                table.wrong_type("body", "a string, a table or a list", other, span);
                None
            }
        }
    }
}

struct Reader<'p> {
    problems: &'p Problems,
    templates: Vec<Spanned<Template>>,
}

impl Reader<'_> {
    fn read(&mut self, value: &DeValue<'_>, span: Span, depth: usize) -> Option<JsonTemplate> {
        let Some(depth) = depth.checked_sub(1) else {
            self.problems.error(Code::TooMany, span, format!("more than {MAX_DEPTH} levels of nesting"));
            return None;
        };
        match value {
            DeValue::String(text) => {
                let template = templates::parse(text, span, self.problems)?;
                self.templates.push(template.clone());
                Some(JsonTemplate::Text(template.value))
            }
            DeValue::Array(items) => {
                // Without `collect::<Option<_>>`, so that items after an invalid one are checked too.
                let items: Vec<_> = items.iter().map(|item| self.part(item, None, depth)).collect();
                items.into_iter().collect::<Option<Vec<_>>>().map(JsonTemplate::Array)
            }
            DeValue::Table(table) => {
                let entry = |(key, item): (&toml::Spanned<_>, &toml::Spanned<_>)| {
                    let name: &toml::de::DeString<'_> = key.get_ref();
                    let value = self.part(item, Some(self.problems.span(key.span())), depth)?;
                    Some((name.to_string(), value))
                };
                let entries: Vec<_> = table.iter().map(entry).collect();
                entries.into_iter().collect::<Option<Vec<_>>>().map(JsonTemplate::Object)
            }
            _ => match Conversion::default().convert(value, span, self.problems)? {
                // A date: it contains no placeholders.
                serde_json::Value::String(text) => {
                    Some(JsonTemplate::Text(Template { pieces: vec![TemplatePiece::Text(text)] }))
                }
                fixed => Some(JsonTemplate::Fixed(fixed)),
            },
        }
    }

    /// Reads an entry. The position of a table is its key, because the span of a table is its header.
    fn part(
        &mut self,
        item: &toml::Spanned<DeValue<'_>>,
        key: Option<Span>,
        depth: usize,
    ) -> Option<JsonTemplate> {
        // Made up by the parser after an error.
        if item.span().is_empty() {
            return None;
        }
        let own = self.problems.span(item.span());
        let span = if item.get_ref().is_table() { key.unwrap_or(own) } else { own };
        self.read(item.get_ref(), span, depth)
    }
}
