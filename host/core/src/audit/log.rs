//! Appends a line to a log file.
//!
//! The lock is a file of its own, not the log: if the log were renamed while a writer waits, two writers would hold a
//! lock each, and any process that may read the log could hold its lock. A killed writer leaves at most one line after
//! the newest one, complete or cut short. The head records that line as pending, so the next writer adds it to the chain
//! and continues. Any other line after the newest one is foreign: the chain skips it, and `audit verify` reports it from
//! then on. Foreign lines stop nothing, because otherwise any process that can append a line could stop every run.
//!
//! If a log has lines but no usable head, the chain continues from its last line: runs must not stop. The first line
//! after that is `new_head`, so that the loss of the head stays in the chain and `audit verify` reports it. A log
//! without lines and without a head is a new one.
//!
//! Nothing is synced to disk. Syncing would cost more than everything else a run does, and its only benefit is that the
//! last lines survive a power failure; the scripts that they record do not survive it either. `audit verify` reports
//! lines lost in this way like removed ones. If the head lost more than the log, the lines that it lost cannot be
//! distinguished from foreign ones.

use super::chain::{Head, LineHash, Link, NewHead, Pending, Position, StoredHead};
use super::event::Event;
use super::files::{
    head_of, lock_of, open_head, open_lock, open_log, open_read, part_of, parts_of,
};
use super::lines::{Lines, MAX_LINE_BYTES};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for other writers. A line takes some microseconds, so thousands of writers fit in.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest delay between two attempts to lock.
const MAX_RETRY_DELAY: Duration = Duration::from_millis(2);
/// Names to try for a part. They are taken only if another program created files with these names.
const MAX_PART_NAMES: u32 = 100;

/// Fails if a line cannot be written now.
pub(super) fn check_writable(path: &Path) -> io::Result<()> {
    open_head(&head_of(path))?;
    open_lock(&lock_of(path))?;
    open_log(path).map(drop)
}

/// Appends one line; rotates the file first if it has `rotate_at` bytes or more.
pub(super) fn append(path: &Path, rotate_at: u64, event: &Event<'_>) -> io::Result<()> {
    let locked = lock(path)?;
    let head_file = &locked.head;
    let mut log = open_log(path)?;
    let stored = Head::read(head_file)?;
    let (mut head, new_head) = current_head(path, &mut log, stored)?;
    if head.length >= rotate_at && head.length > 0 && rotate(path, head.first)? {
        log = open_log(path)?;
        head.length = 0;
    }
    if head.length == 0 {
        head.first = head.newest.seq.saturating_add(1);
    }
    if let Some(why) = new_head {
        write(&mut log, head_file, &mut head, &Event::new_head(why))?;
    }
    write(&mut log, head_file, &mut head, event)
}

/// Writes the line that follows `head`, and updates the head.
fn write(log: &mut File, head_file: &File, head: &mut Head, event: &Event<'_>) -> io::Result<()> {
    let seq = head.newest.seq.saturating_add(1);
    let mut line = event.line(seq, head.previous())?;
    let hash = LineHash::of(&line);
    if line.len() > MAX_LINE_BYTES {
        let why = format!("a line of {} bytes is too long", line.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    // If this writer is killed, the next one accepts this line and no other.
    head.pending = Pending::Line(hash, line.len() as u64);
    head.write(head_file)?;
    line.push(b'\n');
    if let Err(error) = log.write_all(&line) {
        // Remove what fitted on the disk. If that fails, the next writer ends the line.
        if log.set_len(head.length).is_ok() {
            head.pending = Pending::None;
            let _ = head.write(head_file);
        }
        return Err(error);
    }
    head.newest = Link { seq, hash };
    head.length += line.len() as u64;
    head.pending = Pending::None;
    head.write(head_file)
}

/// The exclusive right to write to a log, and its head file.
pub(super) struct LockedLog {
    head: File,
    /// Locked as long as it is open.
    _lock: File,
}

/// Locks a log for writing.
pub(super) fn lock(path: &Path) -> io::Result<LockedLog> {
    let name = lock_of(path);
    let deadline = lock_deadline();
    loop {
        let lock = open_lock(&name)?;
        wait_for_lock(&lock, FlockOperation::NonBlockingLockExclusive, deadline)?;
        // A lock file that was removed in the meantime excludes no other writer.
        if is_at(&lock, &name)? {
            let head = open_head(&head_of(path))?;
            return Ok(LockedLog { head, _lock: lock });
        }
    }
}

/// Waits for a lock until the deadline.
pub(super) fn wait_for_lock(
    file: &File,
    operation: FlockOperation,
    deadline: Instant,
) -> io::Result<()> {
    let mut delay = Duration::from_micros(20);
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if Instant::now() >= deadline {
            let why = format!(
                "another process has held the lock for {}s",
                LOCK_TIMEOUT.as_secs()
            );
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        std::thread::sleep(delay);
        delay = (delay * 2).min(MAX_RETRY_DELAY);
    }
}

/// When a wait for the lock that starts now times out.
pub(super) fn lock_deadline() -> Instant {
    Instant::now() + LOCK_TIMEOUT
}

/// Whether `path` still names this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match path.metadata() {
        Ok(found) => Ok((found.dev(), found.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The head that the next line follows: the stored one, updated to the current length of the file. Also returns why a
/// new head has to be created, if it has to.
fn current_head(
    path: &Path,
    log: &mut File,
    stored: StoredHead,
) -> io::Result<(Head, Option<NewHead>)> {
    let length = log.metadata()?.len();
    let known = match stored {
        StoredHead::Valid(head) => head,
        StoredHead::Absent => return recover(path, log, length, NewHead::Missing),
        StoredHead::Unreadable => return recover(path, log, length, NewHead::Unreadable),
    };
    let older = (known.pending == Pending::NotRecorded).then_some(NewHead::Older);
    let mut head = match known {
        known if known.length == length => return Ok((known, older)),
        known if known.length < length && ends_at(log, known.length)? => {
            match pending_line(log, &known, length)? {
                Some(newest) => Head {
                    newest,
                    length,
                    ..known
                },
                // Foreign lines: the chain continues without them.
                None => Head { length, ..known },
            }
        }
        // Truncated or moved away: the chain continues, and the gap stays visible.
        known => Head { length, ..known },
    };
    end_line(log, &mut head)?;
    Ok((head, older))
}

/// Appends the newline that the writer of the last line could not write.
fn end_line(log: &mut File, head: &mut Head) -> io::Result<()> {
    if !ends_at(log, head.length)? {
        log.write_all(b"\n")?;
        head.length += 1;
    }
    Ok(())
}

/// Creates a head for a log that has lost it, or that is older than heads. The reason is `None` for a new log.
fn recover(
    path: &Path,
    log: &mut File,
    length: u64,
    why: NewHead,
) -> io::Result<(Head, Option<NewHead>)> {
    if length > 0 {
        let (mut head, chained) = read_head(log, length)?;
        end_line(log, &mut head)?;
        // A log with a chain had a head once.
        let why = match (chained, why) {
            (false, NewHead::Missing) => NewHead::Unchained,
            (_, why) => why,
        };
        return Ok((head, Some(why)));
    }
    // The log may have been rotated before the head was lost.
    let Some(part) = parts_of(path)?.pop() else {
        let unreadable = matches!(why, NewHead::Unreadable).then_some(why);
        return Ok((Head::empty(), unreadable));
    };
    let mut part = open_read(&part)?;
    let length = part.metadata()?.len();
    let (head, _) = read_head(&mut part, length)?;
    Ok((Head { length: 0, ..head }, Some(why)))
}

/// Whether a line ends at this offset.
fn ends_at(log: &File, offset: u64) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    log.read_exact_at(&mut byte, before)?;
    Ok(byte == *b"\n")
}

/// The line after the newest one, if it is the only one and the pending one.
fn pending_line(log: &mut File, head: &Head, length: u64) -> io::Result<Option<Link>> {
    log.seek(io::SeekFrom::Start(head.length))?;
    let mut lines = Lines::new(&mut *log, length - head.length);
    let Some(line) = lines.next()? else {
        return Ok(None);
    };
    let Some(bytes) = line.bytes else {
        return Ok(None);
    };
    let hash = line.hash;
    let is_pending = head.pending.matches(bytes, hash);
    let is_last = lines.next()?.is_none();
    let seq = head.newest.seq.saturating_add(1);
    Ok((is_pending && is_last).then_some(Link { seq, hash }))
}

/// Reads all lines of a file to find its head. Also returns whether any line has a number.
fn read_head(log: &mut File, length: u64) -> io::Result<(Head, bool)> {
    log.seek(io::SeekFrom::Start(0))?;
    let mut lines = Lines::new(&mut *log, length);
    let mut head = Head::empty();
    let (mut first, mut chained) = (true, false);
    while let Some(line) = lines.next()? {
        let mut seq = head.newest.seq.saturating_add(1);
        let position = line.bytes.and_then(Position::of);
        let claimed = position.and_then(|position| position.seq);
        chained |= claimed.is_some();
        if std::mem::take(&mut first) {
            seq = claimed.unwrap_or(1);
            head.first = seq;
        }
        head.newest = Link {
            seq,
            hash: line.hash,
        };
    }
    Ok((Head { length, ..head }, chained))
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
