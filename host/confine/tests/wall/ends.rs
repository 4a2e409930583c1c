//! Host, watcher and worker end together.

use crate::worker::{Files, Worker, pair, receive, send, start};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::os::fd::OwnedFd;

/// Handles on both processes, and a wait for their ends.
struct Ends([OwnedFd; 2]);

impl Ends {
    fn of((watcher, worker): (u32, u32)) -> Self {
        let open = |id: u32| {
            let id = Pid::from_raw(id.cast_signed()).unwrap();
            pidfd_open(id, PidfdFlags::empty()).unwrap()
        };
        Self([open(watcher), open(worker)])
    }

    /// Waits until both have ended. The time is only there to fail instead of hanging.
    fn wait(&self) {
        for process in &self.0 {
            let mut events = [PollFd::new(process, PollFlags::IN)];
            let minute = rustix::time::Timespec {
                tv_sec: 60,
                tv_nsec: 0,
            };
            assert_eq!(poll(&mut events, Some(&minute)), Ok(1), "it goes on");
        }
    }
}

pub(crate) fn closed_socket() {
    let mut worker = Worker::bare();
    let ends = Ends::of(worker.ids());
    let (other, _) = pair();
    // What was sent before is not read by the watcher, and does not keep it alive.
    send(&worker.socket, "unread", &[]);
    drop(std::mem::replace(&mut worker.socket, other));
    ends.wait();
}

/// Starts a worker, says so, and waits for its own end.
pub(crate) fn be_a_host() {
    use std::io::stdin;
    let worker = Worker::bare();
    let (watcher, inner) = worker.ids();
    send(stdin(), &format!("{watcher} {inner}"), &[]);
    let _ = receive(stdin());
}

pub(crate) fn killed_host() {
    let (socket, theirs) = pair();
    let mut host = start("wall-host", theirs).unwrap();
    let (ids, _) = receive(&socket).unwrap();
    let (watcher, worker) = ids.split_once(' ').unwrap();
    let ends = Ends::of((watcher.parse().unwrap(), worker.parse().unwrap()));
    host.kill().unwrap();
    host.wait().unwrap();
    ends.wait();
}

pub(crate) fn killed_watcher() {
    let worker = Worker::bare();
    let ids = worker.ids();
    let ends = Ends::of(ids);
    let watcher = Pid::from_raw(ids.0.cast_signed()).unwrap();
    kill_process(watcher, Signal::KILL).unwrap();
    ends.wait();
}

pub(crate) fn ends() {
    let files = Files::make();
    let end = |request| Worker::start(&files).attempt(request);
    assert_eq!(end("exit 7"), "exited with 7");
    assert_eq!(end("exit 0"), "exited with 0");
    assert_eq!(
        end("fork"),
        if cfg!(target_arch = "x86_64") {
            "killed by SIGSYS"
        } else {
            "unknown"
        }
    );
    let mut worker = Worker::start(&files);
    let inner = Pid::from_raw(worker.ids().1.cast_signed()).unwrap();
    kill_process(inner, Signal::KILL).unwrap();
    assert_eq!(worker.attempt("list /"), "killed by signal 9");
}
