//! Programs, their network and servers on loopback.

use crate::{
    Answer, Broker, Call, Client, ErrorKind, Event, Exchange, Id, Length, Limited, Limits, Lookup,
    Piece, Readiness, Request, Resolve, Response, Roots, Rule, Rules,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

const BOTH: Readiness = Readiness {
    read: true,
    write: true,
};
const READ: Readiness = Readiness {
    read: true,
    write: false,
};

/// A resolver with fixed answers, which counts what it is asked.
#[derive(Default, Clone)]
struct Names {
    all: Vec<(&'static str, Vec<IpAddr>)>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    fn of(all: &[(&'static str, &[&str])]) -> Self {
        let parse = |addresses: &[&str]| addresses.iter().map(|one| one.parse().unwrap()).collect();
        Self {
            all: all
                .iter()
                .map(|(name, addresses)| (*name, parse(addresses)))
                .collect(),
            asked: Arc::default(),
        }
    }
}

impl Resolve for Names {
    fn resolve(&self, name: &str) -> Lookup {
        self.asked.lock().unwrap().push(name.to_owned());
        let found = self.all.iter().find(|(own, _)| *own == name);
        let found = found.map(|(_, addresses)| addresses.clone());
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

/// A program with its network.
struct Program {
    broker: Broker,
    events: Arc<Mutex<Vec<Event>>>,
}

fn rules(all: &[(&str, u16)]) -> Rules {
    let parse = |(host, port): &(&str, u16)| Rule::parse(host, Some(*port)).unwrap();
    all.iter().map(parse).collect()
}

impl Program {
    fn new(names: Names, roots: Roots, rules: Rules, limits: Limits) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&events);
        let sink: crate::Sink = Arc::new(move |event| {
            kept.lock().unwrap().push(event);
            true
        });
        let client = Arc::new(Client::new(names, roots));
        Self {
            broker: Broker::new(&client, rules, limits, sink),
            events,
        }
    }

    /// One that may use a port of loopback.
    fn of(port: u16) -> Self {
        let rules = rules(&[("127.0.0.1", port)]);
        Self::new(Names::default(), Roots::System, rules, Limits::default())
    }

    async fn call(&mut self, call: Call) -> Result<Answer, ErrorKind> {
        match self.broker.call(call).await {
            Answer::Failed(error) => Err(error.kind),
            answer => Ok(answer),
        }
    }

    async fn wait(&mut self, id: Id, wanted: Readiness) {
        let answer = self.call(Call::Wait(vec![(id, wanted)], None)).await;
        assert!(matches!(answer, Ok(Answer::Ready(ready)) if ready.len() == 1));
    }

    /// Waits for a step.
    async fn step(&mut self, id: Id) -> Result<(), ErrorKind> {
        self.wait(id, BOTH).await;
        match self.call(Call::Step(id)).await? {
            Answer::Stepped(true) => Ok(()),
            answer => panic!("{answer:?}"),
        }
    }

    async fn open(&mut self, host: &str, port: u16) -> Result<Id, ErrorKind> {
        let Answer::Opened(id) = self.call(Call::Open(host.into(), port)).await? else {
            panic!("no id");
        };
        self.step(id).await?;
        Ok(id)
    }

    async fn encrypt(&mut self, id: Id) -> Result<(), ErrorKind> {
        self.call(Call::StartTls(id, String::new())).await?;
        self.step(id).await
    }

    async fn head(&mut self, id: Id) -> Result<Response, ErrorKind> {
        self.wait(id, READ).await;
        match self.call(Call::Head(id)).await? {
            Answer::Head(Some(head)) => Ok(head),
            answer => panic!("{answer:?}"),
        }
    }

    async fn body(&mut self, id: Id) -> Result<Vec<u8>, ErrorKind> {
        let mut all = Vec::new();
        loop {
            match self.call(Call::Read(id, 1 << 20)).await? {
                Answer::Read(Piece::Bytes(bytes)) => {
                    assert!((1..=crate::MAX_PIECE).contains(&bytes.len()));
                    all.extend(bytes);
                }
                Answer::Read(Piece::End) => return Ok(all),
                Answer::Read(Piece::Pending) => self.wait(id, READ).await,
                answer => panic!("{answer:?}"),
            }
        }
    }

    async fn get(&mut self, id: Id, path: &str) -> Result<(Response, Vec<u8>), ErrorKind> {
        self.call(Call::Send(id, get(path))).await?;
        let head = self.head(id).await?;
        Ok((head, self.body(id).await?))
    }

    fn ended(&self) -> Vec<Exchange> {
        let events = self.events.lock().unwrap();
        let ended = events.iter().filter_map(|event| match event {
            Event::Ended(exchange) => Some(exchange.clone()),
            _ => None,
        });
        ended.collect()
    }

    fn denied(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let denied = events.iter().filter_map(|event| match event {
            Event::Denied { host, port } => Some(format!("{host}:{port}")),
            _ => None,
        });
        denied.collect()
    }
}

fn get(path: &str) -> Request {
    Request {
        method: "GET".into(),
        target: path.into(),
        headers: Vec::new(),
        body: Length::None,
    }
}

/// What a test server says to the requests of one connection. It stops when the connection is closed.
struct Served {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Reads a request: its head, and a body as long as that says.
fn read_request(stream: &mut impl Read) -> Option<String> {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        all.push(byte[0]);
    }
    let head = String::from_utf8(all.clone()).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1);
    if let Some(length) = length.and_then(|rest| rest.split("\r\n").next()) {
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).ok()?;
        all.extend(body);
    } else if head.contains("transfer-encoding: chunked") {
        while !all.ends_with(b"\r\n0\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            all.push(byte[0]);
        }
    }
    Some(String::from_utf8(all).unwrap())
}

/// Answers each request with the next of these texts, as long as the connection is open, and closes it then.
fn serve(answers: &'static [&'static str]) -> Served {
    serve_with(answers, |stream, serve| serve(&mut { stream }))
}

fn serve_with(
    answers: &'static [&'static str],
    wrap: impl Fn(std::net::TcpStream, &dyn Fn(&mut dyn Stream)) + Send + Sync + 'static,
) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    let wrap = Arc::new(wrap);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (kept, wrap) = (Arc::clone(&kept), Arc::clone(&wrap));
            thread::spawn(move || {
                wrap(stream.unwrap(), &|stream: &mut dyn Stream| {
                    for answer in answers {
                        let Some(request) = read_request(&mut &mut *stream) else {
                            return;
                        };
                        kept.lock().unwrap().push(request);
                        if stream.write_all(answer.as_bytes()).is_err() || stream.flush().is_err() {
                            return;
                        }
                    }
                });
            });
        }
    });
    Served { port, requests }
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello";

#[tokio::test]
async fn requests_use_one_connection_as_long_as_the_server_keeps_it() {
    let chunked = "HTTP/1.1 404 Gone Fishing\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\n";
    let last = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end";
    let server = serve(Box::leak(Box::new([OK, chunked, last])));
    let mut program = Program::of(server.port);
    let id = program.open("127.0.0.1", server.port).await.unwrap();
    let (head, body) = program.get(id, "/a?b").await.unwrap();
    let expected = Response {
        status: 200,
        reason: "OK".into(),
        headers: vec![
            ("content-length".into(), b"5".to_vec()),
            ("x-a".into(), b"b".to_vec()),
        ],
        body: Length::Known(5),
        keeps_alive: true,
    };
    assert_eq!((head, body), (expected, b"hello".to_vec()));
    let (head, body) = program.get(id, "/c").await.unwrap();
    assert_eq!((head.status, head.reason.as_str()), (404, "Gone Fishing"));
    assert_eq!((head.body, head.keeps_alive), (Length::Unknown, true));
    assert_eq!((head.headers, body), (vec![], b"abcde".to_vec()));
    let (head, body) = program.get(id, "/d").await.unwrap();
    assert_eq!((head.body, head.keeps_alive), (Length::Unknown, false));
    assert_eq!(body, b"until the end");
    assert_eq!(program.get(id, "/e").await, Err(ErrorKind::Closed));

    let host = format!("127.0.0.1:{}", server.port);
    let requests = server.requests.lock().unwrap().clone();
    assert_eq!(
        requests[0],
        format!("GET /a?b HTTP/1.1\r\nHost: {host}\r\n\r\n")
    );
    let ended = program.ended();
    let shown = |exchange: &Exchange| (exchange.method.clone(), exchange.status);
    let shown: Vec<_> = ended.iter().map(shown).collect();
    let get = Some("GET".to_owned());
    assert_eq!(
        shown,
        [
            (get.clone(), Some(200)),
            (get.clone(), Some(404)),
            (get, Some(200))
        ]
    );
    assert_eq!(ended[0].received, OK.len() as u64);
    assert_eq!(ended[0].sent, requests[0].len() as u64);
    assert_eq!(ended[1].received, chunked.len() as u64);
}

#[tokio::test]
async fn bodies_are_sent_with_the_framing_of_the_host() {
    let server = serve(&[OK, OK, OK]);
    let mut program = Program::of(server.port);
    let id = program.open("127.0.0.1", server.port).await.unwrap();
    for (body, pieces) in [
        (Length::Known(6), vec!["abc", "def"]),
        (Length::Unknown, vec!["abc", "def"]),
        (Length::Known(0), vec![]),
    ] {
        let request = Request {
            method: "POST".into(),
            body,
            ..get("/")
        };
        program.call(Call::Send(id, request)).await.unwrap();
        for piece in pieces {
            let written = program.call(Call::Write(id, piece.into())).await;
            assert_eq!(written, Ok(Answer::Written(3)));
        }
        program.call(Call::Finish(id)).await.unwrap();
        assert_eq!(program.head(id).await.unwrap().status, 200);
        assert_eq!(program.body(id).await.unwrap(), b"hello");
    }
    let requests = server.requests.lock().unwrap().clone();
    assert!(requests[0].ends_with("\r\nContent-Length: 6\r\n\r\nabcdef"));
    assert!(requests[1].contains("\r\nTransfer-Encoding: chunked\r\n\r\n"));
    assert!(requests[1].ends_with("\r\n0\r\n\r\n"));
    assert!(requests[2].ends_with("\r\nContent-Length: 0\r\n\r\n"));
}

#[tokio::test]
async fn a_body_is_as_long_as_its_head_says() {
    for (length, written) in [(2, "abc"), (4, "abc")] {
        let server = serve(&[OK]);
        let mut program = Program::of(server.port);
        let id = program.open("127.0.0.1", server.port).await.unwrap();
        let request = Request {
            method: "POST".into(),
            body: Length::Known(length),
            ..get("/")
        };
        program.call(Call::Send(id, request)).await.unwrap();
        let written = program.call(Call::Write(id, written.into())).await;
        let finished = program.call(Call::Finish(id)).await;
        assert_eq!(written.and(finished), Err(ErrorKind::InvalidRequest));
        // What was sent is not taken for a whole request.
        assert_eq!(
            program.call(Call::Head(id)).await,
            Err(ErrorKind::InvalidRequest)
        );
        assert!(server.requests.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn what_is_no_response_is_an_error() {
    for (answer, expected) in [
        ("", ErrorKind::Closed),
        ("HTTP/1.1 200 OK\r\nContent-Le", ErrorKind::Closed),
        ("SSH-2.0-OpenSSH_9.6\r\n", ErrorKind::InvalidResponse),
        ("HTTP/1.1 2000 OK\r\n\r\n", ErrorKind::InvalidResponse),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            ErrorKind::InvalidResponse,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
            ErrorKind::Closed,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            ErrorKind::Closed,
        ),
    ] {
        let server = serve(Box::leak(Box::new([answer])));
        let mut program = Program::of(server.port);
        let id = program.open("127.0.0.1", server.port).await.unwrap();
        assert_eq!(program.get(id, "/").await, Err(expected), "{answer:?}");
        assert_eq!(program.ended()[0].error, Some(expected), "{answer:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_listen_refuses() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let mut program = Program::of(port);
    assert_eq!(
        program.open("127.0.0.1", port).await,
        Err(ErrorKind::Refused)
    );
    let ended = program.ended();
    assert_eq!((ended.len(), &ended[0].method), (1, &None));
    assert_eq!(ended[0].error, Some(ErrorKind::Refused));
}

#[tokio::test]
async fn calls_out_of_turn_are_errors() {
    let server = serve(&[OK]);
    let mut program = Program::of(server.port);
    let id = program.open("127.0.0.1", server.port).await.unwrap();
    for call in [
        Call::Head(id),
        Call::Read(id, 1),
        Call::Write(id, vec![1]),
        Call::Finish(id),
        Call::Step(id + 1),
        Call::Head(0),
    ] {
        assert_eq!(program.call(call).await, Err(ErrorKind::Misuse));
    }
    program.call(Call::Send(id, get("/"))).await.unwrap();
    assert_eq!(
        program.call(Call::Send(id, get("/"))).await,
        Err(ErrorKind::Misuse)
    );
    assert_eq!(
        program.call(Call::StartTls(id, String::new())).await,
        Err(ErrorKind::Misuse)
    );
    program.head(id).await.unwrap();
    assert_eq!(program.body(id).await.unwrap(), b"hello");
    assert_eq!(program.call(Call::Close(id)).await, Ok(Answer::Done));
    assert_eq!(program.call(Call::Close(id)).await, Ok(Answer::Done));
    assert_eq!(program.call(Call::Head(id)).await, Err(ErrorKind::Misuse));
    // Whoever waits for it does not wait for ever.
    program.wait(id, READ).await;
}

#[tokio::test]
async fn a_wait_ends_with_its_time() {
    let mut program = Program::of(1);
    let answer = program.call(Call::Wait(Vec::new(), Some(1))).await;
    assert_eq!(answer, Ok(Answer::Ready(Vec::new())));
}

#[tokio::test]
async fn limits_are_hard() {
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    let long = format!("HTTP/1.1 200 OK\r\n\r\n{}", "a".repeat(1 << 20));
    let server = serve(Box::leak(Box::new([&*long.leak()])));
    let port = server.port;
    let program = |limits| {
        let rules = rules(&[("127.0.0.1", port)]);
        Program::new(Names::default(), Roots::System, rules, limits)
    };

    let mut few = program(limits(|limits| limits.received = 100_000));
    let id = few.open("127.0.0.1", port).await.unwrap();
    assert_eq!(few.get(id, "/").await, Err(ErrorKind::Limit));
    assert!(
        few.events
            .lock()
            .unwrap()
            .contains(&Event::Limited(Limited::Received))
    );
    let mut enough = program(limits(|limits| limits.received = 2 << 20));
    let id = enough.open("127.0.0.1", port).await.unwrap();
    assert_eq!(enough.get(id, "/").await.unwrap().1.len(), 1 << 20);

    let mut few = program(limits(|limits| limits.sent = 20));
    let id = few.open("127.0.0.1", port).await.unwrap();
    assert_eq!(few.get(id, "/").await, Err(ErrorKind::Limit));
    assert!(
        few.events
            .lock()
            .unwrap()
            .contains(&Event::Limited(Limited::Sent))
    );

    let mut few = program(limits(|limits| limits.connections = 1));
    let id = few.open("127.0.0.1", port).await.unwrap();
    assert_eq!(few.open("127.0.0.1", port).await, Err(ErrorKind::Limit));
    few.call(Call::Close(id)).await.unwrap();
    assert!(few.open("127.0.0.1", port).await.is_ok());

    let mut few = program(limits(|limits| limits.requests = 1));
    let id = few.open("127.0.0.1", port).await.unwrap();
    assert!(few.get(id, "/").await.is_ok());
    assert_eq!(few.open("127.0.0.1", port).await, Err(ErrorKind::Limit));
}

#[tokio::test]
async fn what_cannot_be_recorded_is_the_last() {
    let server = serve(&[OK, OK]);
    let client = Arc::new(Client::new(Names::default(), Roots::System));
    let rules = rules(&[("127.0.0.1", server.port)]);
    let sink: crate::Sink = Arc::new(|event| !matches!(event, Event::Ended(_)));
    let mut program = Program::of(server.port);
    program.broker = Broker::new(&client, rules, Limits::default(), sink);
    let id = program.open("127.0.0.1", server.port).await.unwrap();
    assert_eq!(program.get(id, "/").await.unwrap().1, b"hello");
    assert_eq!(program.get(id, "/").await, Err(ErrorKind::Limit));
    assert_eq!(
        program.open("127.0.0.1", server.port).await,
        Err(ErrorKind::Limit)
    );
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

/// A certificate authority, and a server with a certificate of it for this name.
fn serve_tls(names: &[&str], answers: &'static [&'static str]) -> (Served, Roots) {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let root = authority.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::new(authority, key);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let own = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(names).unwrap();
    let certificate = certificate.signed_by(&own, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate.der().to_vec())],
            PrivateKeyDer::try_from(own.serialize_der()).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let served = serve_with(answers, move |mut stream, serve| {
        let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        serve(&mut rustls::Stream::new(&mut tls, &mut stream));
    });
    (served, Roots::Pem(root.pem().into_bytes()))
}

#[tokio::test]
async fn certificates_are_verified() {
    let names = Names::of(&[
        ("good.test", &["127.0.0.1"]),
        ("other.test", &["127.0.0.1"]),
    ]);
    let (server, roots) = serve_tls(&["good.test"], &[OK]);
    let (_, stranger) = serve_tls(&["good.test"], &[OK]);
    let rules = rules(&[
        ("good.test", server.port),
        ("other.test", server.port),
        ("127.0.0.1", server.port),
    ]);
    let program = |roots| Program::new(names.clone(), roots, rules.clone(), Limits::default());

    let mut trusting = program(roots.clone());
    let id = trusting.open("good.test", server.port).await.unwrap();
    trusting.encrypt(id).await.unwrap();
    assert_eq!(trusting.get(id, "/").await.unwrap().1, b"hello");
    assert!(trusting.ended()[0].encrypted);
    let id = trusting.open("other.test", server.port).await.unwrap();
    assert_eq!(trusting.encrypt(id).await, Err(ErrorKind::Certificate));
    let id = trusting.open("127.0.0.1", server.port).await.unwrap();
    assert_eq!(trusting.encrypt(id).await, Err(ErrorKind::Certificate));

    let mut strange = program(stranger);
    let id = strange.open("good.test", server.port).await.unwrap();
    assert_eq!(strange.encrypt(id).await, Err(ErrorKind::Certificate));
    // Another name than the one that was checked.
    let id = trusting.open("good.test", server.port).await.unwrap();
    let named = Call::StartTls(id, "other.test".into());
    assert_eq!(trusting.call(named).await, Err(ErrorKind::InvalidRequest));

    // What answers in plain text is no TLS.
    let plain = serve_with(&[], |mut stream, _| {
        stream.write_all(OK.as_bytes()).unwrap()
    });
    let rules = crate::tests::rules(&[("127.0.0.1", plain.port)]);
    let mut program = Program::new(Names::default(), roots, rules, Limits::default());
    let id = program.open("127.0.0.1", plain.port).await.unwrap();
    let refused = program.encrypt(id).await.unwrap_err();
    assert!(matches!(refused, ErrorKind::Tls | ErrorKind::Closed));
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
    let server = serve(&[OK, OK]);
    let names = Names::of(&[
        // The first one is not granted, so the other is used.
        ("mixed.test", &["10.0.0.1", "127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("inner.test", &["127.0.0.1"]),
    ]);
    let rules = rules(&[
        ("*.test", server.port),
        ("127.0.0.0/8", server.port),
        ("localhost", server.port),
    ]);
    let asked = Arc::clone(&names.asked);
    let mut program = Program::new(names, Roots::System, rules, Limits::default());
    for host in [
        "mixed.test",
        "mapped.test",
        "INNER.test.",
        "127.1",
        "localhost",
    ] {
        let id = program.open(host, server.port).await.unwrap();
        program.call(Call::Close(id)).await.unwrap();
    }
    // Each is looked up once, and what needs no lookup is not.
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked, ["mixed.test", "mapped.test", "inner.test"]);
}

/// What leads to this machine, its network or a metadata service, as attackers write it.
const PRIVATE_HOSTS: [&str; 44] = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.127.127.127",
    "2130706433",
    "0x7f000001",
    "0x7f.0x0.0x0.0x1",
    "0177.0.0.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "[::1]",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "64:ff9b::127.0.0.1",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "fe80::1",
    "fc00::1",
    "169.254.169.254",
    "169.254.43518",
    "2852039166",
    "0xa9fea9fe",
    "0xA9.0xFE.0xA9.0xFE",
    "0251.0376.0251.0376",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "fd00:ec2::254",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "255.255.255.255",
    "224.0.0.1",
];

/// What a name server under an attacker's control answers.
const PRIVATE_ANSWERS: [&[&str]; 14] = [
    &["127.0.0.1"],
    &["0.0.0.0"],
    &["::1"],
    &["::"],
    &["::ffff:127.0.0.1"],
    &["::ffff:169.254.169.254"],
    &["169.254.169.254"],
    &["10.0.0.1", "192.168.0.1"],
    &["100.64.0.1"],
    &["fd00:ec2::254"],
    &["fe80::1"],
    &["64:ff9b::7f00:1"],
    &["2002:a9fe:a9fe::"],
    &["224.0.0.1"],
];

#[tokio::test]
async fn no_notation_leads_to_what_is_not_public() {
    for host in PRIVATE_HOSTS {
        // Even if everything is granted that can be without naming it.
        let all: Rules = Rule::parse("*", None).into_iter().collect();
        let names = Names::default();
        let asked = Arc::clone(&names.asked);
        let mut program = Program::new(names, Roots::System, all, Limits::default());
        let opened = program.open(host, 80).await;
        assert_eq!(opened, Err(ErrorKind::Denied), "{host}");
        assert_eq!(program.denied().len(), 1, "{host}");
        assert_eq!(*asked.lock().unwrap(), [""; 0], "{host}");
    }
}

#[tokio::test]
async fn no_name_leads_to_what_is_not_public() {
    for answer in PRIVATE_ANSWERS {
        for grants in [&["*"][..], &["evil.test"], &["*.test", "198.51.100.0/24"]] {
            let names = Names::of(&[("evil.test", answer)]);
            let rules = grants
                .iter()
                .map(|grant| Rule::parse(grant, Some(80)).unwrap());
            let rules = rules.collect();
            let mut program = Program::new(names, Roots::System, rules, Limits::default());
            let opened = program.open("evil.test", 80).await;
            assert_eq!(opened, Err(ErrorKind::Denied), "{answer:?} {grants:?}");
            // The grant that would be needed names the address.
            let denied = program.denied();
            assert_eq!(denied.len(), 1, "{answer:?}");
            assert!(!denied[0].contains("evil"), "{denied:?}");
        }
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_each_time() {
    /// Leads to a public address first, and to this machine then.
    struct Rebinding(Mutex<u32>);
    impl Resolve for Rebinding {
        fn resolve(&self, _: &str) -> Lookup {
            let mut count = self.0.lock().unwrap();
            *count += 1;
            let address: &str = match *count {
                // Reserved for documentation, and granted below: nothing answers there.
                1 => "198.51.100.1",
                _ => "127.0.0.1",
            };
            let address = address.parse().unwrap();
            Box::pin(async move { Ok(vec![address]) })
        }
    }
    let server = serve(&[OK]);
    let rules = rules(&[("rebind.test", server.port), ("198.51.100.1", server.port)]);
    let sink: crate::Sink = Arc::new(|_| true);
    let client = Arc::new(Client::new(Rebinding(Mutex::new(0)), Roots::System));
    let mut broker = Broker::new(&client, rules, Limits::default(), sink);
    let first = broker
        .call(Call::Open("rebind.test".into(), server.port))
        .await;
    let Answer::Opened(first) = first else {
        panic!("{first:?}");
    };
    // It is being connected to the first address, or has failed to be.
    broker.call(Call::Step(first)).await;
    broker.call(Call::Close(first)).await;
    let second = broker
        .call(Call::Open("rebind.test".into(), server.port))
        .await;
    let Answer::Opened(second) = second else {
        panic!("{second:?}");
    };
    broker.call(Call::Wait(vec![(second, BOTH)], None)).await;
    let answer = broker.call(Call::Step(second)).await;
    assert!(matches!(answer, Answer::Failed(error) if error.kind == ErrorKind::Denied));
    assert!(server.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_host_that_is_not_granted_is_not_looked_up() {
    let names = Names::of(&[("secret.evil.test", &["93.184.216.34"])]);
    let asked = Arc::clone(&names.asked);
    let rules = rules(&[("good.test", 443)]);
    let mut program = Program::new(names, Roots::System, rules, Limits::default());
    for (host, port) in [
        ("secret.evil.test", 443),
        ("good.test", 80),
        ("93.184.216.34", 443),
    ] {
        assert_eq!(
            program.open(host, port).await,
            Err(ErrorKind::Denied),
            "{host}"
        );
    }
    assert_eq!(*asked.lock().unwrap(), [""; 0]);
    let denied = ["secret.evil.test:443", "good.test:80", "93.184.216.34:443"];
    assert_eq!(program.denied(), denied);
    for host in [
        "",
        "a b",
        "a/b",
        "user@good.test",
        "good.test\r\n",
        "good.test:443",
    ] {
        assert_eq!(
            program.open(host, 443).await,
            Err(ErrorKind::UnknownHost),
            "{host}"
        );
    }
}

#[tokio::test]
async fn requests_at_the_same_time_do_not_wait_for_each_other() {
    // Each server answers only when all have their request.
    let ready = Arc::new(std::sync::Barrier::new(10));
    let server = serve_with(&[], move |mut stream, _| {
        read_request(&mut stream);
        ready.wait();
        stream.write_all(OK.as_bytes()).unwrap();
    });
    let mut program = Program::of(server.port);
    let mut ids = Vec::new();
    for _ in 0..10 {
        let id = program.open("127.0.0.1", server.port).await.unwrap();
        program.call(Call::Send(id, get("/"))).await.unwrap();
        ids.push(id);
    }
    for id in ids {
        assert_eq!(program.head(id).await.unwrap().status, 200);
        assert_eq!(program.body(id).await.unwrap(), b"hello");
    }
}
