//! The body of a request, as the program writes it.

use crate::call::{Error, ErrorKind, Length};
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Bytes that are kept until the server takes them.
const MAX_QUEUED: usize = 256 << 10;

/// The body of a request; its other end has the program.
#[derive(Debug, Clone)]
pub(crate) struct Upload(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    pieces: VecDeque<Bytes>,
    queued: usize,
    /// How much of a body of known length is still to be written.
    left: Option<u64>,
    has_ended: bool,
    /// Whether nobody reads any more.
    is_abandoned: bool,
    waker: Option<Waker>,
}

impl Upload {
    pub(crate) fn new(length: Length) -> Self {
        let left = match length {
            Length::None => Some(0),
            Length::Known(bytes) => Some(bytes),
            Length::Unknown => None,
        };
        Self(Arc::new(Mutex::new(Queue {
            pieces: VecDeque::new(),
            queued: 0,
            left,
            has_ended: left == Some(0),
            is_abandoned: false,
            waker: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes as much as there is room for; returns how much.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<usize, Error> {
        let mut queue = self.lock();
        if queue.left.is_some_and(|left| left < bytes.len() as u64) {
            let why = "the body of the request is longer than its head says";
            return Err(Error::new(ErrorKind::InvalidRequest, why));
        }
        if queue.has_ended && !bytes.is_empty() {
            let why = "the body of the request has ended";
            return Err(Error::new(ErrorKind::Misuse, why));
        }
        // A server may answer before it has read everything. The rest is of no use then.
        let room = match queue.is_abandoned {
            true => bytes.len(),
            false => MAX_QUEUED - queue.queued.min(MAX_QUEUED),
        };
        let taken = &bytes[..bytes.len().min(room)];
        if taken.is_empty() {
            return Ok(0);
        }
        if let Some(left) = &mut queue.left {
            *left -= taken.len() as u64;
        }
        if !queue.is_abandoned {
            queue.queued += taken.len();
            queue.pieces.push_back(Bytes::copy_from_slice(taken));
        }
        queue.has_ended = queue.left == Some(0);
        queue.wake();
        Ok(taken.len())
    }

    pub(crate) fn finish(&self) -> Result<(), Error> {
        let mut queue = self.lock();
        if queue.left.is_some_and(|left| left > 0) {
            let why = "the body of the request is shorter than its head says";
            return Err(Error::new(ErrorKind::InvalidRequest, why));
        }
        queue.has_ended = true;
        queue.wake();
        Ok(())
    }

    /// Drops what nobody reads any more.
    pub(crate) fn abandon(&self) {
        let mut queue = self.lock();
        queue.is_abandoned = true;
        queue.pieces.clear();
        queue.queued = 0;
    }

    pub(crate) fn has_room(&self) -> bool {
        let queue = self.lock();
        queue.has_ended || queue.is_abandoned || queue.queued < MAX_QUEUED
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().has_ended
    }
}

impl Queue {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut queue = self.lock();
        if let Some(piece) = queue.pieces.pop_front() {
            queue.queued -= piece.len();
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if queue.has_ended {
            return Poll::Ready(None);
        }
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        let queue = self.lock();
        queue.has_ended && queue.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let queue = self.lock();
        match queue.left {
            Some(left) => SizeHint::with_exact(left + queue.queued as u64),
            None => SizeHint::default(),
        }
    }
}
