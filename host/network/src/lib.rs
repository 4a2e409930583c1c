//! HTTP and HTTPS for programs that have no network of their own.
//!
//! A sandboxed program hands over [calls](Call) and gets [answers](Answer), which are plain data, so they can cross a process
//! boundary. A [`Broker`] does what one program calls, as far as its [`Rules`] and [`Limits`] allow, with the [`Client`] of the
//! process. It knows nothing of skills or of WebAssembly.
//!
//! What is checked, in this order: the host and port by the rules, before anything is looked up; each address of the host, and the
//! one that was checked is the one that is connected to; the certificate; the head of each request. Redirects are not followed, so
//! each hop is checked. No proxy is used, and no variable of the environment read, except those that name root certificates.

mod address;
mod broker;
mod call;
mod client;
mod connection;
mod event;
mod host;
mod limits;
mod request;
mod resolve;
mod rules;
mod stream;
#[cfg(test)]
mod tests;
mod tls;
mod upload;

pub use broker::Broker;
pub use call::{
    Answer, Call, Error, ErrorKind, Id, Length, MAX_PIECE, Piece, Readiness, Request, Response,
};
pub use client::{Client, Refused};
pub use event::{Event, Exchange, Limited, Sink};
pub use host::Host;
pub use limits::Limits;
pub use resolve::{Lookup, Resolve, SystemResolver};
pub use rules::{DEFAULT_PORT, Rule, Rules};
pub use tls::Roots;
