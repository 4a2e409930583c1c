//! Checks what a program wants to send, so that it means the same to everyone on the way.
//!
//! The host frames the message: a program cannot say how long its body is in two ways, end a header, or name another host than
//! the one that was checked.

use crate::call::{Error, ErrorKind, Length, Request};
use crate::host::Host;
use hyper::Method;
use hyper::Uri;
use hyper::header::{
    CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING, UPGRADE,
};

const MAX_METHOD: usize = 32;
const MAX_TARGET: usize = 64 << 10;
const MAX_HEADERS: usize = 256;
/// Bytes of all headers.
const MAX_HEADER_BYTES: usize = 256 << 10;

/// Headers that are about the connection and not the message. The host sets what is needed.
const DROPPED: [&str; 8] = [
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "keep-alive",
    "expect",
    "http2-settings",
];

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidRequest, message)
}

/// The head of a request to `host` that can be sent, with framing for its body.
pub(crate) fn check<B>(
    request: &Request,
    host: &Host,
    port: u16,
    is_encrypted: bool,
    body: B,
) -> Result<hyper::Request<B>, Error> {
    let method = method(&request.method)?;
    let target = target(&request.target, &method)?;
    let mut checked = hyper::Request::new(body);
    *checked.headers_mut() = headers(request, host, port, is_encrypted)?;
    match request.body {
        Length::None => {}
        Length::Known(length) => {
            checked.headers_mut().insert(CONTENT_LENGTH, length.into());
        }
        Length::Unknown => {
            let chunked = HeaderValue::from_static("chunked");
            checked.headers_mut().insert(TRANSFER_ENCODING, chunked);
        }
    }
    *checked.method_mut() = method;
    *checked.uri_mut() = target;
    Ok(checked)
}

fn method(text: &str) -> Result<Method, Error> {
    let method = Method::from_bytes(text.as_bytes()).ok();
    let method = method.filter(|_| text.len() <= MAX_METHOD);
    match method.ok_or_else(|| invalid("the method is no word"))? {
        Method::CONNECT => Err(invalid(
            "a tunnel through a proxy is not available; the host connects to the server itself",
        )),
        method if text.eq_ignore_ascii_case("connect") => {
            Err(invalid(format!("the method `{method}` is not available")))
        }
        method => Ok(method),
    }
}

fn target(text: &str, method: &Method) -> Result<Uri, Error> {
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    let is_path = text.starts_with('/') || (text == "*" && method == Method::OPTIONS);
    if text.len() > MAX_TARGET {
        return Err(invalid("the path and query are too long"));
    }
    if !is_visible || !is_path || text.contains('#') {
        return Err(invalid(
            "the target of a request is a path that begins with `/`, in ASCII and without spaces",
        ));
    }
    // Only the path and the query are parsed: `//a` is a path, too.
    Uri::builder()
        .path_and_query(text)
        .build()
        .map_err(|error| invalid(format!("the path is not valid: {error}")))
}

fn headers(
    request: &Request,
    host: &Host,
    port: u16,
    is_encrypted: bool,
) -> Result<HeaderMap, Error> {
    let size: usize = request
        .headers
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if request.headers.len() > MAX_HEADERS || size > MAX_HEADER_BYTES {
        return Err(invalid(format!(
            "a request may have {MAX_HEADERS} headers of {MAX_HEADER_BYTES} bytes together"
        )));
    }
    let default_port = if is_encrypted { 443 } else { 80 };
    let mut headers = HeaderMap::with_capacity(request.headers.len() + 2);
    let authority = match port == default_port {
        true => host.to_string(),
        false => format!("{host}:{port}"),
    };
    headers.insert(
        HOST,
        HeaderValue::try_from(authority).map_err(|error| invalid(error.to_string()))?,
    );
    let mut has_host = false;
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| invalid("a header has a name that is no word"))?;
        let value = HeaderValue::from_bytes(value)
            .map_err(|_| invalid(format!("the header `{name}` contains a control character")))?;
        if name == HOST {
            let named = value.to_str().ok().and_then(parse_authority);
            let is_same = named.is_some_and(|(named, named_port)| {
                named == *host && named_port.unwrap_or(default_port) == port
            });
            if !is_same || has_host {
                return Err(invalid(format!(
                    "the header `Host` must be there once and name `{host}`, the host of the connection"
                )));
            }
            has_host = true;
            // As the program wrote it.
            headers.insert(HOST, value);
        } else if name == UPGRADE {
            return Err(invalid(
                "WebSocket and other upgrades of a connection are not available in this sandbox",
            ));
        } else if !DROPPED.contains(&name.as_str()) && !name.as_str().starts_with("proxy-") {
            headers.append(name, value);
        }
    }
    Ok(headers)
}

/// A host and perhaps a port, as the header `Host` has them. User information is not part of it.
fn parse_authority(text: &str) -> Option<(Host, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    // An IPv6 address has brackets here.
    if host.contains(':') && !host.starts_with('[') {
        return None;
    }
    let port = match port {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(port.parse().ok()?),
        Some(_) => return None,
        None => None,
    };
    Some((Host::parse(host)?, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> Request {
        Request {
            method: method.into(),
            target: target.into(),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
                .collect(),
            body: Length::None,
        }
    }

    fn checked(request: &Request) -> Result<hyper::Request<()>, Error> {
        let host = Host::parse("api.example.com").unwrap();
        check(request, &host, 443, true, ())
    }

    fn is_refused(request: &Request) -> bool {
        checked(request).is_err_and(|error| error.kind == ErrorKind::InvalidRequest)
    }

    #[test]
    fn a_plain_request_is_sent_as_it_is() {
        let request = request(
            "POST",
            "/a/b?c=d%20e",
            &[
                ("Host", "API.example.com"),
                ("X-One", "1"),
                ("X-One", "2"),
                ("Accept", "text/html"),
            ],
        );
        let checked = checked(&Request {
            body: Length::Known(3),
            ..request
        })
        .unwrap();
        let headers: Vec<_> = checked.headers().iter().collect();
        assert_eq!(checked.uri().to_string(), "/a/b?c=d%20e");
        assert_eq!(headers.len(), 5, "{headers:?}");
        assert_eq!(checked.headers()["host"], "API.example.com");
        assert_eq!(checked.headers()["content-length"], "3");
        let ones: Vec<_> = checked.headers().get_all("x-one").iter().collect();
        assert_eq!(ones, ["1", "2"]);
    }

    #[test]
    fn methods_and_targets_that_mean_something_else_are_refused() {
        for method in [
            "",
            "CONNECT",
            "connect",
            "Connect",
            "GET ",
            "GET / HTTP/1.1\r\nX: y",
            "G\0T",
            "GÉT",
            &"A".repeat(33),
        ] {
            assert!(is_refused(&request(method, "/", &[])), "{method:?}");
        }
        for target in [
            "",
            "a",
            "*",
            "http://other.example/",
            "https://api.example.com/",
            "api.example.com:443",
            "/ HTTP/1.1\r\nHost: other.example",
            "/a b",
            "/a\tb",
            "/a\0",
            "/ä",
            "/#a",
            "\\\\other.example",
        ] {
            assert!(is_refused(&request("GET", target, &[])), "{target:?}");
        }
        for (method, target) in [
            ("OPTIONS", "*"),
            ("GET", "//other.example/x"),
            ("PURGE", "/"),
        ] {
            let checked = checked(&request(method, target, &[])).unwrap();
            assert_eq!(checked.uri().path_and_query().unwrap().as_str(), target);
            assert_eq!(checked.uri().host(), None);
        }
    }

    #[test]
    fn a_host_header_names_the_host_of_the_connection() {
        for value in [
            "other.example",
            "api.example.com:80",
            "api.example.com:444",
            "api.example.com@other.example",
            "other.example@api.example.com",
            "api.example.com, other.example",
            "api.example.com other.example",
            "api.example.com/",
            "api.example.com:",
            "api.example.com:+443",
            "127.0.0.1",
            "",
        ] {
            let refused = is_refused(&request("GET", "/", &[("host", value)]));
            assert!(refused, "{value:?}");
        }
        for value in ["api.example.com", "api.example.com.", "API.EXAMPLE.COM:443"] {
            assert!(
                !is_refused(&request("GET", "/", &[("host", value)])),
                "{value}"
            );
        }
        let twice = [("Host", "api.example.com"), ("hOST", "api.example.com")];
        assert!(is_refused(&request("GET", "/", &twice)));
        let local = Host::parse("::1").unwrap();
        let none = request("GET", "/", &[]);
        let checked = check(&none, &local, 8080, false, ()).unwrap();
        assert_eq!(checked.headers()["host"], "[::1]:8080");
        let own = request("GET", "/", &[("Host", "[::1]:8080")]);
        assert!(check(&own, &local, 8080, false, ()).is_ok());
        let odd = request("GET", "/", &[("Host", "127.1:8080")]);
        let loopback = Host::parse("127.0.0.1").unwrap();
        assert!(check(&odd, &loopback, 8080, false, ()).is_ok());
    }

    #[test]
    fn headers_cannot_be_injected() {
        for (name, value) in [
            ("X", "a\r\nHost: other.example"),
            ("X", "a\nb"),
            ("X", "a\rb"),
            ("X", "a\0b"),
            ("X", "\u{7f}"),
            ("X\r\nY", "a"),
            ("X ", "a"),
            ("X:", "a"),
            (" X", "a"),
            ("", "a"),
            ("X\0", "a"),
            ("Ä", "a"),
            ("Upgrade", "websocket"),
            ("upgrade", "h2c"),
        ] {
            assert!(
                is_refused(&request("GET", "/", &[(name, value)])),
                "{name:?}"
            );
        }
        assert!(!is_refused(&request("GET", "/", &[("X", "a\tb ä")])));
    }

    #[test]
    fn the_host_alone_frames_the_body() {
        let own = [
            ("Content-Length", "5"),
            ("content-length", "6"),
            ("Transfer-Encoding", "chunked"),
            ("TE", "trailers"),
            ("Trailer", "X"),
            ("Connection", "X-Secret, keep-alive"),
            ("Keep-Alive", "1"),
            ("Expect", "100-continue"),
            ("Proxy-Authorization", "Basic x"),
            ("Proxy-Connection", "close"),
            ("HTTP2-Settings", "x"),
        ];
        for (body, expected) in [
            (Length::None, vec![]),
            (Length::Known(7), vec![("content-length", "7")]),
            (Length::Unknown, vec![("transfer-encoding", "chunked")]),
        ] {
            let all = Request {
                body,
                ..request("POST", "/", &own)
            };
            let checked = checked(&all).unwrap();
            let mut headers: Vec<(&str, &str)> = checked
                .headers()
                .iter()
                .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
                .collect();
            headers.retain(|(name, _)| *name != "host");
            assert_eq!(headers, expected);
        }
    }

    #[test]
    fn headers_have_a_limit() {
        let many = vec![("X", "a"); MAX_HEADERS + 1];
        assert!(is_refused(&request("GET", "/", &many)));
        assert!(!is_refused(&request("GET", "/", &many[1..])));
        let long = "a".repeat(MAX_HEADER_BYTES);
        assert!(is_refused(&request("GET", "/", &[("X", &long)])));
        let path = format!("/{}", "a".repeat(MAX_TARGET));
        assert!(is_refused(&request("GET", &path, &[])));
    }
}
