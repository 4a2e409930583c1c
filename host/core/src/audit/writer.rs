//! The thread that writes a log, one for all callers of a process.
//!
//! Callers hand over the fields of a line and wait for the result, without blocking if they are async. The thread takes
//! everything that was handed over in the meantime, locks the log once, and appends all of it. So callers of one process
//! never wait for the lock of each other, and the more of them there are, the less a line costs. All [`AuditLog`]s of one
//! path share a thread. Other processes share the log through its lock, and only this thread waits for them.
//!
//! A caller whose thread may block writes what was handed over itself, if nobody else does at that moment
//! ([`Receipt::write_now`]). That saves waking the thread of the log and being woken by it, which takes longer than to
//! write a line. If somebody else does, that one writes the line next. The thread is woken only for lines that somebody
//! waits for: the caller of any other is still on its way to write it.
//!
//! Rejected: a mutex around the file, because an async caller would block its thread; and a task of an async runtime,
//! because there may be none, or one that has stopped.
//!
//! The thread starts when a line is left to it: a process that runs one script writes both lines of it on the thread of the
//! guest, and needs no other. It does not keep the process alive: a process that ends without dropping its
//! last [`AuditLog`] calls [`Writer::flush`], or loses the lines that nobody waited for.
//!
//! [`AuditLog`]: super::AuditLog

use super::AuditSink;
use super::chain::{Head, LineHash, Link};
use super::event::Fields;
use super::lines::MAX_LINE_BYTES;
use super::log::{LOCK_TIMEOUT, LogFile, NewLine, Retry, same, too_long};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, TryLockError, Weak, mpsc};
use std::task::{Context, Poll};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Bytes that may wait to be written. Each caller waits for its line, so this limits what very many callers with very
/// long lines use while another process holds the lock.
const MAX_QUEUED_BYTES: usize = 64 << 20;
/// Lines that are written before other processes may take the lock. They take some milliseconds.
const MAX_BATCH: usize = 1024;
/// How long files stay open without being used. A busy host writes more often than that.
const KEEP_OPEN: Duration = Duration::from_secs(1);
/// Batches that are written before the thread is started only to close the files: the two lines of a run. A host that ran
/// one script keeps them open until its next line, or its end.
const WITHOUT_THREAD: u32 = 2;
/// Batches that a caller writes for itself and for those who came while it wrote. It has a run to get on with, so whatever
/// comes then is left to the thread.
const CALLER_BATCHES: u32 = 2;

/// Where lines are written.
enum Target {
    File(LogFile),
    Sink {
        sink: Arc<dyn AuditSink>,
        head: Head,
    },
}

/// Writes the lines of one log. Dropping it waits until everything that was handed over is written.
pub(super) struct Writer {
    /// The path of the log, if it is a file.
    path: Option<PathBuf>,
    /// The sink, if it is none.
    sink: Option<Arc<dyn AuditSink>>,
    shared: Arc<Shared>,
    #[cfg(test)]
    pub(super) faults: super::log::Faults,
}

/// What the thread shares with its callers.
struct Shared {
    queue: Mutex<Queue>,
    /// Something was queued, or the queue was closed.
    changed: Condvar,
    /// Everything that was queued is done.
    is_done: Condvar,
    /// Whoever locks it writes what is queued. Nobody waits for it but the thread.
    target: Mutex<Target>,
    /// When a line was last written.
    written: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The bytes of the lines.
    bytes: usize,
    thread: Option<ThreadId>,
    /// Whether the thread waits for a change.
    is_waiting: bool,
    /// Whether the thread works on what it took from the queue.
    is_busy: bool,
    /// Whether files may be open, which the thread closes when they are not used any more.
    is_open: bool,
    /// Whether a caller writes what it took from the queue.
    is_written: bool,
    /// Whether a caller left its line to whoever had the target.
    is_left: bool,
    /// Batches that callers wrote before the thread was started.
    without_thread: u32,
    is_closed: bool,
}

/// A line to write. Without fields, it waits for the lines before it.
struct Job {
    fields: Option<Fields>,
    rotate_at: u64,
    queued: Instant,
    reply: Reply,
}

/// How the result reaches the caller.
enum Reply {
    Async(oneshot::Sender<io::Result<()>>),
    Blocking(mpsc::SyncSender<io::Result<()>>),
    Nobody,
}

impl Reply {
    fn send(self, result: io::Result<()>) {
        // The caller may be gone.
        match self {
            Self::Async(sender) => drop(sender.send(result)),
            Self::Blocking(sender) => drop(sender.send(result)),
            Self::Nobody => {}
        }
    }
}

/// What the thread does next.
enum Next {
    Work,
    CloseFiles,
    Stop,
}

impl Writer {
    /// The writer for the log at `path`, which every log of this path shares. Nothing is opened or started yet.
    pub(super) fn for_file(path: &Path) -> Arc<Self> {
        /// By absolute path. Two paths of one file have two writers, which wait for each other as processes do.
        static WRITERS: LazyLock<Mutex<HashMap<PathBuf, Weak<Writer>>>> =
            LazyLock::new(Mutex::default);
        // The log stays where it is if the process changes its directory later.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut writers = lock(&WRITERS);
        if let Some(writer) = writers.get(&path).and_then(Weak::upgrade) {
            return writer;
        }
        writers.retain(|_, writer| writer.strong_count() > 0);
        let writer = Self::unshared(path.clone());
        writers.insert(path, Arc::downgrade(&writer));
        writer
    }

    /// A writer that no other log of this path shares.
    pub(super) fn unshared(path: PathBuf) -> Arc<Self> {
        Self::new(Some(path.clone()), Target::File(LogFile::new(path)))
    }

    /// A writer that passes each line to a sink.
    pub(super) fn for_sink(sink: Arc<dyn AuditSink>) -> Arc<Self> {
        let head = Head::empty();
        Self::new(None, Target::Sink { sink, head })
    }

    fn new(path: Option<PathBuf>, target: Target) -> Arc<Self> {
        #[cfg(test)]
        let faults = match &target {
            Target::File(log) => log.faults.clone(),
            Target::Sink { .. } => super::log::Faults::default(),
        };
        let sink = match &target {
            Target::File(_) => None,
            Target::Sink { sink, .. } => Some(Arc::clone(sink)),
        };
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            is_done: Condvar::new(),
            target: Mutex::new(target),
            written: Mutex::default(),
        });
        Arc::new(Self {
            path,
            sink,
            shared,
            #[cfg(test)]
            faults,
        })
    }

    /// Queues a line.
    pub(super) fn write(&self, fields: Fields, rotate_at: u64) -> io::Result<Receipt> {
        let (reply, result) = oneshot::channel();
        self.queue_line(fields, rotate_at, Reply::Async(reply), Wake::Later)?;
        Ok(Receipt {
            result,
            shared: Some(Arc::clone(&self.shared)),
        })
    }

    /// Like [`Writer::write`], for callers that may block.
    pub(super) fn write_blocking(&self, fields: Fields, rotate_at: u64) -> io::Result<()> {
        self.blocking(|reply| self.queue_line(fields, rotate_at, reply, Wake::Now))
    }

    /// Writes a line later. An error is not reported.
    pub(super) fn post(&self, fields: Fields, rotate_at: u64) {
        // Without a thread there is nobody who could be told.
        let _ = self.queue_line(fields, rotate_at, Reply::Nobody, Wake::Now);
    }

    /// Waits until everything that was handed over before is written, or has failed.
    pub(super) async fn flush(&self) {
        let (reply, result) = oneshot::channel();
        if self.queue_flush(Reply::Async(reply)).is_ok() {
            // Whoever handed the lines over gets their errors.
            let _ = result.await;
        }
    }

    /// Like [`Writer::flush`], for callers that may block.
    pub(super) fn flush_blocking(&self) {
        // As above.
        let _ = self.blocking(|reply| self.queue_flush(reply));
    }

    /// Fails if a line cannot be written now. It does not wait for the lock, and may block for the file system. A line
    /// that was written a moment ago is proof enough: nothing runs before its own line is written.
    pub(super) fn check(&self) -> io::Result<()> {
        match &self.path {
            Some(_) if self.shared.wrote_recently() => Ok(()),
            Some(path) => super::log::check_writable(path),
            None => self.sink.as_ref().map_or(Ok(()), |sink| sink.check()),
        }
    }

    fn queue_line(
        &self,
        fields: Fields,
        rotate_at: u64,
        reply: Reply,
        wake: Wake,
    ) -> io::Result<()> {
        let bytes = fields.bytes();
        if bytes > MAX_LINE_BYTES {
            return Err(too_long(bytes));
        }
        self.queue(wake, |queue| {
            // The end of a run is queued in any case: there are not more of them than starts that were accepted.
            if !fields.ends_run() && queue.bytes + bytes > MAX_QUEUED_BYTES {
                let why = format!("{} lines are waiting to be written", queue.jobs.len());
                return Err(io::Error::new(io::ErrorKind::QuotaExceeded, why));
            }
            queue.bytes += bytes;
            queue.jobs.push_back(Job {
                fields: Some(fields),
                rotate_at,
                queued: Instant::now(),
                reply,
            });
            Ok(())
        })
    }

    /// Queues a job that is done when those before it are.
    fn queue_flush(&self, reply: Reply) -> io::Result<()> {
        if lock(&self.shared.queue).is_done() {
            reply.send(Ok(()));
            return Ok(());
        }
        self.queue(Wake::Now, |queue| {
            queue.jobs.push_back(Job {
                fields: None,
                rotate_at: u64::MAX,
                queued: Instant::now(),
                reply,
            });
            Ok(())
        })
    }

    /// Adds something to the queue.
    fn queue(&self, wake: Wake, add: impl FnOnce(&mut Queue) -> io::Result<()>) -> io::Result<()> {
        let mut queue = lock(&self.shared.queue);
        add(&mut queue)?;
        match wake {
            Wake::Now => self.shared.wake(queue),
            Wake::Later => Ok(()),
        }
    }

    /// Hands something over and blocks until the result is there.
    fn blocking(&self, hand_over: impl FnOnce(Reply) -> io::Result<()>) -> io::Result<()> {
        if self.is_own_thread() {
            // It would wait for itself.
            return Err(io::Error::other("a sink cannot write to its own log"));
        }
        let (reply, result) = mpsc::sync_channel(1);
        hand_over(Reply::Blocking(reply))?;
        received(result.recv())
    }

    #[cfg(test)]
    pub(super) fn is_queue_empty(&self) -> bool {
        lock(&self.shared.queue).jobs.is_empty()
    }

    fn is_own_thread(&self) -> bool {
        lock(&self.shared.queue).thread == Some(thread::current().id())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A caller that got its result may drop the last log on the thread itself, which then writes the rest alone.
        let is_own_thread = self.is_own_thread();
        let mut queue = lock(&self.shared.queue);
        queue.is_closed = true;
        self.shared.changed.notify_one();
        while !is_own_thread && queue.thread.is_some() && queue.has_work() {
            let waited = self.shared.is_done.wait(queue);
            queue = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// When the thread is woken for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    Now,
    /// When its caller waits for the line, or does not want to any more.
    Later,
}

/// A queued line. The future returns when it is written.
pub(super) struct Receipt {
    result: oneshot::Receiver<io::Result<()>>,
    /// Set until the thread was woken for the line.
    shared: Option<Arc<Shared>>,
}

impl Receipt {
    /// Writes the line on this thread, with all others that are queued. It waits for nobody: if somebody else writes at this
    /// moment, or another process does, the line is left to the thread of the log. That also writes to sinks, because they
    /// may block.
    pub(super) fn write_now(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.write_now();
        }
    }
}

impl Future for Receipt {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(shared) = self.shared.take() {
            // If it cannot be started, that is the result.
            let _ = shared.wake(lock(&shared.queue));
        }
        Pin::new(&mut self.result).poll(cx).map(received)
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            // Nobody waits for the result.
            let _ = shared.wake(lock(&shared.queue));
        }
    }
}

/// The result, or an error if the thread panicked before it had one.
fn received<E>(result: Result<io::Result<()>, E>) -> io::Result<()> {
    result.unwrap_or_else(|_| Err(panicked()))
}

fn panicked() -> io::Error {
    io::Error::other("the thread that writes it panicked")
}

impl Queue {
    /// Whether something is not yet done.
    fn has_work(&self) -> bool {
        self.is_busy || self.is_queued()
    }

    fn is_queued(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Whether there is nothing to wait for. Not known if the thread runs: it may hold what it took from the queue.
    fn is_done(&self) -> bool {
        self.thread.is_none() && !self.is_written && !self.is_queued()
    }

    /// Removes everything. It is to be dropped without the lock: that wakes callers.
    fn clear(&mut self) -> VecDeque<Job> {
        (self.bytes, self.is_left) = (0, false);
        std::mem::take(&mut self.jobs)
    }

    /// Removes the first `count` jobs.
    fn take(&mut self, count: usize) -> Vec<Job> {
        let count = count.min(self.jobs.len());
        let jobs: Vec<Job> = self.jobs.drain(..count).collect();
        self.bytes -= jobs.iter().map(Job::bytes).sum::<usize>();
        self.is_left &= self.is_queued();
        jobs
    }
}

impl Job {
    fn bytes(&self) -> usize {
        self.fields.as_ref().map_or(0, Fields::bytes)
    }

    fn line(&self) -> Option<NewLine<'_>> {
        let (fields, rotate_at) = (self.fields.as_ref()?, self.rotate_at);
        Some(NewLine { fields, rotate_at })
    }
}

impl Shared {
    /// Writes what is queued until the queue is closed.
    fn serve(&self) {
        let _stopped = Stopped(self);
        loop {
            match self.next() {
                Next::Work => {
                    let mut target = lock(&self.target);
                    self.contain_panic(&mut target, |target| self.work(target));
                }
                Next::CloseFiles => lock(&self.target).close(),
                Next::Stop => return,
            }
        }
    }

    /// Writes what is queued if that is possible without waiting for anybody. Somebody else writes the rest.
    fn write_now(self: &Arc<Self>) {
        {
            let mut queue = lock(&self.queue);
            // Set before the target is tried: whoever has it looks at this after unlocking it.
            queue.is_left = queue.is_queued();
        }
        for batch in 1..=CALLER_BATCHES {
            let mut target = match self.target.try_lock() {
                Ok(target) => target,
                Err(TryLockError::Poisoned(target)) => target.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            // Somebody else may have written it.
            let is_queued = {
                let mut queue = lock(&self.queue);
                queue.is_written = queue.is_queued();
                queue.is_written
            };
            let mut is_written = false;
            if is_queued {
                self.contain_panic(&mut target, |target| {
                    if let Target::File(log) = target {
                        is_written = self.try_write_batch(log);
                    }
                });
            }
            let goes_on = is_written && batch < CALLER_BATCHES;
            if !self.unlock(target, is_queued, goes_on) {
                return;
            }
        }
    }

    /// Unlocks the target after it was used, or was not. Whoever found the target locked relies on its line being written:
    /// the queue is checked after unlocking, so either the line is seen here, or its caller finds the target unlocked.
    /// Returns whether this caller, which can go on, has to write what was left to it. Otherwise the thread is woken for that.
    fn unlock(
        self: &Arc<Self>,
        target: MutexGuard<'_, Target>,
        was_used: bool,
        goes_on: bool,
    ) -> bool {
        // While this caller has the target, nobody else says that it writes.
        lock(&self.queue).is_written = false;
        drop(target);
        let mut queue = lock(&self.queue);
        let mut has_to_close = was_used && !std::mem::replace(&mut queue.is_open, true);
        if was_used && queue.thread.is_none() {
            queue.without_thread += 1;
            has_to_close = queue.without_thread > WITHOUT_THREAD;
        }
        let goes_on = goes_on && queue.is_left;
        if has_to_close || (queue.is_left && !goes_on) {
            // If it cannot be started, whoever waits has the error.
            let _ = self.wake(queue);
        }
        goes_on
    }

    /// Works on a batch. A panic concerns that batch only.
    fn contain_panic(&self, target: &mut Target, work: impl FnOnce(&mut Target)) {
        let oldest = self.oldest();
        if catch_unwind(AssertUnwindSafe(|| work(target))).is_err() {
            target.close();
            // The callers of lines that were taken from the queue already have their error; lines that are still there
            // would panic again.
            if oldest.is_some() && self.oldest() == oldest {
                fail(self.take(MAX_BATCH), &panicked());
            }
        }
    }

    /// Wakes the thread if it waits, and starts it if it does not run. If that fails, so does everything that is queued.
    fn wake(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) -> io::Result<()> {
        if queue.thread.is_some() {
            let wake = std::mem::take(&mut queue.is_waiting);
            // Unlocked first: the thread would wake up only to wait for the lock.
            drop(queue);
            if wake {
                self.changed.notify_one();
            }
            return Ok(());
        }
        let shared = Arc::clone(self);
        let thread = thread::Builder::new().name("audit".into());
        match thread.spawn(move || shared.serve()) {
            Ok(thread) => {
                queue.thread = Some(thread.thread().id());
                Ok(())
            }
            Err(error) => {
                let jobs = queue.clear();
                drop(queue);
                fail(jobs, &error);
                Err(error)
            }
        }
    }

    /// Waits for something to do.
    fn next(&self) -> Next {
        let mut queue = lock(&self.queue);
        queue.is_busy = false;
        loop {
            if queue.is_queued() {
                queue.is_busy = true;
                queue.is_open = true;
                return Next::Work;
            }
            if queue.is_closed {
                return Next::Stop;
            }
            queue.is_waiting = true;
            let is_late;
            (queue, is_late) = match queue.is_open {
                true => {
                    let waited = self.changed.wait_timeout(queue, KEEP_OPEN);
                    let (queue, time) = waited.unwrap_or_else(PoisonError::into_inner);
                    (queue, time.timed_out())
                }
                false => {
                    let waited = self.changed.wait(queue);
                    (waited.unwrap_or_else(PoisonError::into_inner), false)
                }
            };
            queue.is_waiting = false;
            if is_late && !queue.is_queued() && !self.wrote_recently() {
                queue.is_open = false;
                return Next::CloseFiles;
            }
        }
    }

    /// When the oldest job was queued.
    fn oldest(&self) -> Option<Instant> {
        lock(&self.queue).jobs.front().map(|job| job.queued)
    }

    /// Writes one batch.
    fn work(&self, target: &mut Target) {
        match target {
            Target::File(log) => self.write_batch(log),
            Target::Sink { sink, head } => {
                for job in self.take(MAX_BATCH) {
                    let line = job.fields.as_ref();
                    let written = line.map_or(Ok(()), |fields| to_sink(&**sink, head, fields));
                    job.reply.send(written);
                }
            }
        }
    }

    fn write_batch(&self, log: &mut LogFile) {
        let Some(oldest) = self.oldest() else {
            return;
        };
        let mut retry = Retry::until(oldest + LOCK_TIMEOUT);
        while !self.try_write_batch(log) {
            if let Err(error) = retry.wait() {
                return fail(self.take_expired(), &error);
            }
        }
    }

    /// Writes one batch, unless another process holds the lock; returns whether it was written, or has failed.
    fn try_write_batch(&self, log: &mut LogFile) -> bool {
        let mut locked = match log.try_lock() {
            Ok(Some(locked)) => locked,
            Ok(None) => return false,
            Err(error) => {
                // The last line is no longer proof that the next can be written.
                *lock(&self.written) = None;
                fail(self.take(MAX_BATCH), &error);
                return true;
            }
        };
        let jobs = self.take(MAX_BATCH);
        let lines: Vec<NewLine<'_>> = jobs.iter().filter_map(Job::line).collect();
        let results = locked.append(&lines);
        let is_last_written = results.last().is_some_and(Result::is_ok);
        *lock(&self.written) = is_last_written.then(Instant::now);
        let mut results = results.into_iter();
        // Other processes need not wait until the callers are woken.
        drop(locked);
        for job in jobs {
            let result = job.fields.as_ref().and_then(|_| results.next());
            job.reply.send(result.unwrap_or(Ok(())));
        }
        true
    }

    /// Whether a line was written a moment ago.
    fn wrote_recently(&self) -> bool {
        let is_recent = |written: Instant| written.elapsed() < KEEP_OPEN;
        lock(&self.written).is_some_and(is_recent)
    }

    fn take(&self, count: usize) -> Vec<Job> {
        lock(&self.queue).take(count)
    }

    /// Takes the jobs that have waited for the lock as long as they may.
    fn take_expired(&self) -> Vec<Job> {
        let mut queue = lock(&self.queue);
        let jobs = queue.jobs.iter();
        let expired = jobs.take_while(|job| job.queued.elapsed() >= LOCK_TIMEOUT);
        let count = expired.count();
        queue.take(count)
    }
}

fn fail(jobs: impl IntoIterator<Item = Job>, error: &io::Error) {
    for job in jobs {
        job.reply.send(Err(same(error)));
    }
}

impl Target {
    fn close(&mut self) {
        if let Self::File(log) = self {
            log.close();
        }
    }
}

/// Passes one line to a sink. If the sink fails, the line is not part of the chain.
fn to_sink(sink: &dyn AuditSink, head: &mut Head, fields: &Fields) -> io::Result<()> {
    let seq = head.newest.seq + 1;
    let mut line = Vec::new();
    fields.push_line(seq, head.previous(), &mut line);
    let hash = LineHash::of(&line);
    line.push(b'\n');
    // A panic concerns this line only.
    let written = catch_unwind(AssertUnwindSafe(|| sink.write(&line)));
    written.unwrap_or_else(|_| Err(io::Error::other("the sink panicked")))?;
    head.newest = Link { seq, hash };
    Ok(())
}

/// Lets the next caller start another thread, and answers the callers that wait, when the thread ends or panics.
struct Stopped<'a>(&'a Shared);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.thread = None;
        queue.is_busy = false;
        queue.is_waiting = false;
        let jobs = queue.clear();
        self.0.is_done.notify_all();
        drop(queue);
        drop(jobs);
    }
}

/// A panic leaves nothing half changed here that matters: the files say what they contain.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::event::{Event, RunInfo};

    #[test]
    fn a_line_that_was_left_to_another_caller_is_written_by_it_or_wakes_the_thread() {
        for goes_on in [false, true] {
            let (_folder, path, writer) = of_file();
            let shared = &writer.shared;
            wait_as_thread(shared);
            // Another caller is about to unlock the target.
            let target = lock(&shared.target);
            let mut receipt = writer.write(line(), u64::MAX).unwrap();
            receipt.write_now();
            assert!(lock(&shared.queue).is_waiting);
            assert_eq!(shared.unlock(target, false, goes_on), goes_on);
            {
                let queue = lock(&shared.queue);
                assert_eq!((queue.is_waiting, queue.jobs.len()), (goes_on, 1));
            }
            if goes_on {
                shared.write_now();
                assert!(receipt.result.try_recv().unwrap().is_ok());
                assert_eq!(lines_in(&path), 1);
            }
        }
    }

    #[test]
    fn a_line_whose_caller_is_on_its_way_does_not_wake_the_thread() {
        let (_folder, path, writer) = of_file();
        let shared = &writer.shared;
        wait_as_thread(shared);
        let target = lock(&shared.target);
        let mut on_its_way = writer.write(line(), u64::MAX).unwrap();
        assert!(!shared.unlock(target, false, true));
        assert!(lock(&shared.queue).is_waiting);
        assert_eq!(lock(&shared.queue).jobs.len(), 1);
        // It finds the target unlocked.
        on_its_way.write_now();
        assert!(on_its_way.result.try_recv().unwrap().is_ok());
        assert_eq!(lines_in(&path), 1);
        let queue = lock(&shared.queue);
        assert!(queue.is_waiting && !queue.is_left);
    }

    /// Makes it look as if the thread waited. This one stands in for it, so that nothing depends on time.
    fn wait_as_thread(shared: &Shared) {
        *lock(&shared.queue) = Queue {
            thread: Some(thread::current().id()),
            is_waiting: true,
            is_open: true,
            ..Queue::default()
        };
    }

    fn line() -> Fields {
        let fields = Event::refused(RunInfo::default(), "reason").fields();
        fields.unwrap()
    }

    /// A writer of a file, and the file.
    fn of_file() -> (tempfile::TempDir, PathBuf, Arc<Writer>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let writer = Writer::unshared(path.clone());
        (folder, path, writer)
    }

    fn lines_in(path: &Path) -> usize {
        std::fs::read_to_string(path).unwrap().lines().count()
    }

    #[test]
    fn the_two_lines_of_a_run_need_no_thread_and_a_third_one_does() {
        let (_folder, path, writer) = of_file();
        for count in 1..=3 {
            let mut receipt = writer.write(line(), u64::MAX).unwrap();
            receipt.write_now();
            assert!(receipt.result.try_recv().unwrap().is_ok());
            assert_eq!(lines_in(&path), count);
            let has_thread = lock(&writer.shared.queue).thread.is_some();
            assert_eq!(has_thread, count == 3, "{count}");
        }
    }

    #[test]
    fn a_line_that_its_caller_does_not_write_is_written_by_the_thread() {
        let (_folder, path, writer) = of_file();
        // Whoever flushes starts the thread, whether or not the caller still waits.
        let waits = writer.write(line(), u64::MAX).unwrap();
        writer.flush_blocking();
        assert_eq!(lines_in(&path), 1);
        drop(waits);
        let (_folder, path, writer) = of_file();
        drop(writer.write(line(), u64::MAX).unwrap());
        assert!(lock(&writer.shared.queue).thread.is_some());
        drop(writer);
        assert_eq!(lines_in(&path), 1);
    }

    #[test]
    fn a_flush_waits_for_a_line_that_a_caller_is_writing() {
        let (_folder, _path, writer) = of_file();
        let is_done = |queue: Queue| queue.is_done();
        assert!(is_done(Queue::default()));
        let is_written = true;
        let writes = Queue {
            is_written,
            ..Queue::default()
        };
        assert!(!is_done(writes));
        // Nothing was handed over, so there is nothing to wait for, and no thread.
        writer.flush_blocking();
        assert!(lock(&writer.shared.queue).thread.is_none());
    }
}
