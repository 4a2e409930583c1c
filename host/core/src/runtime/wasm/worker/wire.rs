//! Frames between the host and a worker: a kind, a length, and the payload. Handles travel with the first byte of a frame.

use super::super::job::Job;
use super::super::sandbox::Note;
use crate::limits::Limit;
use crate::outcome::{Artifact, Change, DenialHint, Status};
use crate::runtime::artifacts::MAX_ARTIFACTS;
use bytes::{Buf as _, Bytes, BytesMut};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, send, sendmsg,
};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// From the host: a compiled guest, by name, with its file.
pub(super) const LOAD: u8 = b'l';
/// From the host: a [`Request`], with its handles.
pub(super) const RUN: u8 = b'r';
/// From the host: more handles for the request that follows.
pub(super) const HANDLES: u8 = b'h';
/// From the host: the guest has to stop.
pub(super) const STOP: u8 = b's';
/// From the host: nobody reads a stream any more. The payload is [`STDOUT`] or [`STDERR`].
pub(super) const CLOSED: u8 = b'c';
/// From a worker: the guest uses its scratch directory. From the host: its handle, or the number of an error.
pub(super) const SCRATCH: u8 = b't';
/// From a worker: it is ready. The payload is a list of layers that confine it.
pub(super) const READY: u8 = b'y';
/// From a worker without namespaces: it is ready for one run, and confines itself when it has the handles of that.
pub(super) const WAITING: u8 = b'w';
/// From a worker without namespaces: it is confined to the handles of its run. The payload is a list of layers.
pub(super) const CONFINED: u8 = b'k';
/// From a worker: why a job or a guest failed.
pub(super) const FAILED: u8 = b'f';
/// From a worker: output.
pub(super) const STDOUT: u8 = b'o';
/// From a worker: output.
pub(super) const STDERR: u8 = b'e';
/// From a worker: something that the guest was denied for the first time, a [`Denied`].
pub(super) const DENIED: u8 = b'd';
/// From a worker: the [`End`] of the run.
pub(super) const ENDED: u8 = b'x';

const HEADER: usize = 5;
const FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);
/// How often sending handles is attempted, a millisecond apart.
const MAX_CROWDED: u32 = 2000;
/// The most of each list at the end of a run.
const MAX_DENIED: usize = 64;
const MAX_WARNINGS: usize = 16;
/// The handles of one message. The kernel allows 253.
pub(super) const MAX_HANDLES: usize = 200;
/// The largest frame that the host accepts: the end of a run with as many artefacts as there may be, with the longest paths.
const MAX_FROM_WORKER: usize = 8 << 20;
/// What is read at once.
const CHUNK: usize = 64 << 10;

/// A job for a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The name of the guest.
    pub(super) guest: String,
    pub(super) job: Job,
    /// Whether a pipe with the standard input comes with the handles, after those of the mounts.
    pub(super) has_stdin: bool,
    /// For a worker without namespaces, which cannot ask for it later.
    pub(super) scratch: Option<SentScratch>,
}

/// The scratch directory of a run, made before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SentScratch {
    /// Its handle is the last but one of the handles; the last one is that of an empty directory.
    Made,
    /// It could not be made, for the reason with this number. The last handle is that of an empty directory.
    Failed(i32),
}

/// Something that the guest was denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Denied {
    pub(super) grant: String,
    pub(super) count: u64,
    pub(super) hint: Option<u8>,
}

/// The end of a run as a worker reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) status: u8,
    pub(super) exit_code: i32,
    pub(super) note: Option<Note>,
    pub(super) fuel: Option<u64>,
    pub(super) peak_memory: u64,
    pub(super) cpu_time_ms: f64,
    #[serde(deserialize_with = "at_most::<MAX_DENIED, _, _>")]
    pub(super) denied: Vec<Denied>,
    pub(super) denied_truncated: bool,
    #[serde(deserialize_with = "at_most::<MAX_ARTIFACTS, _, _>")]
    pub(super) artifacts: Vec<Listed>,
    pub(super) artifacts_truncated: bool,
    #[serde(deserialize_with = "at_most::<{ LIMITS.len() }, _, _>")]
    pub(super) limits_hit: Vec<u8>,
    #[serde(deserialize_with = "at_most::<MAX_WARNINGS, _, _>")]
    pub(super) warnings: Vec<String>,
    /// Whether the worker should not get another job: its priority was lowered and cannot be raised again.
    pub(super) is_spent: bool,
}

/// An artefact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) change: u8,
    pub(super) bytes: Option<u64>,
    pub(super) sha256: Option<String>,
}

const STATUSES: [Status; 6] = [
    Status::Exited,
    Status::TimedOut,
    Status::OutOfFuel,
    Status::OutOfMemory,
    Status::Trapped,
    Status::Cancelled,
];
const CHANGES: [Change; 3] = [Change::Created, Change::Changed, Change::Removed];
const LIMITS: [Limit; 7] = [
    Limit::Time,
    Limit::Fuel,
    Limit::Memory,
    Limit::Output,
    Limit::Scratch,
    Limit::Disk,
    Limit::OpenFiles,
];
const HINTS: [DenialHint; 5] = [
    DenialHint::Never,
    DenialHint::WriteSkill,
    DenialHint::GrantTarget,
    DenialHint::RunNatively,
    DenialHint::RunNativelyWithNetwork,
];

/// The number of a value in its table. Every value that a guest can produce is in it.
fn number<T: PartialEq>(table: &[T], value: &T) -> u8 {
    let index = table.iter().position(|known| known == value);
    index
        .and_then(|index| u8::try_from(index).ok())
        .unwrap_or(u8::MAX)
}

fn value<T: Copy>(table: &[T], number: u8) -> io::Result<T> {
    table.get(usize::from(number)).copied().ok_or_else(invalid)
}

/// The error for a frame that no worker of ours sends.
pub(super) fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it sent something invalid")
}

pub(super) fn status_number(status: Status) -> u8 {
    number(&STATUSES, &status)
}

pub(super) fn status(number: u8) -> io::Result<Status> {
    value(&STATUSES, number)
}

pub(super) fn limit_number(limit: Limit) -> u8 {
    number(&LIMITS, &limit)
}

pub(super) fn limit(number: u8) -> io::Result<Limit> {
    value(&LIMITS, number)
}

pub(super) fn hint_number(hint: DenialHint) -> u8 {
    number(&HINTS, &hint)
}

pub(super) fn hint(number: u8) -> io::Result<DenialHint> {
    value(&HINTS, number)
}

impl Listed {
    pub(super) fn new(artifact: Artifact) -> Self {
        Self {
            change: number(&CHANGES, &artifact.change),
            path: artifact.path,
            bytes: artifact.bytes,
            sha256: artifact.sha256,
        }
    }

    pub(super) fn into_artifact(self) -> io::Result<Artifact> {
        Ok(Artifact {
            change: value(&CHANGES, self.change)?,
            path: self.path,
            bytes: self.bytes,
            sha256: self.sha256,
        })
    }
}

/// Reads a list of at most `N` values. The elements of a longer one would take far more memory than its bytes.
fn at_most<'de, const N: usize, T, D>(from: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct AtMost<const N: usize, T>(PhantomData<T>);
    impl<'de, const N: usize, T: Deserialize<'de>> Visitor<'de> for AtMost<N, T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {N} values")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(next) = list.next_element()? {
                if all.len() == N {
                    return Err(A::Error::invalid_length(N + 1, &self));
                }
                all.push(next);
            }
            Ok(all)
        }
    }
    from.deserialize_seq(AtMost::<N, T>(PhantomData))
}

/// Serialises the payload of a frame.
pub(super) fn encode<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(io::Error::other)
}

/// Reads the payload of a frame.
pub(super) fn decode<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> io::Result<T> {
    postcard::from_bytes(payload).map_err(|_| invalid())
}

/// Sends a frame with at most [`MAX_HANDLES`] handles. Waits while the other side does not read, as long as `patience` says:
/// `None` is without end. After an error, a part of the frame may have been sent, and the connection is of no use any more.
pub(super) fn send_frame(
    to: impl AsFd,
    kind: u8,
    payload: &[u8],
    handles: &[BorrowedFd<'_>],
    patience: Option<Duration>,
) -> io::Result<()> {
    let to = to.as_fd();
    let length = u32::try_from(payload.len()).map_err(|_| invalid())?;
    let mut header = [kind, 0, 0, 0, 0];
    header[1..].copy_from_slice(&length.to_le_bytes());
    let message = SendAncillaryMessage::ScmRights(handles);
    let mut space = vec![
        MaybeUninit::uninit();
        if handles.is_empty() {
            0
        } else {
            message.size()
        }
    ];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !handles.is_empty() && !control.push(message) {
        return Err(invalid());
    }
    let parts = [IoSlice::new(&header), IoSlice::new(payload)];
    let mut crowded = 0;
    let sent = loop {
        match wait_and_retry(to, patience, || sendmsg(to, &parts, &mut control, FLAGS)) {
            // The kernel limits the handles that a user has sent and that were not received yet, in all processes together.
            Err(error) if is_crowded(&error) && crowded < MAX_CROWDED => {
                crowded += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            sent => break sent?,
        }
    };
    // The handles have left with the first byte. Only the payload can be longer than what the socket takes at once.
    let mut header = &header[sent.min(HEADER)..];
    while !header.is_empty() {
        let sent = wait_and_retry(to, patience, || send(to, header, FLAGS))?;
        header = &header[sent..];
    }
    let mut rest = &payload[sent.saturating_sub(HEADER)..];
    while !rest.is_empty() {
        let sent = wait_and_retry(to, patience, || send(to, rest, FLAGS))?;
        rest = &rest[sent..];
    }
    Ok(())
}

fn is_crowded(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::TOOMANYREFS.raw_os_error())
}

/// Repeats a call until the socket takes something, or `patience` is over.
fn wait_and_retry<T>(
    socket: BorrowedFd<'_>,
    patience: Option<Duration>,
    mut call: impl FnMut() -> rustix::io::Result<T>,
) -> io::Result<T> {
    loop {
        match retry(&mut call) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let timeout = patience.map(Timespec::try_from).transpose();
                let timeout = timeout.map_err(io::Error::other)?;
                let mut socket = [PollFd::new(&socket, PollFlags::OUT)];
                if retry(|| poll(&mut socket, timeout.as_ref()))? == 0 {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            result => return result,
        }
    }
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

/// Splits the next frame off, if it is complete. Fails if its length exceeds `most`.
fn split(buffer: &mut BytesMut, most: usize) -> io::Result<Option<(u8, Bytes)>> {
    let Some((header, rest)) = buffer.split_first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let [kind, length @ ..] = *header;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| invalid())?;
    if length > most {
        return Err(invalid());
    }
    if rest.len() < length {
        return Ok(None);
    }
    buffer.advance(HEADER);
    Ok(Some((kind, buffer.split_to(length).freeze())))
}

/// What the host reads from a worker. Handles are not accepted: the kernel closes them.
#[derive(Debug, Default)]
pub(super) struct FromWorker(BytesMut);

impl FromWorker {
    /// Whether nothing has arrived that was not returned.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits for the next frame; `None` if the worker is gone.
    pub(super) fn next(&mut self, from: impl AsFd) -> io::Result<Option<(u8, Bytes)>> {
        let from = from.as_fd();
        loop {
            if let Some(frame) = split(&mut self.0, MAX_FROM_WORKER)? {
                return Ok(Some(frame));
            }
            let length = self.0.len();
            self.0.resize(length + CHUNK, 0);
            let read = retry(|| rustix::io::read(from, &mut self.0[length..]));
            let read = match read {
                // It left before it read everything that we sent.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
                read => read,
            };
            self.0
                .truncate(length + read.as_ref().map_or(0, |read| *read));
            if read? == 0 {
                return Ok(None);
            }
        }
    }
}

/// What a worker reads from the host.
#[derive(Debug, Default)]
pub(super) struct FromHost {
    bytes: BytesMut,
    handles: VecDeque<OwnedFd>,
}

impl FromHost {
    /// The next frame that has arrived completely.
    pub(super) fn next(&mut self) -> io::Result<Option<(u8, Bytes)>> {
        split(&mut self.bytes, u32::MAX as usize)
    }

    /// The next handle that has arrived.
    pub(super) fn handle(&mut self) -> io::Result<OwnedFd> {
        self.handles.pop_front().ok_or_else(invalid)
    }

    /// Reads what has arrived without waiting; returns false if the host is gone.
    pub(super) fn read(&mut self, from: impl AsFd) -> io::Result<bool> {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDLES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let length = self.bytes.len();
        self.bytes.resize(length + CHUNK, 0);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = {
            let mut parts = [IoSliceMut::new(&mut self.bytes[length..])];
            recvmsg(from, &mut parts, &mut control, flags)
        };
        let read = received.as_ref().map_or(0, |received| received.bytes);
        self.bytes.truncate(length + read);
        received?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(handles) = message {
                self.handles.extend(handles);
            }
        }
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read as _, Seek as _, Write as _};
    use std::os::unix::net::UnixStream;

    /// Reads frames until this many have arrived.
    fn frames(from: &UnixStream, count: usize, host: &mut FromHost) -> Vec<(u8, Bytes)> {
        let mut frames = Vec::new();
        while frames.len() < count {
            match host.next().unwrap() {
                Some(frame) => frames.push(frame),
                None => match host.read(from) {
                    Ok(more) => assert!(more),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                },
            }
        }
        frames
    }

    #[test]
    fn frames_and_handles_arrive_in_order() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let files: Vec<File> = (0..3).map(|_| tempfile::tempfile().unwrap()).collect();
        for (index, mut file) in files.iter().enumerate() {
            write!(file, "{index}").unwrap();
        }
        let large = vec![7; 3 << 20];
        let sender = std::thread::spawn(move || {
            let handles: Vec<_> = files.iter().map(File::as_fd).collect();
            send_frame(&ours, RUN, b"one", &handles[..2], None).unwrap();
            send_frame(&ours, LOAD, &large, &handles[2..], None).unwrap();
            send_frame(&ours, STOP, b"", &[], None).unwrap();
        });
        let mut host = FromHost::default();
        let received = frames(&theirs, 3, &mut host);
        sender.join().unwrap();
        assert_eq!((received[0].0, &received[0].1[..]), (RUN, &b"one"[..]));
        assert_eq!((received[1].0, received[1].1.len()), (LOAD, 3 << 20));
        assert_eq!(received[2], (STOP, Bytes::new()));
        for index in 0..3 {
            let mut file = File::from(host.handle().unwrap());
            file.rewind().unwrap();
            assert_eq!(io::read_to_string(file).unwrap(), index.to_string());
        }
        assert!(host.handle().is_err());
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_is_read() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[STDOUT, 0xff, 0xff, 0xff, 0xff]).unwrap();
        let error = FromWorker::default().next(&ours).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_worker_that_is_gone_ends_the_stream() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[STDOUT, 2, 0, 0, 0, b'h']).unwrap();
        drop(theirs);
        assert!(FromWorker::default().next(&ours).unwrap().is_none());
        let mut rest = Vec::new();
        assert_eq!((&ours).read_to_end(&mut rest).unwrap(), 0);
    }

    #[test]
    fn handles_from_a_worker_are_not_accepted() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        send_frame(&theirs, STDOUT, b"x", &[writer.as_fd()], None).unwrap();
        drop(writer);
        let frame = FromWorker::default().next(&ours).unwrap();
        assert_eq!(frame.unwrap().1, "x");
        // The other end is closed, so nobody has it open.
        assert_eq!(rustix::io::read(&reader, &mut [0]).unwrap(), 0);
    }
}
