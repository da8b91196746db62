//! Attachments of a prompt that the model gets as text only.

use converse_canister::{Content, Digest};

use crate::media::{Media, Medium, OmissionReason, placed};
use crate::{Endpoint, Prompt};

/// A blob that a line of text replaces in the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Degraded {
    pub digest: Digest,
    pub mime: String,
    pub name: Option<String>,
    pub reason: OmissionReason,
}

/// Returns the blobs of the view that are sent as text, in order, without those of failed results. The choice depends on
/// newer blobs, so the view must be that of the whole request.
pub fn degraded(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Vec<Degraded> {
    let media = Media::of(prompt, endpoint);
    placed(prompt.view).filter_map(|(content, place)| one(content, media.refused(content, place)?)).collect()
}

fn one(content: &Content, reason: OmissionReason) -> Option<Degraded> {
    let Content::Blob { digest, mime, name, .. } = content else { return None };
    Some(Degraded { digest: *digest, mime: mime.clone(), name: name.clone(), reason })
}

impl Degraded {
    /// Describes the replacement in one sentence, for the user.
    pub fn describe(&self, endpoint: &Endpoint, model: &str) -> String {
        let what = match (Medium::of(&self.mime), &self.name) {
            (Some(medium), Some(name)) => format!("the {} {name}", medium.word()),
            (Some(medium), None) => format!("a {} ({})", medium.word(), self.mime),
            (None, Some(name)) => format!("{name} ({})", self.mime),
            (None, None) => format!("a piece of {}", self.mime),
        };
        let to = format!("{}/{model}", endpoint.provider);
        match self.reason {
            OmissionReason::NotTaken => format!("{to} does not accept {what}; converse sends a description"),
            OmissionReason::TooLarge { bytes, most } => {
                format!(
                    "{what} has {bytes} bytes, but the limit of {to} is {most}; converse sends a description"
                )
            }
            OmissionReason::NoRoom => {
                format!(
                    "{what} is no longer sent to {to}, because newer ones fill the request; converse sends a description"
                )
            }
            OmissionReason::Gone => {
                format!("the bytes of {what} are no longer available; converse sends a note to {to}")
            }
        }
    }
}
