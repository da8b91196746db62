//! One round: sent once, waited for within its limits, and taken back when the request was cancelled.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use tokio::time::{Instant, sleep_until, timeout};

use super::RequestError;
use crate::in_flight::InFlightRequest;
use crate::link::Link;
use crate::progress::ProgressListener;
use crate::{Era, log, raw, task};

/// Limit for sending a request or a cancellation.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

impl Link {
    pub(crate) async fn round(
        &self,
        request: ClientRequest,
        in_flight: &InFlightRequest,
    ) -> Result<String, RequestError> {
        let (client, server_requests) = (in_flight.host.client(), &self.handler.server_requests);
        let own = client.and_then(|client| client.log_level());
        let mut options = PeerRequestOptions::no_options();
        options.meta = log::meta(self.era, own.max(server_requests.log_level()));
        if let Some(client) = client.filter(|_| self.era == Era::Modern) {
            let mut capabilities = server_requests.capabilities_of(client.as_ref());
            task::declare(&mut capabilities);
            options.meta.get_or_insert_default().set_client_capabilities(capabilities);
        }
        if let Some(trace) = in_flight.host.trace() {
            // <https://modelcontextprotocol.io/seps/414-request-meta> (checked 2026-11)
            let fields = trace.fields().map(|(name, value)| (name.to_owned(), value.into()));
            options.meta.get_or_insert_default().0.0.extend(fields);
        }
        let handle = match timeout(SEND_TIMEOUT, self.peer.send_cancellable_request(request, options)).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(_)) | Err(_) => return Err(RequestError::Unsent),
        };
        let listening =
            self.handler.progress_listeners.listen(handle.progress_token.clone(), in_flight.host.clone());
        self.wait(handle, &listening, in_flight).await.map(raw::text)
    }

    /// Waits for the result. Without progress the request ends after its idle timeout.
    async fn wait(
        &self,
        mut handle: RequestHandle<RoleClient>,
        listening: &ProgressListener,
        in_flight: &InFlightRequest,
    ) -> Result<ServerResult, RequestError> {
        let InFlightRequest { clock, deadline, idle, .. } = in_flight;
        let begun = clock.now();
        let mut quiet = (begun + *idle).min(*deadline);
        let mut abandoned = Abandoned { peer: &self.peer, id: Some(handle.id.clone()) };
        let lost = loop {
            let opens = listening.opens();
            tokio::select! {
                biased;
                result = &mut handle.rx => {
                    abandoned.id = None;
                    let result = result.unwrap_or(Err(ServiceError::TransportClosed));
                    return result.map_err(RequestError::Failed);
                }
                () = self.end.over() => {
                    abandoned.id = None;
                    return Err(RequestError::Failed(ServiceError::TransportClosed));
                }
                // The caller has the same deadline and may cancel first.
                () = in_flight.cancel.cancelled() => {
                    break if clock.now() < *deadline { RequestError::Cancelled } else { RequestError::TimedOut(*deadline - begun) };
                }
                () = clock.sleep_until(quiet) => {
                    break RequestError::TimedOut(if quiet < *deadline { *idle } else { *deadline - begun });
                }
                () = sleep_until(opens.unwrap_or_else(Instant::now)), if opens.is_some() => listening.pass(),
                () = listening.progress() => quiet = (clock.now() + *idle).min(*deadline),
            }
        };
        abandoned.id = None;
        let _ = timeout(SEND_TIMEOUT, handle.cancel(Some("the request was cancelled".to_owned()))).await;
        Err(lost)
    }
}

/// Cancels the request at the server when the future that waits for the result is dropped.
struct Abandoned<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        let reason = Some("the request was cancelled".to_owned());
        let notification = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        runtime.spawn(async move {
            let _ = timeout(SEND_TIMEOUT, peer.send_notification(notification.into())).await;
        });
    }
}
