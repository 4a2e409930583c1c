//! One connection of a program, from its opening to its last response.
//!
//! Nothing of it runs on a thread of its own: it goes on while the program waits for it, or calls it. So it ends at once when it is
//! dropped, and no more is read from the network than the program takes.

use crate::call::{Error, ErrorKind, Length, MAX_PIECE, Piece, Readiness, Request, Response};
use crate::client::{Client, Refused};
use crate::event::{Event, Exchange};
use crate::host::Host;
use crate::limits::Usage;
use crate::request;
use crate::rules::Rules;
use crate::stream::{Counters, Inner, LimitHit, Metered};
use crate::tls;
use crate::upload::Upload;
use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, HeaderMap, TRANSFER_ENCODING};
use hyper::{Method, StatusCode, Version};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use std::error::Error as _;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::client::TlsStream;

/// How long a handshake may take. Servers that answer at all do so in seconds.
const MAX_HANDSHAKE: Duration = Duration::from_secs(60);
/// What is read from a connection at once, and the largest head of a response.
const MAX_BUFFER: usize = 128 << 10;
const MAX_HEADERS: usize = 256;
/// Headers of a response that are about the connection and not the message.
const DROPPED: [&str; 5] = [
    "connection",
    "keep-alive",
    "transfer-encoding",
    "trailer",
    "upgrade",
];

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What the connections of one program have in common.
pub(crate) struct Shared {
    pub(crate) client: Arc<Client>,
    pub(crate) rules: Rules,
    pub(crate) usage: Arc<Usage>,
    /// Its settings for TLS, once it has used it.
    pub(crate) tls: OnceCell<Arc<ClientConfig>>,
}

/// A connection.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    host: Host,
    port: u16,
    is_encrypted: bool,
    state: State,
    counters: Arc<Counters>,
    record: Option<Record>,
    /// Whether anything was done to open it.
    has_begun: bool,
    /// Whether something of it was reported.
    is_reported: bool,
}

enum State {
    Opening(BoxFuture<Result<TcpStream, Refused>>),
    Open(TcpStream),
    Encrypting(BoxFuture<Result<TlsStream<TcpStream>, Error>>),
    Encrypted(Box<TlsStream<TcpStream>>),
    Http(Box<Http>),
    /// A step in which the state is replaced.
    Between,
    Failed(Error),
}

/// What is reported about a request when it has ended.
struct Record {
    method: Option<String>,
    status: Option<u16>,
    sent_before: u64,
    received_before: u64,
}

struct Http {
    sender: SendRequest<Upload>,
    /// `None` once it is closed.
    connection: Option<BoxFuture<hyper::Result<()>>>,
    /// Why it was closed, if it failed.
    failure: Option<hyper::Error>,
    stage: Stage,
    upload: Upload,
    method: Method,
    /// Whether another request can be sent after this one.
    keeps_alive: bool,
}

enum Stage {
    Sent(BoxFuture<hyper::Result<hyper::Response<Incoming>>>),
    Begun(Box<Begun>),
}

/// A response that has begun.
struct Begun {
    head: Response,
    body: Incoming,
    /// Whether the program has the head. Nothing of the body is read before, so that an error comes after it.
    is_head_taken: bool,
    /// What was read and not taken.
    rest: Bytes,
    has_ended: bool,
}

fn misuse(message: &str) -> Error {
    Error::new(ErrorKind::Misuse, message)
}

impl Connection {
    pub(crate) fn open(shared: &Arc<Shared>, host: Host, port: u16) -> Self {
        let own = (Arc::clone(shared), host.clone());
        let opening = async move {
            let (shared, host) = own;
            shared.client.connect(&shared.rules, &host, port).await
        };
        Self {
            shared: Arc::clone(shared),
            host,
            port,
            is_encrypted: false,
            state: State::Opening(Box::pin(opening)),
            counters: Arc::default(),
            record: None,
            has_begun: false,
            is_reported: false,
        }
    }

    /// Does what can be done without waiting.
    fn advance_now(&mut self) {
        self.advance(&mut Context::from_waker(Waker::noop()));
    }

    /// Does what can be done, and wakes the task when there is more.
    pub(crate) fn advance(&mut self, cx: &mut Context<'_>) {
        self.has_begun = true;
        let failed = match &mut self.state {
            State::Opening(opening) => match opening.as_mut().poll(cx) {
                Poll::Ready(Ok(stream)) => {
                    self.state = State::Open(stream);
                    return;
                }
                Poll::Ready(Err(Refused { error, denied })) => {
                    if let Some(host) = denied {
                        self.shared.usage.report(Event::Denied {
                            host: host.to_string(),
                            port: self.port,
                        });
                        self.is_reported = true;
                    }
                    error
                }
                Poll::Pending => return,
            },
            State::Encrypting(encrypting) => match encrypting.as_mut().poll(cx) {
                Poll::Ready(Ok(stream)) => {
                    self.state = State::Encrypted(Box::new(stream));
                    return;
                }
                Poll::Ready(Err(error)) => error,
                Poll::Pending => return,
            },
            State::Http(http) => match http.advance(cx) {
                Ok(()) => {
                    if let Stage::Begun(begun) = &http.stage {
                        if let Some(record) = &mut self.record {
                            record.status = Some(begun.head.status);
                        }
                        if begun.has_ended {
                            self.report(None);
                        }
                    }
                    return;
                }
                Err(error) => self.http_error(&error),
            },
            _ => return,
        };
        self.fail(failed);
    }

    fn fail(&mut self, error: Error) {
        self.report(Some(error.kind));
        self.state = State::Failed(error);
    }

    /// Reports a request, or a connection without one, unless it was.
    fn report(&mut self, error: Option<ErrorKind>) {
        let record = match self.record.take() {
            Some(record) => record,
            None if !self.is_reported => Record {
                method: None,
                status: None,
                sent_before: 0,
                received_before: 0,
            },
            None => return,
        };
        self.is_reported = true;
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let sent = self.counters.sent.load(Ordering::Relaxed);
        let received = self.counters.received.load(Ordering::Relaxed);
        self.shared.usage.report(Event::Ended(Exchange {
            method: record.method,
            host: self.host.to_string(),
            port: self.port,
            encrypted: self.is_encrypted,
            status: record.status,
            sent: since(sent, record.sent_before),
            received: since(received, record.received_before),
            error,
        }));
    }

    /// What it is ready for.
    pub(crate) fn readiness(&self) -> Readiness {
        match &self.state {
            State::Opening(_) | State::Encrypting(_) | State::Between => Readiness::default(),
            State::Open(_) | State::Encrypted(_) => Readiness {
                read: false,
                write: true,
            },
            State::Http(http) => Readiness {
                read: match &http.stage {
                    Stage::Sent(_) => false,
                    Stage::Begun(begun) => {
                        !begun.is_head_taken || begun.has_ended || !begun.rest.is_empty()
                    }
                },
                write: http.upload.has_room(),
            },
            State::Failed(_) => Readiness {
                read: true,
                write: true,
            },
        }
    }

    pub(crate) fn step(&mut self) -> Result<bool, Error> {
        self.advance_now();
        match &self.state {
            State::Opening(_) | State::Encrypting(_) => Ok(false),
            State::Failed(error) => Err(error.clone()),
            _ => Ok(true),
        }
    }

    pub(crate) fn start_tls(&mut self, server_name: &str) -> Result<(), Error> {
        if !self.step()? || !matches!(self.state, State::Open(_)) {
            return Err(misuse("the connection is not open, or encrypted already"));
        }
        if !server_name.is_empty() && Host::parse(server_name).as_ref() != Some(&self.host) {
            let why = format!(
                "the name of the server must be `{}`, the host of the connection",
                self.host
            );
            let error = Error::new(ErrorKind::InvalidRequest, why);
            self.fail(error.clone());
            return Err(error);
        }
        let State::Open(stream) = std::mem::replace(&mut self.state, State::Between) else {
            return Err(misuse("the connection is not open"));
        };
        self.is_encrypted = true;
        let (shared, host) = (Arc::clone(&self.shared), self.host.clone());
        self.state = State::Encrypting(Box::pin(async move {
            let make = || shared.client.tls.config();
            let config = shared.tls.get_or_try_init(make).await?;
            let handshake = tls::encrypt(Arc::clone(config), &host, stream);
            let late = || {
                let why = format!("the TLS handshake with `{host}` timed out");
                Error::new(ErrorKind::TimedOut, why)
            };
            tokio::time::timeout(MAX_HANDSHAKE, handshake)
                .await
                .map_err(|_| late())?
        }));
        Ok(())
    }

    pub(crate) fn send(&mut self, request: &Request) -> Result<(), Error> {
        if !self.step()? {
            return Err(misuse("the connection is not open yet"));
        }
        if let State::Http(http) = &mut self.state
            && !http.has_ended()
        {
            return Err(misuse("the response before has not ended"));
        }
        let upload = Upload::new(request.body);
        let checked = request::check(
            request,
            &self.host,
            self.port,
            self.is_encrypted,
            upload.clone(),
        );
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) => {
                self.fail(error.clone());
                return Err(error);
            }
        };
        if let Err(limited) = self.shared.usage.count_request() {
            let why = self.shared.usage.message(limited);
            let error = Error::new(ErrorKind::Limit, why);
            self.fail(error.clone());
            return Err(error);
        }
        let method = checked.method().clone();
        let (mut sender, connection) = match std::mem::replace(&mut self.state, State::Between) {
            State::Http(http) => {
                let Http {
                    sender,
                    connection,
                    keeps_alive,
                    ..
                } = *http;
                if !keeps_alive || connection.is_none() || !sender.is_ready() {
                    let why = "the server closed the connection after its last response";
                    let error = Error::new(ErrorKind::Closed, why);
                    self.fail(error.clone());
                    return Err(error);
                }
                (sender, connection)
            }
            State::Open(stream) => self.speak_http(Inner::Plain(stream))?,
            State::Encrypted(stream) => self.speak_http(Inner::Encrypted(stream))?,
            other => {
                self.state = other;
                return Err(misuse("the connection is not open"));
            }
        };
        self.record = Some(Record {
            method: Some(method.as_str().to_owned()),
            status: None,
            sent_before: self.counters.sent.load(Ordering::Relaxed),
            received_before: self.counters.received.load(Ordering::Relaxed),
        });
        let response = Box::pin(sender.send_request(checked));
        self.state = State::Http(Box::new(Http {
            sender,
            connection,
            failure: None,
            stage: Stage::Sent(response),
            upload,
            method,
            keeps_alive: true,
        }));
        self.advance_now();
        Ok(())
    }

    #[expect(
        clippy::type_complexity,
        reason = "the two ends of a connection, taken apart at once"
    )]
    fn speak_http(
        &mut self,
        stream: Inner,
    ) -> Result<(SendRequest<Upload>, Option<BoxFuture<hyper::Result<()>>>), Error> {
        let counters = Arc::clone(&self.counters);
        let metered = Metered::new(stream, counters, Arc::clone(&self.shared.usage));
        let mut settings = http1::Builder::new();
        settings
            .title_case_headers(true)
            .max_buf_size(MAX_BUFFER)
            .max_headers(MAX_HEADERS);
        // It only allocates, so it is done at once.
        let handshake = pin!(settings.handshake::<_, Upload>(TokioIo::new(metered)));
        let made = match handshake.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok((sender, connection))) => {
                let connection: BoxFuture<_> = Box::pin(connection);
                return Ok((sender, Some(connection)));
            }
            Poll::Ready(Err(error)) => error.to_string(),
            Poll::Pending => "the connection is not ready".to_owned(),
        };
        let error = Error::new(ErrorKind::Closed, made);
        self.fail(error.clone());
        Err(error)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<u32, Error> {
        let upload = self.http()?.upload.clone();
        let written = upload.write(bytes);
        self.advance_now();
        match written {
            Ok(taken) => Ok(u32::try_from(taken).unwrap_or(u32::MAX)),
            Err(error) => {
                self.fail(error.clone());
                Err(error)
            }
        }
    }

    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        let finished = self.http()?.upload.finish();
        self.advance_now();
        if let Err(error) = &finished {
            // The server must not take what was sent for a whole request.
            self.fail(error.clone());
        }
        finished
    }

    pub(crate) fn head(&mut self) -> Result<Option<Response>, Error> {
        self.advance_now();
        match &mut self.http()?.stage {
            Stage::Sent(_) => Ok(None),
            Stage::Begun(begun) => {
                begun.is_head_taken = true;
                Ok(Some(begun.head.clone()))
            }
        }
    }

    pub(crate) fn read(&mut self, max: u32) -> Result<Piece, Error> {
        self.advance_now();
        let Stage::Begun(begun) = &mut self.http()?.stage else {
            return Ok(Piece::Pending);
        };
        if !begun.rest.is_empty() {
            let max = usize::try_from(max)
                .unwrap_or(MAX_PIECE)
                .clamp(1, MAX_PIECE);
            let piece = begun.rest.split_to(max.min(begun.rest.len()));
            return Ok(Piece::Bytes(piece.into()));
        }
        match begun.has_ended {
            true => Ok(Piece::End),
            false => Ok(Piece::Pending),
        }
    }

    fn http(&mut self) -> Result<&mut Http, Error> {
        match &mut self.state {
            State::Http(http) => Ok(http),
            State::Failed(error) => Err(error.clone()),
            _ => Err(misuse("no request was sent")),
        }
    }

    fn http_error(&self, error: &hyper::Error) -> Error {
        let mut source = error.source();
        while let Some(inner) = source {
            let hit = inner
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref)
                .and_then(|inner| inner.downcast_ref::<LimitHit>());
            if let Some(LimitHit(limited)) = hit {
                return Error::new(ErrorKind::Limit, self.shared.usage.message(*limited));
            }
            source = inner.source();
        }
        match error.is_parse() {
            true => Error::new(
                ErrorKind::InvalidResponse,
                format!("the response of `{}` is not HTTP/1.1: {error}", self.host),
            ),
            false => Error::new(
                ErrorKind::Closed,
                format!("`{}` closed the connection: {error}", self.host),
            ),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.has_begun {
            self.report(None);
        }
    }
}

impl Http {
    fn has_ended(&self) -> bool {
        matches!(&self.stage, Stage::Begun(begun) if begun.has_ended)
    }

    fn advance(&mut self, cx: &mut Context<'_>) -> Result<(), hyper::Error> {
        loop {
            let mut is_again = false;
            if let Some(connection) = &mut self.connection
                && let Poll::Ready(closed) = connection.as_mut().poll(cx)
            {
                self.connection = None;
                self.failure = closed.err();
                is_again = true;
            }
            match &mut self.stage {
                Stage::Sent(response) => match response.as_mut().poll(cx) {
                    Poll::Ready(Ok(response)) => {
                        self.begin(response);
                        is_again = true;
                    }
                    // The error of the connection says more.
                    Poll::Ready(Err(error)) => return Err(self.failure.take().unwrap_or(error)),
                    Poll::Pending => {}
                },
                Stage::Begun(begun)
                    if begun.is_head_taken && !begun.has_ended && begun.rest.is_empty() =>
                {
                    match Pin::new(&mut begun.body).poll_frame(cx) {
                        Poll::Ready(Some(Ok(frame))) => {
                            begun.rest = frame.into_data().unwrap_or_default();
                            is_again |= begun.rest.is_empty();
                        }
                        Poll::Ready(Some(Err(error))) => {
                            return Err(self.failure.take().unwrap_or(error));
                        }
                        Poll::Ready(None) => {
                            begun.has_ended = true;
                            self.keeps_alive &= self.upload.has_ended();
                            self.upload.abandon();
                            is_again = true;
                        }
                        Poll::Pending => {}
                    }
                }
                Stage::Begun(_) => {}
            }
            if !is_again {
                return Ok(());
            }
        }
    }

    fn begin(&mut self, response: hyper::Response<Incoming>) {
        let (parts, body) = response.into_parts();
        let has_body = self.method != Method::HEAD
            && !parts.status.is_informational()
            && parts.status != StatusCode::NO_CONTENT
            && parts.status != StatusCode::NOT_MODIFIED;
        let length = match (has_body, body.size_hint().exact()) {
            (false, _) => Length::None,
            (true, Some(bytes)) => Length::Known(bytes),
            (true, None) => Length::Unknown,
        };
        let is_framed = length != Length::Unknown || parts.headers.contains_key(TRANSFER_ENCODING);
        self.keeps_alive = is_framed && says_keep_alive(parts.version, &parts.headers);
        let reason = match parts.extensions.get::<ReasonPhrase>() {
            Some(reason) => String::from_utf8_lossy(reason.as_bytes()).into_owned(),
            None => parts.status.canonical_reason().unwrap_or_default().into(),
        };
        let headers = parts.headers.iter();
        let headers = headers.filter(|(name, _)| !DROPPED.contains(&name.as_str()));
        let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        self.stage = Stage::Begun(Box::new(Begun {
            head: Response {
                status: parts.status.as_u16(),
                reason,
                headers: headers.collect(),
                body: length,
                keeps_alive: self.keeps_alive,
            },
            body,
            is_head_taken: false,
            rest: Bytes::new(),
            has_ended: false,
        }));
    }
}

/// Whether a server means to keep the connection.
fn says_keep_alive(version: Version, headers: &HeaderMap) -> bool {
    let says = |word: &str| {
        let values = headers.get_all(CONNECTION).iter();
        let mut words = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        words.any(|own| own.trim().eq_ignore_ascii_case(word))
    };
    match version {
        Version::HTTP_11 => !says("close"),
        _ => says("keep-alive"),
    }
}
