//! What each tenant takes of a server, held against its limits. Time is an argument and nothing waits here: whoever has to
//! wait gets a ticket, and is called by it. What is known of a tenant is forgotten once nothing of it is left, so that
//! tenants may come and go without end.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tenant_limits::TenantLimits;
use crate::limits;

/// Whose something is. All that have no tenant are one.
pub(crate) type Tenant = Option<Arc<str>>;

/// A place in a queue; none is given out twice.
pub(crate) type Ticket = u64;

pub(crate) struct Governor {
    limits: TenantLimits,
    /// How many may wait, all tenants together.
    max_waiting: usize,
    records: HashMap<Tenant, Record>,
    waiting: usize,
    /// Those who wait, by how many of each there are: to find out who has the most.
    queues: BTreeSet<(usize, Tenant)>,
    /// Of whom nothing is left but a bucket that fills up, and until when.
    refilling: VecDeque<(Instant, Tenant)>,
    last: Ticket,
}

#[derive(Default)]
struct Record {
    running: usize,
    waiting: VecDeque<Ticket>,
    connections: usize,
    bytes: usize,
    refused: u64,
    /// When what was spent will have come back.
    full_at: Option<Instant>,
    is_refilling: bool,
}

/// Which limit a tenant has reached, and when it may try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) limit: Limit,
    pub(crate) retry_after: Duration,
}

impl Refused {
    /// Too many wait.
    pub(crate) const BUSY: Self = Limit::ConcurrentRequests.refusal();
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    ConcurrentRequests,
    RequestsPerSecond,
    Connections,
    BytesInFlight,
}

impl Limit {
    /// The member of `tenantLimits`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ConcurrentRequests => "maxConcurrentRequests",
            Self::RequestsPerSecond => "maxRequestsPerSecond",
            Self::Connections => "maxConnections",
            Self::BytesInFlight => "maxBytesInFlight",
        }
    }

    const fn refusal(self) -> Refused {
        Refused {
            limit: self,
            retry_after: limits::TENANT_RETRY,
        }
    }
}

/// What becomes of a request that wants to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Runs,
    /// It is called by its ticket. `displaced` had to make room for it, and waits no more.
    Waits {
        ticket: Ticket,
        displaced: Option<Ticket>,
    },
}

/// What a tenant takes now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) tenant: Tenant,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) connections: usize,
    pub(crate) bytes: usize,
    /// Since it is known.
    pub(crate) refused: u64,
}

impl Governor {
    pub(crate) fn new(limits: TenantLimits, max_waiting: usize) -> Self {
        Self {
            limits,
            max_waiting,
            records: HashMap::new(),
            waiting: 0,
            queues: BTreeSet::new(),
            refilling: VecDeque::new(),
            last: 0,
        }
    }

    /// A request came, of so many bytes. They count until they are given back.
    ///
    /// # Errors
    /// When they are too many, or requests come too fast. Nothing is counted then.
    pub(crate) fn arrive(&mut self, tenant: &Tenant, bytes: usize, now: Instant) -> Result<(), Refused> {
        self.sweep(now);
        let most = self.limits.bytes_in_flight;
        let rate = self.limits.requests_per_second;
        let record = self.record(tenant);
        // One alone is let through whatever its size: there is no time at which it would fit better.
        let is_too_much = record.bytes > 0 && most.is_some_and(|most| record.bytes.saturating_add(bytes) > most);
        let outcome = if is_too_much {
            Err(Limit::BytesInFlight.refusal())
        } else {
            rate.map_or(Ok(()), |rate| record.spend(rate, now))
        };
        match outcome {
            Ok(()) => record.bytes = record.bytes.saturating_add(bytes),
            Err(_) => record.refused += 1,
        }
        self.tidy(tenant, now);
        outcome
    }

    /// More bytes of what has arrived: its answer.
    pub(crate) fn grow(&mut self, tenant: &Tenant, bytes: usize) {
        let record = self.record(tenant);
        record.bytes = record.bytes.saturating_add(bytes);
    }

    /// Bytes that are in flight no more.
    pub(crate) fn give_back(&mut self, tenant: &Tenant, bytes: usize, now: Instant) {
        if let Some(record) = self.records.get_mut(tenant) {
            record.bytes = record.bytes.saturating_sub(bytes);
        }
        self.tidy(tenant, now);
    }

    /// A request wants to run. Those of a tenant wait for that tenant's own to end, and for nobody else's. When too many
    /// wait in all, the newest of whoever has the most waiting goes, so that nobody can keep others from waiting.
    ///
    /// # Errors
    /// When it is this request that goes.
    pub(crate) fn enter(&mut self, tenant: &Tenant) -> Result<Entry, Refused> {
        let most = self.limits.concurrent_requests.unwrap_or(usize::MAX);
        let record = self.record(tenant);
        if record.running < most {
            record.running += 1;
            return Ok(Entry::Runs);
        }
        let own = record.waiting.len();
        let mut displaced = None;
        if self.waiting >= self.max_waiting {
            let greediest = self.queues.last().cloned().filter(|(length, _)| *length > own + 1);
            displaced = greediest.and_then(|(_, greedy)| self.displace(&greedy));
            if displaced.is_none() {
                self.record(tenant).refused += 1;
                return Err(Refused::BUSY);
            }
        }
        self.last += 1;
        let ticket = self.last;
        self.requeue(tenant, |queue| queue.push_back(ticket));
        self.waiting += 1;
        Ok(Entry::Waits { ticket, displaced })
    }

    /// One that ran is done. Whoever holds the ticket that is returned runs in its place.
    #[must_use]
    pub(crate) fn leave(&mut self, tenant: &Tenant, now: Instant) -> Option<Ticket> {
        let next = self.requeue(tenant, VecDeque::pop_front);
        if next.is_some() {
            self.waiting -= 1;
            return next;
        }
        if let Some(record) = self.records.get_mut(tenant) {
            record.running = record.running.saturating_sub(1);
        }
        self.tidy(tenant, now);
        None
    }

    /// One that waited does not want to any more.
    pub(crate) fn forsake(&mut self, tenant: &Tenant, ticket: Ticket, now: Instant) {
        let was_there = self.requeue(tenant, |queue| {
            // Tickets of a queue ascend.
            let place = queue.binary_search(&ticket).ok();
            place.and_then(|place| queue.remove(place)).is_some()
        });
        if was_there {
            self.waiting -= 1;
        }
        self.tidy(tenant, now);
    }

    /// A connection opens.
    ///
    /// # Errors
    /// When its tenant has too many.
    pub(crate) fn connect(&mut self, tenant: &Tenant) -> Result<(), Refused> {
        let most = self.limits.connections.unwrap_or(usize::MAX);
        let record = self.record(tenant);
        if record.connections >= most {
            record.refused += 1;
            return Err(Limit::Connections.refusal());
        }
        record.connections += 1;
        Ok(())
    }

    pub(crate) fn disconnect(&mut self, tenant: &Tenant, now: Instant) {
        if let Some(record) = self.records.get_mut(tenant) {
            record.connections = record.connections.saturating_sub(1);
        }
        self.tidy(tenant, now);
    }

    /// How many wait, of all tenants.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Those who are there now; of more than so many, those who take the most.
    pub(crate) fn figures(&mut self, most: usize, now: Instant) -> Vec<Figures> {
        self.sweep(now);
        let mut figures: Vec<_> = self
            .records
            .iter()
            .map(|(tenant, record)| Figures {
                tenant: tenant.clone(),
                running: record.running,
                waiting: record.waiting.len(),
                connections: record.connections,
                bytes: record.bytes,
                refused: record.refused,
            })
            .collect();
        if figures.len() > most {
            let weight = |one: &Figures| (one.running + one.waiting, one.connections, one.bytes);
            figures.select_nth_unstable_by(most, |a, b| weight(b).cmp(&weight(a)));
            figures.truncate(most);
        }
        figures.sort_unstable_by(|a, b| a.tenant.cmp(&b.tenant));
        figures
    }

    fn record(&mut self, tenant: &Tenant) -> &mut Record {
        self.records.entry(tenant.clone()).or_default()
    }

    /// Takes the newest out of a queue.
    fn displace(&mut self, tenant: &Tenant) -> Option<Ticket> {
        let newest = self.requeue(tenant, VecDeque::pop_back)?;
        self.waiting -= 1;
        self.record(tenant).refused += 1;
        Some(newest)
    }

    fn requeue<T: Default>(&mut self, tenant: &Tenant, change: impl FnOnce(&mut VecDeque<Ticket>) -> T) -> T {
        let Some(record) = self.records.get_mut(tenant) else {
            return T::default();
        };
        let before = record.waiting.len();
        let changed = change(&mut record.waiting);
        let after = record.waiting.len();
        if after == 0 {
            // Not each tenant keeps the room that it needed once.
            record.waiting = VecDeque::new();
        }
        if before != after {
            self.queues.remove(&(before, tenant.clone()));
            if after > 0 {
                self.queues.insert((after, tenant.clone()));
            }
        }
        changed
    }

    /// Forgets a tenant of whom nothing is left.
    fn tidy(&mut self, tenant: &Tenant, now: Instant) {
        let Some(record) = self.records.get_mut(tenant).filter(|record| record.is_idle()) else {
            return;
        };
        match record.full_at {
            Some(full_at) if full_at > now => {
                if !record.is_refilling {
                    record.is_refilling = true;
                    self.refilling.push_back((full_at, tenant.clone()));
                }
            }
            _ if record.is_refilling => {}
            _ => {
                self.records.remove(tenant);
            }
        }
    }

    /// Looks after those whose buckets should be full by now.
    fn sweep(&mut self, now: Instant) {
        while self.refilling.front().is_some_and(|(full_at, _)| *full_at <= now) {
            let Some((_, tenant)) = self.refilling.pop_front() else {
                return;
            };
            if let Some(record) = self.records.get_mut(&tenant) {
                record.is_refilling = false;
            }
            self.tidy(&tenant, now);
        }
    }
}

impl Record {
    fn is_idle(&self) -> bool {
        self.running == 0 && self.waiting.is_empty() && self.connections == 0 && self.bytes == 0
    }

    /// Takes one out of a bucket that holds what comes into it in a second.
    fn spend(&mut self, per_second: u64, now: Instant) -> Result<(), Refused> {
        let each = BUCKET / u32::try_from(per_second).unwrap_or(u32::MAX);
        let full_at = self.full_at.map_or(now, |full_at| full_at.max(now)) + each;
        let missing = full_at.saturating_duration_since(now).saturating_sub(BUCKET);
        if missing.is_zero() {
            self.full_at = Some(full_at);
            return Ok(());
        }
        Err(Refused {
            limit: Limit::RequestsPerSecond,
            retry_after: missing,
        })
    }
}

/// How much time a bucket holds the requests of.
const BUCKET: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
