//! A program's output, kept up to a limit and counted beyond it.

use crate::{Captured, ConfineError, End, Running};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::Receiver;

impl Running {
    /// Writes the program's input, reads its output, and waits for its end. `limit` bytes of each
    /// stream are kept; beyond that the program continues, and its output is only counted.
    ///
    /// An error is returned at once: if the supervisor was killed, processes that it could not kill
    /// may keep the output open.
    pub async fn capture(
        mut self,
        input: &[u8],
        limit: u64,
    ) -> Result<(End, Captured, Captured), ConfineError> {
        let (stdin, stdout, stderr) = (self.stdin.take(), self.stdout.take(), self.stderr.take());
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A program may close its input before it has read all of it.
                let _ = stdin.write_all(input).await;
            }
            Ok(())
        };
        let stdout = async { Ok(keep(stdout, limit).await) };
        let stderr = async { Ok(keep(stderr, limit).await) };
        let (end, (), stdout, stderr) = tokio::try_join!(self.ended(), feed, stdout, stderr)?;
        Ok((end, stdout, stderr))
    }
}

async fn keep(from: Option<Receiver>, limit: u64) -> Captured {
    let mut captured = Captured::default();
    let Some(mut from) = from else {
        return captured;
    };
    let mut piece = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        let left = limit.saturating_sub(captured.total);
        let kept = count.min(usize::try_from(left).unwrap_or(usize::MAX));
        captured.bytes.extend_from_slice(&piece[..kept]);
        captured.total += count as u64;
    }
    captured
}
