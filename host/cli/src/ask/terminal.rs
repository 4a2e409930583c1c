//! The terminal of the person who started this process, as the one who asks uses it.
//!
//! It is opened by its own name, since standard input may be a pipe. While a question waits, the terminal
//! makes no signals: Ctrl-C is an answer, and nothing is left half-way. Signals from elsewhere end the question, so
//! that the terminal is left as it was found; a handler of our own that does it would be unsafe code, and a thread
//! that exits would leave runs behind.

use super::sheet::Window;
use super::stop;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, QueueSelector, Termios, tcflush, tcgetattr,
    tcgetwinsize, tcsetattr,
};
use std::fs::File;
use std::io::{self, IsTerminal as _, PipeReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Takes back what output before may have set: another screen, a part of it that scrolls, attributes, another
/// character set, insertion, rows that do not wrap, a hidden cursor. The part that scrolls comes between saving and
/// restoring the place of the cursor, since setting it moves that; what is behind would be restored with it.
const RESET: &str =
    "\u{1b}7\u{1b}[?1049l\u{1b}[r\u{1b}8\u{1b}[0m\u{1b}(B\u{f}\u{1b}[4l\u{1b}[?7h\u{1b}[?25h";

/// No answer is longer.
const MAX_LINE: usize = 64;

/// How the terminal was before the question that is open, for whoever ends the process meanwhile.
static BEFORE: Mutex<Option<(File, Termios)>> = Mutex::new(None);

pub(super) struct Terminal {
    file: File,
    /// At its end once somebody wants the process to end.
    signals: &'static PipeReader,
    /// Held while somebody is asked.
    _turn: OwnedFd,
}

/// What a person did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// A signal wants the process to end.
    Stopped,
    Nothing,
}

impl Terminal {
    /// The terminal, if there is one that a person looks at.
    pub(super) fn open() -> Option<Self> {
        // Somebody who reads neither our messages nor our questions is not asked.
        if !io::stderr().is_terminal() {
            return None;
        }
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = File::from(rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?);
        // One question at a time: another process may be asking here too. `/dev/tty` is one file for all
        // terminals, and our standard error may be held open by others; this is neither.
        let turn = rustix::fs::open("/proc/self/fd/2", flags, Mode::empty()).ok()?;
        flock(&turn, FlockOperation::LockExclusive).ok()?;
        let signals = signals()?;
        let mut open = before();
        let before = tcgetattr(&file).ok()?;
        let mut silent = before.clone();
        silent
            .local_modes
            .remove(LocalModes::ISIG | LocalModes::ICANON | LocalModes::ECHO);
        // Lines begin at the left.
        silent
            .output_modes
            .insert(OutputModes::OPOST | OutputModes::ONLCR);
        let own = file.try_clone().ok()?;
        tcsetattr(&file, OptionalActions::Now, &silent).ok()?;
        *open = Some((own, before));
        Some(Self {
            file,
            signals,
            _turn: turn,
        })
    }

    pub(super) fn window(&self) -> Window {
        let size = tcgetwinsize(&self.file).ok();
        let or = |size: Option<u16>, usual| size.filter(|size| *size > 0).unwrap_or(usual).into();
        Window {
            columns: or(size.map(|size| size.ws_col), 80),
            rows: or(size.map(|size| size.ws_row), 24),
        }
    }

    /// Makes what is printed next readable.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        if std::env::var_os("TERM").is_some_and(|kind| kind == "dumb") {
            return self.print("\n");
        }
        self.print(RESET)?;
        self.print("\n")
    }

    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.flush()
    }

    /// Prints `prompt` and waits for a line that is typed from then on.
    pub(super) fn hear(&mut self, prompt: &str, patience: Duration) -> io::Result<Heard> {
        // What was typed before the question was there answers something else.
        tcflush(&self.file, QueueSelector::IFlush)?;
        self.print(prompt)?;
        let until = Instant::now() + patience;
        let mut line = Vec::new();
        let heard = loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = rustix::time::Timespec::try_from(left).unwrap_or_default();
            let mut watched = [
                PollFd::new(self.signals, PollFlags::IN),
                PollFd::new(&self.file, PollFlags::IN),
            ];
            match poll(&mut watched, Some(&timeout)) {
                Ok(0) => break Heard::Nothing,
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            if !watched[0].revents().is_empty() {
                break Heard::Stopped;
            }
            let mut byte = [0];
            if self.file.read(&mut byte)? == 0 {
                break Heard::Line(String::new());
            }
            match byte[0] {
                b'\r' | b'\n' => {
                    let text = String::from_utf8_lossy(&line).trim().to_owned();
                    break Heard::Line(text);
                }
                // Ctrl-C.
                0x03 => break Heard::Interrupted,
                // Ctrl-D, Ctrl-\, Escape.
                0x04 | 0x1c | 0x1b => break Heard::Line(String::new()),
                0x7f | 0x08 => {
                    if line.pop().is_some() {
                        self.print("\u{8} \u{8}")?;
                    }
                }
                printable @ 0x20..=0x7e if line.len() < MAX_LINE => {
                    line.push(printable);
                    self.file.write_all(&byte)?;
                }
                // No answer holds anything else.
                _ => line.push(b'?'),
            }
        };
        self.print("\n")?;
        Ok(heard)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        put_back(&mut before());
    }
}

fn before() -> MutexGuard<'static, Option<(File, Termios)>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put_back(open: &mut Option<(File, Termios)>) {
    if let Some((file, before)) = open.take() {
        let _ = tcflush(&file, QueueSelector::IFlush);
        let _ = tcsetattr(&file, OptionalActions::Now, &before);
    }
}

/// Leaves the terminal as it was before the question that is open. The process ends next: nothing is asked any more.
pub(super) fn restore() {
    let mut open = before();
    put_back(&mut open);
    // Another thread that would change it again waits for the end here.
    std::mem::forget(open);
}

/// Watches, from the first question on, for the signals that end a process.
fn signals() -> Option<&'static PipeReader> {
    static SIGNALS: OnceLock<Option<PipeReader>> = OnceLock::new();
    SIGNALS.get_or_init(|| watch().ok()).as_ref()
}

fn watch() -> io::Result<PipeReader> {
    // From here on a signal ends the process only if that one counts them.
    crate::interrupt::start()?;
    let (reader, writer) = io::pipe()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let within = runtime.enter();
    let (mut int, mut term, mut hangup, mut quit) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
        signal(SignalKind::quit())?,
    );
    drop(within);
    let mut writer = Some(writer);
    let work = async move {
        loop {
            // Whoever runs something listens to the first two by himself; the others ended the process at once
            // before they were watched here.
            let ends = tokio::select! {
                _ = int.recv() => None,
                _ = term.recv() => None,
                _ = hangup.recv() => Some(SignalKind::hangup()),
                _ = quit.recv() => Some(SignalKind::quit()),
            };
            // Looked at before the question ends by it: then the command ends in order.
            let open = before();
            stop();
            drop(writer.take());
            if let (Some(kind), None) = (ends, open.as_ref()) {
                std::process::exit(128 + kind.as_raw_value());
            }
        }
    };
    std::thread::Builder::new().spawn(move || runtime.block_on(work))?;
    Ok(reader)
}
