//! A script's output: kept up to a limit, counted beyond it, and passed on as it is written.
//!
//! Beyond the limit the script continues and its output is dropped: a script is not ended for printing too
//! much, and the host's memory does not grow. Output is passed on through a bounded queue, so a slow reader
//! slows the script down, and its time limit still applies.

use super::{Chunk, Stream};
use crate::outcome::TRUNCATION_MARKER;
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a reader may take for the host's last lines. They are in the outcome too.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);

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
    /// Lines of the host that are not passed on yet.
    noted: String,
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

    /// Like [`Self::record`], for a line that [`Self::pass_on_notes`] also passes on: the queue may be full now.
    pub(crate) fn note(&self, text: &str) {
        let mut shared = self.lock();
        let line = shared.record(text);
        shared.noted.push_str(&line);
    }

    /// Whether a reader waits for lines of the host.
    pub(crate) fn has_notes(&self) -> bool {
        let shared = self.lock();
        shared.sink.is_some() && !shared.noted.is_empty()
    }

    /// Passes on the lines of the host, after everything that the script wrote. Gives up if they are not read in time.
    pub(crate) async fn pass_on_notes(&self) {
        let (noted, sink) = {
            let mut shared = self.lock();
            (std::mem::take(&mut shared.noted), shared.sink.clone())
        };
        if let (Some(sink), false) = (sink, noted.is_empty()) {
            let chunk = Chunk {
                stream: self.stream,
                bytes: noted.into(),
            };
            // Fails if the reader is gone.
            let _ = sink.send_timeout(chunk, LAST_LINES_TIMEOUT).await;
        }
    }

    /// Counts, keeps and passes on; waits while the queue is full. Returns whether the reader still wants output.
    pub async fn write(&self, bytes: impl Into<Bytes>) -> bool {
        let (kept, Some(sink)) = (self.keep(bytes.into()), self.sink()) else {
            return true;
        };
        match kept {
            None => !sink.is_closed(),
            Some(chunk) => sink.send(chunk).await.is_ok(),
        }
    }

    /// Where output is passed on, if anywhere.
    pub(super) fn sink(&self) -> Option<mpsc::Sender<Chunk>> {
        self.lock().sink.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts and keeps; returns what should be passed on.
    pub(super) fn keep(&self, mut bytes: Bytes) -> Option<Chunk> {
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
        let stream = self.stream;
        (!bytes.is_empty()).then_some(Chunk { stream, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes as a script does whose reader has space for one more piece.
    fn write(output: &Output, text: &'static str) {
        if let (Some(chunk), Some(sink)) = (output.keep(text.into()), output.sink()) {
            sink.try_send(chunk).unwrap();
        }
    }

    #[test]
    fn output_beyond_the_limit_is_counted_and_dropped() {
        let output = Output::new(Stream::Stdout, 5, None);
        for text in ["abc", "def", "ghi"] {
            write(&output, text);
        }
        let kept = output.close();
        assert_eq!(kept.bytes, b"abcde[... output truncated ...]");
        assert_eq!((kept.total, kept.truncated), (9, true));
    }

    #[test]
    fn output_of_exactly_the_limit_is_not_truncated() {
        let output = Output::new(Stream::Stdout, 6, None);
        write(&output, "abcdef");
        let kept = output.close();
        assert_eq!(
            (kept.bytes.as_slice(), kept.total, kept.truncated),
            (&b"abcdef"[..], 6, false)
        );
    }

    #[tokio::test]
    async fn lines_of_the_host_wait_for_space_in_the_queue() {
        let (sink, mut queue) = mpsc::channel(1);
        let output = Output::new(Stream::Stderr, 100, Some(sink));
        write(&output, "a");
        output.note("one");
        output.note("two");
        let read = async {
            let mut read = Vec::new();
            while let Some(chunk) = queue.recv().await {
                read.push(chunk.bytes);
            }
            read
        };
        let pass_on = async {
            output.pass_on_notes().await;
            output.close()
        };
        let (kept, read) = tokio::join!(biased; pass_on, read);
        assert_eq!(read, ["a", "\none\ntwo\n"]);
        assert_eq!(kept.bytes, b"a\none\ntwo\n");
    }

    #[tokio::test]
    async fn lines_of_the_host_do_not_wait_for_a_reader_that_is_gone() {
        let (sink, queue) = mpsc::channel(1);
        let output = Output::new(Stream::Stderr, 100, Some(sink));
        write(&output, "a");
        output.note("one");
        drop(queue);
        output.pass_on_notes().await;
        assert_eq!(output.close().bytes, b"a\none\n");
    }
}
