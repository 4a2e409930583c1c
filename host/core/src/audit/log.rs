//! Appends lines to a log file.
//!
//! The lock is a file of its own, not the log: if the log were renamed while a writer waits, two writers would hold a
//! lock each, and any process that may read the log could hold its lock.
//!
//! Lines that arrive together are appended together, in groups: the head records the group as pending, one write
//! appends it, and the head records its last line as the newest. A system call costs more than everything else that is
//! done for a line, so a group of 32 costs little more than a line. A killed writer leaves whole lines of the group and
//! at most one that was cut short (see `recover`). If a group cannot be written, it is removed again and its lines are
//! written one by one, so that a line fails only for its own reason. If it cannot be removed either, its whole lines stay:
//! the next writer accepts them, so they count as written. So an error means that the line is not in the log, unless
//! not even the length of the file can be read.
//!
//! The files stay open from one batch to the next, and are checked before each (see [`KeptFile`]). Opening them for each
//! line took half of the time of a line. They are closed when nothing is written for a while: the space of a log that
//! was removed is not freed before.
//!
//! A writer that finds the log and the head as long as it left them, under the same names, continues with the head that it
//! wrote, and does not read it again: other writers change the length of the log. So a head that somebody changed alone does not
//! count, and is overwritten with the next line.
//!
//! Nothing is synced to disk. Syncing would cost more than everything else a run does, and its only benefit is that the
//! last lines survive a power failure; the scripts that they record do not survive it either. `audit verify` reports
//! lines lost in this way like removed ones. If the head lost more than the log, the lines that it lost cannot be
//! distinguished from foreign ones.

use super::chain::{Form, HEAD_BYTES, Head, Link, MAX_PENDING, NewHead, Pending, PendingLine};
use super::event::{Event, Fields};
use super::files::{KeptFile, head_of, lock_of, open_head, open_lock, open_log, part_of};
use super::lines::MAX_LINE_BYTES;
use super::recover::current_head;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for other writers. A line takes some microseconds, so thousands of writers fit in.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest delay between two attempts to lock.
const MAX_RETRY_DELAY: Duration = Duration::from_millis(2);
/// Names to try for a part. They are taken only if another program created files with these names.
const MAX_PART_NAMES: u32 = 100;
/// A group that is longer takes no further line, so that long lines are not all in memory twice.
const GROUP_BYTES: usize = 256 << 10;

/// Fails if a line cannot be written to the log at `path` now.
pub(super) fn check_writable(path: &Path) -> io::Result<()> {
    LogFile::new(path.to_owned()).check_writable()
}

/// A line to append.
pub(super) struct NewLine<'a> {
    pub(super) fields: &'a Fields,
    /// The size at which the file is rotated before this line is appended.
    pub(super) rotate_at: u64,
}

/// The files of a log, for writing.
pub(super) struct LogFile {
    path: PathBuf,
    log: KeptFile,
    head: KeptFile,
    lock: KeptFile,
    /// The head at rest, as this writer left it.
    left: Option<Head>,
    #[cfg(test)]
    pub(super) faults: Faults,
}

impl LogFile {
    /// The log at `path`. Nothing is opened or created yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            log: KeptFile::new(path.clone(), open_log),
            head: KeptFile::new(head_of(&path), open_head),
            lock: KeptFile::new(lock_of(&path), open_lock),
            path,
            left: None,
            #[cfg(test)]
            faults: Faults::default(),
        }
    }

    /// Fails if a line cannot be written now.
    pub(super) fn check_writable(&mut self) -> io::Result<()> {
        self.head.current()?;
        self.lock.current()?;
        self.log.current().map(drop)
    }

    /// Locks the log for writing; `None` if another writer holds the lock.
    pub(super) fn try_lock(&mut self) -> io::Result<Option<Locked<'_>>> {
        loop {
            let lock = self.lock.kept_or_opened()?;
            let is_locked = try_lock(lock, FlockOperation::NonBlockingLockExclusive)?;
            // A lock file that was removed in the meantime excludes no other writer.
            if self.lock.is_current() {
                return Ok(is_locked.then(|| Locked {
                    files: self,
                    chain: None,
                }));
            }
            self.lock.close();
        }
    }

    /// The head that this writer left, if nobody has written to the log since then.
    fn unchanged_head(&mut self) -> Option<Head> {
        let head = self.left.take()?;
        let is_unchanged = self.log.kept_length() == Some(head.length)
            && self.head.kept_length() == Some(HEAD_BYTES as u64);
        is_unchanged.then_some(head)
    }

    /// Closes the files until they are needed again.
    pub(super) fn close(&mut self) {
        self.left = None;
        for file in [&mut self.log, &mut self.head, &mut self.lock] {
            file.close();
        }
    }
}

/// The exclusive right to append to a log.
pub(super) struct Locked<'a> {
    files: &'a mut LogFile,
    /// Where the log ends; `None` if that has to be read first.
    chain: Option<Chain>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The file stays open. A process that was forked and has not yet called exec has it open as well, so closing it
        // would not always unlock it.
        let lock = self.files.lock.kept_or_opened();
        if lock
            .and_then(|lock| Ok(flock(lock, FlockOperation::Unlock)?))
            .is_err()
        {
            self.files.lock.close();
        }
    }
}

/// The end of a log, while it is locked.
struct Chain {
    head: Head,
    /// Why a new head has to be created, if it has to.
    new_head: Option<NewHead>,
    /// The form in which the head file must be written: nothing may follow a head at rest.
    form: Form,
}

/// The head before a group is appended.
struct Before {
    head: Head,
    /// Whether its file was lost.
    is_lost: bool,
    form: Form,
}

/// Lines that are appended at once.
#[derive(Default)]
struct Group {
    text: Vec<u8>,
    pending: Vec<PendingLine>,
    newest: Option<Link>,
}

/// Why the first `lines` lines were not appended.
struct Failed {
    lines: usize,
    error: io::Error,
    /// How many of them are in the log nevertheless, if they could not be removed again.
    left: Option<usize>,
}

impl Locked<'_> {
    /// Appends the lines in their order; returns a result for each.
    pub(super) fn append(&mut self, lines: &[NewLine<'_>]) -> Vec<io::Result<()>> {
        let mut results = Vec::with_capacity(lines.len());
        while results.len() < lines.len() {
            let rest = &lines[results.len()..];
            match self.append_group(rest) {
                Ok(count) => results.extend((0..count).map(|_| Ok(()))),
                // Whoever wrote the lines once more would have some of them in the log twice.
                Err(failed) if failed.lines == 1 || failed.left.is_some() => {
                    results.extend((0..failed.lines).map(|line| failed.result(line)));
                }
                Err(failed) => {
                    let each = rest[..failed.lines].iter().map(std::slice::from_ref);
                    results.extend(each.map(|line| match self.append_group(line) {
                        Ok(_) => Ok(()),
                        Err(failed) => failed.result(0),
                    }));
                }
            }
        }
        self.shorten_head();
        let known = self.chain.as_ref().filter(|chain| chain.new_head.is_none());
        self.files.left = known.map(|chain| chain.head.clone());
        results
    }

    /// Appends as many of the first lines as fit into a group; returns how many.
    fn append_group(&mut self, lines: &[NewLine<'_>]) -> Result<usize, Failed> {
        let one = |error| Failed {
            lines: 1,
            error,
            left: None,
        };
        let Some(first) = lines.first() else {
            return Ok(0);
        };
        let head = self.prepare(first.rotate_at).map_err(one)?;
        let mut group = Group::default();
        for line in lines {
            let length = head.length + group.text.len() as u64;
            let is_full = group.pending.len() == MAX_PENDING
                || group.text.len() > GROUP_BYTES
                || length >= line.rotate_at;
            if is_full && !group.pending.is_empty() {
                break;
            }
            match group.push(&head, line.fields) {
                Err(error) if group.pending.is_empty() => return Err(one(error)),
                Err(_) => break,
                Ok(()) => {}
            }
        }
        let lines = group.pending.len();
        self.commit(head, group).map(|()| lines)
    }

    /// Reads where the log ends, if that is not known. Rotates the file if it has `rotate_at` bytes or more, and records
    /// a new head in the log. Returns the head that the next line follows.
    fn prepare(&mut self, rotate_at: u64) -> io::Result<Head> {
        let mut chain = match self.chain.take() {
            Some(chain) => chain,
            None => self.read_chain()?,
        };
        let head = &mut chain.head;
        if head.length >= rotate_at && head.length > 0 && rotate(&self.files.path, head.first)? {
            self.files.log.current()?;
            head.length = 0;
        }
        if head.length == 0 {
            head.first = head.newest.seq.saturating_add(1);
        }
        let (head, new_head) = (head.clone(), chain.new_head);
        self.chain = Some(chain);
        if let Some(why) = new_head {
            let mut group = Group::default();
            group.push(&head, &Event::new_head(why).fields()?)?;
            // If this line stays in the log after an error, the next writer writes another.
            self.commit(head, group).map_err(|failed| failed.error)?;
            return self.prepare(u64::MAX);
        }
        Ok(head)
    }

    fn read_chain(&mut self) -> io::Result<Chain> {
        if let Some(head) = self.files.unchanged_head() {
            return Ok(Chain {
                head,
                new_head: None,
                form: Form::AtRest,
            });
        }
        let (log, length) = self.files.log.current()?;
        let (head_file, head_length) = self.files.head.current()?;
        let stored = Head::read(head_file, head_length)?;
        let (head, new_head) = current_head(&self.files.path, log, length, stored)?;
        let form = match head_length > HEAD_BYTES as u64 {
            true => Form::Long,
            false => Form::AtRest,
        };
        Ok(Chain {
            head,
            new_head,
            form,
        })
    }

    /// Appends a group after `head`, and updates the head. After an error, where the log ends has to be read again.
    fn commit(&mut self, head: Head, group: Group) -> Result<(), Failed> {
        let lines = group.pending.len();
        let failed = |error, left| Failed { lines, error, left };
        let (Some(mut chain), Some(newest)) = (self.chain.take(), group.newest) else {
            let error = io::Error::other("there is nothing to append");
            return Err(failed(error, None));
        };
        if group.pending.len() > 1 {
            chain.form = Form::Long;
        }
        let before = Before {
            // A head that was lost is not replaced before the log says so. Until then its next writer finds it lost.
            is_lost: chain.new_head.is_some_and(|why| !why.is_update()),
            form: chain.form,
            head,
        };
        chain.new_head = None;
        chain.head = Head {
            newest,
            length: before.head.length + group.text.len() as u64,
            pending: Pending::NONE,
            ..before.head
        };
        if !before.is_lost {
            // If this writer is killed, the next one accepts these lines and no others.
            let pending = Pending::Lines(group.pending);
            let pending = Head {
                pending,
                ..before.head
            };
            if let Err(error) = self.write_head(&pending, chain.form) {
                self.restore_head(before);
                return Err(failed(error, None));
            }
        }
        let appended = self.write_log(&group.text);
        if let Err(error) = appended.and_then(|()| self.write_head(&chain.head, chain.form)) {
            // Remove what fitted on the disk. If that fails, the next writer ends the last line and accepts it.
            let start = before.head.length;
            let left = match self.truncate_log(start) {
                Ok(()) => {
                    self.restore_head(before);
                    None
                }
                Err(_) => Some(self.whole_lines(start, &group.text)),
            };
            return Err(failed(error, left));
        }
        self.chain = Some(chain);
        Ok(())
    }

    /// How many lines of a group that begins at `start` are in the log; the last one may lack its newline.
    fn whole_lines(&mut self, start: u64, text: &[u8]) -> usize {
        let log = self.files.log.kept_or_opened();
        let length = log.and_then(|log| Ok(log.metadata()?.len()));
        let written = length.unwrap_or(start).saturating_sub(start);
        let newlines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let ends = newlines.map(|(end, _)| end as u64);
        ends.take_while(|end| *end <= written).count()
    }

    /// Writes the head as it was before a group that was not appended.
    fn restore_head(&mut self, before: Before) {
        if !before.is_lost {
            let pending = Pending::NONE;
            let head = Head {
                pending,
                ..before.head
            };
            // On failure its pending lines stay recorded; they do not exist, so that does not matter.
            let _ = self.write_head(&head, before.form);
        }
    }

    /// Writes the head in the form that it has at rest. A long one is valid as well, so an error does not matter.
    fn shorten_head(&mut self) {
        let Some(chain) = self.chain.take_if(|chain| chain.form == Form::Long) else {
            return;
        };
        if self.truncate_head().is_ok() {
            let _ = self.write_head(&chain.head, Form::AtRest);
        }
    }

    fn truncate_head(&mut self) -> io::Result<()> {
        #[cfg(test)]
        self.files.fail(Write::Truncate)?;
        let head = self.files.head.kept_or_opened()?;
        head.set_len(HEAD_BYTES as u64)
    }

    fn write_head(&mut self, head: &Head, form: Form) -> io::Result<()> {
        #[cfg(test)]
        self.files.fail(Write::Head)?;
        let file = self.files.head.kept_or_opened()?;
        file.write_all_at(head.text(form).as_bytes(), 0)
    }

    fn write_log(&mut self, text: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        self.files.fail(Write::Log(text))?;
        self.files.log.kept_or_opened()?.write_all(text)
    }

    fn truncate_log(&mut self, length: u64) -> io::Result<()> {
        #[cfg(test)]
        self.files.fail(Write::Truncate)?;
        self.files.log.kept_or_opened()?.set_len(length)
    }
}

impl Failed {
    /// The result for one of the lines, by its place.
    fn result(&self, line: usize) -> io::Result<()> {
        match self.left.is_some_and(|left| line < left) {
            true => Ok(()),
            false => Err(same(&self.error)),
        }
    }
}

impl Group {
    /// Adds a line. The first one follows `head`.
    fn push(&mut self, head: &Head, fields: &Fields) -> io::Result<()> {
        let newest = self.newest.unwrap_or(head.newest);
        let seq = newest.seq.saturating_add(1);
        let previous = (newest.seq > 0).then_some(newest.hash);
        let start = self.text.len();
        fields.push_line(seq, previous, &mut self.text);
        let bytes = self.text.len() - start;
        if bytes > MAX_LINE_BYTES {
            self.text.truncate(start);
            return Err(too_long(bytes));
        }
        let line = PendingLine::of(&self.text[start..]);
        self.text.push(b'\n');
        self.pending.push(line);
        let hash = line.hash;
        self.newest = Some(Link { seq, hash });
        Ok(())
    }
}

/// The same error for another line.
pub(super) fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// A line is not written, because it could not be read.
pub(super) fn too_long(bytes: usize) -> io::Error {
    let why = format!("a line of {bytes} bytes is too long");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Waits for a lock until the deadline.
pub(super) fn wait_for_lock(
    file: &File,
    operation: FlockOperation,
    deadline: Instant,
) -> io::Result<()> {
    let mut retry = Retry::until(deadline);
    while !try_lock(file, operation)? {
        retry.wait()?;
    }
    Ok(())
}

/// Takes a lock, unless another process holds it.
fn try_lock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Waits between attempts to lock, longer each time.
///
/// A system call that waits for the lock could not be given a deadline without a signal. Only other processes are
/// waited for in this way: the writers of this one share a thread (see `writer`).
pub(super) struct Retry {
    delay: Duration,
    deadline: Instant,
}

impl Retry {
    pub(super) fn until(deadline: Instant) -> Self {
        Self {
            delay: Duration::from_micros(20),
            deadline,
        }
    }

    /// Waits until the next attempt; fails after the deadline.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        if Instant::now() >= self.deadline {
            let why = format!(
                "another process has held the lock for {}s",
                LOCK_TIMEOUT.as_secs()
            );
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        std::thread::sleep(self.delay);
        self.delay = (self.delay * 2).min(MAX_RETRY_DELAY);
        Ok(())
    }
}

/// When a wait for the lock that starts now times out.
pub(super) fn lock_deadline() -> Instant {
    Instant::now() + LOCK_TIMEOUT
}

/// Renames the file to a part. Returns `false` if that is not possible; then the file keeps growing: a complete
/// record is more important than a small file.
fn rotate(path: &Path, first: u64) -> io::Result<bool> {
    for attempt in 0..MAX_PART_NAMES {
        match rename(path, &part_of(path, first, attempt)) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return Ok(false),
        }
    }
    Ok(false)
}

/// Renames a file without replacing another.
fn rename(from: &Path, to: &PathBuf) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system supports this flag; the lock keeps other writers away.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(from, to),
        },
        done => Ok(done?),
    }
}

/// What a test lets fail.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(super) enum Write<'a> {
    Head,
    Log(&'a [u8]),
    Truncate,
}

#[cfg(test)]
type Fails = dyn FnMut(Write<'_>) -> bool + Send;

/// Decides which writes fail.
#[cfg(test)]
#[derive(Clone, Default)]
pub(super) struct Faults(std::sync::Arc<std::sync::Mutex<Option<Box<Fails>>>>);

#[cfg(test)]
impl Faults {
    pub(super) fn set(&self, fails: impl FnMut(Write<'_>) -> bool + Send + 'static) {
        *self.fails() = Some(Box::new(fails));
    }

    fn fails(&self) -> std::sync::MutexGuard<'_, Option<Box<Fails>>> {
        let fails = self.0.lock();
        fails.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
impl LogFile {
    /// Fails as on a disk that is full, if the test wants that.
    fn fail(&mut self, write: Write<'_>) -> io::Result<()> {
        if !self
            .faults
            .fails()
            .as_mut()
            .is_some_and(|fails| fails(write))
        {
            return Ok(());
        }
        if let Write::Log(text) = write {
            let mut log = self.log.kept_or_opened()?;
            log.write_all(&text[..text.len() / 2])?;
        }
        Err(io::ErrorKind::StorageFull.into())
    }
}
