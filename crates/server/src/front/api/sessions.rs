//! Sessions over `/api`: listed, shown, named, forked, taken back, deleted, exported and imported.

use std::collections::HashSet;
use std::io;

use converse_canister::media::magic;
use converse_canister::{Canister, Digest};
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_session::{
    Document, Fork, MAX_IMPORT_BYTES, Metadata, Query, Store, Summary, Uuid, Within, cuts,
    drop_invalid_labels, is_reserved_tag, label_tag, new_id,
};
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Caller;
use super::channel::at_one_stage;
use super::failure::ApiFailure;
use super::message::{messages, usage_json};
use super::parameters::Parameters;
use crate::front::{Front, json_reply};
use crate::http_server::{Reply, reply};

pub(super) const PROGRAM: &str = concat!("converse ", env!("CARGO_PKG_VERSION"));
/// Sessions in one answer, at most.
const MAX_LISTED: usize = 200;
/// Messages in one answer, at most.
const MAX_MESSAGES: usize = 1000;
/// Messages that a search returns, at most.
const MAX_HITS: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: Option<String>,
    tags: Option<Vec<String>>,
    model: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct At {
    at: usize,
}

/// Reads where a page ended. Times as texts are not in order: their fractions end with the last digit that is not 0.
fn place_of(cursor: &str) -> Option<(Timestamp, Uuid)> {
    let (updated, id) = cursor.split_once('~')?;
    Some((updated.parse().ok()?, id.parse().ok()?))
}

fn invalid_cursor() -> ApiFailure {
    ApiFailure::bad_request("the cursor is not valid")
}

fn parsed<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, ApiFailure> {
    serde_json::from_slice(body).map_err(|error| ApiFailure::bad_request(error.to_string()))
}

impl Front {
    /// `GET /api/sessions`.
    pub(super) fn list_sessions(&self, caller: &Caller, query: &Parameters<'_>) -> Result<Reply, ApiFailure> {
        let limit = query.number("limit")?.unwrap_or(50).min(MAX_LISTED);
        let store = sessions::required(&caller.world)?;
        let words = query.text("text");
        let words = words.and_then(|words| Query::new(words.split_whitespace(), Within::All));
        let hits = words.map(|words| store.search(&words, MAX_HITS).map(|found| found.hits)).transpose()?;
        // Before the sessions are read: a turn that began before them and has ended since had no message yet.
        let running = self.running(caller);
        let summaries = store.list()?;
        let cursor =
            query.text("cursor").map(|text| place_of(text).ok_or_else(invalid_cursor)).transpose()?;
        let of_project = |summary: &Summary| {
            query.text("project").is_none_or(|one| summary.metadata.project.as_deref() == Some(one))
        };
        let wanted = |summary: &&Summary| {
            let tagged =
                query.text("tag").is_none_or(|tag| summary.metadata.tags.iter().any(|one| one == tag));
            let updated = summary.updated.to_string();
            // A day is the beginning of its times, and all of them are before the next character of the alphabet.
            let in_time = query.text("since").is_none_or(|since| updated.as_str() >= since)
                && query.text("until").is_none_or(|until| updated.as_str() <= format!("{until}~").as_str());
            let found = hits.as_ref().is_none_or(|hits| hits.iter().any(|hit| hit.session == summary.id));
            // A turn that has just begun has no message yet.
            let is_there = !summary.hollow || running.contains(&summary.id);
            is_there && tagged && in_time && found && of_project(summary)
        };
        let is_after = |one: &&Summary| cursor.is_none_or(|at| (one.updated, one.id) < at);
        let mut listed = summaries.iter().filter(wanted).filter(is_after);
        let page: Vec<&Summary> = listed.by_ref().take(limit).collect();
        let asked: HashSet<Uuid> = caller
            .waiting()
            .ok()
            .and_then(|files| files.sessions().ok())
            .unwrap_or_default()
            .into_iter()
            .collect();
        let items: Vec<Value> = page
            .iter()
            .map(|summary| {
                let is_running = running.contains(&summary.id);
                let mut item = item(caller, summary, is_running, asked.contains(&summary.id));
                if let Some(hits) = &hits {
                    let of = hits.iter().filter(|hit| hit.session == summary.id).take(3);
                    let of = of.map(
                        |hit| json!({ "message": hit.number.saturating_sub(1), "excerpt": hit.snippet }),
                    );
                    item["hits"] = of.collect();
                }
                item
            })
            .collect();
        let next =
            listed.next().and_then(|_| page.last().map(|last| format!("{}~{}", last.updated, last.id)));
        let mut body = json!({ "items": items });
        if let Some(next) = next {
            body["next"] = json!(next);
        }
        Ok(json_reply(StatusCode::OK, &body))
    }

    pub(super) fn item_of(&self, caller: &Caller, store: &Store, id: Uuid) -> Result<Value, ApiFailure> {
        let is_running = self.is_running(caller, id)?;
        Ok(item(caller, &store.summary(id)?, is_running, true))
    }

    /// `POST /api/sessions`.
    pub(super) fn create_session(&self, caller: &Caller, body: &[u8]) -> Result<Reply, ApiFailure> {
        let described: Described = parsed(body)?;
        let store = sessions::required(&caller.world)?;
        let id = new_id(World::now(), &World::random_bytes());
        store.create(id, PROGRAM, World::now())?;
        store.describe(id, |metadata| metadata.project = sessions::project(&caller.world))?;
        describe(&store, id, described)?;
        Ok(json_reply(StatusCode::CREATED, &self.item_of(caller, &store, id)?))
    }

    /// `GET /api/sessions/{id}`.
    pub(super) fn show_session(
        &self,
        caller: &Caller,
        id: Uuid,
        query: &Parameters<'_>,
    ) -> Result<Reply, ApiFailure> {
        let limit = query.number("limit")?.unwrap_or(200).clamp(1, MAX_MESSAGES);
        let store = sessions::required(&caller.world)?;
        let stage = || self.stage(caller, id);
        let (loaded, mut body) = at_one_stage(stage, |stage| {
            // An invocation that runs has no result yet.
            let loaded = if stage.is_running { store.read_running(id)? } else { store.read_waiting(id)? };
            Ok::<_, ApiFailure>((loaded, self.item_of(caller, &store, id)?))
        })?;
        let total = loaded.transcript.as_slice().len();
        let from = query.number("from")?.unwrap_or_else(|| first_shown(loaded.transcript.as_slice(), limit));
        body["total"] = json!(total);
        let mut list = messages(&loaded, &id.to_string(), from, limit, self.markdown);
        let shared = store.metadata(id).map(|metadata| metadata.shared).unwrap_or_default();
        for message in list.iter_mut().filter(|message| message["role"] == "tool") {
            if shared.iter().any(|id| message["id"] == id.as_str()) {
                message["shared"] = json!(true);
            }
        }
        body["messages"] = list.into();
        body["usage"] = usage_json(&loaded.usage);
        if !loaded.unpriced {
            body["cost"] = json!({ "dollars": loaded.cost.dollars().to_string() });
        }
        Ok(json_reply(StatusCode::OK, &body))
    }

    /// `PATCH /api/sessions/{id}`.
    pub(super) fn change_session(&self, caller: &Caller, id: Uuid, body: &[u8]) -> Result<Reply, ApiFailure> {
        let store = sessions::required(&caller.world)?;
        describe(&store, id, parsed(body)?)?;
        self.changed(caller, &store, id)
    }

    /// Tells other clients that a session has changed, and returns it.
    pub(super) fn changed(&self, caller: &Caller, store: &Store, id: Uuid) -> Result<Reply, ApiFailure> {
        let item = self.item_of(caller, store, id)?;
        let mut event = json!({ "type": "session" });
        for key in ["id", "running", "waiting", "messages"] {
            event[key] = item[key].clone();
        }
        self.channels.tell(&caller.principal, &event);
        Ok(json_reply(StatusCode::OK, &item))
    }

    /// `DELETE /api/sessions/{id}`.
    pub(super) fn delete_session(&self, caller: &Caller, id: Uuid) -> Result<Reply, ApiFailure> {
        if self.is_running(caller, id)? {
            return Err(ApiFailure::busy());
        }
        sessions::required(&caller.world)?.delete(id)?;
        caller.waiting()?.remove(id);
        let event = json!({ "type": "session", "id": id.to_string(), "deleted": true });
        self.channels.tell(&caller.principal, &event);
        self.announce_change(caller, id);
        Ok(reply(StatusCode::NO_CONTENT, "application/json", ""))
    }

    /// `POST /api/sessions/{id}/fork`.
    pub(super) fn fork_session(&self, caller: &Caller, id: Uuid, body: &[u8]) -> Result<Reply, ApiFailure> {
        let At { at } = parsed(body)?;
        let store = sessions::required(&caller.world)?;
        let upto = cut(store.read(id)?.transcript.as_slice(), at);
        let metadata = store.metadata(id)?;
        let mut metadata = Metadata { totals: None, compared: Vec::new(), ..metadata };
        metadata.tags.retain(|tag| !is_reserved_tag(tag));
        let new = new_id(World::now(), &World::random_bytes());
        store.fork(
            id,
            Fork { id: new, program: PROGRAM.to_owned(), upto: Some(upto), metadata },
            World::now(),
        )?;
        Ok(json_reply(StatusCode::CREATED, &self.item_of(caller, &store, new)?))
    }

    /// `POST /api/sessions/{id}/rewind`.
    pub(super) fn rewind_session(&self, caller: &Caller, id: Uuid, body: &[u8]) -> Result<Reply, ApiFailure> {
        let At { at } = parsed(body)?;
        if self.is_running(caller, id)? {
            return Err(ApiFailure::busy());
        }
        let store = sessions::required(&caller.world)?;
        self.rewound(caller, id, at)?;
        caller.waiting()?.remove(id);
        self.changed(caller, &store, id)
    }

    /// `GET /api/sessions/{id}/export`.
    pub(super) fn export_session(
        &self,
        caller: &Caller,
        id: Uuid,
        query: &Parameters<'_>,
    ) -> Result<Reply, ApiFailure> {
        let store = sessions::required(&caller.world)?;
        let document = store.export(id, PROGRAM)?;
        let unreadable = |error: serde_json::Error| {
            ApiFailure::new(StatusCode::INTERNAL_SERVER_ERROR, "not-redacted", error.to_string())
        };
        let document = document.redacted(&self.redactor).map_err(unreadable)?;
        let written = |write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| {
            let mut text = Vec::new();
            write(&mut text).map(|()| text).map_err(|error| {
                ApiFailure::new(StatusCode::INTERNAL_SERVER_ERROR, "not-written", error.to_string())
            })
        };
        let (kind, ending, text) = match query.text("format").unwrap_or("markdown") {
            "markdown" => ("text/markdown; charset=utf-8", "md", (self.renderers.markdown)(&document).into()),
            "html" => ("text/html; charset=utf-8", "html", (self.renderers.html)(&document).into()),
            "json" => ("application/json", "json", written(&|text| document.write_json(text))?),
            "jsonl" => ("application/jsonl", "jsonl", written(&|text| document.write_lines(text))?),
            _ => return Err(ApiFailure::bad_request("`format` is markdown, html, json or jsonl")),
        };
        let mut reply = reply(StatusCode::OK, kind, text);
        let name = format!("attachment; filename=\"converse-{id}.{ending}\"");
        if let Ok(name) = HeaderValue::from_str(&name) {
            reply.headers_mut().insert(CONTENT_DISPOSITION, name);
        }
        Ok(reply)
    }

    /// `POST /api/sessions/import`.
    pub(super) fn import_session(
        &self,
        caller: &Caller,
        kind: Option<&str>,
        body: &[u8],
    ) -> Result<Reply, ApiFailure> {
        if body.len() > MAX_IMPORT_BYTES {
            return Err(ApiFailure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too-large",
                "the document is too large",
            ));
        }
        let invalid = |error: converse_session::ImportError| {
            ApiFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "not-a-session", error.to_string())
        };
        let is_lines = kind.is_some_and(|kind| kind.starts_with("application/jsonl"));
        let read = if is_lines { Document::read_lines } else { Document::read };
        let mut document = read(body).map_err(invalid)?;
        drop_invalid_labels(&mut document);
        let store = sessions::required(&caller.world)?;
        let id = new_id(World::now(), &World::random_bytes());
        store.import(document, id, PROGRAM, World::now())?;
        Ok(json_reply(StatusCode::CREATED, &self.item_of(caller, &store, id)?))
    }

    /// `GET /api/sessions/{id}/content/{digest}`.
    pub(super) fn content(&self, caller: &Caller, id: Uuid, digest: &str) -> Result<Reply, ApiFailure> {
        let digest = Digest::try_from(digest.to_owned()).map_err(|_| ApiFailure::not_found())?;
        let store = sessions::required(&caller.world)?;
        let bytes = store.contents(id).get(&digest).ok().flatten().ok_or_else(ApiFailure::not_found)?;
        let kind = shown_as(&bytes);
        let mut reply = reply(StatusCode::OK, kind.unwrap_or("application/octet-stream"), bytes.to_vec());
        let headers = reply.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
        if kind.is_none() {
            headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        }
        Ok(reply)
    }
}

/// Describes a session. Whether a turn runs is found out before what waits: a turn that has ended has written that down.
fn item(caller: &Caller, summary: &Summary, is_running: bool, may_wait: bool) -> Value {
    let Metadata { name, tags, model, project, totals, .. } = &summary.metadata;
    let files = caller.waiting().ok().filter(|_| may_wait);
    let waiting = files.and_then(|files| files.read_if_possible(summary.id)).map_or(0, |one| one.open());
    let mut item = json!({
        "id": summary.id.to_string(),
        "words": summary.words,
        "created": summary.created.to_string(),
        "updated": summary.updated.to_string(),
        "messages": summary.canisters,
        "tags": tags,
        "running": is_running,
        "waiting": waiting,
    });
    let more = [
        ("name", name.clone().map(Value::from)),
        ("model", model.clone().map(Value::from)),
        ("project", project.clone().map(Value::from)),
        ("problem", summary.problem.clone().map(Value::from)),
        ("cost", totals.as_ref().map(|totals| json!({ "dollars": totals.cost.dollars().to_string() }))),
    ];
    for (key, value) in more {
        if let Some(value) = value {
            item[key] = value;
        }
    }
    item
}

/// Returns the first message of a page of the last ones. A page begins with a message of the user if one is near.
fn first_shown(canisters: &[Canister], limit: usize) -> usize {
    let first = canisters.len().saturating_sub(limit);
    let later = canisters.iter().enumerate().skip(first).take(limit / 2);
    let user = later.filter(|(_, canister)| matches!(canister, Canister::User(_))).map(|(index, _)| index);
    if first == 0 { 0 } else { user.take(1).next().unwrap_or(first) }
}

/// Returns the number of messages to keep: `at`, or more if that is in the middle of a reply.
pub(super) fn cut(canisters: &[Canister], at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    cuts(canisters).into_iter().find(|possible| *possible >= at).unwrap_or(canisters.len())
}

fn describe(store: &Store, id: Uuid, described: Described) -> Result<(), ApiFailure> {
    let Described { name, tags, model } = described;
    let name = name.map(|name| sessions::name(&name)).transpose()?;
    // Tags of a comparison stay as they are, also if they are sent back.
    let own = store.metadata(id).map(|metadata| metadata.tags).unwrap_or_default();
    let tags = tags.map(|tags| {
        let is_kept = |tag: &String| is_reserved_tag(tag) && own.contains(tag);
        tags.into_iter().filter(|tag| !is_kept(tag)).collect::<Vec<_>>()
    });
    let checked = |tag: String| label_tag(&tag).map_err(ApiFailure::bad_request);
    let tags = tags.map(|tags| tags.into_iter().map(checked).collect::<Result<Vec<_>, _>>()).transpose()?;
    store.describe(id, |metadata| {
        if let Some(name) = name {
            metadata.nameless = name.is_none();
            metadata.name = name;
        }
        if let Some(tags) = tags {
            metadata.tags.retain(|tag| is_reserved_tag(tag));
            metadata.tags.extend(tags);
            metadata.tags.truncate(converse_session::MOST_TAGS);
        }
        metadata.model = model.or_else(|| metadata.model.take());
    })?;
    Ok(())
}

/// Returns the media type of what a browser may show. Types that browsers run, or open with other programs, are saved.
fn shown_as(bytes: &[u8]) -> Option<&'static str> {
    magic(bytes).filter(|mime| mime.starts_with("image/") || mime.starts_with("audio/"))
}
