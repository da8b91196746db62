//! One round: sent once, waited for within its limits, and taken back when nobody waits for it any more.

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
use crate::{log, raw};

/// What telling the server that nobody waits any more may take.
const FAREWELL: Duration = Duration::from_secs(1);

impl Link {
    pub(super) async fn round(
        &self,
        request: ClientRequest,
        in_flight: &InFlightRequest,
    ) -> Result<String, RequestError> {
        let meta = log::meta(self.era, self.handler.server_requests.grants.log_level);
        let mut options = PeerRequestOptions::no_options();
        options.meta = meta;
        let handle = match timeout(FAREWELL, self.peer.send_cancellable_request(request, options)).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(_)) | Err(_) => return Err(RequestError::Unsent),
        };
        let listening =
            self.handler.progress_listeners.listen(handle.progress_token.clone(), in_flight.host.clone());
        self.wait(handle, &listening, in_flight).await.map(raw::text)
    }

    /// Without progress it may idle only so long, if its timeout is longer than that.
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
                // Whoever waits for the answer keeps the same time, and may be the first to notice.
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
        let _ = timeout(FAREWELL, handle.cancel(Some("nobody waits for it any more".to_owned()))).await;
        Err(lost)
    }
}

/// Tells the server if whoever waits for the answer is dropped.
struct Abandoned<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        let reason = Some("nobody waits for it any more".to_owned());
        let notification = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        runtime.spawn(async move {
            let _ = timeout(FAREWELL, peer.send_notification(notification.into())).await;
        });
    }
}
