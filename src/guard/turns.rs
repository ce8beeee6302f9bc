//! Whose turn it is. What waits for one worker is handed over in turns of a bounded size, each tenant's next one after the
//! other's: whoever has much waiting delays others by one turn at most.

use std::collections::{HashMap, VecDeque};

use super::governor::Tenant;

pub(crate) struct Turns<T> {
    /// How many are handed over in one turn.
    capacity: usize,
    /// How many of this turn were.
    handed: usize,
    /// Never an empty one.
    waiting: HashMap<Tenant, VecDeque<T>>,
    /// Those who have something waiting, next one first; each is there once.
    ring: VecDeque<Tenant>,
}

impl<T> Turns<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            handed: 0,
            waiting: HashMap::new(),
            ring: VecDeque::new(),
        }
    }

    /// Gives it back where it may be handed over at once; otherwise it waits.
    #[must_use]
    pub(crate) fn offer(&mut self, tenant: &Tenant, item: T) -> Option<T> {
        if self.handed < self.capacity {
            self.handed += 1;
            return Some(item);
        }
        let queue = self.waiting.entry(tenant.clone()).or_default();
        if queue.is_empty() {
            self.ring.push_back(tenant.clone());
        }
        queue.push_back(item);
        None
    }

    /// A turn is over: what is handed over in the next one.
    #[must_use]
    pub(crate) fn next(&mut self) -> Vec<T> {
        let mut next = Vec::new();
        while next.len() < self.capacity {
            let Some(tenant) = self.ring.pop_front() else {
                break;
            };
            let Some(queue) = self.waiting.get_mut(&tenant) else {
                continue;
            };
            next.extend(queue.pop_front());
            if queue.is_empty() {
                self.waiting.remove(&tenant);
            } else {
                self.ring.push_back(tenant);
            }
        }
        self.handed = next.len();
        next
    }

    /// Takes something out that waits.
    pub(crate) fn remove(&mut self, tenant: &Tenant, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let queue = self.waiting.get_mut(tenant)?;
        let place = queue.iter().position(is_it)?;
        let item = queue.remove(place);
        if queue.is_empty() {
            self.waiting.remove(tenant);
            self.ring.retain(|other| other != tenant);
        }
        item
    }

    /// How many wait.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "there are those without one, too")]
    fn tenant(name: &str) -> Tenant {
        Some(name.into())
    }

    #[test]
    fn a_quiet_one_comes_in_the_next_turn_whatever_waits_before_it() {
        let mut turns = Turns::new(4);
        for number in 0..10_000 {
            let handed = turns.offer(&tenant("greedy"), ("greedy", number));
            assert_eq!(handed.is_some(), number < 4);
        }
        assert!(turns.offer(&tenant("quiet"), ("quiet", 0)).is_none());
        assert!(turns.offer(&None, ("nobody", 0)).is_none());
        let next = turns.next();
        assert_eq!(next, [("greedy", 4), ("quiet", 0), ("nobody", 0), ("greedy", 5)]);
        // What was first of one tenant stays first.
        assert_eq!(turns.next().last(), Some(&("greedy", 9)));
    }

    #[test]
    fn a_turn_without_much_holds_nothing_up_and_leaves_nothing() {
        let mut turns = Turns::new(2);
        assert!(turns.offer(&None, 1).is_some());
        assert!(turns.offer(&None, 2).is_some());
        assert!(turns.offer(&tenant("a"), 3).is_none());
        assert!(turns.offer(&tenant("a"), 4).is_none());
        assert_eq!(turns.remove(&tenant("a"), |item| *item == 4), Some(4));
        assert_eq!(turns.remove(&tenant("a"), |item| *item == 4), None);
        assert_eq!(turns.remove(&tenant("b"), |item| *item == 3), None);
        assert_eq!(turns.next(), [3]);
        assert!(turns.offer(&tenant("b"), 5).is_some());
        assert!(turns.offer(&tenant("b"), 6).is_none());
        assert_eq!(turns.remove(&tenant("b"), |item| *item == 6), Some(6));
        assert_eq!((turns.len(), turns.ring.len(), turns.waiting.len()), (0, 0, 0));
        assert!(turns.next().is_empty());
    }
}
