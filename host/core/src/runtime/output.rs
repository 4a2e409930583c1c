//! A script's output: kept up to a limit, counted beyond it, and passed on as it is written.
//!
//! Beyond the limit the script continues and its output is dropped: a script is not ended for printing too
//! much, and the host's memory does not grow. Output is passed on through a bounded queue, so a slow reader
//! slows the script down, and its time limit still applies.

use super::{Chunk, Stream};
use crate::outcome::TRUNCATION_MARKER;
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that a guest may write in one call; bounds the host's memory for it.
const MAX_WRITE: usize = 64 * 1024;

/// What was kept of a stream.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) bytes: Vec<u8>,
    pub(crate) total: u64,
    pub(crate) truncated: bool,
}

/// One output stream of a script.
#[derive(Clone)]
pub struct Output {
    shared: Arc<Mutex<Shared>>,
    limit: u64,
    stream: Stream,
}

/// What all writers of a stream share.
#[derive(Default)]
struct Shared {
    kept: Kept,
    sink: Option<mpsc::Sender<Chunk>>,
    /// Set when nothing more is kept or passed on.
    closed: bool,
}

impl Shared {
    fn record(&mut self, text: &str) -> String {
        let kept = &mut self.kept.bytes;
        let unfinished = kept.last().is_some_and(|byte| *byte != b'\n');
        let line = format!("{}{text}\n", if unfinished { "\n" } else { "" });
        kept.extend_from_slice(line.as_bytes());
        line
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl Output {
    pub(crate) fn new(stream: Stream, limit: u64, sink: Option<mpsc::Sender<Chunk>>) -> Self {
        let shared = Shared {
            sink,
            ..Shared::default()
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            limit,
            stream,
        }
    }

    /// Takes what was kept, and drops everything written after that: for a writer that we no longer wait for.
    pub(crate) fn close(&self) -> Kept {
        let mut shared = self.lock();
        shared.closed = true;
        shared.sink = None;
        std::mem::take(&mut shared.kept)
    }

    /// Appends a line of the host to what is kept, on a line of its own and regardless of the limit. It is not passed on.
    pub(crate) fn record(&self, text: &str) {
        let _ = self.lock().record(text);
    }

    /// Like [`Self::record`], but also passes the line on.
    pub(crate) fn note(&self, text: &str) {
        let mut shared = self.lock();
        let line = shared.record(text);
        if let Some(sink) = &shared.sink {
            // If the queue is full at this point, its reader has stopped reading.
            let _ = sink.try_send(Chunk {
                stream: self.stream,
                bytes: line.into(),
            });
        }
    }

    /// Counts, keeps and passes on; waits while the queue is full. Returns whether the reader still wants output.
    pub async fn write(&self, bytes: impl Into<Bytes>) -> bool {
        let (kept, Some(sink)) = (self.keep(bytes.into()), self.sink()) else {
            return true;
        };
        match kept {
            None => !sink.is_closed(),
            Some(bytes) => {
                let stream = self.stream;
                sink.send(Chunk { stream, bytes }).await.is_ok()
            }
        }
    }

    fn sink(&self) -> Option<mpsc::Sender<Chunk>> {
        self.lock().sink.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts and keeps; returns what should be passed on.
    fn keep(&self, mut bytes: Bytes) -> Option<Bytes> {
        let mut shared = self.lock();
        if shared.closed {
            return None;
        }
        let kept = &mut shared.kept;
        let left = usize::try_from(self.limit.saturating_sub(kept.total)).unwrap_or(usize::MAX);
        kept.total += bytes.len() as u64;
        let cut = bytes.len() > left;
        bytes.truncate(left);
        kept.bytes.extend_from_slice(&bytes);
        if cut && !kept.truncated {
            kept.truncated = true;
            kept.bytes.extend_from_slice(TRUNCATION_MARKER.as_bytes());
            bytes = [bytes.as_ref(), TRUNCATION_MARKER.as_bytes(), b"\n"]
                .concat()
                .into();
        }
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    /// Only guests of a later WASI call this; all of ours use `p2_stream`.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Writer {
            output: self.clone(),
            waiting: None,
        })
    }
}

struct Writer {
    output: Output,
    /// Accepted, but not yet in the queue.
    waiting: Option<Chunk>,
}

impl Writer {
    /// Puts the waiting chunk into the queue unless that is full; fails if the reader is gone.
    fn pass_on(&mut self) -> StreamResult<()> {
        let Some(sink) = self.output.sink() else {
            return Ok(());
        };
        if sink.is_closed() {
            return Err(StreamError::Closed);
        }
        if let Some(chunk) = self.waiting.take()
            && let Err(mpsc::error::TrySendError::Full(chunk)) = sink.try_send(chunk)
        {
            self.waiting = Some(chunk);
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if self.waiting.is_some() || bytes.len() > MAX_WRITE {
            return Err(StreamError::trap("write beyond what check-write allowed"));
        }
        if let Some(bytes) = self.output.keep(bytes)
            && self.output.sink().is_some()
        {
            self.waiting = Some(Chunk {
                stream: self.output.stream,
                bytes,
            });
        }
        self.pass_on()
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.pass_on()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.pass_on()?;
        Ok(if self.waiting.is_some() { 0 } else { MAX_WRITE })
    }
}

#[async_trait::async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {
        let (Some(chunk), Some(sink)) = (self.waiting.clone(), self.output.sink()) else {
            return;
        };
        // If this future is dropped, nothing is lost: the chunk leaves `waiting` only once it is in the queue.
        if let Ok(slot) = sink.reserve().await {
            slot.send(chunk);
        }
        self.waiting = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(output: &Output, text: &'static str) -> StreamResult<()> {
        output
            .p2_stream()
            .write(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn output_beyond_the_limit_is_counted_and_dropped() {
        let output = Output::new(Stream::Stdout, 5, None);
        for text in ["abc", "def", "ghi"] {
            assert!(write(&output, text).is_ok());
        }
        let kept = output.close();
        assert_eq!(kept.bytes, b"abcde[... output truncated ...]");
        assert_eq!((kept.total, kept.truncated), (9, true));
    }

    #[test]
    fn output_of_exactly_the_limit_is_not_truncated() {
        let output = Output::new(Stream::Stdout, 6, None);
        assert!(write(&output, "abcdef").is_ok());
        let kept = output.close();
        assert_eq!(
            (kept.bytes.as_slice(), kept.total, kept.truncated),
            (&b"abcdef"[..], 6, false)
        );
    }

    #[test]
    fn a_full_queue_blocks_the_writer_and_a_closed_one_ends_it() {
        let (sink, mut queue) = mpsc::channel(1);
        let output = Output::new(Stream::Stderr, 100, Some(sink));
        let mut writer = output.p2_stream();
        assert!(writer.write(Bytes::from_static(b"a")).is_ok());
        assert!(writer.write(Bytes::from_static(b"b")).is_ok());
        assert!(matches!(writer.check_write(), Ok(0)));
        assert!(queue.try_recv().is_ok_and(|chunk| chunk.bytes == "a"));
        assert!(matches!(writer.check_write(), Ok(MAX_WRITE)));
        drop(queue);
        assert!(matches!(writer.check_write(), Err(StreamError::Closed)));
    }
}
