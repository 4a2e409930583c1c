//! Copies input to a script, and output from it.

use crate::runtime::output::Output;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};

/// The size of one read.
const CHUNK: usize = 64 * 1024;

/// Copies output until it ends or the reader is gone; then the script finds the pipe closed.
pub(crate) async fn pump(from: Option<Receiver>, output: &Output) {
    let Some(mut from) = from else { return };
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        if !output.write(Bytes::copy_from_slice(&chunk[..count])).await {
            return;
        }
    }
}

/// Copies input until it ends or the script closes it.
pub(crate) async fn feed(
    to: Option<Sender>,
    bytes: &[u8],
    from: Option<Box<dyn AsyncRead + Send + Sync + Unpin>>,
) {
    let Some(mut to) = to else { return };
    match from {
        Some(mut from) if bytes.is_empty() => {
            let mut chunk = vec![0; CHUNK];
            while let Ok(count @ 1..) = from.read(&mut chunk).await {
                if to.write_all(&chunk[..count]).await.is_err() {
                    return;
                }
            }
        }
        _ => drop(to.write_all(bytes).await),
    }
}
