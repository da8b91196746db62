//! What principals take of something at once, such as streams or bytes of bodies, with a limit for each and for all together.

use std::collections::HashMap;
use std::sync::Arc;

use converse_gateway::Principal;
use parking_lot::Mutex;

/// Something of which each principal has at most so much, and all together.
#[derive(Debug)]
pub(crate) struct Shares {
    of_each: usize,
    of_all: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    of: HashMap<Principal, usize>,
}

/// What was taken; it is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Arc<Shares>,
    principal: Principal,
    amount: usize,
}

impl Shares {
    pub(crate) fn new(of_each: usize, of_all: usize) -> Arc<Self> {
        Arc::new(Self { of_each, of_all, taken: Mutex::default() })
    }

    /// Returns a share; `None` if there is no room for it.
    pub(crate) fn take(self: &Arc<Self>, principal: &Principal, amount: usize) -> Option<Share> {
        let mut share = Share { shares: Arc::clone(self), principal: principal.clone(), amount: 0 };
        share.grow(amount).then_some(share)
    }
}

impl Share {
    /// Takes more; returns false, and takes nothing, if there is no room for it.
    pub(crate) fn grow(&mut self, more: usize) -> bool {
        let mut taken = self.shares.taken.lock();
        let own = taken.of.get(&self.principal).copied().unwrap_or_default().saturating_add(more);
        let total = taken.total.saturating_add(more);
        if own > self.shares.of_each || total > self.shares.of_all {
            return false;
        }
        taken.total = total;
        taken.of.insert(self.principal.clone(), own);
        self.amount += more;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock();
        taken.total -= self.amount;
        if let Some(own) = taken.of.get_mut(&self.principal) {
            *own -= self.amount;
            if *own == 0 {
                taken.of.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_limit_and_all_have_one_and_what_is_given_back_is_room() {
        let shares = Shares::new(3, 5);
        let other = Principal::Other("1".into());
        let mut own = shares.take(&Principal::Owner, 2).unwrap();
        assert!(shares.take(&Principal::Owner, 2).is_none() && own.grow(1) && !own.grow(1));
        let theirs = shares.take(&other, 2).unwrap();
        assert!(shares.take(&other, 1).is_none(), "there is no room for all");
        drop(own);
        assert!(shares.take(&other, 1).is_some() && shares.take(&Principal::Owner, 3).is_some());
        assert!(shares.take(&other, usize::MAX).is_none());
        drop(theirs);
        assert!(shares.taken.lock().of.is_empty() && shares.taken.lock().total == 0);
    }
}
