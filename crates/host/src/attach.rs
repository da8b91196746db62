//! `-a FILE|URL`: files that the user attaches to a question.
//!
//! Attachments are read before anything is asked or stored, so a wrong name costs nothing. Text becomes a document;
//! a directory becomes a document with the names in it; images, PDF files and audio go before the words of the user, as vendors advise
//! (<https://platform.claude.com/docs/en/build-with-claude/vision>, 2026-11). The session stores their bytes by digest,
//! so that the conversation can continue with them.

mod directory;
mod from_server;
mod from_url;
mod opening;
mod picture;
mod prompt;
mod suggested;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use converse_canister::media::{self, Kind};
use converse_canister::{Blobs, Canister, Content, Document, Labels, Origin, TurnId, User};
use converse_ensemble::Artefacts;
use converse_mcp::{McpConnection, PromptMessage};
use converse_provider::{Delivery, Endpoint, Facts, Medium, Position, budget, delivery, encoded, most_bytes};

use converse_text::secrets::known_secret;

use crate::contents::Kept;
use crate::failure::{Failure, Kind as FailureKind};
use crate::interrupt::Interrupt;
use crate::secrets::Redactor;
use crate::world::World;
use converse_session::files::open_regular;
use converse_text::wording::bytes;

use from_server::Named;
pub use picture::{Picture, is_picture_file, picture_type};
pub use prompt::PromptRequest;

/// Bytes of one attachment.
pub const MOST_BYTES: usize = 20 * 1024 * 1024;
/// Bytes of all of them.
pub const MOST_TOGETHER: usize = 50 * 1024 * 1024;
const MOST: usize = 100;
const NAME_CHARS: usize = 200;

/// One thing that was handed over.
#[derive(Debug, Clone)]
struct Attachment {
    name: String,
    mime: &'static str,
    kind: Kind,
    bytes: Arc<[u8]>,
    /// Where it was read, if from a file of this machine.
    file: Option<PathBuf>,
    /// Who else may have written it.
    from: Option<Origin>,
}

/// One that is here, or one that a server has.
#[derive(Debug, Clone)]
enum Handed {
    Here(Attachment),
    Awaited(Named),
}

/// What a user says in one turn: attachments, a prompt of a server, words.
#[derive(Debug, Clone, Default)]
pub struct UserInput {
    handed: Vec<Handed>,
    /// To be had from its server.
    prompt: Option<PromptRequest>,
    /// The messages of a prompt, once they are here.
    opening: Vec<PromptMessage>,
    words: String,
}

/// What bounds the reading.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    pub deadline: Option<Instant>,
    pub interrupt: &'a Interrupt,
}

impl UserInput {
    /// Reads and fetches all attachments.
    pub fn new(words: String, named: &[String], world: &World, bounds: Bounds<'_>) -> Result<Self, Failure> {
        if named.len() > MOST {
            let message = format!("{} attachments exceed the limit of {MOST}", named.len());
            return Err(Failure::usage("attachment", message));
        }
        let mut said = Self { words, ..Self::default() };
        for name in named {
            said.handed.push(one(name, world, bounds)?);
            said.is_light()?;
        }
        Ok(said)
    }

    /// Returns a text that is handed over, and where it is from. The name is shortened.
    pub fn of_text(name: &str, text: &str, from: Origin) -> Self {
        let name = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
        let (mime, bytes) = (media::text_mime(""), text.as_bytes().into());
        let attachment = Attachment { name, mime, kind: Kind::Text, bytes, file: None, from: Some(from) };
        Self { handed: vec![Handed::Here(attachment)], ..Self::default() }
    }

    /// The same with a prompt of a server; its words go before those that are there.
    pub fn with_prompt(self, prompt: PromptRequest) -> Self {
        Self { prompt: Some(prompt), ..self }
    }

    /// What was handed over before, and this. A file that is in both goes once, as it was read last.
    pub fn and(mut self, later: Self) -> Result<Self, Failure> {
        let files: Vec<_> = later.attachments().filter_map(|one| one.file.as_ref()).collect();
        self.handed.retain(|handed| match handed {
            Handed::Here(Attachment { file: Some(file), .. }) => !files.contains(&file),
            _ => true,
        });
        self.handed.extend(later.handed);
        self.is_light()?;
        Ok(Self { prompt: later.prompt, words: later.words, ..self })
    }

    pub fn words(&self) -> &str {
        &self.words
    }

    /// The same with other words.
    pub fn saying(&self, words: String) -> Self {
        Self { words, ..self.clone() }
    }

    /// What is handed over, by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.handed.iter().map(|handed| match handed {
            Handed::Here(attachment) => attachment.name.as_str(),
            Handed::Awaited(named) => named.ensemble.as_str(),
        })
    }

    /// The same with the bytes of each, where they are known.
    pub fn sizes(&self) -> String {
        let sizes = self.names().zip(&self.handed).map(|(name, handed)| match handed {
            Handed::Here(attachment) => format!("{name} ({})", bytes(attachment.bytes.len() as u64)),
            Handed::Awaited(_) => name.to_owned(),
        });
        sizes.collect::<Vec<_>>().join(", ")
    }

    /// The ensembles whose servers have some of it.
    pub fn servers(&self) -> BTreeSet<&str> {
        let resources = self.handed.iter().filter_map(|handed| match handed {
            Handed::Awaited(named) => Some(named.ensemble.as_str()),
            Handed::Here(_) => None,
        });
        resources.chain(self.prompt.iter().map(|prompt| prompt.ensemble.as_str())).collect()
    }

    /// All of it, what servers have included. Nothing that they say holds a secret of ours. Bytes in prompts are held by
    /// `artefacts` until they are kept.
    pub async fn gathered<'s>(
        &self,
        server: impl Fn(&str) -> Result<&'s McpConnection, Failure>,
        redactor: &Redactor,
        artefacts: &dyn Artefacts,
    ) -> Result<Self, Failure> {
        let mut said = Self { words: self.words.clone(), ..Self::default() };
        for handed in &self.handed {
            match handed {
                Handed::Here(_) => said.handed.push(handed.clone()),
                Handed::Awaited(named) => {
                    let read = named.read(server(&named.ensemble)?, redactor).await?;
                    said.handed.extend(read.into_iter().map(Handed::Here));
                }
            }
            said.is_light()?;
        }
        if let Some(prompt) = &self.prompt {
            let filled = prompt.filled(server(&prompt.ensemble)?, redactor, artefacts).await?;
            let words = [filled.rest, said.words].into_iter().filter(|words| !words.trim().is_empty());
            said.words = words.collect::<Vec<_>>().join("\n\n");
            said.opening = filled.messages;
            if said.words.is_empty() {
                prompt.expects_reply(&said.opening)?;
            }
        }
        Ok(said)
    }

    fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        self.handed.iter().filter_map(|handed| match handed {
            Handed::Here(attachment) => Some(attachment),
            Handed::Awaited(_) => None,
        })
    }

    fn is_light(&self) -> Result<(), Failure> {
        if self.handed.len() > MOST {
            let message = format!("{} attachments exceed the limit of {MOST}", self.handed.len());
            return Err(Failure::usage("attachment", message));
        }
        if self.attachments().map(|attachment| attachment.bytes.len()).sum::<usize>() > MOST_TOGETHER {
            let message = format!("the attachments have more than {MOST_TOGETHER} bytes together");
            return Err(Failure::usage("attachment-too-large", message));
        }
        Ok(())
    }

    /// Checks that each attachment, and all together, are within the known limits of the server.
    pub fn fits(&self, endpoint: &Endpoint, facts: &Facts, model: &str) -> Result<(), Failure> {
        let dialect = endpoint.dialect;
        let mut together = 0;
        for Attachment { name, mime, bytes, .. } in self.attachments() {
            if delivery(endpoint, model, facts, Position::UserMessage, mime) == Delivery::Inline {
                together += encoded(bytes.len());
            }
            let most = Medium::of(mime).and_then(|medium| most_bytes(dialect, medium));
            if let Some(most) = most.filter(|most| bytes.len() > *most) {
                let is = bytes.len();
                let message =
                    format!("`{name}` has {is} bytes; the limit of `{model}` for this type is {most}");
                return Err(Failure::usage("attachment-too-large", message));
            }
        }
        if let Some(most) = budget(dialect).filter(|most| together > *most) {
            let message = format!(
                "the attachments have {together} bytes in a request; the limit of `{model}` is {most}"
            );
            return Err(Failure::usage("attachment-too-large", message)
                .hint("attach fewer or smaller files, or ask about one file at a time"));
        }
        Ok(())
    }

    /// What joins the transcript: a document for each text, the messages of a prompt, the user's message. The bytes are
    /// kept first; those of a prompt are taken from `held`. `turn`: the next reply's.
    pub fn canisters(
        &self,
        keep: &dyn Artefacts,
        held: &dyn Blobs,
        turn: TurnId,
    ) -> Result<Vec<Canister>, Failure> {
        let mut canisters = Vec::new();
        let mut content = Vec::new();
        for attachment in self.attachments() {
            match attachment.kind {
                Kind::Text => canisters.push(attachment.document()),
                Kind::Bytes(mime) => {
                    let digest = keep.keep(&attachment.bytes).ok_or_else(|| unkept(&attachment.name))?;
                    let name = Some(attachment.name.clone());
                    content.push(Content::Blob { mime: mime.to_owned(), digest, name, seal: None });
                }
            }
        }
        canisters.extend(opening::canisters(&self.opening, keep, held, turn)?);
        // A prompt may be all that is said.
        if self.opening.is_empty() || !self.words.is_empty() {
            content.push(Content::text(self.words.clone()));
        }
        if !content.is_empty() {
            canisters.push(Canister::User(User { content }));
        }
        Ok(canisters)
    }
}

/// Returns the place for attachments: the session if there is one, else memory until the run ends.
pub fn keeper(contents: &Kept) -> Box<dyn Artefacts> {
    if contents.is_of_a_session() { Box::new(contents.clone()) } else { Box::new(contents.shown()) }
}

impl Attachment {
    /// `shown`: where it is from, for a message.
    fn of(name: String, bytes: Vec<u8>, shown: &str) -> Result<Self, Failure> {
        let kind = media::of(&bytes).map_err(|why| {
            Failure::usage("attachment-type", format!("`{shown}` cannot be attached: {why}"))
                .hint("supported: images (PNG, JPEG, GIF, WebP), PDF, audio (WAV, MP3 …), UTF-8 text")
        })?;
        let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
        let mime = match kind {
            Kind::Text => media::text_mime(&name),
            Kind::Bytes(mime) => mime,
        };
        Ok(Self { name, mime, kind, bytes: bytes.into(), file: None, from: None })
    }

    fn document(&self) -> Canister {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let (name, mime) = (self.name.clone(), self.mime.to_owned());
        let private: Vec<String> = known_secret(text).map(str::to_owned).into_iter().collect();
        let from = self.from.clone().or_else(|| (!private.is_empty()).then(Origin::workspace));
        let labels = from.map(|from| Labels { from, private });
        Canister::Document(Document { name, mime, content: vec![Content::text(text)], labels })
    }
}

fn one(named: &str, world: &World, bounds: Bounds<'_>) -> Result<Handed, Failure> {
    if named == "-" {
        return Err(refused(named, "stdin is read with the question; name a file"));
    }
    if let Some(resource) = named.strip_prefix("mcp:") {
        return Named::parse(resource).map(Handed::Awaited);
    }
    if named.contains("://") {
        return crate::runtime::block_on(fetched(named, bounds))?.map(Handed::Here);
    }
    from_file(named, world).map(Handed::Here)
}

async fn fetched(url: &str, bounds: Bounds<'_>) -> Result<Attachment, Failure> {
    let deadline = async {
        match bounds.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        attachment = from_url::attachment(url) => attachment,
        () = bounds.interrupt.token.cancelled() => Err(bounds.interrupt.failure()),
        () = deadline => {
            let message = "the deadline expired while an attachment was fetched";
            Err(Failure::new(FailureKind::Limit, "deadline", message))
        }
    }
}

fn from_file(named: &str, world: &World) -> Result<Attachment, Failure> {
    let unread = |error: std::io::Error| refused(named, &error.to_string());
    // Links are followed: the user has named this one. What they lead to must be a file that opens at once.
    let path = world.cwd.join(named).canonicalize().map_err(unread)?;
    // Only the typed name is used: the target of a link stays private.
    let name = named.rsplit('/').find(|part| !part.is_empty()).unwrap_or(named);
    if named.ends_with('/') && path.is_dir() {
        let listing = directory::listing(&path).map_err(unread)?;
        let attachment = Attachment::of(format!("{name}/"), listing.into_bytes(), named)?;
        return Ok(Attachment { file: Some(path), ..attachment });
    }
    let file = open_regular(&path).map_err(unread)?;
    let length = file.metadata().map_err(unread)?.len();
    if length > MOST_BYTES as u64 {
        return Err(too_large(named, Some(length)));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() > MOST_BYTES {
        return Err(too_large(named, None));
    }
    let attachment = Attachment::of(name.to_owned(), bytes, named)?;
    Ok(Attachment { file: Some(path), ..attachment })
}

fn refused(named: &str, why: &str) -> Failure {
    Failure::usage("attachment", format!("`{named}` cannot be attached: {why}"))
}

/// `length`: how large it is, if that is known.
fn too_large(named: &str, length: Option<u64>) -> Failure {
    let message = match length {
        Some(length) => format!("`{named}` has {length} bytes; the limit is {MOST_BYTES}"),
        None => format!("`{named}` has more than {MOST_BYTES} bytes"),
    };
    Failure::usage("attachment-too-large", message)
}

fn unkept(name: &str) -> Failure {
    Failure::new(FailureKind::Output, "save-failed", format!("`{name}` could not be saved in the session"))
        .hint("without a session: `--ephemeral`")
}

#[cfg(test)]
mod tests;
