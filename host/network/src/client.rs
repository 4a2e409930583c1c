//! Connects to what rules allow. The address that was checked is the one that is connected to: no name is looked up twice.

use crate::call::{Error, ErrorKind};
use crate::host::Host;
use crate::resolve::{Resolve, SystemResolver};
use crate::rules::Rules;
use crate::tls::{Roots, Tls};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long it may take to look a name up and to connect to one of its addresses. Servers that answer at all do so in seconds.
const MAX_OPENING: Duration = Duration::from_secs(60);
/// How long one address is tried while there are others.
const MAX_ATTEMPT: Duration = Duration::from_secs(10);

/// Connects programs to the network. One is enough for all programs of a process.
pub struct Client {
    resolver: Box<dyn Resolve>,
    pub(crate) tls: Tls,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl Default for Client {
    /// With the resolver and the certificate authorities of this machine.
    fn default() -> Self {
        Self::new(SystemResolver::default(), Roots::System)
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// For the program.
    pub error: Error,
    /// The host or address that would have to be granted, if that is the reason.
    pub denied: Option<Host>,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self {
            error,
            denied: None,
        }
    }
}

impl Client {
    /// With another resolver or other authorities.
    pub fn new(resolver: impl Resolve + 'static, roots: Roots) -> Self {
        Self {
            resolver: Box::new(resolver),
            tls: Tls::new(roots),
        }
    }

    /// Connects to a host if the rules allow it and the address.
    pub async fn connect(
        &self,
        rules: &Rules,
        host: &Host,
        port: u16,
    ) -> Result<TcpStream, Refused> {
        check_host(rules, host, port)?;
        let late = || Error::new(ErrorKind::TimedOut, format!("`{host}` did not answer"));
        timeout(MAX_OPENING, self.connect_in_time(rules, host, port))
            .await
            .map_err(|_| late())?
    }

    async fn connect_in_time(
        &self,
        rules: &Rules,
        host: &Host,
        port: u16,
    ) -> Result<TcpStream, Refused> {
        let addresses = self.addresses(host).await?;
        let (allowed, denied): (Vec<IpAddr>, Vec<IpAddr>) = addresses
            .into_iter()
            .partition(|address| rules.allow_address(host, *address, port));
        if allowed.is_empty() {
            return Err(match denied.first() {
                Some(address) => {
                    let denied = Host::of(*address);
                    Refused {
                        error: Error::new(
                            ErrorKind::Denied,
                            format!(
                                "`{host}` leads to `{denied}`, which is not on the public internet, and `net:{denied}:{port}` is not granted"
                            ),
                        ),
                        denied: Some(denied),
                    }
                }
                None => unknown(host, "it has no address").into(),
            });
        }
        let mut last = None;
        for (index, address) in allowed.iter().enumerate() {
            let connecting = TcpStream::connect(SocketAddr::new(*address, port));
            let is_last = index + 1 == allowed.len();
            let connected = match is_last {
                true => connecting.await,
                false => match timeout(MAX_ATTEMPT, connecting).await {
                    Ok(connected) => connected,
                    Err(_) => Err(io::ErrorKind::TimedOut.into()),
                },
            };
            match connected {
                Ok(stream) => {
                    // Not every socket can; it is only faster.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(connect_error(host, port, last).into())
    }

    async fn addresses(&self, host: &Host) -> Result<Vec<IpAddr>, Error> {
        match host {
            Host::Address(address) => Ok(vec![*address]),
            // Whatever a server says about it.
            Host::Name(_) if host.is_local() => {
                Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            Host::Name(name) => {
                let found = self.resolver.resolve(name).await;
                let found = found.map_err(|error| unknown(host, &error.to_string()))?;
                Ok(found.into_iter().map(crate::address::canonical).collect())
            }
        }
    }
}

/// Refuses a host that the rules do not allow, before it is looked up.
pub(crate) fn check_host(rules: &Rules, host: &Host, port: u16) -> Result<(), Refused> {
    if rules.allow_host(host, port) {
        return Ok(());
    }
    let why = match rules.is_empty() {
        true => "the network is not available in this sandbox".to_owned(),
        false => format!("`net:{host}:{port}` is not granted"),
    };
    Err(Refused {
        error: Error::new(ErrorKind::Denied, why),
        denied: Some(host.clone()),
    })
}

fn unknown(host: &Host, why: &str) -> Error {
    let message = format!("Name or service not known: `{host}` ({why})");
    Error::new(ErrorKind::UnknownHost, message)
}

fn connect_error(host: &Host, port: u16, error: Option<io::Error>) -> Error {
    let kind = match error.as_ref().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset) => {
            ErrorKind::Refused
        }
        Some(io::ErrorKind::TimedOut) => ErrorKind::TimedOut,
        _ => ErrorKind::Unreachable,
    };
    let why = match kind {
        ErrorKind::Refused => "Connection refused".to_owned(),
        ErrorKind::TimedOut => "timed out".to_owned(),
        _ => error.map_or_else(|| "unreachable".to_owned(), |error| error.to_string()),
    };
    Error::new(kind, format!("{why}: `{host}`, port {port}"))
}
