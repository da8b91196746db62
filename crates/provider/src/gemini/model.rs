//! Reads the path and the generation from the name of a model.

use crate::{Endpoint, TranslateError};

/// Generation and step: `gemini-2.5-flash` is (2, 5).
pub(super) type Generation = (u32, u32);

/// The first generation that requires its signatures, accepts media in results and has reasoning levels.
pub(super) const THREE: Generation = (3, 0);

/// Returns `None` if the name is not of a Gemini model or has no version. `gemini-flash-latest` etc. count as the
/// newest.
pub(super) fn generation(model: &str) -> Option<Generation> {
    let name = bare(model).strip_prefix("gemini-")?;
    let number = name.split('-').next().unwrap_or_default();
    let mut steps = number.split('.').map(|step| step.parse::<u32>().ok());
    match (steps.next().flatten(), steps.next()) {
        (Some(major), None) => Some((major, 0)),
        (Some(major), Some(Some(minor))) => Some((major, minor)),
        (None, None) if name.ends_with("latest") => Some((u32::MAX, 0)),
        _ => None,
    }
}

/// The name without the folder it is listed under.
pub(super) fn bare(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// The model's place in the path: `models/x`, or `tunedModels/x` if it is written so.
pub(crate) fn path(model: &str) -> Result<String, TranslateError> {
    let (folder, name) = match model.split_once('/') {
        Some((folder @ ("models" | "tunedModels"), name)) => (folder, name),
        _ => ("models", model),
    };
    let wrong = name.is_empty() || name.contains(['/', '\\', '?', '#']) || name.chars().any(char::is_control);
    if wrong || name.starts_with('.') {
        return Err(TranslateError::Control(format!("`{model}` is not a model name of this provider")));
    }
    Ok(format!("{folder}/{}", encoded(name)))
}

/// A text as one segment of a path or one value of a query.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}

/// The base without its version, and the version: the endpoint's, else the one that the base URL ends with, else
/// `v1beta`, the only version with every field that is sent here.
pub(crate) fn base_and_version(endpoint: &Endpoint) -> Result<(&str, &str), TranslateError> {
    let base = endpoint.base_url.trim().trim_end_matches('/');
    let (base, written) = match base.rsplit_once('/') {
        Some((rest, last)) if is_version(last) => (rest, Some(last)),
        _ => (base, None),
    };
    let version = endpoint.version.as_deref().or(written).unwrap_or("v1beta");
    if !is_version(version) {
        return Err(TranslateError::Control(format!(
            "`{version}` is not a version of this wire, such as `v1beta`"
        )));
    }
    Ok((base, version))
}

fn is_version(segment: &str) -> bool {
    let mut rest = segment.chars();
    rest.next() == Some('v')
        && rest.next().is_some_and(|c| c.is_ascii_digit())
        && rest.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::row;

    #[test]
    fn a_name_tells_its_generation() {
        for (model, is) in [
            ("gemini-2.5-flash", Some((2, 5))),
            ("models/gemini-3-pro-preview", Some((3, 0))),
            ("gemini-3.1-flash-lite", Some((3, 1))),
            ("gemini-12.10-x", Some((12, 10))),
            ("gemini-flash-latest", Some((u32::MAX, 0))),
            ("gemini-exp-1206", None),
            ("gemini-2.x", None),
            ("gemma-3-27b-it", None),
            ("", None),
        ] {
            assert_eq!(generation(model), is, "{model}");
        }
    }

    #[test]
    fn a_name_becomes_one_segment_of_a_path() {
        for (model, path_) in [
            ("gemini-2.5-flash", Some("models/gemini-2.5-flash")),
            ("models/gemini-2.5-flash", Some("models/gemini-2.5-flash")),
            ("tunedModels/mine", Some("tunedModels/mine")),
            ("a b:c%é", Some("models/a%20b%3Ac%25%C3%A9")),
            ("../secret", None),
            ("..", None),
            ("models/", None),
            ("a/b", None),
            ("a?key=b", None),
            ("a\n", None),
            ("", None),
        ] {
            assert_eq!(path(model).ok().as_deref(), path_, "{model}");
        }
    }

    #[test]
    fn a_version_is_taken_from_where_it_stands() {
        let row = row("gemini").unwrap();
        for (base, version, expected) in [
            (None, None, Ok(("https://generativelanguage.googleapis.com", "v1beta"))),
            (Some("http://a/v1"), None, Ok(("http://a", "v1"))),
            (Some("http://a/v1beta/"), None, Ok(("http://a", "v1beta"))),
            (Some("http://a/b/v1alpha"), Some("v1"), Ok(("http://a/b", "v1"))),
            (Some("http://a/vault"), None, Ok(("http://a/vault", "v1beta"))),
            (None, Some("../x"), Err(())),
        ] {
            let mut endpoint = row.endpoint(base);
            endpoint.version = version.map(str::to_owned);
            assert_eq!(base_and_version(&endpoint).map_err(|_| ()), expected, "{base:?}");
        }
    }
}
