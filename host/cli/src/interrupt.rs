//! Ctrl-C, and whoever else asks the process to end.
//!
//! The first signal stops what runs, in order. The second ends the process at once, whatever its other
//! threads are doing: a host call, the audit log or a reader of the output may keep them for ever. So the
//! signals are received on a thread of their own with an event loop of its own. A handler that exits would be
//! unsafe code, and could record nothing.

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
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Signals this close to each other are one: a terminal sends one to every process of a command, and
/// programs like npm pass theirs on as well. Nobody presses a key twice in that time.
const SAME_PRESS: Duration = Duration::from_millis(100);

/// How long the record of what was running may take at the end: the log may be what hangs.
const LAST_RECORD: Duration = Duration::from_secs(1);

/// How often somebody wanted the process to end.
static PRESSED: AtomicUsize = AtomicUsize::new(0);

/// Whose runs are recorded if the process ends before them.
static HOST: RwLock<Option<&'static Host>> = RwLock::new(None);

/// Somebody pressing Ctrl-C, or asking the process to end.
pub(crate) type Interrupted = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Resolves when somebody presses Ctrl-C, or asks the process to end, from now on.
pub(crate) fn interrupted() -> Result<Interrupted, Failure> {
    let mut presses = start()?.subscribe();
    presses.mark_unchanged();
    Ok(Box::pin(async move {
        // The sender is never dropped.
        let _ = presses.changed().await;
    }))
}

/// Stops what runs, as the first Ctrl-C does. Another one ends the process.
pub(crate) fn stop() -> Result<(), Failure> {
    let presses = start()?;
    PRESSED.fetch_max(1, Ordering::SeqCst);
    presses.send_replace(());
    Ok(())
}

/// Whether somebody has pressed Ctrl-C, or asked the process to end.
pub(crate) fn is_pressed() -> bool {
    PRESSED.load(Ordering::SeqCst) > 0
}

/// Has the runs of `host` recorded as aborted if the process ends before them.
pub(crate) fn remember(host: &'static Host) {
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
        let mut last: Option<Instant> = None;
        loop {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
            if last.is_some_and(|last| last.elapsed() < SAME_PRESS) {
                continue;
            }
            last = Some(Instant::now());
            if PRESSED.fetch_add(1, Ordering::SeqCst) > 0 {
                leave();
            }
            presses.send_replace(());
        }
    };
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || runtime.block_on(receive))?;
    Ok(presses)
}

/// Ends the process at once. What was running is recorded, if that can be done.
fn leave() -> ! {
    let (done, recorded) = channel();
    let record = move || {
        // A terminal that takes no output must not keep the record from being written.
        if let Some(host) = *HOST.read().unwrap_or_else(PoisonError::into_inner) {
            host.abort_runs();
        }
        ask::restore_terminal();
        let _ = done.send(());
    };
    if std::thread::Builder::new().spawn(record).is_ok() {
        let _ = recorded.recv_timeout(LAST_RECORD);
    }
    std::process::exit(INTERRUPTED.into())
}
