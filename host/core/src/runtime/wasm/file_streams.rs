//! Reads and writes a regular file as a stream, synchronously on the guest's own thread.
//!
//! wasmtime-wasi sends each piece to another thread, which costs more than the I/O itself. Regular files
//! do not block, and nothing else can be opened.

use super::budget::Budget;
use bytes::{Bytes, BytesMut};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that are read or written in one call; bounds the host's memory for a guest.
const MAX_TRANSFER: usize = 64 * 1024;

/// Reads a file.
pub(crate) struct FileReader {
    pub(crate) file: Arc<File>,
    /// Where the next byte comes from.
    pub(crate) at: u64,
}

#[async_trait::async_trait]
impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let mut piece = BytesMut::zeroed(size.min(MAX_TRANSFER));
        let read = loop {
            match self.file.read_at(&mut piece, self.at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    break read.map_err(|error| StreamError::LastOperationFailed(error.into()))?;
                }
            }
        };
        if read == 0 {
            return Err(StreamError::Closed);
        }
        self.at += read as u64;
        piece.truncate(read);
        Ok(piece.freeze())
    }
}

#[async_trait::async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {}
}

/// Writes to a file immediately, within its budget.
pub(crate) struct FileWriter {
    pub(crate) file: Arc<File>,
    /// Where the next byte goes; `None` appends.
    pub(crate) at: Option<u64>,
    pub(crate) budget: Budget,
    pub(crate) failed: Option<io::Error>,
}

impl FileWriter {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        match &mut self.at {
            Some(at) => {
                let end = at
                    .checked_add(bytes.len() as u64)
                    .ok_or(io::ErrorKind::FileTooLarge)?;
                self.budget.charge_write(&self.file, *at..end)?;
                while !bytes.is_empty() {
                    let written = self.file.write_at(bytes, *at);
                    let written =
                        written.inspect_err(|error| self.budget.note_write_error(error))?;
                    bytes = &bytes[written..];
                    *at += written as u64;
                }
            }
            None => {
                self.budget.charge(bytes.len() as u64)?;
                while !bytes.is_empty() {
                    let written = append(&self.file, bytes);
                    let written =
                        written.inspect_err(|error| self.budget.note_write_error(error))?;
                    bytes = &bytes[written..];
                }
            }
        }
        Ok(())
    }
}

/// Appends in one step, so that several writers of one file do not overwrite each other.
fn append(file: &File, bytes: &[u8]) -> io::Result<usize> {
    use rustix::io::{ReadWriteFlags, pwritev2};
    Ok(pwritev2(
        file,
        &[io::IoSlice::new(bytes)],
        0,
        ReadWriteFlags::APPEND,
    )?)
}

#[async_trait::async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > MAX_TRANSFER {
            return Err(StreamError::trap("write beyond what check-write allowed"));
        }
        if let Err(error) = self.put(&bytes) {
            self.failed = Some(error);
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.check_write().map(drop)
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        match self.failed.take() {
            Some(error) => Err(StreamError::LastOperationFailed(error.into())),
            None => Ok(MAX_TRANSFER),
        }
    }
}

#[async_trait::async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {
        // A recount takes a while and no fuel: yield, so that the deadline is checked.
        if self.budget.was_recounted() {
            tokio::task::yield_now().await;
        }
    }
}
