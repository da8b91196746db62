//! The output items of a response. Their events may arrive in any order.
//!
//! | comes | becomes |
//! |---|---|
//! | `added`, then `done` | one item, in the form of `done` |
//! | `done` without `added` | an item |
//! | `done` again, same index, same id | the later form, in its place |
//! | `done` again, same index, another id | a further item: the index lies |
//! | `added` for an index that is there | nothing |
//! | a delta for an index that is done | nothing |
//! | a delta for an index that never began | words, kept for the case that the item never comes |
//! | an event without an index | is for the item that began last |
//! | an item of the last event that was not `done` | an item |
//! | `added` and never `done` | its words; a call is lost, and with it the reply |
//!
//! Items are in the order of their indices; items with the same index in order of arrival.

use serde_json::Value;

use super::slot::{Slot, refusal, same};
use crate::Delta;
use crate::body::Fault;
use crate::compose::Piece;

/// More items than any response has; bounds what a hostile stream can make us keep.
const MAX_ITEMS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Items {
    slots: Vec<Slot>,
    calls: usize,
}

/// The result of all items.
#[derive(Debug, Default)]
pub(super) struct Collection {
    pub(super) pieces: Vec<Piece>,
    pub(super) native: Vec<Value>,
    /// A call was begun and never came.
    pub(super) lost_call: bool,
    /// The words with which the model refuses.
    pub(super) refusal: Option<String>,
}

impl Items {
    pub(super) fn add(
        &mut self,
        index: Option<u64>,
        item: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        if index.is_some() && self.place(index).is_some() {
            return Ok(());
        }
        let mut slot = Slot::new(index);
        slot.announce(item, &mut self.calls, out);
        self.push(slot).map(|_| ())
    }

    pub(super) fn done(
        &mut self,
        index: Option<u64>,
        item: Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        let waits = |slot: &Slot| match &slot.form {
            None => true,
            Some(form) => same(form, &item),
        };
        let place = self.place(index).filter(|place| self.slots.get(*place).is_some_and(waits));
        self.finish(place, index, item, out)
    }

    /// An item of the whole response, in the place of one that began and was not done, or in its own.
    fn take(&mut self, index: Option<u64>, item: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let place =
            self.place(index).filter(|place| self.slots.get(*place).is_some_and(|slot| !slot.is_done()));
        self.finish(place, index, item, out)
    }

    fn finish(
        &mut self,
        place: Option<usize>,
        index: Option<u64>,
        item: Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        let place = match place {
            Some(place) => place,
            None => self.push(Slot::new(index))?,
        };
        if let Some(slot) = self.slots.get_mut(place) {
            slot.finish(item, &mut self.calls, out);
        }
        Ok(())
    }

    /// The output of the whole response: what of it did not come by itself.
    pub(super) fn complete(&mut self, output: Vec<Value>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        // The finished items are what counts, so the whole one is only looked at where it has more.
        let mut known: Vec<Value> = self.slots.iter().filter_map(|slot| slot.form.clone()).collect();
        if output.len() <= known.len() {
            return Ok(());
        }
        for (index, item) in (0..).zip(output) {
            match known.iter().position(|form| same(form, &item)) {
                Some(at) => drop(known.swap_remove(at)),
                None => self.take(Some(index), item, out)?,
            }
        }
        Ok(())
    }

    /// Returns the item of a delta, unless it is done.
    pub(super) fn growing(&mut self, index: Option<u64>) -> Result<Option<&mut Slot>, Fault> {
        let place = match self.place(index) {
            Some(place) => place,
            None => self.push(Slot::new(index))?,
        };
        Ok(self.slots.get_mut(place).filter(|slot| !slot.is_done()))
    }

    fn place(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.slots.iter().rposition(|slot| slot.index == index),
            None => self.slots.len().checked_sub(1),
        }
    }

    fn push(&mut self, slot: Slot) -> Result<usize, Fault> {
        if self.slots.len() >= MAX_ITEMS {
            return Err(Fault::Malformed("more output items than are read".to_owned()));
        }
        self.slots.push(slot);
        Ok(self.slots.len() - 1)
    }

    pub(super) fn collect(mut self) -> Collection {
        if self.slots.iter().all(|slot| slot.index.is_some()) {
            self.slots.sort_by_key(|slot| slot.index);
        }
        let mut collection = Collection::default();
        for slot in self.slots {
            let Some((pieces, native)) = slot.end() else {
                collection.lost_call = true;
                continue;
            };
            collection.pieces.extend(pieces);
            if let Some(native) = native {
                collection.refusal = collection.refusal.or_else(|| refusal(&native).map(str::to_owned));
                collection.native.push(native);
            }
        }
        collection
    }
}
