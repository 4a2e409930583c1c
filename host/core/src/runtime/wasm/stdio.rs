//! A guest's output streams.

use crate::runtime::Chunk;
use crate::runtime::output::Output;
use bytes::Bytes;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that a guest may write in one call; bounds the host's memory for it.
const MAX_WRITE: usize = 64 * 1024;

/// An output stream as the guest sees it.
pub(super) struct GuestOutput(pub(super) Output);

impl IsTerminal for GuestOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestOutput {
    /// Only guests of a later WASI call this; all of ours use `p2_stream`.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Writer {
            output: self.0.clone(),
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
        let chunk = self.output.keep(bytes);
        self.waiting = chunk.filter(|_| self.output.sink().is_some());
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
    use crate::runtime::Stream;

    #[test]
    fn a_full_queue_blocks_the_writer_and_a_closed_one_ends_it() {
        let (sink, mut queue) = mpsc::channel(1);
        let output = Output::new(Stream::Stderr, 100, Some(sink));
        let mut writer = GuestOutput(output).p2_stream();
        assert!(writer.write(Bytes::from_static(b"a")).is_ok());
        assert!(writer.write(Bytes::from_static(b"b")).is_ok());
        assert!(matches!(writer.check_write(), Ok(0)));
        assert!(queue.try_recv().is_ok_and(|chunk| chunk.bytes == "a"));
        assert!(matches!(writer.check_write(), Ok(MAX_WRITE)));
        drop(queue);
        assert!(matches!(writer.check_write(), Err(StreamError::Closed)));
    }
}
