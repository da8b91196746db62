//! The body of a request as written: a `body` that is text or becomes JSON, a `form`, a `multipart` form, or a `file`.

use toml::de::DeValue;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::document::Problems;
use crate::json::{Conversion, MAX_DEPTH};
use crate::plan::{BodyPlan, JsonTemplate, PartPlan};
use crate::source::{Span, Spanned};
use crate::table::Table;
use crate::template::{Template, TemplatePiece};
use crate::templates;

/// The keys of `[http]` that are a body; a request has one of them.
pub(crate) const KEYS: [&str; 4] = ["body", "form", "multipart", "file"];

#[derive(Debug, Clone, PartialEq)]
pub struct BodyDescriptor {
    pub plan: BodyPlan,
    /// The texts in the body, with their positions.
    pub templates: Vec<Spanned<Template>>,
}

impl BodyDescriptor {
    /// Returns `None` if there is no body, or an invalid one; the problems are reported.
    pub(crate) fn read(table: &Table<'_, '_>) -> Option<Self> {
        let given = KEYS.iter().filter_map(|key| table.key_span(key).map(|span| (*key, span)));
        if let [(first, related), .., (last, span)] = given.collect::<Vec<_>>().as_slice() {
            let message = format!("a request cannot have both `{first}` and `{last}`");
            let hint = format!("remove `{first}`, or remove `{last}`");
            table.problems.push(Diagnostic::bad_value(*span, message, hint).related(*related, "the first"));
        }
        let bodies = [Self::body(table), Self::form(table), Self::multipart(table), Self::file(table)];
        bodies.into_iter().flatten().next()
    }

    fn multipart(table: &Table<'_, '_>) -> Option<Self> {
        let inner = table.table("multipart")?;
        let (mut parts, mut templates) = (Vec::new(), Vec::new());
        for (name, value) in inner.named() {
            if name.value.is_empty() {
                table.problems.error(Code::BadName, name.span, "the name of a part is empty");
            }
            let (is_file, media_type, template) = match value.get_ref() {
                DeValue::Table(entries) => {
                    let part = inner.named_table(&name, entries);
                    let is_file = part.has("file");
                    let media_type = part.string("type").filter(|given| {
                        let valid = is_media_type(&given.value);
                        let hint = "for example: `type = \"image/png\"`";
                        if !valid {
                            table.problems.bad_value(given.span, "`type` is not a media type", hint);
                        }
                        valid
                    });
                    let template = if is_file { part.template("file") } else { part.template("value") };
                    if !is_file && !part.has("value") {
                        part.missing_or("value", "write `value = \"{argument}\"`, or `file = \"{path}\"`");
                    }
                    part.finish();
                    (is_file, media_type.map(|given| given.value), template)
                }
                _ => (false, None, templates::of_value(value, table.problems, &name.value)),
            };
            let Some(template) = template else { continue };
            if is_file {
                check_path(table, &template);
            }
            if is_file && parts.iter().any(|part: &PartPlan| part.is_file) {
                let hint = "send the files with several requests";
                table.problems.bad_value(template.span, "a request can send one file", hint);
            }
            parts.push(PartPlan { name: name.value, value: template.value.clone(), is_file, media_type });
            templates.push(template);
        }
        Some(Self { plan: BodyPlan::Multipart(parts), templates })
    }

    fn file(table: &Table<'_, '_>) -> Option<Self> {
        let path = table.template("file")?;
        check_path(table, &path);
        Some(Self { plan: BodyPlan::File(path.value.clone()), templates: vec![path] })
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

/// Reports a path that is not exactly one argument. Rules about an argument could not be applied to the file behind it.
fn check_path(table: &Table<'_, '_>, path: &Spanned<Template>) {
    if path.value.sole_argument().is_some() {
        return;
    }
    let message = "`file` must be exactly one argument, so that rules apply to its path";
    let hint = "write `file = \"{path}\"`, and declare `path` in `[arguments]`";
    table.problems.push(Diagnostic::bad_value(path.span, message, hint).without_excerpt());
}

/// `type/subtype`, and parameters that stay on the line.
fn is_media_type(text: &str) -> bool {
    let mut parts = text.split(';').next().unwrap_or_default().split('/');
    let token = |part: &str| {
        !part.is_empty()
            && part.trim_end().chars().all(|c| c.is_ascii_alphanumeric() || "!#$&^_.+-".contains(c))
    };
    let two = parts.next().is_some_and(token) && parts.next().is_some_and(token) && parts.next().is_none();
    two && text.chars().all(|c| c == ' ' || c.is_ascii_graphic())
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
