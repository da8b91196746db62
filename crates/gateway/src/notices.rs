//! Passes messages of servers that belong to no call on to the clients that want them.

#![expect(deprecated, reason = "clients in use still read logging")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use converse_canister::EnsembleName;
use converse_config::LogLevel;
use converse_ensemble::{Ensemble, Notices, OfferKind, Roster, ServerNotice};
use futures_util::StreamExt as _;
use futures_util::stream::{SelectAll, unfold};
use parking_lot::Mutex;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionSink};
use rmcp::{ErrorData, RoleServer};

use crate::calling_client::{level_at, log_message, logging_level};
use crate::gateway::{Gateway, Shared};
use crate::principal::Principal;

/// Longest time to subscribe again to all that clients follow at servers that were replaced.
const FOLLOWING_AGAIN: Duration = Duration::from_secs(60);

impl Gateway {
    /// Calls `send` for each notice of each server, with the name of its ensemble, until it fails. When servers come and go,
    /// the lists beside tools change.
    pub(crate) async fn pass_notices<F: Future<Output = bool>>(
        &self,
        send: impl Fn(String, ServerNotice) -> F,
    ) {
        let next = async |(ensemble, mut notices): (String, Notices)| {
            let notice = notices.next().await?;
            Some(((ensemble.clone(), notice), (ensemble, notices)))
        };
        let stream = |ensemble: &Arc<Ensemble>| {
            Some(Box::pin(unfold((ensemble.name.to_string(), ensemble.relay()?.notices()), next)))
        };
        let mut changes = self.watch_changes();
        let mut relays = self.relays();
        let mut notices: SelectAll<_> = relays.iter().filter_map(stream).collect();
        loop {
            tokio::select! {
                Some((ensemble, notice)) = notices.next() => {
                    if let ServerNotice::Changed(kind) = &notice {
                        self.shared.offers.outdate(&ensemble, *kind);
                    }
                    if !send(ensemble, notice).await {
                        return;
                    }
                }
                Ok(()) = changes.changed() => {
                    let now = self.relays();
                    let is_new = |one: &&Arc<Ensemble>| !relays.iter().any(|known| Arc::ptr_eq(known, one));
                    let new: Vec<_> = now.iter().filter(is_new).filter_map(stream).collect();
                    let is_changed = !new.is_empty() || now.len() != relays.len();
                    notices.extend(new);
                    relays = now;
                    for kind in [OfferKind::Prompts, OfferKind::Resources] {
                        if is_changed && !send(String::new(), ServerNotice::Changed(kind)).await {
                            return;
                        }
                    }
                }
                // Nothing comes any more.
                else => std::future::pending().await,
            }
        }
    }

    /// Returns whether a notice is about a resource that a client follows and may read by the rules as they are now.
    fn concerns(&self, principal: &Principal, followed: Option<&Followed>, ensemble: &str) -> bool {
        let judge = |one: &Followed| self.judge_reading(self.view.roster_for(principal), ensemble, &one.uri);
        followed.is_some_and(|one| one.is_at(ensemble) && judge(one).is_ok())
    }

    /// Sends a notice to a client of the older era. Log messages that belong to no call are for the owner.
    pub(crate) async fn notify(
        &self,
        peer: &Peer<RoleServer>,
        principal: &Principal,
        ensemble: String,
        notice: ServerNotice,
    ) -> bool {
        match notice {
            // They may speak of what other clients do.
            ServerNotice::Log(_) if *principal != Principal::Owner => true,
            ServerNotice::Log(log) => {
                let lowest = self.log_threshold().load(Ordering::Relaxed);
                if (logging_level(log.level) as u8) < lowest {
                    return true;
                }
                peer.notify_logging_message(log_message(log)).await.is_ok()
            }
            ServerNotice::Changed(OfferKind::Prompts) => peer.notify_prompt_list_changed().await.is_ok(),
            ServerNotice::Changed(_) => peer.notify_resource_list_changed().await.is_ok(),
            ServerNotice::Updated { uri }
                if self.concerns(principal, self.subscribed.lock().get(&uri), &ensemble) =>
            {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_ok()
            }
            ServerNotice::Updated { .. } => true,
        }
    }

    /// Sends a notice to a client of the newer era, if its subscription wants it.
    /// `followed`: the resources that it follows.
    pub(crate) async fn notify_listener(
        &self,
        sink: &SubscriptionSink,
        (principal, followed): (&Principal, &[Followed]),
        ensemble: String,
        notice: ServerNotice,
    ) -> bool {
        let wanted = sink.accepted();
        match notice {
            ServerNotice::Changed(OfferKind::Prompts) if wanted.prompts_list_changed == Some(true) => {
                sink.notify_prompt_list_changed().await.is_ok()
            }
            ServerNotice::Changed(OfferKind::Resources | OfferKind::Templates)
                if wanted.resources_list_changed == Some(true) =>
            {
                sink.notify_resource_list_changed().await.is_ok()
            }
            ServerNotice::Updated { uri }
                if self.concerns(principal, followed.iter().find(|one| one.uri == uri), &ensemble) =>
            {
                sink.notify_resource_updated(uri).await.is_ok()
            }
            _ => true,
        }
    }

    /// Subscribes to a resource that the rules allow to be read.
    ///
    /// # Errors
    ///
    /// The resource does not exist, may not be read, or its server has no subscriptions.
    pub(crate) async fn follow(&self, roster: &Roster, uri: &str) -> Result<Followed, ErrorData> {
        let ensemble = self.readable(roster, uri).await?;
        let followed = self.shared.subscriptions.of(&ensemble, uri);
        let mut count = followed.0.lock().await;
        if *count == 0 {
            let subscribed = self.shared.subscribe(&ensemble, uri, true).await;
            subscribed.map_err(|why| ErrorData::internal_error(why, None))?;
        }
        *count += 1;
        drop(count);
        Ok(Followed { shared: Arc::clone(&self.shared), ensemble, uri: uri.to_owned(), count: followed })
    }

    /// Starts to subscribe to what clients follow at servers that were replaced. A slow server holds up nothing else.
    pub(crate) fn spawn_follow_again(self, replaced: Vec<EnsembleName>) {
        if replaced.is_empty() {
            return;
        }
        tokio::spawn(async move {
            tokio::select! {
                () = self.closing() => {}
                () = self.follow_again(&replaced) => {}
                () = tokio::time::sleep(FOLLOWING_AGAIN) => {
                    tracing::debug!("resources of replaced servers could not all be subscribed to again in time");
                }
            }
        });
    }

    /// Subscribes to what clients follow at servers that were replaced.
    async fn follow_again(&self, replaced: &[EnsembleName]) {
        for ensemble in replaced.iter().map(EnsembleName::as_str) {
            for uri in self.shared.subscriptions.at(ensemble) {
                let followed = self.shared.subscriptions.of(ensemble, &uri);
                let count = followed.0.lock().await;
                if *count > 0
                    && let Err(why) = self.shared.subscribe(ensemble, &uri, true).await
                {
                    tracing::debug!(%why, "a resource could not be subscribed to again");
                }
            }
        }
    }

    /// Asks all servers for the log messages that this client wants, and all others that have asked.
    pub(crate) fn ask_for_logs(&self) {
        let level = self.shared.log_levels.lowest_with(&self.log_threshold());
        let relays = self.relays();
        relays.iter().filter_map(|ensemble| ensemble.relay()).for_each(|relay| relay.set_log_level(level));
    }

    /// Returns the servers of all ensembles, in their order; none in a view, which has tools only.
    pub(crate) fn relays(&self) -> Vec<Arc<Ensemble>> {
        self.view.roster_for(&Principal::Owner).relays()
    }
}

/// The lowest levels of log messages that clients have asked for.
#[derive(Debug, Default)]
pub(crate) struct LogLevels(Mutex<Vec<Weak<AtomicU8>>>);

impl LogLevels {
    /// Returns the lowest level that this client and those that asked before want.
    fn lowest_with(&self, level: &Arc<AtomicU8>) -> LogLevel {
        let mut levels = self.0.lock();
        // Clients that have left are forgotten.
        levels.retain(|one| one.strong_count() > 0 && !std::ptr::eq(one.as_ptr(), Arc::as_ptr(level)));
        levels.push(Arc::downgrade(level));
        let wanted = levels.iter().filter_map(Weak::upgrade).map(|one| one.load(Ordering::Relaxed));
        level_at(wanted.min().unwrap_or_default())
    }
}

/// The subscriptions at all servers. Two servers may have resources with the same URI.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<(String, String), FollowerCount>>);

/// How many clients are subscribed to one resource. Locked while the server is asked, so that the end of a subscription
/// and the next one reach it in order.
#[derive(Debug, Clone, Default)]
struct FollowerCount(Arc<tokio::sync::Mutex<usize>>);

impl Subscriptions {
    fn of(&self, ensemble: &str, uri: &str) -> FollowerCount {
        let mut all = self.0.lock();
        // What nobody follows and nobody is about to follow is forgotten.
        all.retain(|_, one| Arc::strong_count(&one.0) > 1);
        all.entry((ensemble.to_owned(), uri.to_owned())).or_default().clone()
    }

    /// Returns the URIs at one server.
    fn at(&self, ensemble: &str) -> Vec<String> {
        self.0.lock().keys().filter(|(of, _)| of == ensemble).map(|(_, uri)| uri.clone()).collect()
    }
}

impl Shared {
    async fn subscribe(&self, ensemble: &str, uri: &str, wanted: bool) -> Result<(), String> {
        let relays = self.parts.roster.relays();
        let server = relays.iter().find(|known| known.name.as_str() == ensemble);
        match server.and_then(|server| server.relay()) {
            Some(relay) => relay.subscribe(uri, wanted).await,
            None => Ok(()),
        }
    }
}

/// A subscription to a resource of one server, until it is dropped.
pub(crate) struct Followed {
    shared: Arc<Shared>,
    ensemble: String,
    uri: String,
    count: FollowerCount,
}

impl Followed {
    fn is_at(&self, ensemble: &str) -> bool {
        self.ensemble == ensemble
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (shared, count) = (Arc::clone(&self.shared), self.count.clone());
        let (ensemble, uri) = (std::mem::take(&mut self.ensemble), std::mem::take(&mut self.uri));
        runtime.spawn(async move {
            let mut count = count.0.lock().await;
            *count -= 1;
            if *count == 0
                && let Err(why) = shared.subscribe(&ensemble, &uri, false).await
            {
                tracing::debug!(%why, "a subscription could not be ended");
            }
        });
    }
}
