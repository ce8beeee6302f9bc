//! Whatever the other side says, asks and whenever, each request ends once and in time. The input is a script, one step per
//! line; what begins with none of the signs below is what the other side says.
//!
//! ```text
//! +<timeout> <most> <letters>   a request; in ms, 0 for no limit; r: progress resets, p: reported, q: for patience,
//!                               a: its answer may be a question
//! -<n>                          cancel request n
//! @<ms>                         so much time passes
//! ^<n>                          a revision was agreed
//! ~                             from here on the stateless era
//! =<n>                          question n is answered
//! #<n>                          question n cannot be answered
//! !                             the connection is lost
//! ```

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::limits::Timeout;
use crate::protocol::codes::WireError;
use crate::protocol::message::{Message, Mirror, Outgoing, Params};
use crate::protocol::peer::{Action, Outcome, Patience, Peer, ProgressUse, Request};
use crate::protocol::revision::Revision;

/// What holds a peer; other implementations than the peer itself are broken ones.
pub(crate) trait Subject {
    fn new() -> Self;
    fn peer(&mut self) -> &mut Peer<u64>;

    fn poll_action(&mut self) -> Option<Action<u64>> {
        self.peer().poll_action()
    }
}

impl Subject for Peer<u64> {
    fn new() -> Self {
        Self::new()
    }

    fn peer(&mut self) -> &mut Peer<u64> {
        self
    }
}

pub(crate) fn run<S: Subject>(data: &[u8]) {
    let script = String::from_utf8_lossy(data);
    let mut run = Run::<S>::new();
    for step in script.lines() {
        run.step(step);
        run.settle();
    }
    run.abandon();
}

struct Run<S> {
    subject: S,
    now: Instant,
    /// Requests so far; each is its own waiter and key.
    requests: u64,
    live: HashMap<u64, Live>,
    /// Questions that are open.
    questions: HashSet<u64>,
    is_stateless: bool,
}

/// What the model remembers of a request that has not ended.
struct Live {
    started: Instant,
    patience: Patience,
    progress: ProgressUse,
    may_ask: bool,
}

impl<S: Subject> Run<S> {
    fn new() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "any instant will do as the zero of a simulated clock"
        )]
        let now = Instant::now();
        Self {
            subject: S::new(),
            now,
            requests: 0,
            live: HashMap::new(),
            questions: HashSet::new(),
            is_stateless: false,
        }
    }

    fn step(&mut self, step: &str) {
        let now = self.now;
        let (sign, rest) = step.split_at_checked(1).unwrap_or(("", step));
        match sign {
            "+" => self.request(rest),
            "-" => self.subject.peer().cancel(number(rest).into()),
            "@" => {
                self.now += Duration::from_millis(number(rest).into());
                self.subject.peer().handle_timeout(self.now);
            }
            "^" => {
                let revisions = Revision::ALL;
                let index = number(rest) as usize % revisions.len();
                self.subject.peer().set_revision(revisions[index]);
            }
            "~" => {
                self.is_stateless = true;
                self.subject.peer().set_envelope("\"v\":1".to_owned());
            }
            "=" => self.respond(rest, Ok("{}".to_owned())),
            "#" => self.respond(rest, Err(WireError::internal("no"))),
            "!" => self.abandon(),
            _ => self.subject.peer().handle(step, now),
        }
    }

    fn respond(&mut self, ticket: &str, answer: Result<String, WireError>) {
        let ticket = number(ticket).into();
        self.questions.remove(&ticket);
        self.subject.peer().respond(ticket, answer, self.now);
    }

    fn request(&mut self, step: &str) {
        let mut words = step.split(' ');
        let mut timeout = || match number(words.next().unwrap_or_default()) {
            0 => Timeout::NONE,
            millis => Timeout::after(Duration::from_millis(millis.into())),
        };
        let (timeout, max_total) = (timeout(), timeout());
        let letters = words.next().unwrap_or_default();
        let patience = Patience {
            timeout,
            reset_on_progress: letters.contains('r'),
            max_total,
        };
        let progress = match () {
            () if letters.contains('p') => ProgressUse::Report,
            () if letters.contains('q') => ProgressUse::Patience,
            () => ProgressUse::None,
        };
        let waiter = self.requests;
        self.requests += 1;
        let request = Request {
            method: "tools/call",
            params: Params::new().raw("arguments", "{}"),
            patience,
            key: Some(waiter),
            progress,
            mirror: Mirror::default(),
            may_ask: letters.contains('a'),
            waiter,
        };
        self.live.insert(
            waiter,
            Live {
                started: self.now,
                patience,
                progress,
                may_ask: letters.contains('a'),
            },
        );
        self.subject.peer().request(request, self.now);
    }

    /// Does what the peer asks for, and holds it against what is remembered.
    fn settle(&mut self) {
        while let Some(action) = self.subject.poll_action() {
            match action {
                Action::Send(Outgoing { text: line, .. }) => {
                    assert!(!line.contains('\n'), "{line:?}");
                    assert!(Message::parse(&line).is_ok(), "{line}");
                }
                Action::Settled { waiter, outcome } => {
                    let live = self
                        .live
                        .remove(&waiter)
                        .unwrap_or_else(|| panic!("request {waiter} ended twice"));
                    if let Outcome::TimedOut { waited } = outcome {
                        assert_eq!(waited, self.now - live.started);
                        assert!(
                            live.least_wait().is_some_and(|least| least <= waited),
                            "request {waiter} ended early"
                        );
                    }
                }
                Action::Progress { key, .. } => {
                    let reports = self
                        .live
                        .get(&key)
                        .is_some_and(|live| live.progress == ProgressUse::Report);
                    assert!(reports, "progress of request {key}, which wants none");
                }
                Action::Asked(asked) => assert!(self.questions.insert(asked.ticket), "a ticket was used twice"),
                Action::Withdrawn { ticket } => {
                    assert!(self.questions.remove(&ticket), "question {ticket} was not open");
                }
                Action::Notified { .. } | Action::Abandon { .. } | Action::Violation(_) => {}
            }
        }
        let now = self.now;
        let peer = self.subject.peer();
        assert_eq!(peer.pending(), self.live.len(), "a request was lost");
        peer.handle_timeout(now);
        assert!(
            peer.poll_timeout().is_none_or(|next| next > now),
            "a deadline that passed is still waited for"
        );
        let overdue = self
            .live
            .values()
            .find(|live| live.most_wait().is_some_and(|most| live.started + most <= now));
        assert!(overdue.is_none(), "a request outlived its time");
        let timed = self.live.values().any(|live| live.least_wait().is_some());
        assert_eq!(
            peer.poll_timeout().is_some(),
            timed,
            "a deadline without a request, or the reverse"
        );
    }

    fn abandon(&mut self) {
        let mut left: Vec<_> = self.live.drain().map(|(waiter, _)| waiter).collect();
        left.sort_unstable();
        self.questions.clear();
        // Under the ids that they have by now, which a question changes.
        let mut waiting = self.subject.peer().abandon();
        waiting.sort_unstable();
        assert_eq!(waiting, left, "those who still wait are handed out");
    }
}

impl Live {
    /// Nothing may end a request as timed out before this.
    fn least_wait(&self) -> Option<Duration> {
        let (timeout, total) = (self.patience.timeout.duration(), self.patience.max_total.duration());
        timeout.into_iter().chain(total).min()
    }

    /// Nothing may keep a request alive after this.
    fn most_wait(&self) -> Option<Duration> {
        let may_be_reset = self.patience.reset_on_progress && (self.progress != ProgressUse::None || self.may_ask);
        if may_be_reset {
            self.patience.max_total.duration()
        } else {
            self.least_wait()
        }
    }
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_default()
}
