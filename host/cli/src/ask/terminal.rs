//! The terminal of the person who started this process, as the one who asks uses it.
//!
//! It is opened by its own name, since standard input may be a pipe. While a question waits, the terminal
//! makes no signals: Ctrl-C is an answer, and nothing is left half-way. Signals from elsewhere end the question, so
//! that the terminal is left as it was found; a handler of our own that does it would be unsafe code, and a thread
//! that exits would leave runs behind.

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

/// How long text that somebody else writes can cover a question: after that it is drawn again. Often enough that
/// nobody reads a forged question to its end, and seldom enough that text can be selected.
const REDRAW: Duration = Duration::from_secs(1);

/// No answer is longer.
const MAX_LINE: usize = 64;

/// How the terminal was before the question that is open, for whoever ends the process meanwhile.
static BEFORE: Mutex<Option<Before>> = Mutex::new(None);

struct Before {
    file: File,
    modes: Termios,
    /// What is printed to return to the screen before.
    close: String,
}

pub(super) struct Terminal {
    file: File,
    /// It has no screen to draw on: texts come one below the other.
    plain: bool,
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
    /// The window has another size than the one that the text was made for.
    Resized,
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
        // While somebody is asked, the keys that stop output are keys like others.
        silent
            .input_modes
            .remove(InputModes::IXON | InputModes::IXANY);
        let own = file.try_clone().ok()?;
        tcsetattr(&file, OptionalActions::Now, &silent).ok()?;
        let plain = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
        *open = Some(Before {
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
            _turn: turn,
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
    /// Other processes may write to the terminal meanwhile, and what they write may look like a question. So the
    /// whole screen is drawn again with every key, and without one every second.
    pub(super) fn hear(
        &mut self,
        text: &str,
        window: Window,
        patience: Duration,
    ) -> io::Result<Heard> {
        // What was typed before the question was there answers something else.
        tcflush(&self.file, QueueSelector::IFlush)?;
        let until = Instant::now() + patience;
        let mut line = Vec::new();
        if self.plain {
            self.print("\n")?;
            self.print(text)?;
        }
        let heard = loop {
            if !self.plain {
                if self.window() != window {
                    break Heard::Resized;
                }
                let typed = String::from_utf8_lossy(&line);
                self.print(&screen::frame(&format!("{text}{typed}"), window))?;
            }
            match self.wait(until)? {
                Some(Waited::Redraw) => continue,
                Some(Waited::Key) => {}
                Some(Waited::Signal) => break Heard::Stopped,
                None => break Heard::Nothing,
            }
            if !self.plain && self.window() != window {
                break Heard::Resized;
            }
            let Some(key) = self.key()? else {
                break Heard::Line(String::new());
            };
            match key {
                b'\r' | b'\n' => {
                    let text = String::from_utf8_lossy(&line).trim().to_owned();
                    break Heard::Line(text);
                }
                // Ctrl-C.
                0x03 => break Heard::Interrupted,
                0x1b if self.is_cursor_key()? => {}
                // Ctrl-D, Ctrl-\, Escape.
                0x04 | 0x1c | 0x1b => break Heard::Line(String::new()),
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
                // No answer holds anything else.
                _ if line.len() < MAX_LINE => line.push(b'?'),
                _ => {}
            }
        };
        if self.plain {
            self.print("\n")?;
        }
        Ok(heard)
    }

    /// Waits for the next thing to do; `None` if the time is over.
    fn wait(&self, until: Instant) -> io::Result<Option<Waited>> {
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
                Ok(0) if redraw < until => return Ok(Some(Waited::Redraw)),
                Ok(0) => return Ok(None),
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            return Ok(Some(match watched[0].revents().is_empty() {
                true => Waited::Key,
                false => Waited::Signal,
            }));
        }
    }

    /// The next byte that was typed; `None` at the end.
    fn key(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        Ok(match self.file.read(&mut byte)? {
            0 => None,
            _ => Some(byte[0]),
        })
    }

    /// Takes the rest of a key that sends more than Escape, if it is one for moving. The mouse wheel sends those on
    /// the alternate screen, and whoever turns it has not answered.
    fn is_cursor_key(&mut self) -> io::Result<bool> {
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

/// What a wait ended with.
enum Waited {
    Key,
    Signal,
    /// The question may be covered.
    Redraw,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        put_back(&mut before());
    }
}

fn before() -> MutexGuard<'static, Option<Before>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put_back(open: &mut Option<Before>) {
    if let Some(mut before) = open.take() {
        let _ = before.file.write_all(before.close.as_bytes());
        let _ = tcflush(&before.file, QueueSelector::IFlush);
        let _ = tcsetattr(&before.file, OptionalActions::Now, &before.modes);
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
