//! The terminal of the person who started this process.
//!
//! We open it by its own name, since standard input may be a pipe. While a question is open, the terminal generates no
//! signals: Ctrl-C is an answer, and the process always restores the terminal. Signals from elsewhere end the question
//! first, for the same reason. A signal handler that restores the terminal would be unsafe code, and a thread that
//! exits the process would leave runs behind.

use super::screen;
use super::sheet::Window;
use super::stop;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, Termios, tcflush,
    tcgetattr, tcgetwinsize, tcsetattr,
};
use std::fs::File;
use std::io::{self, IsTerminal as _, PipeReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// How long another process's output can cover a question before we draw it again. Short enough that a person cannot
/// read a forged question to its end, and long enough to select text.
const REDRAW: Duration = Duration::from_secs(1);

/// Bytes of a typed line. No valid answer is longer.
const MAX_LINE: usize = 64;
const CTRL_C: u8 = 0x03;

/// The state of the terminal before the open question, for the thread that ends the process meanwhile.
static SAVED: Mutex<Option<SavedTerminal>> = Mutex::new(None);

struct SavedTerminal {
    file: File,
    modes: Termios,
    /// The sequences that return to the previous screen.
    close: String,
}

pub(super) struct Terminal {
    file: File,
    /// It cannot move the cursor (`TERM=dumb`): texts are printed one below the other.
    plain: bool,
    /// Reaches its end once a signal asks the process to end.
    signals: &'static PipeReader,
    /// Held while a question is open.
    _lock: OwnedFd,
}

/// How waiting for a line ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// A signal asks the process to end.
    Stopped,
    /// The window no longer has the size that the text was made for.
    Resized,
    TimedOut,
}

impl Terminal {
    /// Opens the terminal, if there is one and a person sees our messages on it.
    pub(super) fn open() -> Option<Self> {
        // If standard error goes elsewhere, the person may see neither our messages nor our questions.
        if !io::stderr().is_terminal() {
            return None;
        }
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = File::from(rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?);
        // One question at a time: another process may be asking here too. Not a lock on `/dev/tty`, which is one
        // file for all terminals, nor on our standard error, whose open file other processes share.
        let lock = rustix::fs::open("/proc/self/fd/2", flags, Mode::empty()).ok()?;
        flock(&lock, FlockOperation::LockExclusive).ok()?;
        let signals = signals()?;
        let mut open = saved();
        let before = tcgetattr(&file).ok()?;
        let mut raw = before.clone();
        raw.local_modes
            .remove(LocalModes::ISIG | LocalModes::ICANON | LocalModes::ECHO);
        // A newline returns to column 0.
        raw.output_modes
            .insert(OutputModes::OPOST | OutputModes::ONLCR);
        // While a question is open, the keys that stop output are ordinary keys.
        raw.input_modes.remove(InputModes::IXON | InputModes::IXANY);
        let own = file.try_clone().ok()?;
        tcsetattr(&file, OptionalActions::Now, &raw).ok()?;
        let plain = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
        *open = Some(SavedTerminal {
            file: own,
            modes: before,
            close: if plain {
                String::new()
            } else {
                screen::close()
            },
        });
        drop(open);
        let mut terminal = Self {
            file,
            plain,
            signals,
            _lock: lock,
        };
        if !plain {
            terminal.print(&screen::open()).ok()?;
        }
        Some(terminal)
    }

    /// Whether long texts must be shown in pages.
    pub(super) fn has_pages(&self) -> bool {
        !self.plain
    }

    pub(super) fn window(&self) -> Window {
        let size = tcgetwinsize(&self.file).ok();
        let or = |size: Option<u16>, usual| size.filter(|size| *size > 0).unwrap_or(usual).into();
        Window {
            columns: or(size.map(|size| size.ws_col), 80),
            rows: or(size.map(|size| size.ws_row), 24),
        }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.flush()
    }

    /// Shows `text`, which ends with a prompt and was made for a window of this size, and waits for a line that is
    /// typed from then on.
    ///
    /// Other processes may write to the terminal meanwhile, and their output may look like a question. So we draw the
    /// whole screen again with every key, and every second without one.
    pub(super) fn read_line(
        &mut self,
        text: &str,
        window: Window,
        timeout: Duration,
    ) -> io::Result<Input> {
        // Keys typed before the question was shown are no answer to it. Ctrl-C is none, but it ends the question.
        if self.pending()?.contains(&CTRL_C) {
            return Ok(Input::Interrupted);
        }
        tcflush(&self.file, QueueSelector::IFlush)?;
        let until = Instant::now() + timeout;
        let mut line = Vec::new();
        if self.plain {
            self.print("\n")?;
            self.print(text)?;
        }
        let input = loop {
            if !self.plain {
                if self.window() != window {
                    break Input::Resized;
                }
                let typed = String::from_utf8_lossy(&line);
                self.print(&screen::frame(&format!("{text}{typed}"), window))?;
            }
            match self.wait(until)? {
                Some(Wake::Redraw) => continue,
                Some(Wake::Key) => {}
                Some(Wake::Signal) => break Input::Stopped,
                None => break Input::TimedOut,
            }
            if !self.plain && self.window() != window {
                break Input::Resized;
            }
            let Some(key) = self.key()? else {
                break Input::Line(String::new());
            };
            match key {
                b'\r' | b'\n' => {
                    let text = String::from_utf8_lossy(&line).trim().to_owned();
                    break Input::Line(text);
                }
                CTRL_C => break Input::Interrupted,
                0x1b if self.skip_cursor_key()? => {}
                // Ctrl-D, Ctrl-\, Escape.
                0x04 | 0x1c | 0x1b => break Input::Line(String::new()),
                0x7f | 0x08 => {
                    let is_erased = line.pop().is_some();
                    if is_erased && self.plain {
                        self.print("\u{8} \u{8}")?;
                    }
                }
                printable @ 0x20..=0x7e if line.len() < MAX_LINE => {
                    line.push(printable);
                    if self.plain {
                        self.file.write_all(&[printable])?;
                    }
                }
                // No valid answer contains anything else.
                _ if line.len() < MAX_LINE => line.push(b'?'),
                _ => {}
            }
        };
        if self.plain {
            self.print("\n")?;
        }
        Ok(input)
    }

    /// Waits for a key, a signal or the next redraw; `None` after the timeout.
    fn wait(&self, until: Instant) -> io::Result<Option<Wake>> {
        let redraw = match self.plain {
            true => until,
            false => until.min(Instant::now() + REDRAW),
        };
        loop {
            let left = redraw.saturating_duration_since(Instant::now());
            let timeout = rustix::time::Timespec::try_from(left).unwrap_or_default();
            let mut watched = [
                PollFd::new(self.signals, PollFlags::IN),
                PollFd::new(&self.file, PollFlags::IN),
            ];
            match poll(&mut watched, Some(&timeout)) {
                Ok(0) if redraw < until => return Ok(Some(Wake::Redraw)),
                Ok(0) => return Ok(None),
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            return Ok(Some(match watched[0].revents().is_empty() {
                true => Wake::Key,
                false => Wake::Signal,
            }));
        }
    }

    /// Reads what was typed already.
    fn pending(&mut self) -> io::Result<Vec<u8>> {
        let mut typed = Vec::new();
        // A terminal keeps at most 4 KiB.
        while typed.len() < 4096 && rustix::io::ioctl_fionread(&self.file)? > 0 {
            let Some(key) = self.key()? else { break };
            typed.push(key);
        }
        Ok(typed)
    }

    /// Reads the next typed byte; `None` at the end.
    fn key(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        Ok(match self.file.read(&mut byte)? {
            0 => None,
            _ => Some(byte[0]),
        })
    }

    /// Reads the rest of an escape sequence; returns whether it is a cursor key. On the alternate screen the mouse
    /// wheel sends cursor keys, and turning it is not an answer.
    fn skip_cursor_key(&mut self) -> io::Result<bool> {
        for position in 0.. {
            let mut watched = [PollFd::new(&self.file, PollFlags::IN)];
            let now = rustix::time::Timespec::default();
            if poll(&mut watched, Some(&now)).unwrap_or(0) == 0 {
                return Ok(false);
            }
            match (position, self.key()?) {
                (0, Some(b'[' | b'O')) => {}
                (1.., Some(b'A'..=b'D')) => return Ok(true),
                (1..8, Some(b'0'..=b'9' | b';')) => {}
                _ => return Ok(false),
            }
        }
        Ok(false)
    }
}

/// Why a wait ended.
enum Wake {
    Key,
    Signal,
    /// Other output may cover the question.
    Redraw,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore_saved(&mut saved());
    }
}

fn saved() -> MutexGuard<'static, Option<SavedTerminal>> {
    SAVED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn restore_saved(open: &mut Option<SavedTerminal>) {
    if let Some(mut before) = open.take() {
        let _ = before.file.write_all(before.close.as_bytes());
        let _ = tcflush(&before.file, QueueSelector::IFlush);
        let _ = tcsetattr(&before.file, OptionalActions::Now, &before.modes);
    }
}

/// Restores the terminal if a question is open. The process exits next, so no further question can open.
pub(super) fn restore() {
    let mut open = saved();
    restore_saved(&mut open);
    // Keep the lock: a thread that would change the terminal again waits for it until the process exits.
    std::mem::forget(open);
}

/// Watches for the signals that end a process, from the first question on.
fn signals() -> Option<&'static PipeReader> {
    static SIGNALS: OnceLock<Option<PipeReader>> = OnceLock::new();
    SIGNALS.get_or_init(|| watch_signals().ok()).as_ref()
}

fn watch_signals() -> io::Result<PipeReader> {
    // From here on a signal no longer ends the process by itself. `interrupt` counts them and ends it.
    crate::interrupt::start()?;
    let (reader, writer) = io::pipe()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let within = runtime.enter();
    let (mut int, mut term, mut hangup, mut quit) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        crate::interrupt::hangup()?,
        signal(SignalKind::quit())?,
    );
    drop(within);
    let mut writer = Some(writer);
    let work = async move {
        loop {
            // `interrupt` handles the first three. Nothing else handles SIGQUIT, which would end the process at once
            // if we did not watch for it.
            let ends = tokio::select! {
                _ = int.recv() => None,
                _ = term.recv() => None,
                () = crate::interrupt::received(&mut hangup) => None,
                _ = quit.recv() => Some(SignalKind::quit()),
            };
            // Check for an open question before we end it: if there is one, the command exits cleanly.
            let open = saved();
            stop(ends.is_none());
            drop(writer.take());
            if let (Some(kind), None) = (ends, open.as_ref()) {
                std::process::exit(128 + kind.as_raw_value());
            }
        }
    };
    std::thread::Builder::new().spawn(move || runtime.block_on(work))?;
    Ok(reader)
}
