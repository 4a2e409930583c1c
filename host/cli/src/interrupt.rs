//! Ctrl-C, SIGTERM, and SIGHUP when the terminal is closed.
//!
//! The first signal stops the runs cleanly. The second ends the process at once, whatever its other threads are
//! doing: a host call, the audit log or a reader of the output may block them forever. So a thread with its own event
//! loop receives the signals. A signal handler that exits would be unsafe code, and could record nothing.

use crate::ask;
use crate::failure::{Failure, INTERRUPTED};
use skillrun::Host;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Signals this close together count as one: a terminal sends one to every process of a command, and programs like npm
/// forward theirs as well. No person presses a key twice in that time.
const SAME_PRESS: Duration = Duration::from_millis(100);

/// How long we wait for the aborted runs to be recorded: the log itself may be what hangs.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// How often the process was asked to end.
static PRESSED: Presses = Presses(AtomicUsize::new(0));

/// The host whose runs are recorded as aborted if the process ends before them.
static HOST: RwLock<Option<&'static Host>> = RwLock::new(None);

/// Resolves at the next Ctrl-C or signal.
pub(crate) type Interrupted = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Resolves at the first Ctrl-C, SIGTERM or SIGHUP from now on.
pub(crate) fn interrupted() -> Result<Interrupted, Failure> {
    let mut presses = start()?.subscribe();
    presses.mark_unchanged();
    Ok(Box::pin(async move {
        // The sender is never dropped.
        let _ = presses.changed().await;
    }))
}

/// Stops all runs, as the first Ctrl-C does. The next one ends the process. `by_signal` says that a signal ended the
/// question, which the signal thread receives as well.
pub(crate) fn stop(by_signal: bool) -> Result<(), Failure> {
    let presses = start()?;
    PRESSED.stop(by_signal);
    presses.send_replace(());
    Ok(())
}

/// Whether the process was asked to end.
pub(crate) fn is_interrupted() -> bool {
    PRESSED.count() > 0
}

/// Counts how often the process was asked to end.
///
/// A signal at a question has two receivers, in either order: the question and the signal thread. It counts once.
#[derive(Debug)]
struct Presses(AtomicUsize);

impl Presses {
    /// Set until the signal thread has received the signal that ended a question.
    const EXPECTED: usize = 1 << (usize::BITS - 1);

    /// Counts a question that ended, unless its signal was counted before.
    fn stop(&self, by_signal: bool) {
        let counted = match by_signal {
            true => 1 | Self::EXPECTED,
            false => 1,
        };
        // If something is counted already, nothing changes.
        let _ = self
            .0
            .compare_exchange(0, counted, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Counts a signal; returns how many presses came before it.
    fn signal(&self) -> usize {
        let counted = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| {
                Some(match now & Self::EXPECTED {
                    0 => now + 1,
                    _ => now & !Self::EXPECTED,
                })
            });
        match counted.unwrap_or_else(|now| now) {
            now if now & Self::EXPECTED == 0 => now,
            _ => 0,
        }
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst) & !Self::EXPECTED
    }
}

/// Records the runs of `host` as aborted if the process ends before them.
pub(crate) fn set_host(host: &'static Host) {
    *HOST.write().unwrap_or_else(PoisonError::into_inner) = Some(host);
}

/// Begins to receive signals; until then they end the process by themselves.
pub(crate) fn start() -> io::Result<&'static watch::Sender<()>> {
    static PRESSES: OnceLock<watch::Sender<()>> = OnceLock::new();
    if let Some(presses) = PRESSES.get() {
        return Ok(presses);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let within = runtime.enter();
    let (mut int, mut term) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    );
    let mut hangup = hangup()?;
    drop(within);
    let mut is_first = false;
    let presses = PRESSES.get_or_init(|| {
        is_first = true;
        watch::Sender::new(())
    });
    if !is_first {
        return Ok(presses);
    }
    let receive = async move {
        let mut last = None;
        loop {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
                () = received(&mut hangup) => {}
            }
            if last.is_some_and(|last: Instant| last.elapsed() < SAME_PRESS) {
                continue;
            }
            last = Some(Instant::now());
            if PRESSED.signal() > 0 {
                exit_now();
            }
            presses.send_replace(());
        }
    };
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || runtime.block_on(receive))?;
    Ok(presses)
}

/// The signal that a terminal sends when it is closed. `None` if it is ignored: a process started with `nohup` should
/// outlive the terminal.
pub(crate) fn hangup() -> io::Result<Option<Signal>> {
    match ignores_hangup() {
        true => Ok(None),
        false => signal(SignalKind::hangup()).map(Some),
    }
}

/// Resolves when the signal arrives; never if there is none.
pub(crate) async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether SIGHUP is ignored. The kernel shows a mask with signal 1 in its lowest bit.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0)
}

/// Ends the process at once. The runs are recorded as aborted first, if that is possible in time.
fn exit_now() -> ! {
    let (done, recorded) = channel();
    let record = move || {
        // Record first: a terminal that accepts no output must not prevent it.
        if let Some(host) = *HOST.read().unwrap_or_else(PoisonError::into_inner) {
            host.abort_runs();
        }
        ask::restore_terminal();
        let _ = done.send(());
    };
    if std::thread::Builder::new().spawn(record).is_ok() {
        let _ = recorded.recv_timeout(ABORT_TIMEOUT);
    }
    std::process::exit(INTERRUPTED.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presses() -> Presses {
        Presses(AtomicUsize::new(0))
    }

    #[test]
    fn a_signal_at_a_question_is_one_press_whichever_thread_receives_it_first() {
        let question_first = presses();
        question_first.stop(true);
        assert_eq!(question_first.count(), 1);
        assert_eq!(question_first.signal(), 0);
        let thread_first = presses();
        assert_eq!(thread_first.signal(), 0);
        thread_first.stop(true);
        for presses in [question_first, thread_first] {
            assert_eq!(presses.count(), 1);
            // The twin: the next signal is a second press.
            assert_eq!(presses.signal(), 1);
        }
    }

    #[test]
    fn a_signal_after_a_key_at_a_question_is_a_second_press() {
        let presses = presses();
        presses.stop(false);
        assert_eq!(presses.signal(), 1);
        assert_eq!(presses.count(), 2);
    }
}
