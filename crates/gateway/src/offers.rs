//! What servers offer beside tools, as clients see it: lists, names, and which server has what.
//!
//! Prompts are named like tools. The URIs of resources and templates are unchanged: if two servers have the same one, it is
//! the one of the first ensemble in order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use converse_ensemble::{Ensemble, OfferKind, Roster};
use converse_text::uri_template::fits;
use futures_util::future::join_all;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::gateway::{Gateway, REFRESH};
use crate::served_tools::PAGE;
use crate::upstreams::Upstreams;

/// Limit for the list of one server. After that its last list counts.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// A cursor is this prefix and the number of entries before it.
const CURSOR_PREFIX: &str = "at:";

/// The last lists of the servers, by ensemble.
#[derive(Debug, Default)]
pub(crate) struct OfferLists {
    lists: Mutex<HashMap<(String, &'static str), Listed>>,
    /// Held while lists are read, so that requests at the same time share one list.
    refreshing: tokio::sync::Mutex<()>,
    /// Names that two servers have and that were reported.
    reported: Mutex<HashSet<String>>,
}

/// A list of a server.
#[derive(Debug, Default)]
struct Listed {
    entries: Vec<Value>,
    /// When it was last requested; `None` if the server has announced a change since then.
    requested: Option<Instant>,
}

impl Listed {
    fn is_due(&self) -> bool {
        self.requested.is_none_or(|last| last.elapsed() >= REFRESH)
    }
}

/// An entry of a list as it is served.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Served {
    /// The name or URI for clients.
    pub(crate) name: String,
    pub(crate) ensemble: String,
    /// The name or URI at the server.
    pub(crate) own: String,
    pub(crate) entry: Value,
}

/// The field that names the entries of a list.
fn key(kind: OfferKind) -> &'static str {
    match kind {
        OfferKind::Resources => "uri",
        OfferKind::Templates => "uriTemplate",
        OfferKind::Prompts => "name",
    }
}

impl OfferLists {
    /// Lists the entries of all connected servers anew, of each at most once in [`REFRESH`]. A list starts no server: its
    /// last list counts.
    async fn refresh(&self, roster: &Roster, kind: OfferKind, upstreams: &Upstreams) {
        upstreams.settled().await;
        let _refreshing = self.refreshing.lock().await;
        let due = |ensemble: &Ensemble| {
            let mut lists = self.lists.lock();
            let list = lists.entry((ensemble.name.to_string(), key(kind))).or_default();
            let is_due = list.is_due();
            if is_due {
                list.requested = Some(Instant::now());
            }
            is_due
        };
        let list = async |ensemble: &Arc<Ensemble>| {
            let Some(relay) = ensemble.relay() else { return };
            match tokio::time::timeout(LIST_TIMEOUT, relay.list(kind)).await {
                Ok(Ok(entries)) => {
                    let mut lists = self.lists.lock();
                    lists.entry((ensemble.name.to_string(), key(kind))).or_default().entries = entries;
                }
                Ok(Err(why)) => tracing::debug!(ensemble = %ensemble.name, %why, "a list could not be read"),
                Err(_) => tracing::debug!(ensemble = %ensemble.name, "a list was not read in time"),
            }
        };
        let relays = roster.relays();
        let connected =
            relays.iter().filter(|ensemble| upstreams.is_connected(ensemble.name.as_str()) && due(ensemble));
        join_all(connected.map(list)).await;
    }

    /// Forgets the lists of an ensemble whose server was replaced.
    pub(crate) fn forget(&self, ensemble: &str) {
        self.lists.lock().retain(|(of, _), _| of != ensemble);
    }

    /// Lets the next request read a list anew, because its server has announced a change.
    pub(crate) fn outdate(&self, ensemble: &str, changed: OfferKind) {
        for ((of, field), list) in self.lists.lock().iter_mut() {
            // Resources and templates change together.
            let is_prompts = *field == key(OfferKind::Prompts);
            if *of == ensemble && is_prompts == (changed == OfferKind::Prompts) {
                list.requested = None;
            }
        }
    }

    /// Returns the entries as served, from the last lists, in the order of the ensembles.
    fn served(&self, roster: &Roster, kind: OfferKind, bare: bool) -> Vec<Served> {
        let lists = self.lists.lock();
        let mut all = Vec::new();
        for ensemble in roster.relays() {
            let entries = lists.get(&(ensemble.name.to_string(), key(kind)));
            for entry in entries.into_iter().flat_map(|list| &list.entries) {
                let Some(own) = entry[key(kind)].as_str() else { continue };
                all.push((Arc::clone(&ensemble), own.to_owned(), entry.clone()));
            }
        }
        let mut count: HashMap<&str, usize> = HashMap::new();
        all.iter().for_each(|(_, own, _)| *count.entry(own).or_default() += 1);
        let is_bare: Vec<bool> =
            all.iter().map(|(_, own, _)| bare && count.get(own.as_str()) == Some(&1)).collect();
        let mut served: Vec<Served> = Vec::new();
        let mut places: HashMap<String, String> = HashMap::new();
        for ((ensemble, own, mut entry), is_bare) in all.into_iter().zip(is_bare) {
            let name = match kind {
                OfferKind::Prompts if !is_bare => format!("{}__{own}", ensemble.prefix()),
                _ => own.clone(),
            };
            let ensemble = ensemble.name.to_string();
            if let Some(first) = places.get(&name) {
                if *first != ensemble && self.reported.lock().insert(format!("{ensemble} {name}")) {
                    tracing::warn!(
                        "`{first}` and `{ensemble}` both have `{name}`; that of `{first}` is served"
                    );
                }
                continue;
            }
            places.insert(name.clone(), ensemble.clone());
            if kind == OfferKind::Prompts {
                entry["name"] = Value::from(name.as_str());
            }
            served.push(Served { name, ensemble, own, entry });
        }
        served
    }
}

impl Gateway {
    /// Returns whether this client sees anything beside tools: a view has tools only.
    fn has_offers(&self) -> bool {
        self.view.name().is_none()
    }

    /// Returns one page of a list and the cursor of the next. The first page is read from the servers.
    pub(crate) async fn list_offers<T: DeserializeOwned>(
        &self,
        roster: &Roster,
        kind: OfferKind,
        request: Option<PaginatedRequestParams>,
    ) -> Result<(Vec<T>, Option<String>), ErrorData> {
        if !self.has_offers() {
            return Ok((Vec::new(), None));
        }
        let unknown = || ErrorData::invalid_params("the cursor is not from this server", None);
        let lists = &self.shared.offers;
        let begin = match request.and_then(|request| request.cursor) {
            None => {
                lists.refresh(roster, kind, &self.shared.parts.upstreams).await;
                0
            }
            Some(cursor) => {
                let place = cursor.strip_prefix(CURSOR_PREFIX).and_then(|place| place.parse().ok());
                place.ok_or_else(unknown)?
            }
        };
        let served = lists.served(roster, kind, self.shared.parts.bare_names);
        let rest = served.get(begin..).ok_or_else(unknown)?;
        let cursor = (rest.len() > PAGE).then(|| format!("{CURSOR_PREFIX}{}", begin + PAGE));
        let entries = rest.iter().take(PAGE).filter_map(|one| {
            let entry = serde_json::from_value(one.entry.clone());
            entry
                .inspect_err(|why| tracing::debug!(name = one.name, %why, "an entry of a server is left out"))
                .ok()
        });
        Ok((entries.collect(), cursor))
    }

    /// Finds a prompt or template by its served name; lists them anew if it is not known.
    pub(crate) async fn find_offer(&self, roster: &Roster, kind: OfferKind, name: &str) -> Option<Served> {
        if !self.has_offers() {
            return None;
        }
        let (lists, bare) = (&self.shared.offers, self.shared.parts.bare_names);
        let find = || lists.served(roster, kind, bare).into_iter().find(|one| one.name == name);
        if let Some(found) = find() {
            return Some(found);
        }
        lists.refresh(roster, kind, &self.shared.parts.upstreams).await;
        find()
    }

    /// Finds the ensemble whose server has a resource: listed, by a template, or the only one with resources at all.
    pub(crate) async fn owner_of(&self, roster: &Roster, uri: &str) -> Option<String> {
        if !self.has_offers() {
            return None;
        }
        let (lists, bare) = (&self.shared.offers, self.shared.parts.bare_names);
        let known = || {
            let resources = lists.served(roster, OfferKind::Resources, bare);
            let templates = lists.served(roster, OfferKind::Templates, bare);
            let listed = resources.iter().find(|one| one.name == uri);
            let found = listed.or_else(|| templates.iter().find(|one| fits(&one.name, uri)));
            let found = found.map(|one| one.ensemble.clone());
            let ensembles = resources.into_iter().chain(templates).map(|one| one.ensemble);
            (found, ensembles.collect::<HashSet<_>>())
        };
        if let (Some(found), _) = known() {
            return Some(found);
        }
        let upstreams = &self.shared.parts.upstreams;
        tokio::join!(
            lists.refresh(roster, OfferKind::Resources, upstreams),
            lists.refresh(roster, OfferKind::Templates, upstreams)
        );
        let (found, ensembles) = known();
        found.or_else(|| ensembles.into_iter().next().filter(|_| lists.only_one(roster)))
    }
}

impl OfferLists {
    /// Returns whether exactly one server has resources or templates.
    fn only_one(&self, roster: &Roster) -> bool {
        let lists = self.lists.lock();
        let has = |ensemble: &Ensemble, kind: OfferKind| {
            lists.get(&(ensemble.name.to_string(), key(kind))).is_some_and(|list| !list.entries.is_empty())
        };
        let relays = roster.relays();
        let having =
            relays.iter().filter(|one| has(one, OfferKind::Resources) || has(one, OfferKind::Templates));
        having.count() == 1
    }
}
