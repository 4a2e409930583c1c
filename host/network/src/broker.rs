//! The network of one program, behind plain data.

use crate::call::{Answer, Call, Error, ErrorKind, Id, Readiness};
use crate::client::{Client, check_host};
use crate::connection::{Connection, Shared};
use crate::event::{Event, Sink};
use crate::host::Host;
use crate::limits::{Limits, Usage};
use crate::rules::Rules;
use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OnceCell;

/// Does what one program calls. Dropping it closes all of its connections.
pub struct Broker {
    shared: Arc<Shared>,
    connections: HashMap<Id, Connection>,
    next: Id,
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").finish_non_exhaustive()
    }
}

impl Broker {
    /// For one program, which may reach what the rules allow. Each of its calls must be made in the context of a tokio runtime with
    /// I/O and time.
    pub fn new(client: &Arc<Client>, rules: Rules, limits: Limits, sink: Sink) -> Self {
        Self {
            shared: Arc::new(Shared {
                client: Arc::clone(client),
                rules,
                usage: Arc::new(Usage::new(limits, sink)),
                tls: OnceCell::new(),
            }),
            connections: HashMap::new(),
            next: 1,
        }
    }

    /// Answers a call. No call but [`Call::Wait`] waits; if the future is dropped, nothing is lost.
    pub async fn call(&mut self, call: Call) -> Answer {
        match call {
            Call::Wait(connections, milliseconds) => {
                Answer::Ready(self.wait(&connections, milliseconds).await)
            }
            other => self.call_now(other).unwrap_or_else(Answer::Failed),
        }
    }

    /// Answers a call at once. [`Call::Wait`] gets what is ready now.
    fn call_now(&mut self, call: Call) -> Result<Answer, Error> {
        Ok(match call {
            Call::Open(host, port) => Answer::Opened(self.open(&host, port)?),
            Call::StartTls(id, name) => {
                self.connection(id)?.start_tls(&name)?;
                Answer::Done
            }
            Call::Step(id) => Answer::Stepped(self.connection(id)?.step()?),
            Call::Send(id, request) => {
                self.connection(id)?.send(&request)?;
                Answer::Done
            }
            Call::Write(id, bytes) => Answer::Written(self.connection(id)?.write(&bytes)?),
            Call::Finish(id) => {
                self.connection(id)?.finish()?;
                Answer::Done
            }
            Call::Head(id) => Answer::Head(self.connection(id)?.head()?),
            Call::Read(id, max) => Answer::Read(self.connection(id)?.read(max)?),
            Call::Close(id) => {
                self.connections.remove(&id);
                Answer::Done
            }
            Call::Wait(connections, _) => {
                let mut cx = Context::from_waker(std::task::Waker::noop());
                Answer::Ready(self.ready(&mut cx, &connections))
            }
        })
    }

    fn open(&mut self, host: &str, port: u16) -> Result<Id, Error> {
        let Some(parsed) = Host::parse(host).filter(|_| port != 0) else {
            let why = "Name or service not known: it is no name of a host, or has no port";
            return Err(Error::new(ErrorKind::UnknownHost, why));
        };
        if let Err(refused) = check_host(&self.shared.rules, &parsed, port) {
            self.shared.usage.report(Event::Denied {
                host: parsed.to_string(),
                port,
            });
            return Err(refused.error);
        }
        let usage = &self.shared.usage;
        let counted = usage.count_connection(self.connections.len());
        counted.map_err(|limited| Error::new(ErrorKind::Limit, usage.message(limited)))?;
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        let connection = Connection::open(&self.shared, parsed, port);
        self.connections.insert(id, connection);
        Ok(id)
    }

    fn connection(&mut self, id: Id) -> Result<&mut Connection, Error> {
        let unknown = || Error::new(ErrorKind::Misuse, "there is no such connection");
        self.connections.get_mut(&id).ok_or_else(unknown)
    }

    /// Waits until one of the connections is ready.
    async fn wait(
        &mut self,
        connections: &[(Id, Readiness)],
        milliseconds: Option<u32>,
    ) -> Vec<(Id, Readiness)> {
        let until_ready = poll_fn(|cx| {
            let ready = self.ready(cx, connections);
            match ready.is_empty() {
                true => Poll::Pending,
                false => Poll::Ready(ready),
            }
        });
        match milliseconds {
            None => until_ready.await,
            Some(milliseconds) => {
                let limit = Duration::from_millis(milliseconds.into());
                let waited = tokio::time::timeout(limit, until_ready).await;
                waited.unwrap_or_default()
            }
        }
    }

    /// Which connections are ready for what is asked of them.
    fn ready(
        &mut self,
        cx: &mut Context<'_>,
        connections: &[(Id, Readiness)],
    ) -> Vec<(Id, Readiness)> {
        let mut ready = Vec::new();
        for (id, wanted) in connections {
            let is = match self.connections.get_mut(id) {
                Some(connection) => {
                    connection.advance(cx);
                    let is = connection.readiness();
                    Readiness {
                        read: wanted.read && is.read,
                        write: wanted.write && is.write,
                    }
                }
                None => *wanted,
            };
            if is != Readiness::default() {
                ready.push((*id, is));
            }
        }
        ready
    }
}
