//! Input into a script, and output out of it.

use crate::runtime::output::Output;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};

/// Bytes that are moved at once.
const PIECE: usize = 64 * 1024;

/// Takes output until it ends or nobody wants it; then the script finds the pipe closed.
pub(super) async fn pump(from: Option<Receiver>, output: &Output) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; PIECE];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        if !output
            .take_in(Bytes::copy_from_slice(&piece[..count]))
            .await
        {
            return;
        }
    }
}

/// Gives input until it ends or the script closes it.
pub(super) async fn feed(
    to: Option<Sender>,
    bytes: &[u8],
    from: Option<Box<dyn AsyncRead + Send + Sync + Unpin>>,
) {
    let Some(mut to) = to else { return };
    match from {
        Some(mut from) if bytes.is_empty() => {
            let mut piece = vec![0; PIECE];
            while let Ok(count @ 1..) = from.read(&mut piece).await {
                if to.write_all(&piece[..count]).await.is_err() {
                    return;
                }
            }
        }
        _ => drop(to.write_all(bytes).await),
    }
}
