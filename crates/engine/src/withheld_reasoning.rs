//! Reasoning that its maker does not take back.
//!
//! A turn goes back to its maker with the reasoning that the maker has sealed. If that is refused, the call is made once
//! more with the earlier turns in neutral words, which every model takes. They stay so for as long as this model is
//! asked in this run: they would be refused again, and what follows is sealed together with what it followed.

use std::borrow::Cow;

use converse_canister::{Canister, TurnId};

use crate::{Route, Trouble};

/// Which seals are left out.
#[derive(Debug, Default)]
pub(crate) struct WithheldReasoning {
    /// Those of all turns before this one.
    refused_before: Option<TurnId>,
}

impl WithheldReasoning {
    /// True if the call for this turn may be made once more: a seal was refused, and one is there that was not left out.
    /// From then on none is, so this is true once for a call.
    pub(crate) fn leave_out(
        &mut self,
        trouble: &Trouble,
        (shown, turn): (&[Canister], TurnId),
        route: &Route<'_>,
    ) -> bool {
        let refused = matches!(trouble, Trouble::Refusal(refusal) if refusal.rejects_opaque_reasoning());
        if !refused || !self.shows(shown, route) {
            return false;
        }
        self.refused_before = Some(turn);
        true
    }

    /// Does the maker get anything back?
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

    /// What the model is shown.
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
