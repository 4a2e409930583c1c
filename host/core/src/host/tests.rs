//! What the host records about runs that it no longer waits for.

use super::{Host, Settings};
use crate::approval::Approvals;
use crate::audit::AuditLog;
use crate::clock::Clock;
use crate::decision::{Decision, Permit};
use crate::policy::Policy;
use crate::request::Request;
use crate::skill::Skill;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

/// A host with this log, and a skill with an empty script `a.sh`.
async fn host_and_skill(folder: &Path, audit: AuditLog) -> (Host, Arc<Skill>) {
    let skill = folder.join("skill");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\ndescription: d\n---\n").unwrap();
    std::fs::write(skill.join("scripts/a.sh"), "").unwrap();
    let host = Host::new(Settings {
        cache: folder.join("cache"),
        audit,
        approvals: Approvals::memory(),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    let skill = host.load_skill(skill).await.unwrap();
    (host, skill)
}

async fn permitted(host: &Host, skill: &Arc<Skill>) -> Permit {
    let request = Request::typed(skill, "a.sh");
    let decision = host.decide(&Policy::default(), request).await.unwrap();
    let Decision::Permitted(permit) = decision else {
        panic!("{decision:?}");
    };
    permit
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_recorded_as_aborted_after_its_start_even_if_that_is_still_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let (writes, written) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let (released, lines) = (Mutex::new(released), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&lines);
    let audit = AuditLog::sink(move |line| {
        let line: serde_json::Value = serde_json::from_slice(line)?;
        if line["event"] == "started" {
            writes.send(()).map_err(std::io::Error::other)?;
            let released = released.lock().unwrap().recv();
            released.map_err(std::io::Error::other)?;
        }
        log.lock().unwrap().push(line["event"].clone());
        Ok(())
    });
    let (host, skill) = host_and_skill(folder.path(), audit).await;
    let permit = permitted(&host, &skill).await;
    let run = host.start(permit);
    let written = tokio::task::spawn_blocking(move || written.recv());
    written.await.unwrap().unwrap();
    let aborting = host.clone();
    let aborting = tokio::task::spawn_blocking(move || aborting.abort_runs());
    while !host.inner.running().is_empty() {
        tokio::task::yield_now().await;
    }
    release.send(()).unwrap();
    aborting.await.unwrap();
    run.wait().await.unwrap();
    assert_eq!(*lines.lock().unwrap(), ["started", "aborted"]);
}

/// Stops when it is asked for the time of the second line of a log, until it is released.
#[derive(Debug)]
struct StopAtSecondLine {
    lines: AtomicUsize,
    reached: mpsc::Sender<()>,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Clock for StopAtSecondLine {
    fn now(&self) -> SystemTime {
        if self.lines.fetch_add(1, Ordering::SeqCst) == 1 {
            self.reached.send(()).unwrap();
            self.released.lock().unwrap().recv().unwrap();
        }
        SystemTime::now()
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_aborted_as_long_as_its_last_line_is_not_queued() {
    let folder = tempfile::tempdir().unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let audit = AuditLog::sink(move |line| {
        let line: serde_json::Value = serde_json::from_slice(line)?;
        log.lock().unwrap().push(line["event"].clone());
        Ok(())
    });
    let (reached, is_reached) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let clock = Arc::new(StopAtSecondLine {
        lines: AtomicUsize::new(0),
        reached,
        released: Mutex::new(released),
    });
    let (host, skill) = host_and_skill(folder.path(), audit.clock(clock)).await;
    let permit = permitted(&host, &skill).await;
    let run = host.start(permit);
    let is_reached = tokio::task::spawn_blocking(move || is_reached.recv());
    is_reached.await.unwrap().unwrap();
    // The script has ended, and the line that says so is rendered.
    let aborting = host.clone();
    let aborting = tokio::task::spawn_blocking(move || aborting.abort_runs());
    aborting.await.unwrap();
    assert_eq!(*lines.lock().unwrap(), ["started", "aborted"]);
    release.send(()).unwrap();
    let outcome = run.wait().await.unwrap();
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(*lines.lock().unwrap(), ["started", "aborted"]);
}
