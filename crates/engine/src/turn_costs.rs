//! The spending of the turns of a run, shared by concurrent spenders.

use std::collections::BTreeMap;

use converse_canister::{Cost, TurnId};
use parking_lot::{Mutex, MutexGuard};

use crate::{Event, Sink, SinkError};

/// Spending by the position of the compared models.
#[derive(Debug, Default)]
pub struct TurnCosts(Mutex<BTreeMap<usize, Seat>>);

#[derive(Debug, Clone, Copy)]
struct Seat {
    turn: TurnId,
    known: Cost,
    /// Whether a reply had an unknown cost.
    unknown: bool,
}

/// Records the spending of one turn.
#[derive(Debug)]
pub struct TurnCostMeter<'a> {
    costs: &'a TurnCosts,
    place: usize,
}

impl TurnCosts {
    pub fn meter(&self, place: usize, next: TurnId) -> TurnCostMeter<'_> {
        self.lock().insert(place, Seat { turn: next, known: Cost(0), unknown: false });
        TurnCostMeter { costs: self, place }
    }

    /// Returns the spending of the most expensive turn, because each turn has a limit of its own; `None` if unknown.
    pub fn most(&self) -> Option<Cost> {
        let seats = self.lock();
        let known = seats.values().map(|seat| seat.known).max().unwrap_or_default();
        (!seats.values().any(|seat| seat.unknown)).then_some(known)
    }

    /// Returns the entry of the first turn.
    pub fn turn(&self) -> TurnId {
        self.lock().values().next().map_or(TurnId(1), |seat| seat.turn)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Seat>> {
        self.0.lock()
    }
}

impl Sink for TurnCostMeter<'_> {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let mut seats = self.costs.lock();
        let Some(seat) = seats.get_mut(&self.place) else { return Ok(()) };
        match event {
            Event::Requested { turn, .. } => seat.turn = *turn,
            Event::Used { cost: Some(cost), .. } => seat.known = seat.known.plus(*cost),
            Event::Used { cost: None, .. } => seat.unknown = true,
            Event::Finished { result, .. } => {
                seat.known = seat.known.plus(result.cost.unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }
}
