//! Attachments from an MCP server: `mcp:ENSEMBLE:URI`. The server gets the URI unchanged and resolves it.

use std::collections::BTreeMap;

use converse_canister::Origin;
use converse_canister::media::{self, Kind};
use converse_mcp::{Body, McpConnection, OfferError, Part, Reference, Template};

use super::suggested::{MOST_NAMED, suggested};
use super::{Attachment, NAME_CHARS, refused};
use crate::failure::{Failure, Kind as FailureKind};
use crate::secrets::Redactor;

/// A resource and the ensemble of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) ensemble: String,
    uri: String,
}

impl Named {
    /// Parses the text after `mcp:`. The URI may contain colons.
    pub(super) fn parse(typed: &str) -> Result<Self, Failure> {
        let parts = typed.split_once(':').filter(|(ensemble, uri)| !ensemble.is_empty() && !uri.is_empty());
        let (ensemble, uri) = parts.ok_or_else(|| {
            refused(&format!("mcp:{typed}"), "expected mcp:ENSEMBLE:URI")
                .hint("`converse ensembles show ENSEMBLE --connect` lists the resources of its server")
        })?;
        Ok(Self { ensemble: ensemble.to_owned(), uri: uri.to_owned() })
    }

    fn shown(&self) -> String {
        format!("mcp:{}:{}", self.ensemble, self.uri)
    }

    /// Reads the resource: one attachment for each part.
    pub(super) async fn read(
        &self,
        server: &McpConnection,
        redactor: &Redactor,
    ) -> Result<Vec<Attachment>, Failure> {
        // RFC 3986 does not allow braces in a URI.
        if self.uri.contains(['{', '}']) {
            return Err(self.is_a_template(server).await);
        }
        let parts = match server.read(&self.uri).await {
            Ok(parts) => parts,
            Err(OfferError::Unknown(said)) => return Err(self.unknown(server, &said).await),
            Err(OfferError::Failed(said)) => return Err(self.failed(&said)),
        };
        if parts.is_empty() {
            return Err(refused(&self.shown(), "it is empty"));
        }
        parts.into_iter().map(|part| self.attachment(part, redactor)).collect()
    }

    fn attachment(&self, part: Part, redactor: &Redactor) -> Result<Attachment, Failure> {
        let Part { uri, mime, body } = part;
        let said = mime.unwrap_or_default();
        let shown = if uri == self.uri { self.shown() } else { format!("{} ({uri})", self.shown()) };
        let name = redactor.clean(&uri);
        let attachment = match body {
            Body::Text(text) if text.is_empty() => return Err(refused(&shown, "it is empty")),
            Body::Text(text) => text_of(name, redactor.clean(&text), &said),
            Body::Bytes(bytes) => {
                let found = Attachment::of(name, bytes, &shown)?;
                if !media::agrees(&said, found.kind) {
                    let is = found.mime;
                    return Err(refused(
                        &shown,
                        &format!("the server declares the type `{said}`, but the content is {is}"),
                    ));
                }
                match found.kind {
                    Kind::Text => {
                        let text = String::from_utf8_lossy(&found.bytes);
                        text_of(found.name.clone(), redactor.clean(&text), &said)
                    }
                    // The file name is the end of the URI.
                    Kind::Bytes(_) => Attachment { name: last_of(&found.name).to_owned(), ..found },
                }
            }
        };
        Ok(Attachment { from: Some(Origin::server(&self.ensemble)), ..attachment })
    }

    async fn unknown(&self, server: &McpConnection, said: &str) -> Failure {
        let message = format!("`{}` has no resource `{}`: {said}", self.ensemble, self.uri);
        // The first error counts; failed listings are not reported.
        let listed = server.resources().await.unwrap_or_default();
        let names = listed.items.iter().map(|resource| resource.uri.as_str());
        let otherwise = format!("`converse ensembles show {} --connect` lists its resources", self.ensemble);
        Failure::usage("no-such-resource", message).did_you_mean(&self.uri, names, &otherwise)
    }

    fn failed(&self, said: &str) -> Failure {
        let message = format!("`{}` could not be read: {said}", self.shown());
        Failure::new(FailureKind::Ensemble, "resource", message)
    }

    async fn is_a_template(&self, server: &McpConnection) -> Failure {
        let listed = match server.templates().await {
            Ok(listed) => listed.items,
            Err(OfferError::Unknown(said) | OfferError::Failed(said)) => return self.failed(&said),
        };
        let Some(template) = listed.iter().find(|template| template.uri == self.uri) else {
            let failure = refused(&self.shown(), "a URI cannot contain braces");
            let others = listed.iter().take(MOST_NAMED);
            return others.fold(failure, |failure, one| failure.hint(format!("a template: {}", line(one))));
        };
        let variables = template.variables();
        let wanted: Vec<String> = variables.iter().map(|name| format!("`{{{name}}}`")).collect();
        let why = format!("the URI is a template; replace {} with a value", wanted.join(", "));
        let failure = refused(&self.shown(), &why).hint(line(template));
        let names = variables.iter().map(|name| &**name);
        suggested(failure, server, Reference::Template(&template.uri), names, &BTreeMap::new()).await
    }
}

fn line(template: &Template) -> String {
    let about = template.description.as_ref().or(template.title.as_ref());
    let about = about.map(|about| format!("  {about}")).unwrap_or_default();
    format!("{}{about}", template.uri)
}

fn text_of(name: String, text: String, said: &str) -> Attachment {
    let mime = media::declared_text_mime(said).unwrap_or_else(|| media::text_mime(&name));
    let name: String = name.chars().take(NAME_CHARS).collect();
    Attachment { name, mime, kind: Kind::Text, bytes: text.into_bytes().into(), file: None, from: None }
}

fn last_of(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_colons() {
        for (typed, ensemble, uri) in
            [("docs:file:///a:b", "docs", "file:///a:b"), ("d:x", "d", "x"), ("d::x", "d", ":x")]
        {
            let named = Named::parse(typed).unwrap();
            assert_eq!((named.ensemble.as_str(), named.uri.as_str()), (ensemble, uri));
        }
        for typed in ["", "docs", "docs:", ":file:///a"] {
            let failure = Named::parse(typed).unwrap_err();
            assert!(failure.message.contains("mcp:ENSEMBLE:URI"), "{typed}: {}", failure.message);
        }
    }

    fn attached(mime: Option<&str>, body: Body) -> Result<Attachment, Failure> {
        let named = Named { ensemble: "docs".into(), uri: "x:///d/report.pdf?v=1".into() };
        let part = Part { uri: named.uri.clone(), mime: mime.map(str::to_owned), body };
        named.attachment(part, &Redactor::default())
    }

    #[test]
    fn what_it_is_decides_its_bytes_and_not_the_server() {
        let text = |text: &str| Body::Text(text.to_owned());
        let bytes = |bytes: &[u8]| Body::Bytes(bytes.to_vec());
        let (png, pdf) = (&b"\x89PNG\r\n\x1a\n..."[..], &b"%PDF-1.7\n"[..]);
        for (mime, body, is, name) in [
            (Some("text/markdown"), text("# A"), "text/markdown", "x:///d/report.pdf?v=1"),
            (Some("text/csv; charset=utf-8"), text("a,b"), "text/csv", "x:///d/report.pdf?v=1"),
            (Some("image/png"), text("no picture"), "text/plain", "x:///d/report.pdf?v=1"),
            (None, text("%PDF-1.7"), "text/plain", "x:///d/report.pdf?v=1"),
            (Some("application/pdf"), bytes(pdf), "application/pdf", "report.pdf"),
            (Some("image/jpeg"), bytes(png), "image/png", "report.pdf"),
            (None, bytes(png), "image/png", "report.pdf"),
            (Some("application/json"), bytes(b"{}"), "application/json", "x:///d/report.pdf?v=1"),
        ] {
            let found = attached(mime, body.clone()).unwrap();
            assert_eq!((found.mime, found.name.as_str()), (is, name), "{mime:?} {body:?}");
        }
        for (mime, body, why) in [
            (None, text(""), "empty"),
            (None, bytes(b""), "empty"),
            (
                Some("image/png"),
                bytes(pdf),
                "declares the type `image/png`, but the content is application/pdf",
            ),
            (Some("application/zip"), bytes(b"PK\x03\x04..."), "archive"),
        ] {
            let failure = attached(mime, body).unwrap_err();
            assert!(failure.message.contains(why), "{}", failure.message);
            assert_eq!(failure.kind, FailureKind::Usage);
        }
    }
}
