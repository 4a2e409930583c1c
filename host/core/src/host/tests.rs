//! What the host records about runs that it no longer waits for.

use super::{Host, Settings};
use crate::approval::Approvals;
use crate::audit::AuditLog;
use crate::decision::Decision;
use crate::policy::Policy;
use crate::request::Request;
use std::sync::{Arc, Mutex, mpsc};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_recorded_as_aborted_after_its_start_even_if_that_is_still_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join("skill");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\ndescription: d\n---\n").unwrap();
    std::fs::write(skill.join("scripts/a.sh"), "").unwrap();
    let (writes, written) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let (released, lines) = (Mutex::new(released), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&lines);
    let host = Host::new(Settings {
        cache: folder.path().join("cache"),
        audit: AuditLog::sink(move |line| {
            let line: serde_json::Value = serde_json::from_slice(line)?;
            if line["event"] == "started" {
                writes.send(()).map_err(std::io::Error::other)?;
                let released = released.lock().unwrap().recv();
                released.map_err(std::io::Error::other)?;
            }
            log.lock().unwrap().push(line["event"].clone());
            Ok(())
        }),
        approvals: Approvals::memory(),
        protected: vec![],
        slots: None,
    });
    let skill = host.load_skill(skill).await.unwrap();
    let request = Request::typed(&skill, "a.sh");
    let decision = host.decide(&Policy::default(), request).await.unwrap();
    let Decision::Permitted(permit) = decision else {
        panic!("{decision:?}");
    };
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
