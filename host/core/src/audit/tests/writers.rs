//! Many callers and several writers of one log, and how a writer starts, fails and ends.

use super::*;
use crate::audit::log::LogFile;
use crate::audit::writer::Writer;
use std::sync::Barrier;
use std::sync::mpsc::{Receiver, Sender, channel};

impl TestLog {
    /// A log with a writer of its own, as in another process.
    fn unshared(&self) -> AuditLog {
        AuditLog {
            writer: Writer::unshared(self.path(LOG)),
            ..self.log()
        }
    }

    fn reasons(&self) -> Vec<String> {
        let reason = |line: &String| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["reason"].as_str().unwrap().to_owned()
        };
        self.lines().iter().map(reason).collect()
    }
}

/// A log whose writer waits before each line until the test lets it continue, and the reasons that it wrote.
fn gated() -> (AuditLog, Sender<()>, Receiver<String>) {
    let (open, gate) = channel();
    let (sender, reasons) = channel();
    let gate = Mutex::new(gate);
    let log = AuditLog::sink(move |line| {
        // Opened for good when its other end is gone.
        let _ = gate.lock().unwrap().recv();
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        let reason = line["reason"].as_str().unwrap_or("aborted").to_owned();
        sender.send(reason).map_err(io::Error::other)
    });
    (log, open, reasons)
}

#[test]
fn logs_of_one_path_share_a_writer_while_one_of_them_lives() {
    let test = test_log();
    let log = test.log();
    assert!(Arc::ptr_eq(&log.writer, &test.log().rotate_at(1).writer));
    assert!(!Arc::ptr_eq(
        &log.writer,
        &AuditLog::file(test.path("other.jsonl")).writer
    ));
    let gone = Arc::downgrade(&log.writer);
    drop(log);
    assert!(gone.upgrade().is_none());
    test.add(1);
    assert_eq!(test.verify().lines, 1);
}

#[test]
fn tasks_and_threads_of_one_process_write_one_chain() {
    let test = test_log();
    let log = test.log();
    let begin = Barrier::new(9);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (log, begin) = (&log, &begin);
            scope.spawn(move || {
                begin.wait();
                for n in 0..50 {
                    write(log, &format!("thread {thread} line {n}"));
                }
            });
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..50 {
            let log = log.clone();
            let work = async move {
                for n in 0..4 {
                    log.write(refusal(&format!("task {task} line {n}")))
                        .await
                        .unwrap();
                }
            };
            tasks.spawn_on(work, runtime.handle());
        }
        begin.wait();
        runtime.block_on(tasks.join_all());
    });
    let done = test.verify();
    assert_eq!(
        (texts(&done.findings), texts(&done.notes)),
        (vec![], vec![])
    );
    assert_eq!(done.newest, Some(600));
    // The lines of each caller are in their order.
    let reasons = test.reasons();
    for caller in ["thread 3", "task 7"] {
        let its = reasons
            .iter()
            .filter(|reason| reason.starts_with(&format!("{caller} ")));
        let count = if caller.starts_with("thread") { 50 } else { 4 };
        let wanted: Vec<String> = (0..count).map(|n| format!("{caller} line {n}")).collect();
        assert!(its.eq(&wanted));
    }
}

#[test]
fn writers_that_share_only_the_files_write_one_chain() {
    let test = test_log();
    let logs: Vec<AuditLog> = (0..4).map(|_| test.unshared().rotate_at(20_000)).collect();
    let begin = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (log, begin) = (&logs[thread % 4], &begin);
            scope.spawn(move || {
                begin.wait();
                for n in 0..50 {
                    write(log, &format!("thread {thread} line {n}"));
                }
            });
        }
    });
    let done = test.verify();
    assert_eq!(
        (texts(&done.findings), texts(&done.notes)),
        (vec![], vec![])
    );
    assert_eq!((done.lines, done.newest), (400, Some(400)));
    assert!(done.files.len() > 3);
}

#[test]
fn a_log_that_another_process_locks_is_an_error_for_each_caller() {
    let test = test_log();
    let log = test.log();
    write(&log, "before");
    let mut other = LogFile::new(test.path(LOG));
    let locked = other.try_lock().unwrap();
    assert!(locked.is_some());
    let errors: Vec<String> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    log.write_blocking(refusal("never"))
                        .unwrap_err()
                        .to_string()
                })
            })
            .collect();
        // What does not write does not wait for the lock.
        log.check_writable().unwrap();
        log.check_writable().unwrap();
        callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .collect()
    });
    for error in errors {
        assert!(
            error.ends_with("audit.jsonl`: another process has held the lock for 3s"),
            "{error}"
        );
    }
    drop(locked);
    write(&log, "after");
    assert_eq!(test.reasons(), ["before", "after"]);
    assert!(test.verify().is_valid());
}

#[test]
fn posted_lines_are_written_before_a_flush_and_before_the_last_log_is_gone() {
    let test = test_log();
    let log = test.log();
    // Without a line there is nothing to wait for, and nothing is created.
    block_on(log.flush());
    log.flush_blocking();
    assert!(!test.path(LOG).exists());
    log.post(refusal("a"));
    log.flush_blocking();
    assert_eq!(test.reasons(), ["a"]);
    log.post(refusal("b"));
    block_on(log.flush());
    assert_eq!(test.reasons(), ["a", "b"]);
    log.post(refusal("c"));
    let clone = log.clone();
    drop(log);
    drop(clone);
    assert_eq!(test.reasons(), ["a", "b", "c"]);
    assert!(test.verify().is_valid());
}

#[test]
fn a_sink_that_panics_is_an_error_for_that_line_only() {
    let (sender, lines) = channel();
    let log = AuditLog::sink(move |line| {
        let text = std::str::from_utf8(line).unwrap();
        assert!(!text.contains("panics"), "as the test wants");
        sender.send(text.to_owned()).map_err(io::Error::other)
    });
    write(&log, "a");
    let error = block_on(log.write(refusal("panics"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write the audit log `-`: the sink panicked"
    );
    write(&log, "b");
    log.check_writable().unwrap();
    drop(log);
    let lines: Vec<String> = lines.iter().collect();
    assert_eq!(lines.len(), 2);
    let previous = LineHash::of(lines[0].trim_end().as_bytes());
    assert!(lines[1].ends_with(&format!(",\"previous\":\"{previous}\"}}\n")));
}

#[test]
fn a_writer_that_panics_is_an_error_for_its_callers_and_the_next_line_is_written() {
    let test = test_log();
    let log = test.log();
    write(&log, "a");
    log.writer.faults.set(|_| panic!("as the test wants"));
    let error = log.write_blocking(refusal("b")).unwrap_err().to_string();
    assert!(
        error.ends_with("audit.jsonl`: the thread that writes it panicked"),
        "{error}"
    );
    let error = block_on(log.write(refusal("c"))).unwrap_err().to_string();
    assert!(error.ends_with(" panicked"), "{error}");
    log.writer.faults.set(|_| false);
    write(&log, "d");
    assert_eq!(test.reasons(), ["a", "d"]);
    assert!(test.verify().is_valid());
}

/// The result of a line that is already written; `None` if it is not.
fn at_once(written: &mut Written) -> Option<Result<(), Error>> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(written).poll(&mut context) {
        std::task::Poll::Ready(result) => Some(result),
        std::task::Poll::Pending => None,
    }
}

#[test]
fn a_caller_that_may_block_writes_its_line_and_those_before_it() {
    let test = test_log();
    let log = test.log();
    let mut first = log.write(refusal("a"));
    let mut second = log.write(refusal("b"));
    second.write_now();
    assert_eq!(test.reasons(), ["a", "b"]);
    assert!(matches!(at_once(&mut first), Some(Ok(()))));
    assert!(matches!(at_once(&mut second), Some(Ok(()))));
    // Nothing is left to write.
    let mut third = log.write(refusal("c"));
    write(&log, "d");
    third.write_now();
    assert_eq!(test.reasons(), ["a", "b", "c", "d"]);
    assert!(test.verify().is_valid());
}

#[test]
fn a_caller_that_may_block_waits_for_no_other_process() {
    let test = test_log();
    let log = test.log();
    write(&log, "a");
    let mut other = LogFile::new(test.path(LOG));
    let locked = other.try_lock().unwrap().unwrap();
    let mut waiting = log.write(refusal("b"));
    waiting.write_now();
    assert!(at_once(&mut waiting).is_none());
    drop(locked);
    block_on(waiting).unwrap();
    assert_eq!(test.reasons(), ["a", "b"]);
}

#[test]
fn a_caller_that_may_block_does_not_write_to_a_sink() {
    let (log, gate, reasons) = gated();
    let mut waiting = log.write(refusal("a"));
    waiting.write_now();
    assert!(at_once(&mut waiting).is_none());
    drop(gate);
    block_on(waiting).unwrap();
    assert_eq!(reasons.recv().unwrap(), "a");
}

#[test]
fn a_panic_is_an_error_for_a_caller_that_writes_its_line() {
    let test = test_log();
    let log = test.log();
    log.writer.faults.set(|_| panic!("as the test wants"));
    let mut written = log.write(refusal("a"));
    written.write_now();
    assert!(matches!(at_once(&mut written), Some(Err(_))));
    log.writer.faults.set(|_| false);
    let mut written = log.write(refusal("b"));
    written.write_now();
    assert_eq!(test.reasons(), ["b"]);
    assert!(test.verify().is_valid());
}

#[test]
fn a_line_that_nobody_waits_for_is_written() {
    let test = test_log();
    let log = test.log();
    write(&log, "a");
    drop(log.write(refusal("b")));
    while test.lines().len() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(test.reasons(), ["a", "b"]);
}

#[test]
fn callers_that_write_their_lines_themselves_write_one_chain_with_all_others() {
    let test = test_log();
    let log = test.log();
    let begin = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (log, begin) = (&log, &begin);
            scope.spawn(move || {
                begin.wait();
                for n in 0..100 {
                    let reason = format!("{thread} {n}");
                    if thread % 2 == 0 {
                        write(log, &reason);
                    } else {
                        let mut written = log.write(refusal(&reason));
                        written.write_now();
                        block_on(written).unwrap();
                    }
                }
            });
        }
    });
    let done = test.verify();
    assert_eq!(
        (texts(&done.findings), texts(&done.notes)),
        (vec![], vec![])
    );
    assert_eq!(done.newest, Some(800));
}

#[test]
fn the_last_log_may_be_dropped_by_its_own_writer() {
    let (sender, dropped) = channel();
    let holder: Arc<Mutex<Option<AuditLog>>> = Arc::default();
    let held = Arc::clone(&holder);
    let log = AuditLog::sink(move |_| {
        let last = held.lock().unwrap().take();
        assert!(last.is_some());
        drop(last);
        sender.send(()).map_err(io::Error::other)
    });
    let mut first = holder.lock().unwrap();
    log.post(refusal("a"));
    *first = Some(log);
    drop(first);
    dropped.recv().unwrap();
}

#[test]
fn a_sink_that_writes_to_its_own_log_gets_an_error() {
    let holder: Arc<Mutex<Option<AuditLog>>> = Arc::default();
    let held = Arc::clone(&holder);
    let log = AuditLog::sink(move |_| {
        let own = held.lock().unwrap().take().unwrap();
        own.write_blocking(refusal("again"))
            .map_err(io::Error::other)
    });
    *holder.lock().unwrap() = Some(log.clone());
    let error = log.write_blocking(refusal("a")).unwrap_err().to_string();
    assert!(
        error.ends_with("a sink cannot write to its own log"),
        "{error}"
    );
}

#[test]
fn a_line_whose_caller_is_gone_is_still_written() {
    let (log, gate, reasons) = gated();
    {
        let waiting = std::pin::pin!(log.write(refusal("started")));
        let waker = std::task::Waker::noop();
        let mut context = std::task::Context::from_waker(waker);
        assert!(waiting.poll(&mut context).is_pending());
    }
    log.post(refusal("aborted"));
    drop(gate);
    log.flush_blocking();
    drop(log);
    assert_eq!(reasons.iter().collect::<Vec<_>>(), ["started", "aborted"]);
}

#[test]
fn more_than_the_queue_holds_is_refused_and_nothing_else() {
    let (log, gate, reasons) = gated();
    let grants = [crate::Grant::Env("X".repeat(15 << 20))];
    let long = |reason| {
        let run = RunInfo {
            grants: &grants,
            ..run_info("skill")
        };
        Event::refused(run, reason)
    };
    // The writer takes this one out of the queue and waits.
    log.post(long("0"));
    while !log.writer.is_queue_empty() {
        std::thread::yield_now();
    }
    for reason in ["1", "2", "3", "4"] {
        log.post(long(reason));
    }
    let errors = [
        log.write_blocking(long("refused")).unwrap_err(),
        block_on(log.write(long("refused"))).unwrap_err(),
    ];
    for error in errors {
        let error = error.to_string();
        assert!(
            error.ends_with("4 lines are waiting to be written"),
            "{error}"
        );
    }
    // The end of a run is queued in any case.
    let run = RunInfo {
        grants: &grants,
        ..run_info("skill")
    };
    log.post(Event::aborted(run));
    drop(gate);
    drop(log);
    let reasons: Vec<String> = reasons.iter().collect();
    assert_eq!(reasons, ["0", "1", "2", "3", "4", "aborted"]);
}

#[test]
fn a_sink_that_is_not_available_is_noticed_before_anything_is_written() {
    struct Unavailable;
    impl AuditSink for Unavailable {
        fn write(&self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }
        fn check(&self) -> io::Result<()> {
            Err(io::ErrorKind::NotConnected.into())
        }
    }
    let log = AuditLog::to(Unavailable);
    assert!(log.check_writable().is_err());
    // The twin: a function is always available.
    assert!(AuditLog::sink(|_| Ok(())).check_writable().is_ok());
}

#[test]
fn a_log_has_the_time_of_its_clock() {
    let (sender, times) = channel();
    let start = std::time::SystemTime::UNIX_EPOCH;
    let clock = Arc::new(crate::clock::ManualClock::new(start));
    let log = AuditLog::sink(move |line| {
        let line: serde_json::Value = serde_json::from_slice(line)?;
        let time = line["time"].as_str().unwrap().to_owned();
        sender.send(time).map_err(io::Error::other)
    });
    let log = log.clock(Arc::clone(&clock) as _);
    write(&log, "one");
    clock.advance(std::time::Duration::from_secs(61));
    write(&log, "two");
    let times: Vec<String> = times.try_iter().collect();
    assert_eq!(times, ["1970-01-01T00:00:00Z", "1970-01-01T00:01:01Z"]);
}
