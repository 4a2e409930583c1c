//! What a program did on the network, for whoever records it. Without bodies, headers, paths and queries: those may contain
//! secrets.

use crate::call::ErrorKind;

/// Something that a program did, or was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It attempted to reach what is not granted.
    Denied {
        /// The host or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// A request has ended, or a connection on which none was sent.
    Ended(Exchange),
    /// A limit was hit for the first time.
    Limited(Limited),
}

/// A request and its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The method; `None` if no request was sent.
    pub method: Option<String>,
    /// The host, as the program named it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it was encrypted.
    pub encrypted: bool,
    /// The status of the response, if it began.
    pub status: Option<u16>,
    /// The bytes of the request that were sent, before encryption.
    pub sent: u64,
    /// The bytes of the response that were received, after decryption.
    pub received: u64,
    /// Why it failed.
    pub error: Option<ErrorKind>,
}

/// A limit that was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// Of the bytes received.
    Received,
    /// Of the bytes sent.
    Sent,
    /// Of the number of requests.
    Requests,
    /// Of the connections at the same time.
    Connections,
    /// Nothing more may be sent, because it could not be recorded.
    Records,
}

/// Receives events. If it returns false, an event could not be recorded, and the program can open and send nothing any more.
pub type Sink = std::sync::Arc<dyn Fn(Event) -> bool + Send + Sync>;
