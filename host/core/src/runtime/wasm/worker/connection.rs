//! The connection to the host, as a worker uses it.

use super::wire::{
    CLOSED, DENIED, Denied, FromHost, SCRATCH, STDERR, STDOUT, decode, encode, hint_number,
    send_frame,
};
use crate::outcome::Denial;
use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncWrite, Interest};
use tokio::net::UnixStream;
use tokio::sync::{Notify, mpsc, oneshot};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that a guest may write in one call.
const MAX_WRITE: usize = 64 * 1024;

/// The socket of a worker, and what has arrived on it.
pub(super) struct Connection {
    socket: UnixStream,
    incoming: Mutex<FromHost>,
}

impl Connection {
    /// Must be called inside a tokio runtime.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: UnixStream::from_std(socket)?,
            incoming: Mutex::default(),
        })
    }

    /// Sends a frame. Waits while the host does not read: during a run it always does, also after the deadline.
    pub(super) fn send(&self, kind: u8, payload: &[u8]) -> io::Result<()> {
        send_frame(&self.socket, kind, payload, &[], None)
    }

    /// The next frame of the host; `None` if it is gone.
    pub(super) async fn next_frame(&self) -> io::Result<Option<(u8, Bytes)>> {
        loop {
            if let Some(frame) = self.incoming().next()? {
                return Ok(Some(frame));
            }
            self.socket.readable().await?;
            let read = || self.incoming().read(&self.socket);
            match self.socket.try_io(Interest::READABLE, read) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next handle that came with a frame.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        self.incoming().handle()
    }

    fn incoming(&self) -> MutexGuard<'_, FromHost> {
        let incoming = self.incoming.lock();
        incoming.unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a run needs of the connection.
pub(super) struct RunConnection {
    connection: Arc<Connection>,
    denied: Mutex<mpsc::UnboundedReceiver<Denial>>,
    stdout_is_closed: AtomicBool,
    stderr_is_closed: AtomicBool,
    has_to_stop: Notify,
}

impl RunConnection {
    pub(super) fn new(
        connection: &Arc<Connection>,
        denied: mpsc::UnboundedReceiver<Denial>,
    ) -> Arc<Self> {
        Arc::new(Self {
            connection: Arc::clone(connection),
            denied: Mutex::new(denied),
            stdout_is_closed: AtomicBool::new(false),
            stderr_is_closed: AtomicBool::new(false),
            has_to_stop: Notify::new(),
        })
    }

    /// Does what the host says during the run: drops `stop` when the guest has to stop, and closes streams.
    pub(super) async fn follow(&self, stop: oneshot::Sender<()>) -> Infallible {
        tokio::select! {
            () = self.has_to_stop.notified() => {}
            () = self.frames() => {}
        }
        drop(stop);
        std::future::pending().await
    }

    /// Returns when the host wants the guest to stop, or is gone.
    async fn frames(&self) {
        while let Ok(Some((kind, payload))) = self.connection.next_frame().await {
            if !self.obey(kind, &payload) {
                return;
            }
        }
    }

    /// Does what a frame says; returns false if the guest has to stop.
    fn obey(&self, kind: u8, payload: &[u8]) -> bool {
        match (kind, payload.first()) {
            (CLOSED, Some(&STDOUT)) => self.stdout_is_closed.store(true, Ordering::Relaxed),
            (CLOSED, _) => self.stderr_is_closed.store(true, Ordering::Relaxed),
            // Nothing else is sent during a run.
            _ => return false,
        }
        true
    }

    /// Asks the host for the scratch directory of the run, and waits for it. Called on the thread of the guest.
    pub(super) fn request_scratch(&self) -> io::Result<OwnedFd> {
        self.connection.send(SCRATCH, b"")?;
        loop {
            let mut incoming = self.connection.incoming();
            while let Some((kind, payload)) = incoming.next()? {
                if kind == SCRATCH {
                    return match payload.is_empty() {
                        true => incoming.handle(),
                        false => Err(io::Error::from_raw_os_error(decode(&payload)?)),
                    };
                }
                if !self.obey(kind, &payload) {
                    self.has_to_stop.notify_one();
                }
            }
            match incoming.read(&self.connection.socket) {
                Ok(true) => {}
                Ok(false) => {
                    self.has_to_stop.notify_one();
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let socket = PollFd::new(&self.connection.socket, PollFlags::IN);
                    match poll(&mut [socket], None) {
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reports what was denied since the last call, before the output that may be about it.
    pub(super) fn pass_on_denials(&self) -> io::Result<()> {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(denial) = denied.try_recv() {
            self.connection.send(DENIED, &encode(&wired(denial))?)?;
        }
        Ok(())
    }
}

pub(super) fn wired(denial: Denial) -> Denied {
    Denied {
        grant: denial.grant,
        count: denial.count,
        hint: denial.hint.map(hint_number),
    }
}

/// An output stream of the guest, as frames.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) run: Arc<RunConnection>,
    /// [`STDOUT`] or [`STDERR`].
    pub(super) kind: u8,
}

impl Stream {
    fn is_closed(&self) -> bool {
        match self.kind {
            STDERR => self.run.stderr_is_closed.load(Ordering::Relaxed),
            _ => self.run.stdout_is_closed.load(Ordering::Relaxed),
        }
    }
}

impl IsTerminal for Stream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stream {
    /// Only guests of a later WASI call this; all of ours use `p2_stream`.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > MAX_WRITE {
            return Err(StreamError::trap("write beyond what check-write allowed"));
        }
        if self.is_closed() {
            return Err(StreamError::Closed);
        }
        // Fails if the host is gone.
        let sent = self.run.pass_on_denials();
        let sent = sent.and_then(|()| self.run.connection.send(self.kind, &bytes));
        sent.map_err(|_| StreamError::Closed)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        match self.is_closed() {
            true => Err(StreamError::Closed),
            false => Ok(MAX_WRITE),
        }
    }
}
