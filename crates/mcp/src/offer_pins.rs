//! [`OfferPins`]: only prompts, resources and templates that the user has accepted are listed and requested.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_canister::Digest;
use converse_config::lock::{OfferList, PinnedEnsemble, PinnedTool, digest};
use converse_ensemble::{HoldReason, OfferKind, Pins, ServerNotice};
use converse_text::uri_template::fits;
use parking_lot::Mutex;
use rmcp::model::ClientRequest;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::offers::OfferError;
use crate::pages::{Kind, MAX_ENTRY};
use crate::server::Server;
use crate::{McpConnection, sanitize};

/// How long a list counts as the current one.
const RECENT: Duration = Duration::from_secs(1);
/// Number of names in one warning, and of names that were named so far.
const MAX_NAMES: usize = 10;
const MAX_REPORTED: usize = 10_000;

/// The prompts, resources and templates that were accepted. A list that is not here is free.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferPins(BTreeMap<OfferList, Pins<String>>);

impl OfferPins {
    /// What the entry of an ensemble in a lockfile accepts; nothing without an entry.
    pub fn of(pinned: Option<&PinnedEnsemble>) -> Self {
        let digests = |one: &PinnedTool| {
            let entries = one.definition().as_object().into_iter().flatten();
            Pins::Accepted(entries.map(|(name, entry)| (name.clone(), digest(entry))).collect())
        };
        match pinned {
            Some(pinned) => Self(pinned.lists.iter().map(|(list, one)| (*list, digests(one))).collect()),
            None => Self::all(&Pins::Accepted(BTreeMap::new())),
        }
    }

    /// It is unknown what was accepted.
    pub fn unknown() -> Self {
        Self::all(&Pins::Unknown)
    }

    fn all(pins: &Pins<String>) -> Self {
        Self(OfferList::ALL.map(|list| (list, pins.clone())).into())
    }

    fn hold_reason(&self, list: OfferList, name: &str, now: Option<Digest>) -> Option<HoldReason> {
        self.0.get(&list)?.hold_reason(&name.to_owned(), || now)
    }
}

/// The definitions of a list by their names.
type Digests = BTreeMap<String, Digest>;

/// What is accepted of one server, and what it listed last.
#[derive(Debug, Default)]
pub(crate) struct OfferGuard {
    pins: Mutex<Arc<OfferPins>>,
    recent: Mutex<BTreeMap<OfferList, (Instant, Arc<Digests>)>>,
    /// What the user was told of.
    reported: Mutex<BTreeSet<(OfferList, String)>>,
    /// The command that accepts.
    pub(crate) accepting: OnceLock<String>,
}

impl OfferGuard {
    fn pins(&self) -> Arc<OfferPins> {
        Arc::clone(&self.pins.lock())
    }

    fn accepting(&self) -> &str {
        self.accepting.get().map_or("converse ensembles lock --accept", String::as_str)
    }

    /// Removes the entries that are held back, and returns a warning that names those not named before.
    pub(crate) fn hold(&self, list: OfferList, entries: &mut Vec<Box<RawValue>>) -> Option<String> {
        let pins = self.pins();
        pins.0.get(&list)?;
        let mut news = Vec::new();
        entries.retain(|entry| {
            // An entry without an identity is not used.
            let Some((name, pinned)) = pinned(list, entry) else { return true };
            let is_held = pins.hold_reason(list, &name, Some(digest(&pinned))).is_some();
            let mut reported = self.reported.lock();
            if is_held && reported.len() < MAX_REPORTED && reported.insert((list, name.clone())) {
                news.push(sanitize::clean(&name, 100));
            }
            !is_held
        });
        let shown = news.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
        let more = news.len().saturating_sub(MAX_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (what, accepting) = (list.label(), self.accepting());
        (!news.is_empty()).then(|| {
            format!(
                "these {what} differ from the lockfile and are held back: {shown}{more}; `{accepting}` accepts them"
            )
        })
    }
}

impl Server {
    /// Refuses a request for a prompt or a resource that is held back.
    pub(crate) async fn check_accepted(&self, request: &ClientRequest) -> Result<(), OfferError> {
        let (list, name) = match request {
            ClientRequest::GetPromptRequest(get) => (OfferList::Prompts, get.params.name.as_str()),
            ClientRequest::ReadResourceRequest(read) => (OfferList::Resources, read.params.uri.as_str()),
            _ => return Ok(()),
        };
        let pins = self.offers.pins();
        let held = match pins.0.get(&list) {
            None | Some(Pins::Free) => return Ok(()),
            Some(Pins::Unknown) => Some(HoldReason::Unknown),
            Some(Pins::Accepted(_)) => {
                let now = self.digests(list).await?;
                let now = now.get(name).copied();
                match pins.hold_reason(list, name, now) {
                    // The server says nothing about such a resource, so there is nothing to accept.
                    Some(HoldReason::New) if list == OfferList::Resources && now.is_none() => None,
                    Some(HoldReason::New) if self.is_of_accepted_template(&pins, list, name).await? => None,
                    held => held,
                }
            }
        };
        match held {
            Some(why) => {
                Err(OfferError::Failed(why.message(&sanitize::clean(name, 200), self.offers.accepting())))
            }
            None => Ok(()),
        }
    }

    async fn is_of_accepted_template(
        &self,
        pins: &OfferPins,
        list: OfferList,
        uri: &str,
    ) -> Result<bool, OfferError> {
        if list != OfferList::Resources {
            return Ok(false);
        }
        let templates = self.digests(OfferList::Templates).await?;
        let is_accepted = |(template, now): (&String, &Digest)| {
            fits(template, uri) && pins.hold_reason(OfferList::Templates, template, Some(*now)).is_none()
        };
        Ok(templates.iter().any(is_accepted))
    }

    /// Returns the digests of a list as it was within the last second.
    async fn digests(&self, list: OfferList) -> Result<Arc<Digests>, OfferError> {
        if let Some((at, known)) = self.offers.recent.lock().get(&list)
            && at.elapsed() < RECENT
        {
            return Ok(Arc::clone(known));
        }
        let entries = self.listed_all(Kind::of(list)).await?;
        let pinned = entries.iter().filter_map(|entry| pinned(list, entry));
        let now = Arc::new(pinned.map(|(name, pinned)| (name, digest(&pinned))).collect::<Digests>());
        self.offers.recent.lock().insert(list, (Instant::now(), Arc::clone(&now)));
        Ok(now)
    }
}

impl McpConnection {
    /// Sets what is accepted beside tools.
    pub fn accept_offers(&self, pins: OfferPins) {
        let before = std::mem::replace(&mut *self.server.offers.pins.lock(), Arc::new(pins.clone()));
        if *before != pins {
            let notices = &self.server.server_requests.notices;
            notices.send(ServerNotice::Changed(OfferKind::Resources));
            notices.send(ServerNotice::Changed(OfferKind::Prompts));
        }
    }

    /// Returns the lists as a lockfile has them, whatever was accepted. A list that cannot be read is left out, with a
    /// warning.
    pub async fn lists_to_pin(&self) -> BTreeMap<OfferList, PinnedTool> {
        let mut lists = BTreeMap::new();
        for list in OfferList::ALL {
            match self.server.listed_all(Kind::of(list)).await {
                Ok(entries) => {
                    let entries: Map<String, Value> =
                        entries.iter().filter_map(|entry| pinned(list, entry)).collect();
                    lists.insert(list, PinnedTool::new(Value::Object(entries)));
                }
                Err(why) => {
                    self.server
                        .warn(&format!("its {} are not compared with a lockfile: {why}", list.label()));
                }
            }
        }
        lists
    }
}

/// Returns what is pinned of an entry; `None` for one that is not used.
fn pinned(list: OfferList, entry: &RawValue) -> Option<(String, Value)> {
    let entry = Some(entry.get()).filter(|entry| entry.len() <= MAX_ENTRY)?;
    list.pinned(&serde_json::from_str(entry).ok()?)
}
