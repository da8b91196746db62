//! Encrypted reasoning that a provider refuses.
//!
//! A reply is sent back to the provider that made it together with its encrypted reasoning. If the provider refuses the
//! reasoning, the call is repeated with the earlier replies in a neutral form, which every model accepts. They stay in that
//! form as long as this run uses this model, because they would be refused again.

use std::borrow::Cow;

use converse_canister::{Canister, TurnId};

use crate::{AttemptError, Route};

/// The replies whose encrypted reasoning is left out.
#[derive(Debug, Default)]
pub(crate) struct WithheldReasoning {
    /// All replies before this one.
    refused_before: Option<TurnId>,
}

impl WithheldReasoning {
    /// Returns whether no reasoning is left out.
    pub(crate) fn is_nothing(&self) -> bool {
        self.refused_before.is_none()
    }

    /// Leaves out the reasoning after a refusal. Returns whether the call may be repeated: reasoning was refused, and some
    /// was sent. From then on none is sent, so this is true only once for a call.
    pub(crate) fn leave_out(
        &mut self,
        error: &AttemptError,
        (shown, turn): (&[Canister], TurnId),
        route: &Route<'_>,
    ) -> bool {
        let refused = matches!(error, AttemptError::Refusal(refusal) if refusal.rejects_opaque_reasoning());
        if !refused || !self.shows(shown, route) {
            return false;
        }
        self.refused_before = Some(turn);
        true
    }

    /// Returns whether the provider gets any of its reasoning back.
    fn shows(&self, shown: &[Canister], route: &Route<'_>) -> bool {
        let maker = route.endpoint.maker(&route.model);
        shown.iter().any(|canister| match canister {
            Canister::Assistant(assistant) if !self.is_left_out(assistant.turn) => {
                assistant.native.as_ref().is_some_and(|native| native.maker == maker)
            }
            _ => false,
        })
    }

    fn is_left_out(&self, turn: TurnId) -> bool {
        self.refused_before.is_some_and(|refused| turn < refused)
    }

    /// Returns the view without the reasoning that is left out.
    pub(crate) fn view<'t>(&self, view: Cow<'t, [Canister]>) -> Cow<'t, [Canister]> {
        if self.refused_before.is_none() {
            return view;
        }
        let mut view = view.into_owned();
        for canister in &mut view {
            if let Canister::Assistant(assistant) = canister
                && self.is_left_out(assistant.turn)
            {
                assistant.native = None;
            }
        }
        Cow::Owned(view)
    }
}
