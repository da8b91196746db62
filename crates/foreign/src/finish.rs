//! From a draft to a server: references written our way, secrets lifted to variables, names made good.

use std::time::Duration;

use converse_text::secrets::{holds_secret, is_search_path, scheme};

use crate::draft::{Draft, DraftOauth, DraftReach, Named, Written};
use crate::note::{Notes, quoted};
use crate::secret::{is_secret, is_told, shows};
use crate::server::{Oauth, Reach, Server};
use crate::text::{Inputs, Piece, Text, filled, literal, refers, write};
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

    /// `None` if it cannot be written at all, which is noted.
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
            theirs: crate::note::shown(&draft.name),
            description: self.description(),
            enabled: draft.enabled,
            required: draft.required,
            reach,
            oauth,
            connect_timeout: draft.connect_timeout.map(|limit| self.limit(limit)),
            timeout: draft.timeout.map(|limit| self.limit(limit)),
            include: patterns(draft.include.as_deref().unwrap_or_default()),
            exclude: self.excluded(),
            lifted: std::mem::take(&mut self.lifted),
        })
    }

    fn parse(&mut self, written: &Written) -> Text {
        match written {
            Written::Ours(text) => text.clone(),
            Written::Theirs(text) => {
                self.uses_folder |= text.contains("${workspace");
                self.draft.dialect.parse(text, self.inputs)
            }
        }
    }

    /// The variable that is to hold a value.
    fn lift(&mut self, wished: &str, value: &str) -> String {
        let name = self.variables.lift(self.name, wished, value);
        if !self.lifted.contains(&name) {
            self.lifted.push(name.clone());
        }
        name
    }

    /// As a descriptor writes it; what it has no way to write becomes a variable.
    fn written(&mut self, wished: &str, text: &Text) -> String {
        if let Some(written) = write(text) {
            return written;
        }
        let strange = text.contains(&Piece::Strange);
        // What the other program would fill in is not known, so this value is like no other.
        let value = format!("\0{}\0{wished}\0{}", self.name, literal(text));
        let name = self.lift(wished, &value);
        let why = if strange {
            "what the other program fills in there is not known here"
        } else {
            "it cannot be written in a descriptor"
        };
        self.note(format!("`{name}` stands for a text of its configuration: {why}"));
        format!("env:{name}")
    }

    /// Some programs fill what they are given into their own words (`mcp-remote --header Authorization:${AUTH}`), and
    /// converse would look for it in its own environment.
    fn command(&mut self, words: &[Written], given: &[(String, Text)]) -> Vec<String> {
        let mut room = MAX_FILLED;
        let words = words.iter().map(|word| filled(self.parse(word), given, &mut room)).collect();
        let server = self.name.to_owned();
        let words = arguments::lifted(words, |name, value| self.lift(&format!("{server} {name}"), value));
        words.iter().map(|word| self.written(&format!("{server} argument"), word)).collect()
    }

    /// What its program is given, without secrets.
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
                self.note(format!("the variable {} holds a zero byte and is left out", quoted(&name)));
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

    /// `Bearer` and the like stay readable.
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

    /// A variable instead of all of it. A default that was the secret is dropped with it.
    fn whole(&mut self, wished: &str, text: &Text) -> Text {
        let name = match text.as_slice() {
            [Piece::Variable { name, default: Some(_) }] => {
                self.note(format!("the default of `{name}` may be a secret and is not taken over"));
                name.clone()
            }
            _ => {
                // With references in it, it is the same as another only if these are the same.
                let value = if refers(text) { format!("{text:?}") } else { literal(text) };
                self.lift(wished, &value)
            }
        };
        vec![Piece::Variable { name, default: None }]
    }

    fn url(&mut self, written: &Written) -> String {
        let text = self.parse(written);
        let server = self.name.to_owned();
        let text = address::lifted(&text, |name, value| self.lift(&format!("{server} {name}"), value));
        // What is left over, such as a default with a secret in it.
        let text = if shows(&text) { self.whole(&format!("{server} url"), &text) } else { text };
        self.written(&format!("{server} url"), &text)
    }

    /// `None` beside a header that says who we are: a descriptor has one or the other.
    fn oauth(&mut self, oauth: &DraftOauth, reach: &Reach) -> Option<Oauth> {
        let named = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
        if matches!(reach, Reach::Http { headers, .. } if headers.iter().any(named)) {
            self.note("its OAuth is left out: its header `Authorization` says who we are");
            return None;
        }
        let client_id = oauth.client_id.as_ref().map(|id| {
            let wished = format!("{} client id", self.name);
            let text = self.parse(id);
            // It is no secret, but for what stands there by mistake.
            let text = if shows(&text) { self.whole(&wished, &text) } else { text };
            self.written(&wished, &text)
        });
        let client_secret = oauth.client_secret.as_ref().map(|secret| {
            let wished = format!("{} client secret", self.name);
            let text = self.parse(secret);
            let text = if literal(&text).is_empty() { text } else { self.whole(&wished, &text) };
            self.written(&wished, &text)
        });
        let told = |text: &String| is_told(text);
        let scopes = if oauth.scopes.iter().any(told) {
            self.note("its scopes look as if they held a secret and are left out");
            Vec::new()
        } else {
            oauth.scopes.clone()
        };
        let client_metadata_url = oauth.client_metadata_url.clone().filter(|url| !is_told(url));
        Some(Oauth {
            client_id,
            client_secret,
            scopes,
            client_metadata_url,
            redirect_port: oauth.redirect_port,
        })
    }

    /// A plain path: nothing is filled in into it.
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
                "its directory (`cwd`) is left out: nothing is filled in into it here; write a plain path",
            );
            return None;
        }
        Some(path.to_owned())
    }

    /// An empty list in a descriptor says nothing, so that none is allowed is said in another way.
    fn excluded(&mut self) -> Vec<String> {
        if self.draft.include.as_ref().is_some_and(Vec::is_empty) {
            self.note("its list of allowed tools has none in it: all are left out (`exclude = [\"*\"]`)");
            return vec!["*".to_owned()];
        }
        patterns(&self.draft.exclude)
    }

    fn description(&mut self) -> Option<String> {
        let text = self.draft.description.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
        if is_told(text) {
            self.note("its description looks as if it held a secret and is left out");
            return None;
        }
        Some(text.get(..text.floor_char_boundary(MAX_DESCRIPTION)).unwrap_or_default().to_owned())
    }

    fn limit(&mut self, limit: Duration) -> Duration {
        if limit > MAX_LIMIT {
            self.note(format!("a limit of more than {0} s is taken over as {0} s", MAX_LIMIT.as_secs()));
        }
        limit.min(MAX_LIMIT)
    }
}

/// Names are matched as patterns, so what would mean something there is put in brackets.
fn patterns(names: &[String]) -> Vec<String> {
    let escaped = |c: char| if "*?[]{}!\\".contains(c) { format!("[{c}]") } else { c.to_string() };
    names.iter().map(|name| name.chars().map(escaped).collect()).collect()
}

/// Of a header that a descriptor may not have.
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
