//! The fields of a query, a form or a multipart body. Pure.
//!
//! A list or an object becomes several fields if its argument has such a style. Keys of an object are then names of
//! fields, so a key that names a field of the request itself is refused. A field that needs an argument that is not given
//! is left out.

use std::collections::BTreeMap;

use converse_config::{BodyPlan, RequestPlan, Template};
use converse_text::safe_line;
use url::form_urlencoded;

use crate::InvokeError;
use crate::template_input::TemplateInput;

/// The longest URL or body.
pub(super) struct Limit {
    /// The part of the request, for messages.
    pub(super) what: &'static str,
    pub(super) bytes: usize,
}

impl Limit {
    pub(super) fn check(&self, length: usize) -> Result<(), InvokeError> {
        let Self { what, bytes } = self;
        match length > *bytes {
            true => Err(InvokeError::Invalid(format!("the {what} would be longer than {bytes} bytes"))),
            false => Ok(()),
        }
    }
}

/// Writes the fields of one table, within a limit.
pub(super) struct Fields<'a> {
    given: TemplateInput<'a>,
    /// The names of fields in the descriptor: in its URL, its query and its body.
    declared: Vec<String>,
    /// Arguments by the names that their keys have set, as [`read`] by servers and without brackets.
    keys: BTreeMap<String, &'a str>,
    limit: &'static Limit,
    /// Bytes that a field takes at least, besides its name and its value.
    overhead: usize,
    /// Bytes of all fields so far.
    length: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(
        plan: &RequestPlan,
        given: TemplateInput<'a>,
        limit: &'static Limit,
        overhead: usize,
    ) -> Result<Self, InvokeError> {
        let declared = declared(plan, given)?;
        Ok(Self { given, declared, keys: BTreeMap::new(), limit, overhead, length: 0 })
    }

    /// Passes the names and values of one entry, quoted, to `found`.
    pub(super) fn write(
        &mut self,
        name: &str,
        template: &'a Template,
        quote: &dyn Fn(String) -> String,
        found: &mut dyn FnMut(String, String),
    ) -> Result<(), InvokeError> {
        let given = self.given;
        let styled = template.sole_argument().and_then(|argument| {
            let (value, style) = (given.arguments.get(argument)?, given.style(argument)?);
            (value.is_array() || value.is_object()).then_some((argument, value, style))
        });
        if let Some((argument, value, style)) = styled {
            let mut field = |field: &str, text: String| {
                self.check_name(name, argument, field)?;
                self.add(quote(field.to_owned()), quote(text), found)
            };
            if let Some(done) = style.fields(name, value, &mut field) {
                return done;
            }
        }
        let text = match styled {
            // The delimiters stay as they are, so each part is quoted by itself.
            Some(_) => given.quoted(template, quote)?,
            None => given.text(template)?.map(quote),
        };
        text.map_or(Ok(()), |text| self.add(quote(name.to_owned()), text, found))
    }

    /// Fails if the limit is exceeded, before the field is kept.
    fn add(
        &mut self,
        name: String,
        value: String,
        found: &mut dyn FnMut(String, String),
    ) -> Result<(), InvokeError> {
        self.length += name.len() + value.len() + self.overhead;
        self.limit.check(self.length)?;
        found(name, value);
        Ok(())
    }

    /// Fails if a field of the entry `own` would set a field of another entry.
    fn check_name(&mut self, own: &str, argument: &'a str, field: &str) -> Result<(), InvokeError> {
        if field == own {
            return Ok(());
        }
        let refused = |setter: &str| {
            let field = safe_line(field, 200);
            Err(InvokeError::Invalid(format!(
                "`{argument}` cannot set the field `{field}`, which {setter} sets"
            )))
        };
        // The descriptor itself may write one entry into another: `filter` and `filter[tenant]`.
        let mut others = self.declared.iter().filter(|declared| !is_within(own, declared));
        if others.any(|declared| is_within(field, declared) || is_within(declared, field)) {
            return refused("the request itself");
        }
        if !is_within(field, own) {
            let name = read(field.split_once('[').map_or(field, |(name, _)| name)).collect();
            let other = *self.keys.entry(name).or_insert(argument);
            if other != argument {
                return refused(&format!("`{other}`"));
            }
        }
        Ok(())
    }
}

/// Returns the encoded fields, joined by `&`. <https://url.spec.whatwg.org/#application/x-www-form-urlencoded> (checked
/// 2026-11); a blank may be `%20` as well as `+`.
pub(super) fn encoded(
    entries: &[(String, Template)],
    plan: &RequestPlan,
    given: TemplateInput<'_>,
    limit: &'static Limit,
) -> Result<String, InvokeError> {
    let mut fields = Fields::new(plan, given, limit, "=".len())?;
    let mut text = String::new();
    for (name, template) in entries {
        fields.write(name, template, &|text| super::encode(&text), &mut |name, value| {
            let delimiter = if text.is_empty() { "" } else { "&" };
            text.extend([delimiter, &name, "=", &value]);
        })?;
    }
    Ok(text)
}

/// Returns the names of all fields that a request declares.
fn declared(plan: &RequestPlan, given: TemplateInput<'_>) -> Result<Vec<String>, InvokeError> {
    let url = given.quoted(&plan.url, |value| super::encode(&value))?.unwrap_or_default();
    let query = super::url::without_fragment(&url).split_once('?').map_or("", |(_, query)| query);
    let of_url = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned());
    let of_query = plan.query.iter().map(|(name, _)| name.clone());
    let mut names: Vec<String> = of_url.chain(of_query).collect();
    match &plan.body {
        Some(BodyPlan::Form(entries)) => names.extend(entries.iter().map(|(name, _)| name.clone())),
        Some(BodyPlan::Multipart(parts)) => names.extend(parts.iter().map(|part| part.name.clone())),
        _ => {}
    }
    Ok(names)
}

/// Returns whether servers may read a field as `whole` or as a part of it: `a[b]` is a part of `a`.
fn is_within(field: &str, whole: &str) -> bool {
    let (field, whole) = (field.trim_start(), whole.trim_start());
    let parts = field.split_at_checked(whole.len());
    parts.is_some_and(|(start, rest)| {
        let may_end = rest.is_empty() || rest.starts_with('[') || whole.ends_with(']');
        may_end && read(start).eq(read(whole))
    })
}

/// Returns the characters of a name as tolerant servers read them: without regard to case, and PHP reads `.` and blanks as
/// `_`. <https://www.php.net/manual/en/language.variables.external.php> (checked 2026-11)
fn read(name: &str) -> impl Iterator<Item = char> {
    name.trim_start().chars().map(|character| match character {
        '.' | ' ' => '_',
        other => other.to_ascii_lowercase(),
    })
}
