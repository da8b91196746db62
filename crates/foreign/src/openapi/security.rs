//! The security schemes of a document as variables in headers and queries.

use std::collections::{BTreeMap, BTreeSet};

use converse_config::Code;
use sha2::{Digest as _, Sha256};

use super::document::{Node, resolved};
use super::finding::{Findings, quoted, shown};
use super::operation::Operation;
use super::tool::Tool;

const MAX_SCHEMES: usize = 200;
/// Characters of a name in a variable.
const MAX_WORDS: usize = 64;

/// How the tools of an import show who calls.
pub(super) struct Credentials<'o> {
    /// The variable of each scheme.
    pub(super) variables: BTreeMap<String, String>,
    /// The scheme that the user chose.
    chosen: Option<&'o str>,
}

/// Where a credential goes.
pub(super) enum Carrier {
    Header(String, String),
    Query(String, String),
    Cookie(String, String),
}

impl Carrier {
    /// Whether a parameter of this place and name is the credential.
    pub(super) fn is(&self, place: &str, name: &str) -> bool {
        match self {
            Self::Header(own, _) => place == "header" && own.eq_ignore_ascii_case(name),
            Self::Query(own, _) => place == "query" && own == name,
            Self::Cookie(own, _) => match place {
                "cookie" => own == name,
                _ => place == "header" && name.eq_ignore_ascii_case("cookie"),
            },
        }
    }

    fn is_sent_as(&self, other: &Self) -> bool {
        match other {
            Self::Header(name, _) => self.is("header", name),
            Self::Query(name, _) => self.is("query", name),
            Self::Cookie(name, _) => self.is("cookie", name),
        }
    }

    pub(super) fn add(self, tool: &mut Tool) {
        match self {
            Self::Query(name, value) => tool.query.push((name, value)),
            Self::Header(name, value) => tool.headers.push((name, value)),
            Self::Cookie(name, value) => {
                let cookie = format!("{name}={value}");
                match tool.headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case("cookie")) {
                    Some((_, cookies)) => *cookies = format!("{cookies}; {cookie}"),
                    None => tool.headers.push(("Cookie".to_owned(), cookie)),
                }
            }
        }
    }
}

impl<'o> Credentials<'o> {
    /// Names a variable for each scheme of the document: `API_<ENSEMBLE>__<SCHEME>`. The document chooses both words, and
    /// could spell a variable that is set for another server, such as `OPENAI_API_KEY`, if they stood at the start. No two
    /// ensembles share a variable: `__` is nowhere else in a word.
    pub(super) fn new(root: &Node, ensemble: &str, chosen: Option<&'o str>) -> Self {
        let mut variables = BTreeMap::new();
        let (mut taken, ensemble) = (BTreeSet::new(), ensemble_words(ensemble));
        for (scheme, _) in schemes(root) {
            if variables.contains_key(scheme) {
                continue;
            }
            let is_named = scheme.contains(|c: char| c.is_ascii_alphanumeric());
            let first = format!("API_{ensemble}__{}", words(if is_named { scheme } else { "credential" }));
            // `a-b` and `a_b` are two credentials.
            let mut name = first.clone();
            for number in 2.. {
                if taken.insert(name.clone()) {
                    break;
                }
                name = format!("{first}_{number}");
            }
            variables.insert(scheme.clone(), name);
        }
        Self { variables, chosen }
    }

    /// What the first requirement asks for that a tool can have, or what the user chose.
    pub(super) fn of(&self, operation: Operation<'_>, tool: &str, findings: &mut Findings) -> Vec<Carrier> {
        let root = operation.root;
        let mut carriers: Vec<Carrier> = Vec::new();
        let Some(security) = operation.node.get("security").or_else(|| root.get("security")) else {
            return carriers;
        };
        let alternatives: Vec<Vec<&str>> = security
            .items()
            .iter()
            .map(|one| one.entries().iter().map(|(name, _)| name.as_str()).collect())
            .collect();
        let is_chosen = |names: &&Vec<&str>| self.chosen.is_some_and(|chosen| names.contains(&chosen));
        let is_open = alternatives.is_empty() || alternatives.iter().any(Vec::is_empty);
        let possible = |names: &&Vec<&str>| names.iter().all(|name| self.carrier(root, name).is_some());
        let wanted = match alternatives.iter().find(is_chosen) {
            Some(chosen) => chosen,
            None if is_open => return carriers,
            None => match alternatives.iter().find(possible) {
                Some(first) => first,
                None => {
                    let names: Vec<String> = alternatives.iter().flatten().map(|name| quoted(name)).collect();
                    let message = format!(
                        "{} is sent without credentials: {} cannot be sent",
                        quoted(tool),
                        names.join(", ")
                    );
                    findings.warning(Code::OpenapiSecurity, security.place, message);
                    return carriers;
                }
            },
        };
        for name in wanted {
            let carrier = self.carrier(root, name);
            let is_other = |carrier: &Carrier| carriers.iter().all(|known| !known.is_sent_as(carrier));
            if let Some(carrier) = carrier.filter(is_other) {
                carriers.push(carrier);
                continue;
            }
            let message = format!(
                "{} is sent without the credential {}: it cannot be sent, or not beside another one",
                quoted(tool),
                quoted(name)
            );
            findings.warning(Code::OpenapiSecurity, security.place, message);
        }
        carriers
    }

    fn carrier(&self, root: &Node, name: &str) -> Option<Carrier> {
        let scheme = root.get("components")?.get("securitySchemes")?.get(name)?;
        let scheme = resolved(root, scheme).ok()?;
        let reference = format!("${{{}}}", self.variables.get(name)?);
        let authorization = |value: String| Carrier::Header("Authorization".to_owned(), value);
        let key = scheme.text_of("name").unwrap_or_default();
        let is_plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        match (scheme.text_of("type")?, scheme.text_of("in"), scheme.text_of("scheme")) {
            ("apiKey", Some("header"), _) if is_plain => Some(Carrier::Header(key.to_owned(), reference)),
            ("apiKey", Some("query"), _) if !key.is_empty() => {
                Some(Carrier::Query(key.to_owned(), reference))
            }
            ("apiKey", Some("cookie"), _) if is_plain => Some(Carrier::Cookie(key.to_owned(), reference)),
            ("http", _, Some(of)) if of.eq_ignore_ascii_case("basic") => {
                Some(authorization(format!("Basic {reference}")))
            }
            ("http", _, Some(of)) if of.eq_ignore_ascii_case("bearer") => {
                Some(authorization(format!("Bearer {reference}")))
            }
            ("oauth2" | "openIdConnect", ..) => Some(authorization(format!("Bearer {reference}"))),
            _ => None,
        }
    }
}

/// Returns a text in the characters of a variable: capitals and digits, with one `_` for each run of other characters.
fn words(text: &str) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { ' ' };
    let clean: String = text.chars().take(MAX_WORDS).map(clean).collect();
    clean.split_ascii_whitespace().collect::<Vec<_>>().join("_")
}

/// Returns the words of an ensemble, with the beginning of its digest if other names have the same words.
fn ensemble_words(ensemble: &str) -> String {
    let plain = words(ensemble);
    if plain.to_ascii_lowercase().replace('_', "-") == ensemble {
        return plain;
    }
    let digest = Sha256::digest(ensemble);
    let digest = digest.iter().take(6).map(|byte| format!("{byte:02X}"));
    format!("{plain}__{}", digest.collect::<String>())
}

/// The security schemes of a document. Of more than these the others cannot be sent.
pub(super) fn schemes(root: &Node) -> &[(String, Node)] {
    let schemes = root.get("components").and_then(|all| all.get("securitySchemes"));
    let schemes = schemes.map_or(&[][..], Node::entries);
    schemes.get(..MAX_SCHEMES).unwrap_or(schemes)
}

/// What the variable of a scheme holds.
pub(super) fn holds(root: &Node, scheme: &Node) -> String {
    let node = resolved(root, scheme).ok();
    let text = |key: &str| node.and_then(|node| node.text_of(key)).unwrap_or_default();
    match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
        ("apiKey", _) => format!("the key for the {} {}", shown(text("in")), quoted(text("name"))),
        ("http", "basic") => "base64 of `USER:PASSWORD`".to_owned(),
        ("oauth2" | "openIdConnect", _) => "an access token".to_owned(),
        _ => "a token".to_owned(),
    }
}
