//! The bookkeeping of the queue: who holds places, and who waits.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Flow, Full, Key, MAX_CALLS, MAX_WEIGHT};
use crate::principal::Principal;

/// How many times the free places each may hold.
const OF_TOOL: usize = 2;
const OF_ENSEMBLE: usize = 8;
const OF_PRINCIPAL: usize = 64;
/// The same for each of several principals, and of the places that a tool may still take.
const OF_EACH_PRINCIPAL: usize = 4;
const OF_TOOL_FOR_EACH: usize = 2;

#[derive(Debug)]
pub(super) struct State {
    /// Places that nobody holds.
    free: usize,
    tools: HashMap<Arc<str>, Tool>,
    /// The places of each ensemble.
    ensembles: HashMap<Arc<str>, usize>,
    principals: HashMap<Principal, Share>,
    /// The principal of the first call, and whether another one has called since.
    first: Option<Principal>,
    are_several: bool,
    /// The tools with waiting calls, the next one first.
    turn: VecDeque<Arc<str>>,
    waiting: Load,
    tickets: u64,
}

/// What a principal, or a tool, has.
#[derive(Debug, Default)]
struct Share {
    running: usize,
    waiting: Load,
}

/// The calls of a tool.
#[derive(Debug, Default)]
struct Tool {
    share: Share,
    /// The places of each principal.
    held: HashMap<Principal, usize>,
    calls: HashMap<Principal, BTreeMap<u64, Waiter>>,
    /// The principals with waiting calls, the next one first.
    turn: VecDeque<Principal>,
}

#[derive(Debug)]
struct Waiter {
    weight: usize,
    ensemble: Arc<str>,
    granted: oneshot::Sender<()>,
}

/// Waiting calls.
#[derive(Debug, Default, Clone, Copy)]
struct Load {
    calls: usize,
    bytes: usize,
}

impl Load {
    /// Checks whether there is room for one more call.
    fn room(self, weight: usize, factor: usize) -> Result<(), Full> {
        if self.calls >= MAX_CALLS * factor {
            return Err(Full::Calls);
        }
        let fits = self.bytes.checked_add(weight).is_some_and(|bytes| bytes <= MAX_WEIGHT * factor);
        if fits { Ok(()) } else { Err(Full::Memory) }
    }

    fn add(&mut self, weight: usize) {
        self.calls += 1;
        self.bytes += weight;
    }

    fn remove(&mut self, weight: usize) {
        self.calls -= 1;
        self.bytes -= weight;
    }
}

impl Share {
    fn is_idle(&self) -> bool {
        self.running == 0 && self.waiting.calls == 0
    }
}

impl State {
    pub(super) fn new(places: usize) -> Self {
        Self {
            free: places,
            tools: HashMap::new(),
            ensembles: HashMap::new(),
            principals: HashMap::new(),
            first: None,
            are_several: false,
            turn: VecDeque::new(),
            waiting: Load::default(),
            tickets: 0,
        }
    }

    /// Records that a principal calls.
    pub(super) fn meet(&mut self, principal: &Principal) {
        self.are_several |= self.first.get_or_insert_with(|| principal.clone()) != principal;
    }

    /// Returns the key of a flow, without new memory for names that are in use.
    pub(super) fn key(&self, flow: Flow<'_>) -> Key {
        let tool = self.tools.get_key_value(flow.tool).map(|(name, _)| Arc::clone(name));
        let ensemble = self.ensembles.get_key_value(flow.ensemble).map(|(name, _)| Arc::clone(name));
        Key {
            tool: tool.unwrap_or_else(|| flow.tool.into()),
            ensemble: ensemble.unwrap_or_else(|| flow.ensemble.into()),
            principal: flow.principal.clone(),
        }
    }

    /// Returns whether a new call may run at once.
    pub(super) fn has_turn(&self, key: &Key) -> bool {
        // Earlier calls of the flow come first.
        let waits = self.tools.get(&key.tool).is_some_and(|tool| tool.calls.contains_key(&key.principal));
        !waits && self.may_run(&key.tool, &key.ensemble) && self.may_have_place(&key.tool, &key.principal)
    }

    fn may_run(&self, tool: &str, ensemble: &str) -> bool {
        let running = self.tools.get(tool).map_or(0, |tool| tool.share.running);
        let of_ensemble = self.ensembles.get(ensemble).copied().unwrap_or_default();
        running < self.free.saturating_mul(OF_TOOL) && of_ensemble < self.free.saturating_mul(OF_ENSEMBLE)
    }

    fn may_have_place(&self, tool: &str, principal: &Principal) -> bool {
        let running = self.principals.get(principal).map_or(0, |share| share.running);
        if !self.are_several {
            return running < self.free.saturating_mul(OF_PRINCIPAL);
        }
        let (of_tool, held) = self.tools.get(tool).map_or((0, 0), |tool| {
            (tool.share.running, tool.held.get(principal).copied().unwrap_or_default())
        });
        // How many places the tool may take until it holds twice as many as are free.
        let left = self.free.saturating_mul(OF_TOOL).saturating_sub(of_tool).div_ceil(OF_TOOL + 1);
        // Without this place, so that one is left to the others.
        running <= self.free.saturating_sub(1).saturating_mul(OF_EACH_PRINCIPAL)
            && held <= left.saturating_sub(1).saturating_mul(OF_TOOL_FOR_EACH)
    }

    /// Takes a place.
    pub(super) fn begin(&mut self, key: &Key) {
        self.free -= 1;
        let tool = self.tools.entry(Arc::clone(&key.tool)).or_default();
        tool.share.running += 1;
        *tool.held.entry(key.principal.clone()).or_default() += 1;
        *self.ensembles.entry(Arc::clone(&key.ensemble)).or_default() += 1;
        self.principals.entry(key.principal.clone()).or_default().running += 1;
    }

    /// Gives a place back, and grants what is free.
    pub(super) fn end(&mut self, key: &Key) {
        self.free += 1;
        if let Some(tool) = self.tools.get_mut(&key.tool) {
            tool.share.running -= 1;
            give_back(&mut tool.held, &key.principal);
        }
        if let Some(share) = self.principals.get_mut(&key.principal) {
            share.running -= 1;
        }
        give_back(&mut self.ensembles, &key.ensemble);
        self.forget_idle(key);
        while self.grant() {}
    }

    /// Adds a call to the queue. Returns its number and what tells that it has a place.
    pub(super) fn wait(&mut self, key: &Key, weight: usize) -> Result<(u64, oneshot::Receiver<()>), Full> {
        let of_tool = self.tools.get(&key.tool).map_or(Load::default(), |tool| tool.share.waiting);
        let of_principal = self.principals.get(&key.principal).map_or(Load::default(), |share| share.waiting);
        of_tool.room(weight, 1)?;
        of_principal.room(weight, 2)?;
        self.waiting.room(weight, 4)?;
        self.waiting.add(weight);
        self.principals.entry(key.principal.clone()).or_default().waiting.add(weight);
        let tool = self.tools.entry(Arc::clone(&key.tool)).or_default();
        if tool.share.waiting.calls == 0 {
            self.turn.push_back(Arc::clone(&key.tool));
        }
        tool.share.waiting.add(weight);
        if !tool.calls.contains_key(&key.principal) {
            tool.turn.push_back(key.principal.clone());
        }
        self.tickets += 1;
        let (granted, receiver) = oneshot::channel();
        let waiter = Waiter { weight, ensemble: Arc::clone(&key.ensemble), granted };
        tool.calls.entry(key.principal.clone()).or_default().insert(self.tickets, waiter);
        Ok((self.tickets, receiver))
    }

    /// Removes a waiting call; returns false if it has a place.
    pub(super) fn leave(&mut self, key: &Key, ticket: u64) -> bool {
        let is_there = self.remove(&key.tool, &key.principal, Some(ticket)).is_some();
        self.forget_idle(key);
        is_there
    }

    /// Takes a waiting call out of the queue: that with the number, or the first one.
    fn remove(&mut self, name: &str, principal: &Principal, ticket: Option<u64>) -> Option<Waiter> {
        let tool = self.tools.get_mut(name)?;
        let calls = tool.calls.get_mut(principal)?;
        let waiter = match ticket {
            Some(ticket) => calls.remove(&ticket)?,
            None => calls.pop_first()?.1,
        };
        if calls.is_empty() {
            tool.calls.remove(principal);
            tool.turn.retain(|one| one != principal);
        }
        tool.share.waiting.remove(waiter.weight);
        if tool.share.waiting.calls == 0 {
            self.turn.retain(|one| **one != *name);
        }
        self.waiting.remove(waiter.weight);
        if let Some(share) = self.principals.get_mut(principal) {
            share.waiting.remove(waiter.weight);
        }
        Some(waiter)
    }

    /// Gives a free place to the next call that may have it; returns false if there is none.
    fn grant(&mut self) -> bool {
        if self.free == 0 {
            return false;
        }
        for _ in 0..self.turn.len() {
            self.turn.rotate_left(1);
            let Some(name) = self.turn.back().cloned() else { return false };
            let Some((principal, ensemble)) = self.next_of(&name) else { continue };
            let Some(waiter) = self.remove(&name, &principal, None) else { continue };
            self.begin(&Key { tool: name, ensemble, principal });
            // A call that has left meanwhile gives the place back.
            let _ = waiter.granted.send(());
            return true;
        }
        false
    }

    /// Returns the principal whose call of a tool may run next, and the ensemble of the tool.
    fn next_of(&mut self, name: &str) -> Option<(Principal, Arc<str>)> {
        let tool = self.tools.get(name)?;
        let (_, first) = tool.calls.get(tool.turn.front()?)?.first_key_value()?;
        let ensemble = Arc::clone(&first.ensemble);
        if !self.may_run(name, &ensemble) {
            return None;
        }
        let next = tool.turn.iter().position(|principal| self.may_have_place(name, principal))?;
        let tool = self.tools.get_mut(name)?;
        tool.turn.rotate_left(next + 1);
        tool.turn.back().cloned().map(|principal| (principal, ensemble))
    }

    fn forget_idle(&mut self, key: &Key) {
        if self.tools.get(&key.tool).is_some_and(|tool| tool.share.is_idle()) {
            self.tools.remove(&key.tool);
        }
        if self.principals.get(&key.principal).is_some_and(Share::is_idle) {
            self.principals.remove(&key.principal);
        }
    }

    #[cfg(test)]
    pub(super) fn is_forgotten(&self) -> bool {
        self.tools.is_empty()
            && self.ensembles.is_empty()
            && self.principals.is_empty()
            && self.turn.is_empty()
    }
}

/// Takes one place from those of a holder, and forgets a holder without places.
fn give_back<K: Eq + Hash>(places: &mut HashMap<K, usize>, holder: &K) {
    if let Some(held) = places.get_mut(holder) {
        *held -= 1;
        if *held == 0 {
            places.remove(holder);
        }
    }
}
