//! A program's output, kept up to a limit and counted beyond it.

use crate::{End, Running, Unable};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::Receiver;

/// What was kept of an output stream.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Its first bytes, as many as the limit allows.
    pub bytes: Vec<u8>,
    /// How many there were in all.
    pub total: u64,
}

impl Running {
    /// Gives the program its input, takes its output, and waits for its end. Of each stream `limit` bytes
    /// are kept; the program goes on beyond that, and what it writes is counted.
    pub async fn capture(
        mut self,
        input: &[u8],
        limit: u64,
    ) -> Result<(End, Captured, Captured), Unable> {
        let (stdin, stdout, stderr) = (self.stdin.take(), self.stdout.take(), self.stderr.take());
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A program may close its input before it has read all of it.
                let _ = stdin.write_all(input).await;
            }
        };
        let (end, (), stdout, stderr) =
            tokio::join!(self.ended(), feed, keep(stdout, limit), keep(stderr, limit));
        Ok((end?, stdout, stderr))
    }
}

async fn keep(from: Option<Receiver>, limit: u64) -> Captured {
    let mut captured = Captured::default();
    let Some(mut from) = from else {
        return captured;
    };
    let mut piece = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        let room = limit.saturating_sub(captured.total);
        let kept = count.min(usize::try_from(room).unwrap_or(usize::MAX));
        captured.bytes.extend_from_slice(&piece[..kept]);
        captured.total += count as u64;
    }
    captured
}
