//! How much one program may use.

use crate::event::{Event, Limited, Sink};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How much a program may use of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that it may receive, after decryption and before decompression.
    pub received: u64,
    /// Bytes that it may send, before encryption.
    pub sent: u64,
    /// Requests that it may send, and connections that it may open.
    pub requests: u64,
    /// Connections that it may have at the same time.
    pub connections: usize,
}

impl Default for Limits {
    /// What scripts of skills stay far below, and what cannot hurt this machine: nothing of it is kept in its memory.
    fn default() -> Self {
        Self {
            received: 256 << 20,
            sent: 64 << 20,
            requests: 10_000,
            // The pools of some libraries have 100 connections, and wait if they cannot have more.
            connections: 128,
        }
    }
}

/// What a program has used.
pub(crate) struct Usage {
    limits: Limits,
    received: AtomicU64,
    sent: AtomicU64,
    requests: AtomicU64,
    opened: AtomicU64,
    /// Which limits were reported.
    reported: [AtomicBool; 5],
    /// Whether something could not be recorded.
    is_stopped: AtomicBool,
    sink: Sink,
}

impl Usage {
    pub(crate) fn new(limits: Limits, sink: Sink) -> Self {
        Self {
            limits,
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            opened: AtomicU64::new(0),
            reported: Default::default(),
            is_stopped: AtomicBool::new(false),
            sink,
        }
    }

    pub(crate) fn report(&self, event: Event) {
        if !(self.sink)(event) {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
    }

    /// Counts bytes that were received; returns false if they are too many.
    pub(crate) fn add_received(&self, bytes: u64) -> bool {
        let before = self.received.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.limits.received;
        if !fits {
            self.report_once(Limited::Received);
        }
        fits
    }

    /// How many bytes may still be sent, or `None` if there are none.
    pub(crate) fn sendable(&self) -> Option<u64> {
        let sent = self.sent.load(Ordering::Relaxed);
        let left = self.limits.sent.saturating_sub(sent);
        if left == 0 {
            self.report_once(Limited::Sent);
        }
        (left > 0).then_some(left)
    }

    pub(crate) fn add_sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a request, if there may be more.
    pub(crate) fn count_request(&self) -> Result<(), Limited> {
        self.count(&self.requests)
    }

    /// Counts a connection beside `open` others, if there may be more.
    pub(crate) fn count_connection(&self, open: usize) -> Result<(), Limited> {
        if open >= self.limits.connections {
            self.report_once(Limited::Connections);
            return Err(Limited::Connections);
        }
        self.count(&self.opened)
    }

    fn count(&self, counter: &AtomicU64) -> Result<(), Limited> {
        let is_left = counter.fetch_add(1, Ordering::Relaxed) < self.limits.requests;
        let limited = match (is_left, self.is_stopped.load(Ordering::Relaxed)) {
            (true, false) => return Ok(()),
            (_, true) => Limited::Records,
            (false, _) => Limited::Requests,
        };
        self.report_once(limited);
        Err(limited)
    }

    fn report_once(&self, limited: Limited) {
        let reported = match limited {
            Limited::Received => &self.reported[0],
            Limited::Sent => &self.reported[1],
            Limited::Requests => &self.reported[2],
            Limited::Connections => &self.reported[3],
            Limited::Records => &self.reported[4],
        };
        if !reported.swap(true, Ordering::Relaxed) {
            self.report(Event::Limited(limited));
        }
    }

    /// The message for a limit.
    pub(crate) fn message(&self, limited: Limited) -> String {
        let Limits {
            received,
            sent,
            requests,
            connections,
        } = self.limits;
        match limited {
            Limited::Received => format!("a run may receive {received} bytes over the network"),
            Limited::Sent => format!("a run may send {sent} bytes over the network"),
            Limited::Requests => {
                format!("a run may send {requests} requests and open as many connections")
            }
            Limited::Records => "requests cannot be recorded any more".to_owned(),
            Limited::Connections => {
                format!("a run may have {connections} connections at the same time")
            }
        }
    }
}
