//! Listeners on loopback that record connections and what they receive.
//!
//! In its own network namespace (see `main.rs`) every address leads here, names are resolved, and the kernel's count of
//! attempts is read, so an attempt at a port without a listener is noticed too.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The first bytes of our own connection, made to be sure that all earlier ones were seen.
const OURS: &[u8] = b"skillrun-attack-sync";
/// How long a client may take to send something; it is recorded in any case.
const READ_TIMEOUT: Duration = Duration::from_secs(1);
/// How many bytes of a client's data are kept.
const MAX_BYTES: u64 = 1 << 20;

/// A recorded connection.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) what: String,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Default)]
struct Log {
    seen: Vec<Connection>,
    /// Our own connections that were seen.
    ours: usize,
}

type Shared = Arc<(Mutex<Log>, Condvar)>;

/// The listeners.
pub(crate) struct Sinkhole {
    log: Shared,
    /// One for each listener.
    ports: Vec<u16>,
    /// Attempts counted so far, in our own network namespace.
    attempts: Mutex<Option<u64>>,
}

impl Sinkhole {
    /// Listens on a free port of loopback, and on those of `ports` that are free; with `everywhere` on every address,
    /// where those are all ours.
    pub(crate) fn open(ports: &[u16], everywhere: bool) -> io::Result<Self> {
        let log = Shared::default();
        let address = if everywhere {
            Ipv4Addr::UNSPECIFIED
        } else {
            Ipv4Addr::LOCALHOST
        };
        let first = TcpListener::bind((address, 0))?;
        let known = ports
            .iter()
            .filter_map(|port| TcpListener::bind((address, *port)).ok());
        let mut open = Vec::new();
        for listener in std::iter::once(first).chain(known) {
            open.push(listener.local_addr()?.port());
            let log = Arc::clone(&log);
            thread::spawn(move || listen(&listener, &log));
        }
        if everywhere {
            let names = UdpSocket::bind((address, 53))?;
            let log = Arc::clone(&log);
            thread::spawn(move || answer(&names, &log));
        }
        let attempts = Mutex::new(everywhere.then(attempts).flatten());
        Ok(Self {
            log,
            ports: open,
            attempts,
        })
    }

    /// A port with a listener.
    pub(crate) fn port(&self) -> u16 {
        self.ports[0]
    }

    /// The connections since the last call.
    pub(crate) fn take(&self) -> io::Result<Vec<Connection>> {
        let mut counted = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let moved = match *counted {
            Some(before) => attempts().map(|now| now.saturating_sub(before)),
            None => None,
        };
        // A listener accepts connections in order: once it has seen ours, it has seen all earlier ones.
        for port in &self.ports {
            TcpStream::connect((Ipv4Addr::LOCALHOST, *port))?.write_all(OURS)?;
        }
        let (log, changed) = &*self.log;
        let log = log.lock().unwrap_or_else(PoisonError::into_inner);
        let mut log = changed
            .wait_while(log, |log| log.ours < self.ports.len())
            .unwrap_or_else(PoisonError::into_inner);
        log.ours = 0;
        let mut seen = std::mem::take(&mut log.seen);
        if seen.is_empty()
            && let Some(moved @ 1..) = moved
        {
            let what = format!("{moved} attempts at a port where nobody listens");
            seen.push(Connection {
                what,
                bytes: Vec::new(),
            });
        }
        if counted.is_some() {
            *counted = attempts();
        }
        Ok(seen)
    }
}

fn note(log: &Shared, connection: Connection) {
    let (log, changed) = &**log;
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    match connection.bytes == OURS {
        true => log.ours += 1,
        false => log.seen.push(connection),
    }
    changed.notify_all();
}

fn listen(listener: &TcpListener, log: &Shared) {
    while let Ok((stream, _)) = listener.accept() {
        let to = stream
            .local_addr()
            .map_or_else(|_| String::new(), |address| address.to_string());
        let _ = stream.set_read_timeout(Some(READ_TIMEOUT));
        let mut bytes = Vec::new();
        let _ = stream.take(MAX_BYTES).read_to_end(&mut bytes);
        let what = format!("tcp to {to}, {} bytes", bytes.len());
        note(log, Connection { what, bytes });
    }
}

/// Answers every query for a name with an address that leads here, so that the client continues.
fn answer(names: &UdpSocket, log: &Shared) {
    let mut packet = [0; 1500];
    while let Ok((length, from)) = names.recv_from(&mut packet) {
        let question = &packet[..length];
        let what = format!("dns: {}", name_in(question));
        note(
            log,
            Connection {
                what,
                bytes: question.to_vec(),
            },
        );
        let _ = reply(names, question, from);
    }
}

fn name_in(question: &[u8]) -> String {
    let mut rest = question.get(12..).unwrap_or_default();
    let mut parts = Vec::new();
    while let Some((length @ 1.., after)) = rest.split_first() {
        let Some((part, after)) = after.split_at_checked(usize::from(*length)) else {
            break;
        };
        parts.push(String::from_utf8_lossy(part).into_owned());
        rest = after;
    }
    parts.join(".")
}

fn reply(names: &UdpSocket, question: &[u8], to: SocketAddr) -> io::Result<()> {
    let mut reply = question.to_vec();
    if reply.len() < 12 {
        return Ok(());
    }
    // An answer without error, to one question, with one address.
    reply[2..4].copy_from_slice(&[0x81, 0x80]);
    reply[6..12].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
    reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 51, 100, 1]);
    names.send_to(&reply, to).map(drop)
}

/// Connections that were attempted and datagrams that were sent in this network, with or without a listener. Counting
/// packets would not work: those that close our own connections arrive at any time.
fn attempts() -> Option<u64> {
    let of = |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}")).ok();
    let (tables, pairs) = (of("snmp")?, of("snmp6").unwrap_or_default());
    let counter = |protocol: &str, name: &str| -> Option<u64> {
        let mut rows = tables
            .lines()
            .filter_map(|line| line.strip_prefix(protocol));
        let (names, values) = (rows.next()?, rows.next()?);
        let at = names.split_whitespace().position(|word| word == name)?;
        values.split_whitespace().nth(at)?.parse().ok()
    };
    let pair = pairs
        .lines()
        .find_map(|line| line.strip_prefix("Udp6OutDatagrams"));
    let pair = pair
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0);
    Some(counter("Tcp:", "ActiveOpens")? + counter("Udp:", "OutDatagrams")? + pair)
}
