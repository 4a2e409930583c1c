use super::*;
use proptest::prelude::*;

fn queue(slots: u32) -> (Queue, Slots) {
    let queue = Queue::new();
    let slots = queue.add_runtime(Some(slots));
    (queue, slots)
}

fn quota(running: Option<u32>, waiting: u32) -> Quota {
    Quota {
        running,
        waiting,
        ..Quota::default()
    }
}

/// Enters the queue with the default quota and without a cost.
fn enter(queue: &Queue, slots: &Slots, tenant: &str) -> Ticket {
    let entered = queue.enter(slots, tenant, &Quota::default(), Cost::default());
    entered.unwrap()
}

fn has_started(ticket: &mut Ticket) -> bool {
    matches!(ticket.started.try_recv(), Ok(Ok(())))
}

#[test]
fn a_tenant_with_many_waiting_runs_delays_another_by_the_rest_of_one_run() {
    let (queue, slots) = queue(1);
    let mut running = enter(&queue, &slots, "busy");
    assert!(has_started(&mut running));
    let mut busy: Vec<Ticket> = (0..1000).map(|_| enter(&queue, &slots, "busy")).collect();
    for _ in 0..3 {
        let mut quiet = enter(&queue, &slots, "quiet");
        drop(running);
        assert!(has_started(&mut quiet));
        // It just had its turn, also if it comes back before its slot is free.
        quiet.slot.set_ended();
        let mut again = enter(&queue, &slots, "quiet");
        drop(quiet);
        assert!(has_started(&mut busy[0]) && !has_started(&mut again));
        running = busy.remove(0);
    }
}

#[test]
fn a_tenant_that_started_after_others_had_their_turn_does_not_precede_a_new_one_twice() {
    let (queue, slots) = queue(1);
    let first = enter(&queue, &slots, "first");
    let mut running = enter(&queue, &slots, "busy");
    drop(first);
    assert!(has_started(&mut running));
    let _busy: Vec<Ticket> = (0..10).map(|_| enter(&queue, &slots, "busy")).collect();
    let mut quiet = enter(&queue, &slots, "quiet");
    drop(running);
    assert!(has_started(&mut quiet));
}

#[test]
fn new_tenants_that_keep_coming_do_not_starve_one_that_had_its_turn() {
    let (queue, slots) = queue(1);
    let mut current = enter(&queue, &slots, "old");
    assert!(has_started(&mut current));
    let mut old = enter(&queue, &slots, "old");
    let mut next = enter(&queue, &slots, "new-0");
    // Three tenants wait at any time.
    for number in 1..=2 * 3 {
        let following = enter(&queue, &slots, &format!("new-{number}"));
        drop(current);
        if has_started(&mut old) {
            return;
        }
        assert!(has_started(&mut next));
        current = std::mem::replace(&mut next, following);
    }
    panic!("it waited for more than two turns of the tenants that waited with it");
}

#[test]
fn a_tenant_that_could_not_start_for_long_does_not_catch_up() {
    let (queue, slots) = queue(2);
    let one = quota(Some(1), 10);
    let enter_limited = || {
        queue
            .enter(&slots, "limited", &one, Cost::default())
            .unwrap()
    };
    let (mut running, mut limited) = (enter_limited(), enter_limited());
    assert!(has_started(&mut running));
    let mut other = enter(&queue, &slots, "other");
    for _ in 0..10 {
        let next = enter(&queue, &slots, "other");
        drop(std::mem::replace(&mut other, next));
        assert!(has_started(&mut other));
    }
    let mut waiting = enter(&queue, &slots, "other");
    queue.set_quota("limited", &quota(None, 10));
    let mut second = enter(&queue, &slots, "limited");
    drop(running);
    assert!(has_started(&mut limited) && !has_started(&mut waiting));
    drop(limited);
    assert!(has_started(&mut waiting) && !has_started(&mut second));
}

#[test]
fn tenants_take_turns() {
    let (queue, slots) = queue(1);
    let mut current = enter(&queue, &slots, "first");
    assert!(has_started(&mut current));
    let order = ["a", "a", "a", "b", "b", "c"];
    let mut waiting: Vec<(&str, Ticket)> = order
        .iter()
        .map(|tenant| (*tenant, enter(&queue, &slots, tenant)))
        .collect();
    let mut started = Vec::new();
    while !waiting.is_empty() {
        drop(current);
        let next = waiting
            .iter_mut()
            .position(|(_, ticket)| has_started(ticket));
        let (tenant, ticket) = waiting.remove(next.unwrap());
        started.push(tenant);
        current = ticket;
    }
    assert_eq!(started, ["a", "b", "c", "a", "b", "a"]);
}

#[test]
fn a_quota_holds_for_all_runtimes_and_frees_itself() {
    let queue = Queue::new();
    let (python, native) = (queue.add_runtime(Some(8)), queue.add_runtime(Some(8)));
    let two = quota(Some(2), 10);
    let enter = |slots: &Slots| queue.enter(slots, "a", &two, Cost::default()).unwrap();
    let (mut first, mut second, mut third) = (enter(&python), enter(&native), enter(&python));
    assert!(has_started(&mut first) && has_started(&mut second));
    assert!(!has_started(&mut third));
    // Another tenant is not concerned.
    let other = queue.enter(&python, "b", &two, Cost::default());
    assert!(has_started(&mut other.unwrap()));
    drop(second);
    assert!(has_started(&mut third));
}

#[test]
fn memory_and_cpu_time_in_flight_are_limited() {
    let (queue, slots) = queue(8);
    let quota = Quota {
        memory: Some(100),
        cpu_time: Some(Duration::from_secs(10)),
        ..Quota::default()
    };
    let enter = |memory, seconds| {
        let cpu_time = Duration::from_secs(seconds);
        queue.enter(&slots, "a", &quota, Cost { memory, cpu_time })
    };
    let mut first = enter(60, 1).unwrap();
    let mut large = enter(60, 1).unwrap();
    let mut small = enter(10, 1).unwrap();
    assert!(has_started(&mut first));
    // A small one does not overtake a large one.
    assert!(!has_started(&mut large) && !has_started(&mut small));
    drop(first);
    assert!(has_started(&mut large) && has_started(&mut small));
    let mut long = enter(1, 9).unwrap();
    assert!(!has_started(&mut long));
    drop(large);
    assert!(has_started(&mut long));
    for (memory, seconds, expected) in [(101, 1, "memory"), (1, 11, "cpu_time")] {
        let refused = enter(memory, seconds).unwrap_err();
        assert!(matches!(refused, Rejected::TooLarge { what } if what == expected));
    }
}

#[test]
fn a_full_queue_refuses_and_a_run_that_gives_up_makes_room() {
    let (queue, slots) = queue(1);
    let quota = quota(None, 2);
    let enter = || queue.enter(&slots, "a", &quota, Cost::default());
    let running = enter().unwrap();
    let (mut first, second) = (enter().unwrap(), enter().unwrap());
    let Rejected::Waiting { retry_after } = enter().unwrap_err() else {
        panic!("it is not too large");
    };
    assert_eq!(retry_after, RETRY_AFTER.0);
    drop(second);
    let mut third = enter().unwrap();
    assert!(matches!(enter(), Err(Rejected::Waiting { .. })));
    // A queue for nobody still lets a run start.
    let none = Quota {
        waiting: 0,
        ..Quota::default()
    };
    assert!(matches!(
        queue.enter(&slots, "b", &none, Cost::default()),
        Err(Rejected::Waiting { .. })
    ));
    drop(running);
    assert!(has_started(&mut first));
    drop(first);
    assert!(has_started(&mut third));
    drop(third);
    let mut alone = queue.enter(&slots, "b", &none, Cost::default()).unwrap();
    assert!(has_started(&mut alone));
}

#[test]
fn a_tenant_keeps_its_turn_while_its_runtime_is_full() {
    let queue = Queue::new();
    let (python, javascript) = (queue.add_runtime(Some(1)), queue.add_runtime(Some(1)));
    let mut running_python = enter(&queue, &python, "c");
    let mut running_javascript = enter(&queue, &javascript, "b");
    let mut first = enter(&queue, &python, "a");
    for _ in 0..3 {
        let (mut next_python, mut next_javascript) =
            (enter(&queue, &python, "c"), enter(&queue, &javascript, "b"));
        drop(running_javascript);
        assert!(has_started(&mut next_javascript));
        running_javascript = next_javascript;
        drop(running_python);
        if has_started(&mut first) {
            return;
        }
        assert!(has_started(&mut next_python));
        running_python = next_python;
    }
    panic!("it waited for more than one turn of each other tenant");
}

#[test]
fn a_quota_that_is_raised_starts_waiting_runs_and_one_that_is_lowered_stops_none() {
    let (queue, slots) = queue(8);
    let large = Cost {
        memory: 100,
        cpu_time: Duration::ZERO,
    };
    let with = |running, memory| Quota {
        memory: Some(memory),
        ..quota(running, 10)
    };
    let enter = || {
        queue
            .enter(&slots, "a", &with(Some(1), 100), large)
            .unwrap()
    };
    let (first, mut second, mut third) = (enter(), enter(), enter());
    assert!(!has_started(&mut second));
    queue.set_quota("a", &with(Some(2), 200));
    assert!(has_started(&mut second) && !has_started(&mut third));
    // None of them fits any more; the one that waits runs alone.
    queue.set_quota("a", &with(Some(2), 50));
    drop(first);
    assert!(!has_started(&mut third));
    drop(second);
    assert!(has_started(&mut third));
}

#[test]
fn a_run_that_is_torn_down_counts_for_no_quota_but_keeps_its_slot() {
    let (queue, slots) = queue(2);
    let quota = quota(Some(1), 0);
    let enter = || queue.enter(&slots, "a", &quota, Cost::default());
    let mut first = enter().unwrap();
    assert!(matches!(enter(), Err(Rejected::Waiting { .. })));
    first.slot.set_ended();
    let mut second = enter().unwrap();
    assert!(has_started(&mut second));
    // The quota is used up again, whatever is being torn down.
    assert!(matches!(enter(), Err(Rejected::Waiting { .. })));
    second.slot.set_ended();
    // No slot is free, but two will be. Whoever comes third would wait in the queue.
    let mut third = enter().unwrap();
    let mut fourth = enter().unwrap();
    assert!(!has_started(&mut third) && !has_started(&mut fourth));
    assert!(matches!(enter(), Err(Rejected::Waiting { .. })));
    drop(first);
    assert!(has_started(&mut third) && !has_started(&mut fourth));
    drop((second, third));
    assert!(has_started(&mut fourth));
}

#[test]
fn nothing_is_left_of_a_tenant_without_runs() {
    let (queue, slots) = queue(1);
    let tickets: Vec<Ticket> = (0..100)
        .map(|number| enter(&queue, &slots, &format!("tenant-{number}")))
        .collect();
    drop(tickets);
    let state = lock(&queue.0);
    assert_eq!((state.tenants.len(), state.rejected.len()), (0, 0));
    assert_eq!(state.runtimes[0].free, 1);
}

#[test]
fn a_runtime_that_is_full_does_not_hold_up_another() {
    let queue = Queue::new();
    let (python, native) = (queue.add_runtime(Some(1)), queue.add_runtime(Some(1)));
    let _running = enter(&queue, &python, "a");
    let mut waiting = enter(&queue, &python, "a");
    let mut other = enter(&queue, &native, "a");
    assert!(!has_started(&mut waiting));
    assert!(has_started(&mut other));
}

#[tokio::test]
async fn waiting_runs_of_a_tenant_that_may_run_nothing_any_more_are_refused() {
    let (queue, slots) = queue(1);
    let running = enter(&queue, &slots, "a");
    let (waiting, dropped) = (enter(&queue, &slots, "a"), enter(&queue, &slots, "a"));
    let mut other = enter(&queue, &slots, "b");
    queue.set_quota("a", &quota(Some(0), 10));
    let waited = waiting.wait(&slots, &mut None).await.unwrap();
    let Waited::Rejected(Rejected::TooLarge { what: "running" }) = waited else {
        panic!("it was not refused");
    };
    drop(dropped);
    assert!(!has_started(&mut other));
    drop(running);
    assert!(has_started(&mut other));
    drop(other);
    let state = lock(&queue.0);
    assert_eq!((state.tenants.len(), state.rejected.len()), (0, 0));
    assert_eq!(state.runtimes[0].free, 1);
}

/// What happens to a queue, in the property below.
#[derive(Debug, Clone)]
enum Step {
    /// A run of one of some tenants comes.
    Enter(u8),
    /// A run of a tenant comes that never had one.
    EnterNew,
    /// A run that has a slot ends.
    End(prop::sample::Index),
    /// A waiting run gives up.
    GiveUp(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5u8).prop_map(Step::Enter),
        1 => Just(Step::EnterNew),
        4 => any::<prop::sample::Index>().prop_map(Step::End),
        1 => any::<prop::sample::Index>().prop_map(Step::GiveUp),
    ]
}

/// A waiting run, and what has happened since it is the next one of its tenant.
struct Watched {
    tenant: String,
    ticket: Ticket,
    /// Whether its tenant was unknown when it came.
    is_new: bool,
    /// The runs of others that started, by tenant.
    passed: HashMap<String, usize>,
    /// The most tenants that waited at once.
    most: usize,
}

proptest! {
    #[test]
    fn no_tenant_waits_for_more_than_its_turn(
        slots in 1..4u32,
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let (queue, slots) = queue(slots);
        let mut waiting: Vec<Watched> = Vec::new();
        let mut running: Vec<Ticket> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Enter(_) | Step::EnterNew => {
                    let tenant = match step {
                        Step::Enter(tenant) => format!("tenant-{tenant}"),
                        _ => format!("new-{number}"),
                    };
                    let is_new = !lock(&queue.0).tenants.contains_key(&*tenant);
                    let ticket = enter(&queue, &slots, &tenant);
                    let (passed, most) = (HashMap::new(), 0);
                    waiting.push(Watched { tenant, ticket, is_new, passed, most });
                }
                Step::End(index) if !running.is_empty() => {
                    running.swap_remove(index.index(running.len()));
                }
                Step::GiveUp(index) if !waiting.is_empty() => {
                    waiting.remove(index.index(waiting.len()));
                }
                Step::End(_) | Step::GiveUp(_) => {}
            }
            while let Some(place) = waiting.iter_mut().position(|run| has_started(&mut run.ticket)) {
                let started = waiting.remove(place);
                // In one tenant, the oldest comes first.
                prop_assert!(waiting[..place].iter().all(|run| run.tenant != started.tenant));
                if started.is_new {
                    prop_assert!(started.passed.values().all(|count| *count <= 1), "{:?}", started.passed);
                }
                let passed: usize = started.passed.values().sum();
                prop_assert!(passed <= 2 * started.most, "{passed} of {}", started.most);
                for run in &mut waiting {
                    if run.tenant == started.tenant {
                        run.passed.clear();
                        (run.is_new, run.most) = (false, 0);
                    } else {
                        *run.passed.entry(started.tenant.clone()).or_default() += 1;
                    }
                }
                running.push(started.ticket);
            }
            let free = lock(&queue.0).runtimes[0].free;
            prop_assert!(free == 0 || waiting.is_empty(), "a slot is unused");
            let tenants: HashSet<&str> = waiting.iter().map(|run| run.tenant.as_str()).collect();
            let count = tenants.len();
            for run in &mut waiting {
                run.most = run.most.max(count);
            }
        }
        drop((waiting, running));
        prop_assert!(lock(&queue.0).tenants.is_empty());
    }
}
