//! What a guest and the host say to each other: plain data, so that it can cross a process boundary unchanged.
//!
//! It mirrors the interface `network` in `runtimes/python/wit/network.wit`, which says what each call means.

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// Names a connection. No two connections of a run have the same id.
pub type Id = u32;

/// Bytes of a body that one call carries at most.
pub const MAX_PIECE: usize = 64 << 10;

/// Entries of a list in a call. Those of a longer one would take far more memory than its bytes.
const MAX_LIST: usize = 1024;

/// Reads a list of at most [`MAX_LIST`] values.
fn at_most<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    struct AtMost<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for AtMost<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX_LIST} values")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(next) = list.next_element()? {
                if all.len() == MAX_LIST {
                    return Err(A::Error::invalid_length(MAX_LIST + 1, &self));
                }
                all.push(next);
            }
            Ok(all)
        }
    }
    from.deserialize_seq(AtMost(PhantomData))
}

/// A call of a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Begins to connect to a host and port.
    Open(String, u16),
    /// Begins to encrypt a connection; the name must be that of the host, or empty.
    StartTls(Id, String),
    /// Asks whether opening or encrypting is done.
    Step(Id),
    /// Sends the head of a request.
    Send(Id, Request),
    /// Sends bytes of its body.
    Write(Id, Vec<u8>),
    /// Ends its body.
    Finish(Id),
    /// Asks for the response.
    Head(Id),
    /// Asks for at most so many bytes of its body.
    Read(Id, u32),
    /// Closes a connection.
    Close(Id),
    /// Waits until connections are ready, or for so many milliseconds.
    Wait(
        #[serde(deserialize_with = "at_most")] Vec<(Id, Readiness)>,
        Option<u32>,
    ),
}

/// The answer to a call. Each call has one kind of answer, or an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Call::Open`].
    Opened(Id),
    /// To [`Call::StartTls`], [`Call::Send`], [`Call::Finish`] and [`Call::Close`].
    Done,
    /// To [`Call::Step`]: whether it is done.
    Stepped(bool),
    /// To [`Call::Write`]: how many bytes were taken.
    Written(u32),
    /// To [`Call::Head`]: the response, if it has begun.
    Head(Option<Response>),
    /// To [`Call::Read`].
    Read(Piece),
    /// To [`Call::Wait`]: what is ready.
    Ready(Vec<(Id, Readiness)>),
    /// To any of them.
    Failed(Error),
}

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path and the query, or `*`.
    pub target: String,
    /// The headers, in their order.
    #[serde(deserialize_with = "at_most")]
    pub headers: Vec<(String, Vec<u8>)>,
    /// How long the body is.
    pub body: Length,
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// What the server calls the status.
    pub reason: String,
    /// The headers, in their order, without those of the connection.
    pub headers: Vec<(String, Vec<u8>)>,
    /// How long the body is.
    pub body: Length,
    /// Whether another request can be sent once the body has ended.
    pub keeps_alive: bool,
}

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// There is none.
    None,
    /// So many bytes.
    Known(u64),
    /// Until it ends.
    Unknown,
}

/// A piece of a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// At least one byte.
    Bytes(Vec<u8>),
    /// The body has ended.
    End,
    /// There is nothing yet.
    Pending,
}

/// What a connection is, or should be, ready for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// `head` or `read` has something.
    pub read: bool,
    /// `step` has something, or `write` takes bytes.
    pub write: bool,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What a library should make of it.
    pub kind: ErrorKind,
    /// For people.
    pub message: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl ErrorKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::UnknownHost => "unknown-host",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed-out",
            Self::Tls => "tls",
            Self::Certificate => "certificate",
            Self::Closed => "closed",
            Self::InvalidResponse => "invalid-response",
            Self::InvalidRequest => "invalid-request",
            Self::Limit => "limit",
            Self::Misuse => "misuse",
        }
    }
}

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The host, port or address is not granted.
    Denied,
    /// The name has no address.
    UnknownHost,
    /// The server does not accept connections there.
    Refused,
    /// There is no way to the server.
    Unreachable,
    /// The server did not answer in time.
    TimedOut,
    /// TLS failed, other than by the certificate.
    Tls,
    /// The server's certificate is not valid, not trusted, or for another name.
    Certificate,
    /// The connection was closed before the end of the message.
    Closed,
    /// What the server sent is not HTTP/1.1.
    InvalidResponse,
    /// The request cannot be sent.
    InvalidRequest,
    /// A limit of the run.
    Limit,
    /// The id is unknown, or the call does not come at its turn.
    Misuse,
}
