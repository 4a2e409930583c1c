//! Appending a line to a file.
//!
//! The lock is on a file of its own, not on the log: a log that is renamed while a writer waits would leave two
//! writers with a lock each, and whoever may read a log could hold it. A killed writer leaves, at most, one line (whole or
//! cut short) beyond the newest one; the head has announced it, the next writer counts it in, and the chain goes on.
//! Lines that were not announced are somebody else's: the chain goes on from the newest line, around them, and `audit
//! verify` names them ever after. Nothing stops because of them: who can append a line could otherwise stop every run.
//!
//! Nothing is synced to the disk. That would cost a run more than everything else it does, and what
//! it would add is only that the last lines survive a power failure; the scripts they tell of do not
//! either. Lines lost so are found by `audit verify`, as removed ones are; and if the head lost more than the log, the
//! lines it lost cannot be told from those of somebody else.

use super::chain::{Head, LineHash, Link, Pending, Place};
use super::event::Event;
use super::files::{head_of, lock_of, open_head, open_lock, open_log, part_of};
use super::lines::{LONGEST, Lines};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a log may be held by others. A line takes some microseconds; thousands of writers fit in.
const WAIT: Duration = Duration::from_secs(3);
/// How long the waiting sleep between two tries, at most.
const NAP: Duration = Duration::from_millis(2);
/// Names tried for a part; they are taken only if somebody put files there.
const NAMES: u32 = 100;

/// Fails if no line could be written now.
pub(super) fn probe(path: &Path) -> io::Result<()> {
    open_head(&head_of(path))?;
    open_lock(&lock_of(path))?;
    open_log(path).map(drop)
}

/// Appends one line, in a new file if this one has `rotate_at` bytes or more.
pub(super) fn append(path: &Path, rotate_at: u64, event: &Event<'_>) -> io::Result<()> {
    let Held { head: held, .. } = &lock(path)?;
    let mut log = open_log(path)?;
    let known = Head::read(held)?;
    let mut head = position(&mut log, known)?;
    if head.length >= rotate_at && head.length > 0 && rotate(path, head.first)? {
        log = open_log(path)?;
        head.length = 0;
    }
    if head.length == 0 {
        head.first = head.newest.seq.saturating_add(1);
    }
    let seq = head.newest.seq.saturating_add(1);
    let mut line = event.line(seq, head.previous())?;
    let hash = LineHash::of(&line);
    if line.len() > LONGEST {
        let why = format!("a line of {} bytes is too long", line.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    // Whoever comes after a killed writer takes this line for ours, and no other.
    head.pending = Pending::Line(hash, line.len() as u64);
    head.write(held)?;
    line.push(b'\n');
    if let Err(error) = log.write_all(&line) {
        // What fitted on the disk; if it stays, the next writer ends it.
        if log.set_len(head.length).is_ok() {
            head.pending = Pending::None;
            let _ = head.write(held);
        }
        return Err(error);
    }
    head.newest = Link { seq, hash };
    head.length += line.len() as u64;
    head.pending = Pending::None;
    head.write(held)
}

/// The right to write to a log, and its head.
pub(super) struct Held {
    head: File,
    /// Locked for as long as it is open.
    _lock: File,
}

/// Waits for the right to write to a log.
pub(super) fn lock(path: &Path) -> io::Result<Held> {
    let name = lock_of(path);
    let until = Instant::now() + WAIT;
    loop {
        let lock = open_lock(&name)?;
        wait(&lock, FlockOperation::NonBlockingLockExclusive, until)?;
        // One that was removed meanwhile is locked by nobody else.
        if is_at(&lock, &name)? {
            let head = open_head(&head_of(path))?;
            return Ok(Held { head, _lock: lock });
        }
    }
}

/// Waits for a lock until then.
pub(super) fn wait(file: &File, operation: FlockOperation, until: Instant) -> io::Result<()> {
    let mut nap = Duration::from_micros(20);
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if Instant::now() >= until {
            let why = format!("somebody else has held it for {}s", WAIT.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(NAP);
    }
}

/// When a wait that begins now is over.
pub(super) fn deadline() -> Instant {
    Instant::now() + WAIT
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let is = file.metadata()?;
    match path.metadata() {
        Ok(there) => Ok((there.dev(), there.ino()) == (is.dev(), is.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where the next line goes: what the head says, brought up to the file as it is.
fn position(log: &mut File, head: Option<Head>) -> io::Result<Head> {
    let length = log.metadata()?.len();
    let mut head = match head {
        Some(known) if known.length == length => return Ok(known),
        Some(known) if known.length < length && ends_at(log, known.length)? => {
            match announced(log, &known, length)? {
                Some(newest) => Head {
                    newest,
                    length,
                    ..known
                },
                // Somebody else's: the chain goes on without them.
                None => Head { length, ..known },
            }
        }
        // Emptied, moved away or cut off: the chain goes on all the same, and the gap can be seen.
        Some(known) => Head { length, ..known },
        None => count(log, length)?,
    };
    if !ends_at(log, head.length)? {
        log.write_all(b"\n")?;
        head.length += 1;
    }
    Ok(head)
}

/// Whether a line ends at this place.
fn ends_at(log: &File, place: u64) -> io::Result<bool> {
    let Some(before) = place.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    log.read_exact_at(&mut byte, before)?;
    Ok(byte == *b"\n")
}

/// The one line beyond what the head knows, if it is all there is and the head announced it.
fn announced(log: &mut File, head: &Head, length: u64) -> io::Result<Option<Link>> {
    log.seek(io::SeekFrom::Start(head.length))?;
    let mut lines = Lines::new(&mut *log, length - head.length);
    let Some(line) = lines.next()? else {
        return Ok(None);
    };
    let Some(bytes) = line.bytes else {
        return Ok(None);
    };
    let hash = line.hash;
    let is_announced = head.pending.announces(bytes, hash);
    let is_alone = lines.next()?.is_none();
    let seq = head.newest.seq.saturating_add(1);
    Ok((is_announced && is_alone).then_some(Link { seq, hash }))
}

/// Counts the lines of a log that has no head, because it was begun before there was one, or lost it.
fn count(log: &mut File, length: u64) -> io::Result<Head> {
    log.seek(io::SeekFrom::Start(0))?;
    let mut lines = Lines::new(&mut *log, length);
    let mut head = Head::start();
    let mut first = true;
    while let Some(line) = lines.next()? {
        let mut seq = head.newest.seq.saturating_add(1);
        if std::mem::take(&mut first) {
            let place = line.bytes.and_then(Place::of);
            seq = place.and_then(|place| place.seq).unwrap_or(1);
            head.first = seq;
        }
        head.newest = Link {
            seq,
            hash: line.hash,
        };
    }
    Ok(Head { length, ..head })
}

/// Gives the file the name of a part; `false` if that cannot be, and then it grows on: a full
/// record is better than a short file.
fn rotate(path: &Path, first: u64) -> io::Result<bool> {
    for again in 0..NAMES {
        match rename(path, &part_of(path, first, again)) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return Ok(false),
        }
    }
    Ok(false)
}

/// Renames a file, and never onto another.
fn rename(from: &Path, to: &PathBuf) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can; the lock keeps other writers away.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(from, to),
        },
        done => Ok(done?),
    }
}
