//! What of the conversation a model is not shown as it is: the user hears of every piece, once in a run.

use converse_provider::{Prompt, degraded};

use super::Driver;
use crate::{Event, Route, SinkError};

impl Driver<'_> {
    /// A sentence for each piece that is new to the user.
    pub(super) fn tell_degraded(&mut self, route: &Route<'_>) -> Result<(), SinkError> {
        let prompt = Prompt {
            model: &route.model,
            // All of it, each time: newer pieces may take the room of older ones.
            view: &self.conversation.view(),
            tools: &[],
            controls: &route.controls,
            facts: &route.facts,
            blobs: self.engine.blobs,
        };
        let found = degraded(&prompt, &route.endpoint);
        for one in found {
            let key = (route.id(), one.digest, one.name.clone());
            if self.conversation.context_state_mut().degraded_reported.insert(key) {
                self.ports.emit(&Event::Warned(&one.describe(&route.endpoint, &route.model)))?;
            }
        }
        Ok(())
    }
}
