use proptest::prelude::*;

use super::*;

#[expect(clippy::unnecessary_wraps, reason = "there are those without one, too")]
fn tenant(name: &str) -> Tenant {
    Some(name.into())
}

fn governor(limits: TenantLimits, max_waiting: usize) -> (Governor, Instant) {
    #[expect(clippy::disallowed_methods, reason = "a time to count from")]
    let now = Instant::now();
    (Governor::new(limits, max_waiting), now)
}

fn one_at_a_time() -> TenantLimits {
    TenantLimits {
        concurrent_requests: Some(1),
        ..TenantLimits::default()
    }
}

fn ticket(entry: Result<Entry, Refused>) -> Ticket {
    match entry {
        Ok(Entry::Waits { ticket, .. }) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bucket_holds_what_comes_in_a_second_and_says_when_there_is_more() {
    let limits = TenantLimits {
        requests_per_second: Some(3),
        ..TenantLimits::default()
    };
    let (mut governor, now) = governor(limits, 0);
    let busy = tenant("busy");
    for _ in 0..3 {
        assert_eq!(governor.arrive(&busy, 0, now), Ok(()));
    }
    let refused = governor.arrive(&busy, 0, now).unwrap_err();
    assert_eq!(refused.limit, Limit::RequestsPerSecond);
    let third = Duration::from_nanos(333_333_332);
    assert_eq!(refused.retry_after, third);
    // What was refused costs nothing, and others are not asked to wait.
    assert_eq!(governor.arrive(&tenant("other"), 0, now), Ok(()));
    assert_eq!(governor.arrive(&busy, 0, now + third), Ok(()));
    assert!(governor.arrive(&busy, 0, now + third).is_err());
    let later = now + Duration::from_secs(60);
    for _ in 0..3 {
        assert_eq!(governor.arrive(&busy, 0, later), Ok(()));
    }
    assert!(governor.arrive(&busy, 0, later).is_err());
}

#[test]
fn bytes_count_until_they_are_given_back_and_one_alone_is_let_through() {
    let limits = TenantLimits {
        bytes_in_flight: Some(100),
        ..TenantLimits::default()
    };
    let (mut governor, now) = governor(limits, 0);
    let one = tenant("one");
    assert_eq!(governor.arrive(&one, 500, now), Ok(()));
    assert_eq!(governor.arrive(&one, 1, now), Err(Limit::BytesInFlight.refusal()));
    assert_eq!(governor.arrive(&None, 1, now), Ok(()));
    governor.give_back(&one, 500, now);
    assert_eq!(governor.arrive(&one, 60, now), Ok(()));
    assert_eq!(governor.arrive(&one, 40, now), Ok(()));
    governor.grow(&one, 30);
    assert!(governor.arrive(&one, 0, now).is_err());
    governor.give_back(&one, 130, now);
    governor.give_back(&None, 1, now);
    assert!(governor.records.is_empty());
}

#[test]
fn those_of_a_tenant_run_in_order_and_nobody_waits_for_others() {
    let (mut governor, now) = governor(one_at_a_time(), 10);
    let (greedy, quiet) = (tenant("greedy"), tenant("quiet"));
    assert_eq!(governor.enter(&greedy), Ok(Entry::Runs));
    let tickets: Vec<_> = (0..3).map(|_| ticket(governor.enter(&greedy))).collect();
    assert_eq!(governor.enter(&quiet), Ok(Entry::Runs));
    governor.forsake(&greedy, tickets[1], now);
    assert_eq!(governor.leave(&greedy, now), Some(tickets[0]));
    assert_eq!(governor.leave(&greedy, now), Some(tickets[2]));
    assert_eq!(governor.leave(&greedy, now), None);
    assert_eq!(governor.leave(&quiet, now), None);
    assert!(governor.records.is_empty() && governor.queues.is_empty());
    assert_eq!(governor.waiting(), 0);
}

#[test]
fn whoever_has_the_most_waiting_makes_room_for_others_and_gets_none_itself() {
    let (mut governor, now) = governor(one_at_a_time(), 3);
    let (greedy, quiet) = (tenant("greedy"), tenant("quiet"));
    for one in [&greedy, &quiet] {
        assert_eq!(governor.enter(one), Ok(Entry::Runs));
    }
    let tickets: Vec<_> = (0..3).map(|_| ticket(governor.enter(&greedy))).collect();
    let refused = Err(Limit::ConcurrentRequests.refusal());
    assert_eq!(governor.enter(&greedy), refused);
    let entry = governor.enter(&quiet).unwrap();
    assert!(matches!(entry, Entry::Waits { displaced: Some(newest), .. } if newest == tickets[2]));
    // Two wait of the one and one of the other: to swap them would help nobody.
    assert_eq!(governor.enter(&quiet), refused);
    assert_eq!(governor.waiting(), 3);
    let figures = governor.figures(10, now);
    assert_eq!(figures[0].refused, 2);
    assert_eq!((figures[1].waiting, figures[1].refused), (1, 1));
}

#[test]
fn connections_are_counted_by_tenant() {
    let limits = TenantLimits {
        connections: Some(1),
        ..TenantLimits::default()
    };
    let (mut governor, now) = governor(limits, 0);
    let one = tenant("one");
    assert_eq!(governor.connect(&one), Ok(()));
    assert_eq!(governor.connect(&one), Err(Limit::Connections.refusal()));
    assert_eq!(governor.connect(&tenant("two")), Ok(()));
    governor.disconnect(&one, now);
    assert_eq!(governor.connect(&one), Ok(()));
}

#[test]
fn a_hundred_thousand_tenants_that_come_and_go_leave_nothing() {
    let limits = TenantLimits {
        requests_per_second: Some(5),
        concurrent_requests: Some(1),
        ..TenantLimits::default()
    };
    let (mut governor, mut now) = governor(limits, 100);
    let mut most = 0;
    for number in 0..100_000 {
        let one = tenant(&number.to_string());
        now += Duration::from_millis(1);
        assert_eq!(governor.arrive(&one, 10, now), Ok(()));
        assert_eq!(governor.enter(&one), Ok(Entry::Runs));
        assert_eq!(governor.leave(&one, now), None);
        governor.give_back(&one, 10, now);
        most = most.max(governor.records.len());
    }
    // One request of five a second comes back in a fifth of a second.
    assert!(most <= 201, "{most}");
    assert!(governor.figures(10, now + BUCKET).is_empty());
    assert!(governor.records.is_empty() && governor.refilling.is_empty());
}

#[test]
fn figures_are_of_those_who_take_the_most_when_there_are_many() {
    let (mut governor, now) = governor(TenantLimits::default(), 0);
    for number in 0..10 {
        let one = tenant(&number.to_string());
        for _ in 0..=number {
            assert_eq!(governor.connect(&one), Ok(()));
        }
    }
    let told: Vec<_> = governor
        .figures(3, now)
        .into_iter()
        .map(|one| (one.tenant.unwrap().to_string(), one.connections))
        .collect();
    let expected = [("7", 8), ("8", 9), ("9", 10)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(told, expected);
}

#[derive(Clone, Debug)]
enum Step {
    Enter(usize),
    Leave(usize),
    Forsake(usize, usize),
    Arrive(usize, usize),
    GiveBack(usize),
    Connect(usize),
    Disconnect(usize),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let of = 0..4_usize;
    proptest::collection::vec(
        prop_oneof![
            4 => of.clone().prop_map(Step::Enter),
            3 => of.clone().prop_map(Step::Leave),
            1 => (of.clone(), 0..6_usize).prop_map(|(of, place)| Step::Forsake(of, place)),
            2 => (of.clone(), 0..60_usize).prop_map(|(of, bytes)| Step::Arrive(of, bytes)),
            2 => of.clone().prop_map(Step::GiveBack),
            1 => of.clone().prop_map(Step::Connect),
            1 => of.prop_map(Step::Disconnect),
            1 => (0..400_u64).prop_map(Step::Pass),
        ],
        0..200,
    )
}

/// One tenant as a plain list of what it has.
#[derive(Default)]
struct Model {
    running: usize,
    waiting: Vec<Ticket>,
    connections: usize,
    bytes: Vec<usize>,
}

proptest! {
    #[test]
    fn whatever_happens_limits_hold_nobody_is_lost_and_nothing_is_left(steps in steps()) {
        const MOST: usize = 6;
        let limits = TenantLimits {
            concurrent_requests: Some(2),
            requests_per_second: Some(4),
            connections: Some(2),
            bytes_in_flight: Some(100),
        };
        let (mut governor, mut now) = governor(limits, MOST);
        let names: Vec<Tenant> = vec![None, tenant("a"), tenant("b"), tenant("\u{0}b")];
        let mut models: Vec<Model> = names.iter().map(|_| Model::default()).collect();
        for step in steps {
            match step {
                Step::Enter(of) => match governor.enter(&names[of]) {
                    Ok(Entry::Runs) => models[of].running += 1,
                    Ok(Entry::Waits { ticket, displaced }) => {
                        prop_assert_eq!(models[of].running, 2);
                        models[of].waiting.push(ticket);
                        if let Some(displaced) = displaced {
                            let greedy = models.iter_mut().find(|model| model.waiting.last() == Some(&displaced)).unwrap();
                            greedy.waiting.pop();
                        }
                    }
                    Err(_) => {
                        let all: usize = models.iter().map(|model| model.waiting.len()).sum();
                        prop_assert_eq!(all, MOST);
                        let longest = models.iter().map(|model| model.waiting.len()).max().unwrap();
                        prop_assert!(longest <= models[of].waiting.len() + 1);
                    }
                },
                Step::Leave(of) => if models[of].running > 0 {
                    let next = governor.leave(&names[of], now);
                    prop_assert_eq!(next, models[of].waiting.first().copied());
                    if next.is_some() {
                        models[of].waiting.remove(0);
                    } else {
                        models[of].running -= 1;
                    }
                },
                Step::Forsake(of, place) => if place < models[of].waiting.len() {
                    let ticket = models[of].waiting.remove(place);
                    governor.forsake(&names[of], ticket, now);
                },
                Step::Arrive(of, bytes) => {
                    let before: usize = models[of].bytes.iter().sum();
                    if governor.arrive(&names[of], bytes, now).is_ok() {
                        prop_assert!(before == 0 || before + bytes <= 100);
                        models[of].bytes.push(bytes);
                    }
                }
                Step::GiveBack(of) => if let Some(bytes) = models[of].bytes.pop() {
                    governor.give_back(&names[of], bytes, now);
                },
                Step::Connect(of) => {
                    let has_room = models[of].connections < 2;
                    prop_assert_eq!(governor.connect(&names[of]).is_ok(), has_room);
                    models[of].connections += usize::from(has_room);
                }
                Step::Disconnect(of) => if models[of].connections > 0 {
                    models[of].connections -= 1;
                    governor.disconnect(&names[of], now);
                },
                Step::Pass(millis) => now += Duration::from_millis(millis),
            }
            for (name, model) in names.iter().zip(&models) {
                let record = governor.records.get(name);
                prop_assert_eq!(record.map_or(0, |record| record.running), model.running);
                prop_assert_eq!(record.map_or(0, |record| record.waiting.len()), model.waiting.len());
                prop_assert!(model.running <= 2 && (model.waiting.is_empty() || model.running == 2));
            }
            let all: usize = models.iter().map(|model| model.waiting.len()).sum();
            prop_assert_eq!(governor.waiting(), all);
            prop_assert!(all <= MOST);
        }
        for (name, model) in names.iter().zip(&mut models) {
            for bytes in model.bytes.drain(..) {
                governor.give_back(name, bytes, now);
            }
            for _ in 0..model.connections {
                governor.disconnect(name, now);
            }
            while model.running > 0 {
                if governor.leave(name, now).is_none() {
                    model.running -= 1;
                }
            }
        }
        prop_assert!(governor.figures(9, now + BUCKET * 2).is_empty());
        prop_assert!(governor.records.is_empty() && governor.queues.is_empty() && governor.refilling.is_empty());
    }
}
