//! A run as a handle: its events, its input, and a way to stop it.

use super::Host;
use super::observer::{Abandoned, Observer};
use crate::decision::Permit;
use crate::error::{Error, RunError};
use crate::outcome::{Denial, Outcome, Status};
use crate::runtime::{Chunk, Live, Stdin, Stream};
use bytes::Bytes;
use std::sync::Arc;
use tokio::io::DuplexStream;
use tokio::runtime::Handle;
use tokio::sync::{SetOnce, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Events that wait for their reader before the script waits too.
const EVENTS: usize = 64;
/// Bytes of input that wait for the script.
const STDIN_BYTES: usize = 64 * 1024;

/// What happens during a run, in this order: `Started`, output and denials, `Finished`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// It got its slot. A run that is cancelled while it waits has no such event.
    Started,
    /// The script wrote to its standard output.
    Stdout(Bytes),
    /// The script wrote to its standard error.
    Stderr(Bytes),
    /// The script was denied this for the first time. The outcome says how often.
    Denied(Denial),
    /// It has ended; [`Run::wait`] returns the whole outcome. A run that failed in the host has no such event.
    Finished {
        /// How it ended.
        status: Status,
        /// Its exit code.
        exit_code: i32,
    },
}

/// A run in progress. Dropping it stops the script without waiting for that, [`Run::detach`] does not stop it. A run that
/// was dropped is recorded as aborted, and keeps its slot until its script has stopped; [`Host::clean_up`] waits for both.
///
/// Output waits for its reader: a script whose events are not read stops writing at some point, and then its time limit
/// ends it. [`Run::wait`] reads them.
#[derive(Debug)]
pub struct Run {
    id: String,
    events: mpsc::Receiver<RunEvent>,
    stop: StopOnDrop,
    task: JoinHandle<Result<Outcome, RunError>>,
    /// Where it runs: the handle may be used on any thread.
    runtime: Handle,
}

/// Stops a run that nobody waits for any more. It is then recorded as aborted.
///
/// Aborting its task was rejected: tokio would drop the task on a thread of its own, and nobody could wait for the end of
/// the script.
#[derive(Debug)]
struct StopOnDrop {
    /// `None` if it was stopped, or may go on.
    stop: Option<oneshot::Sender<()>>,
    abandoned: Arc<SetOnce<Abandoned>>,
    /// How many runs are abandoned.
    count: Arc<watch::Sender<usize>>,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Before the signal, so that whoever receives it knows. It is set once.
            let _ = self.abandoned.set(Abandoned::new(&self.count));
            // Fails if it has ended, and then there is nothing to stop.
            let _ = stop.send(());
        }
    }
}

impl Host {
    /// Starts what was permitted. The script's standard input is empty.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn start(&self, permit: Permit) -> Run {
        self.spawn(permit, None)
    }

    /// Like [`Host::start`], with a standard input to write to. The script reads end of file once it is dropped. If the
    /// request has an `input`, the script reads that instead.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn start_with_stdin(&self, permit: Permit) -> (Run, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(STDIN_BYTES);
        (self.spawn(permit, Some(Box::new(theirs))), ours)
    }

    fn spawn(&self, permit: Permit, stdin: Option<Stdin>) -> Run {
        let id = permit.plan().run_id().to_owned();
        let (events, received) = mpsc::channel(EVENTS);
        let (stop, stopped) = oneshot::channel();
        let abandoned = Arc::new(SetOnce::new());
        let observer = Observer {
            abandoned: Arc::clone(&abandoned),
            ..Observer::default()
        };
        let task = tokio::spawn(run(self.clone(), permit, stdin, stopped, observer, events));
        Run {
            id,
            events: received,
            stop: StopOnDrop {
                stop: Some(stop),
                abandoned,
                count: Arc::clone(&self.inner.abandoned),
            },
            task,
            runtime: Handle::current(),
        }
    }
}

impl Run {
    /// Its id, as in the outcome and in the audit log.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Waits for the next event; `None` after the last one.
    pub async fn next_event(&mut self) -> Option<RunEvent> {
        self.events.recv().await
    }

    /// Stops the script. Its outcome is then `cancelled`, with the output written before.
    pub fn cancel(&mut self) {
        // Fails if it has ended, and then there is nothing to stop.
        let _ = self.stop.stop.take().map(|stop| stop.send(()));
    }

    /// Waits until it has ended. Events that were not read are dropped.
    pub async fn wait(mut self) -> Result<Outcome, RunError> {
        while self.events.recv().await.is_some() {}
        let ended = (&mut self.task).await;
        match ended.map_err(|error| error.try_into_panic()) {
            Ok(ended) => ended,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => Err(Error::Stopped.into()),
        }
    }

    /// Lets it run to its end without a handle. Its outcome is in the audit log only.
    pub fn detach(mut self) {
        self.stop.stop = None;
        let runtime = self.runtime.clone();
        drop(runtime.spawn(async move { while self.events.recv().await.is_some() {} }));
    }
}

/// Runs a script and sends its events.
async fn run(
    host: Host,
    permit: Permit,
    stdin: Option<Stdin>,
    stopped: oneshot::Receiver<()>,
    observer: Observer,
    events: mpsc::Sender<RunEvent>,
) -> Result<Outcome, RunError> {
    let (output, chunks) = mpsc::channel(1);
    let (began, has_begun) = oneshot::channel();
    let (deny, denied) = mpsc::unbounded_channel();
    let observer = Observer {
        began: Some(began),
        denied: Some(deny),
        ..observer
    };
    let live = Live {
        stdin,
        output: Some(output),
        stop: Some(Box::pin(async move {
            if stopped.await.is_err() {
                // It was detached.
                std::future::pending::<()>().await;
            }
        })),
    };
    let forward = forward(has_begun, chunks, denied, &events);
    let run = host.run_observed(Arc::new(permit), live, observer);
    let (ended, ()) = tokio::join!(run, forward);
    if let Ok(outcome) = &ended {
        let finished = RunEvent::Finished {
            status: outcome.status,
            exit_code: outcome.exit_code,
        };
        // The reader may be gone.
        let _ = events.send(finished).await;
    }
    ended
}

/// Sends what the script does as events. If nobody reads them any more, the script sees a closed pipe.
async fn forward(
    began: oneshot::Receiver<()>,
    mut chunks: mpsc::Receiver<Chunk>,
    mut denied: mpsc::UnboundedReceiver<Denial>,
    events: &mpsc::Sender<RunEvent>,
) {
    if began.await.is_ok() && events.send(RunEvent::Started).await.is_err() {
        return;
    }
    loop {
        // Denials first: the script writes about them after they happened.
        let event = tokio::select! {
            biased;
            Some(denial) = denied.recv() => RunEvent::Denied(denial),
            chunk = chunks.recv() => match chunk {
                Some(Chunk { stream: Stream::Stdout, bytes }) => RunEvent::Stdout(bytes),
                Some(Chunk { stream: Stream::Stderr, bytes }) => RunEvent::Stderr(bytes),
                None => break,
            },
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
    while let Ok(denial) = denied.try_recv() {
        if events.send(RunEvent::Denied(denial)).await.is_err() {
            return;
        }
    }
}
