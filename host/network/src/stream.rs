//! A connection whose bytes are counted and limited.

use crate::event::Limited;
use crate::limits::Usage;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The bytes of one connection, without those of TLS.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
}

/// The error of a connection that has hit a limit.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a limit of the run was hit")]
pub(crate) struct LimitHit(pub(crate) Limited);

/// A connection, encrypted or not.
pub(crate) struct Metered {
    inner: Inner,
    counters: Arc<Counters>,
    usage: Arc<Usage>,
}

pub(crate) enum Inner {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Metered {
    pub(crate) fn new(inner: Inner, counters: Arc<Counters>, usage: Arc<Usage>) -> Self {
        Self {
            inner,
            counters,
            usage,
        }
    }

    fn inner(&mut self) -> Pin<&mut (dyn ReadWrite + Send + Unpin)> {
        match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream),
            Inner::Encrypted(stream) => Pin::new(&mut **stream),
        }
    }
}

trait ReadWrite: AsyncRead + AsyncWrite {}

impl<T: AsyncRead + AsyncWrite> ReadWrite for T {}

fn limited(limited: Limited) -> io::Error {
    io::Error::other(LimitHit(limited))
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = self.inner().poll_read(cx, buffer);
        let bytes = (buffer.filled().len() - before) as u64;
        self.counters.received.fetch_add(bytes, Ordering::Relaxed);
        match self.usage.add_received(bytes) {
            true => read,
            false => Poll::Ready(Err(limited(Limited::Received))),
        }
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(left) = self.usage.sendable() else {
            return Poll::Ready(Err(limited(Limited::Sent)));
        };
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(left)];
        let written = self.inner().poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = &written {
            let count = *count as u64;
            self.counters.sent.fetch_add(count, Ordering::Relaxed);
            self.usage.add_sent(count);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }
}
