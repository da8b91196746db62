//! [`OfferPins`]: only prompts, resources and templates that the user has accepted are listed and requested.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_canister::Digest;
use converse_config::lock::{OfferList, PinnedEnsemble, PinnedTool, digest};
use converse_ensemble::{HoldReason, OfferKind, Pins, ServerNotice};
use converse_text::uri_template::{fits, may_fit};
use parking_lot::Mutex;
use rmcp::model::{ClientRequest, Reference};
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

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    Prompt(&'a str),
    Resource(&'a str),
    /// A template, by its URI with the variables in it; or a resource.
    Template(&'a str),
}

impl<'a> Subject<'a> {
    fn of(request: &'a ClientRequest) -> Option<Self> {
        Some(match request {
            ClientRequest::GetPromptRequest(get) => Self::Prompt(&get.params.name),
            ClientRequest::ReadResourceRequest(read) => Self::Resource(&read.params.uri),
            ClientRequest::CompleteRequest(complete) => match &complete.params.r#ref {
                Reference::Prompt(prompt) => Self::Prompt(&prompt.name),
                Reference::Resource(resource) => Self::Template(&resource.uri),
                _ => return None,
            },
            _ => return None,
        })
    }
}

impl Server {
    /// Refuses a request about a prompt, a resource or a template that is held back.
    pub(crate) async fn check_accepted(&self, request: &ClientRequest) -> Result<(), OfferError> {
        match Subject::of(request) {
            Some(subject) => self.check_subject(subject).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn check_subject(&self, subject: Subject<'_>) -> Result<(), OfferError> {
        let pins = self.offers.pins();
        let (name, held) = match subject {
            Subject::Prompt(name) => (name, self.held(&pins, OfferList::Prompts, name).await?),
            Subject::Resource(uri) => (uri, self.held_resource(&pins, uri).await?),
            Subject::Template(uri) => match self.held(&pins, OfferList::Templates, uri).await? {
                Some(HoldReason::New) if !self.lists(OfferList::Templates, uri).await? => {
                    (uri, self.held_resource(&pins, uri).await?)
                }
                held => (uri, held),
            },
        };
        match held {
            Some(why) => {
                Err(OfferError::Failed(why.message(&sanitize::clean(name, 200), self.offers.accepting())))
            }
            None => Ok(()),
        }
    }

    /// Returns why an entry of a list is held back. Asks the server only if that decides.
    async fn held(
        &self,
        pins: &OfferPins,
        list: OfferList,
        name: &str,
    ) -> Result<Option<HoldReason>, OfferError> {
        let now = match pins.0.get(&list) {
            Some(Pins::Accepted(_)) => self.digests(list).await?.get(name).copied(),
            None | Some(Pins::Free | Pins::Unknown) => None,
        };
        Ok(pins.hold_reason(list, name, now))
    }

    async fn held_resource(&self, pins: &OfferPins, uri: &str) -> Result<Option<HoldReason>, OfferError> {
        let held = self.held(pins, OfferList::Resources, uri).await?;
        if held != Some(HoldReason::New) {
            return Ok(held);
        }
        let templates = self.digests(OfferList::Templates).await?;
        let reason = |(template, now): (&String, &Digest)| {
            pins.hold_reason(OfferList::Templates, template, Some(*now))
        };
        if templates.iter().any(|one| reason(one).is_none() && fits(one.0, uri)) {
            return Ok(None);
        }
        // If the server says nothing about the resource, there is nothing to accept but its template. A server may take
        // values that its template does not show.
        let is_listed = self.lists(OfferList::Resources, uri).await?;
        let mut of_templates = templates.iter().filter(|(template, _)| may_fit(template, uri));
        Ok(if is_listed { held } else { of_templates.find_map(reason) })
    }

    async fn lists(&self, list: OfferList, name: &str) -> Result<bool, OfferError> {
        Ok(self.digests(list).await?.contains_key(name))
    }

    /// Returns the digests of a list as it was within the last second.
    async fn digests(&self, list: OfferList) -> Result<Arc<Digests>, OfferError> {
        if let Some((at, known)) = self.offers.recent.lock().get(&list)
            && at.elapsed() < RECENT
        {
            return Ok(Arc::clone(known));
        }
        // On the heap: the request that is checked would be as large for each list.
        let entries = Box::pin(self.listed_all(Kind::of(list))).await?;
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
