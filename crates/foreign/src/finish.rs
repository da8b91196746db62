//! Converts a draft to a server: rewrites references, replaces secrets by variables.

use std::time::Duration;

use converse_text::secrets::{holds_secret, is_search_path, scheme};

use crate::draft::{Draft, DraftOauth, DraftReach, Named, RawText};
use crate::note::{Notes, quoted};
use crate::server::{Oauth, Reach, Server};
use crate::text::{
    Inputs, Piece, Text, expanded, is_secret, literal, looks_secret, refers, text_holds_secret, write,
};
use crate::variables::Variables;
use crate::{address, arguments};

/// The longest limit that a descriptor can have.
const MAX_LIMIT: Duration = Duration::from_secs(600);
/// Bytes that are filled into the words of one command.
const MAX_FILLED: usize = 64 * 1024;
/// Bytes of a description.
const MAX_DESCRIPTION: usize = 4 * 1024;

pub(crate) struct Finisher<'a> {
    name: &'a str,
    draft: &'a Draft,
    inputs: &'a Inputs,
    variables: &'a mut Variables,
    notes: &'a mut Notes,
    lifted: Vec<String>,
    uses_folder: bool,
}

impl<'a> Finisher<'a> {
    pub(crate) fn new(
        name: &'a str,
        draft: &'a Draft,
        inputs: &'a Inputs,
        variables: &'a mut Variables,
        notes: &'a mut Notes,
    ) -> Self {
        Self { name, draft, inputs, variables, notes, lifted: Vec::new(), uses_folder: false }
    }

    fn note(&mut self, message: impl Into<String>) {
        self.notes.server(&self.draft.name, message);
    }

    /// The server. `None` if it cannot be expressed, which is noted.
    pub(crate) fn server(&mut self) -> Option<Server> {
        let draft = self.draft;
        let reach = match &draft.reach {
            DraftReach::Stdio { command, environment, cwd } => {
                let given = self.given(environment);
                Reach::Stdio {
                    command: self.command(command, &given),
                    environment: self.environment(given),
                    cwd: cwd.as_deref().and_then(|cwd| self.cwd(cwd)),
                }
            }
            DraftReach::Http { url, headers } => {
                Reach::Http { url: self.url(url), headers: self.headers(headers) }
            }
        };
        let oauth = draft.oauth.as_ref().and_then(|oauth| self.oauth(oauth, &reach));
        if self.uses_folder {
            self.note("the folder of the workspace is here the directory converse is started in (`PWD`)");
        }
        Some(Server {
            name: self.name.to_owned(),
            original: crate::note::shown(&draft.name),
            description: self.description(),
            enabled: draft.enabled,
            required: draft.required,
            reach,
            oauth,
            connect_timeout: draft.connect_timeout.map(|limit| self.limit(limit)),
            timeout: draft.timeout.map(|limit| self.limit(limit)),
            include: patterns(draft.include.as_deref().unwrap_or_default()),
            exclude: self.excluded(),
            variables: std::mem::take(&mut self.lifted),
        })
    }

    fn parse(&mut self, written: &RawText) -> Text {
        match written {
            RawText::Parsed(text) => text.clone(),
            RawText::Foreign(text) => {
                self.uses_folder |= text.contains("${workspace");
                self.draft.dialect.parse(text, self.inputs)
            }
        }
    }

    /// The variable that replaces a value.
    fn lift(&mut self, wished: &str, value: &str) -> String {
        let name = self.variables.lift(self.name, wished, value);
        if !self.lifted.contains(&name) {
            self.lifted.push(name.clone());
        }
        name
    }

    /// The text in a descriptor. A text that a descriptor cannot express becomes a variable.
    fn written(&mut self, wished: &str, text: &Text) -> String {
        if let Some(written) = write(text) {
            return written;
        }
        let unknown = text.contains(&Piece::Unknown);
        // The value is unknown, so it equals no other value.
        let value = format!("\0{}\0{wished}\0{}", self.name, literal(text));
        let name = self.lift(wished, &value);
        let why = if unknown {
            "the value that the other program inserts is unknown here"
        } else {
            "it cannot be written in a descriptor"
        };
        self.note(format!("`{name}` replaces a text of its configuration: {why}"));
        format!("env:{name}")
    }

    /// Expands the variables that the server itself is given: some programs insert them into their own command line
    /// (`mcp-remote --header Authorization:${AUTH}`), while converse would read its own environment.
    fn command(&mut self, words: &[RawText], given: &[(String, Text)]) -> Vec<String> {
        let mut room = MAX_FILLED;
        let words = words.iter().map(|word| expanded(self.parse(word), given, &mut room)).collect();
        let server = self.name.to_owned();
        let words =
            arguments::without_secrets(words, |name, value| self.lift(&format!("{server} {name}"), value));
        words.iter().map(|word| self.written(&format!("{server} argument"), word)).collect()
    }

    /// The environment of the server, without secrets.
    fn given(&mut self, entries: &Named) -> Vec<(String, Text)> {
        let mut given = Vec::new();
        for (name, written) in entries {
            let text = self.parse(written);
            let lifted = is_secret(name, &text) && !is_search_path(name, &literal(&text));
            given.push((name.clone(), if lifted { self.whole(name, &text) } else { text }));
        }
        given
    }

    fn environment(&mut self, given: Vec<(String, Text)>) -> Vec<(String, String)> {
        let mut environment = Vec::new();
        for (name, text) in given {
            if literal(&text).contains('\0') {
                self.note(format!("the variable {} contains a NUL byte and is left out", quoted(&name)));
                continue;
            }
            let value = self.written(&name, &text);
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '=' | ':')) {
                self.note(format!("{} cannot be the name of a variable and is left out", quoted(&name)));
                continue;
            }
            environment.push((name, value));
        }
        environment
    }

    fn headers(&mut self, entries: &Named) -> Vec<(String, String)> {
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, written) in entries {
            if let Some(why) = fault_of_header(name) {
                self.note(format!("the header {} is left out: {why}", quoted(name)));
                continue;
            }
            if headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                self.note(format!("the header {} is there already and is left out", quoted(name)));
                continue;
            }
            let text = self.parse(written);
            if literal(&text).contains(char::is_control) {
                self.note(format!("the header {} has more than one line and is left out", quoted(name)));
                continue;
            }
            let text = if is_secret(name, &text) { self.behind_scheme(name, &text) } else { text };
            let wished = format!("{} {name}", self.name);
            let value = self.written(&wished, &text);
            headers.push((name.clone(), value));
        }
        headers
    }

    /// Keeps a scheme such as `Bearer` readable.
    fn behind_scheme(&mut self, name: &str, text: &Text) -> Text {
        let wished = format!("{} {name}", self.name);
        match text.as_slice() {
            [Piece::Plain(value)] => {
                let scheme = scheme(value);
                let rest = value.get(scheme.len()..).unwrap_or_default();
                let variable = Piece::Variable { name: self.lift(&wished, rest), default: None };
                let before = (!scheme.is_empty()).then(|| Piece::Plain(scheme.to_owned()));
                before.into_iter().chain([variable]).collect()
            }
            _ => self.whole(&wished, text),
        }
    }

    /// Replaces the whole text by a variable. A default that may be the secret is dropped.
    fn whole(&mut self, wished: &str, text: &Text) -> Text {
        let name = match text.as_slice() {
            [Piece::Variable { name, default: Some(_) }] => {
                self.note(format!("the default of `{name}` may be a secret and is not imported"));
                name.clone()
            }
            _ => {
                // Texts with references are equal only if their references are.
                let value = if refers(text) { format!("{text:?}") } else { literal(text) };
                self.lift(wished, &value)
            }
        };
        vec![Piece::Variable { name, default: None }]
    }

    fn url(&mut self, written: &RawText) -> String {
        let text = self.parse(written);
        let server = self.name.to_owned();
        let text =
            address::without_secrets(&text, |name, value| self.lift(&format!("{server} {name}"), value));
        // A secret may remain, for example in a default.
        let text = if looks_secret(&text) { self.whole(&format!("{server} url"), &text) } else { text };
        self.written(&format!("{server} url"), &text)
    }

    /// `None` beside an `Authorization` header: a descriptor has one or the other.
    fn oauth(&mut self, oauth: &DraftOauth, reach: &Reach) -> Option<Oauth> {
        let named = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
        if matches!(reach, Reach::Http { headers, .. } if headers.iter().any(named)) {
            self.note("its OAuth is left out: it has an `Authorization` header");
            return None;
        }
        let client_id = oauth.client_id.as_ref().map(|id| {
            let wished = format!("{} client id", self.name);
            let text = self.parse(id);
            // A client id is not a secret, but a secret may be there by mistake.
            let text = if looks_secret(&text) { self.whole(&wished, &text) } else { text };
            self.written(&wished, &text)
        });
        let client_secret = oauth.client_secret.as_ref().map(|secret| {
            let wished = format!("{} client secret", self.name);
            let text = self.parse(secret);
            let text = if literal(&text).is_empty() { text } else { self.whole(&wished, &text) };
            self.written(&wished, &text)
        });
        let scopes = if oauth.scopes.iter().any(|scope| text_holds_secret(scope)) {
            self.note("its scopes may contain a secret and are left out");
            Vec::new()
        } else {
            oauth.scopes.clone()
        };
        let client_metadata_url = oauth.client_metadata_url.clone().filter(|url| !text_holds_secret(url));
        Some(Oauth {
            client_id,
            client_secret,
            scopes,
            client_metadata_url,
            redirect_port: oauth.redirect_port,
        })
    }

    /// A path without references.
    fn cwd(&mut self, cwd: &str) -> Option<String> {
        let folder = ["${workspaceFolder}", "${workspaceRoot}", "${cwd}"]
            .iter()
            .find_map(|folder| cwd.strip_prefix(folder));
        let path = match folder {
            Some(rest) => match rest.trim_start_matches('/') {
                "" => ".",
                rest => rest,
            },
            None => cwd,
        };
        let plain = !path.is_empty()
            && !path.contains(['$', '{', '\0'])
            && !path.starts_with('~')
            && !path.starts_with("env:");
        if !plain || holds_secret(path) {
            self.note(
                "its directory (`cwd`) is left out: references are not expanded in it; write a plain path",
            );
            return None;
        }
        Some(path.to_owned())
    }

    /// An empty `include` in a descriptor allows every tool, so an empty list becomes `exclude = ["*"]`.
    fn excluded(&mut self) -> Vec<String> {
        if self.draft.include.as_ref().is_some_and(Vec::is_empty) {
            self.note("its list of allowed tools is empty: all tools are left out (`exclude = [\"*\"]`)");
            return vec!["*".to_owned()];
        }
        patterns(&self.draft.exclude)
    }

    fn description(&mut self) -> Option<String> {
        let text = self.draft.description.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
        if text_holds_secret(text) {
            self.note("its description may contain a secret and is left out");
            return None;
        }
        Some(text.get(..text.floor_char_boundary(MAX_DESCRIPTION)).unwrap_or_default().to_owned())
    }

    fn limit(&mut self, limit: Duration) -> Duration {
        if limit > MAX_LIMIT {
            self.note(format!("a limit of more than {0} s is imported as {0} s", MAX_LIMIT.as_secs()));
        }
        limit.min(MAX_LIMIT)
    }
}

/// Names as patterns: special characters are put in brackets.
fn patterns(names: &[String]) -> Vec<String> {
    let escaped = |c: char| if "*?[]{}!\\".contains(c) { format!("[{c}]") } else { c.to_string() };
    names.iter().map(|name| name.chars().map(escaped).collect()).collect()
}

/// Why a descriptor cannot have this header.
fn fault_of_header(name: &str) -> Option<&'static str> {
    const OF_MCP: [&str; 5] = ["accept", "last-event-id", "mcp-method", "mcp-name", "mcp-session-id"];
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Some("this is not a header name");
    }
    let set = converse_config::is_reserved_header(name)
        || OF_MCP.iter().any(|known| known.eq_ignore_ascii_case(name));
    set.then_some("it is set when a request is sent")
}
