//! The host of a connection: a name, or an address in whatever notation.

use crate::address::canonical;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name, without a dot at its end.
const MAX_NAME: usize = 253;
/// The longest part of a name.
const MAX_LABEL: usize = 63;

/// A host in its normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name in small letters, without a dot at its end.
    Name(String),
    /// An address. An IPv4 address that was written as an IPv6 address is one of IPv4.
    Address(IpAddr),
}

impl Host {
    /// Parses a name or an address. Everything that a resolver would take for an address is one here, too: `127.1`, `0x7f.1`,
    /// `2130706433`, `017700000001`.
    pub fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('[').map(|rest| rest.strip_suffix(']'));
        if let Some(inner) = inner {
            return inner?.parse().ok().map(Self::of_v6);
        }
        if text.contains(':') {
            return text.parse().ok().map(Self::of_v6);
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=MAX_LABEL).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        if name.len() > MAX_NAME || !name.split('.').all(is_label) {
            return None;
        }
        match name.rsplit('.').next().is_some_and(is_number) {
            true => parse_v4(&name).map(|four| Self::Address(four.into())),
            false => Some(Self::Name(name)),
        }
    }

    /// The host at an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self::Address(canonical(address))
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        Self::of(address.into())
    }

    /// Whether it is a name of this machine that needs no lookup.
    pub(crate) fn is_local(&self) -> bool {
        let Self::Name(name) = self else {
            return false;
        };
        name == "localhost" || name.ends_with(".localhost")
    }
}

impl fmt::Display for Host {
    /// As in an address of the web: an IPv6 address has brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Whether the last part of a name makes it an address.
fn is_number(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit())
        || label
            .strip_prefix("0x")
            .is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Parses an IPv4 address as `inet_aton` does: one to four numbers, each decimal, octal or hexadecimal, the last of which fills
/// what is left.
fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let number = |part: &str| match part.strip_prefix("0x") {
        Some("") => Some(0),
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let parts: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    let left = 4_usize.checked_sub(first.len()).filter(|left| *left > 0)?;
    let mut address: u32 = 0;
    for (index, part) in first.iter().enumerate() {
        address |= u32::from(u8::try_from(*part).ok()?) << (24 - 8 * index);
    }
    let fits = left == 4 || *last < 1 << (8 * left);
    fits.then(|| Ipv4Addr::from(address | last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<String> {
        Host::parse(text).map(|host| match host {
            Host::Name(name) => format!("name {name}"),
            Host::Address(address) => format!("address {address}"),
        })
    }

    #[test]
    fn a_name_has_one_form() {
        for text in ["api.example.com", "API.Example.COM", "api.example.com."] {
            assert_eq!(parsed(text).as_deref(), Some("name api.example.com"));
        }
        assert_eq!(parsed("a_b.x-1").as_deref(), Some("name a_b.x-1"));
    }

    #[test]
    fn an_address_is_found_in_every_notation() {
        for (text, address) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("127.0.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("0X7F.1", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("0x7f.0x0.0x0.0x1", "127.0.0.1"),
            ("0", "0.0.0.0"),
            ("0x", "0.0.0.0"),
            ("169.254.43518", "169.254.169.254"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("::ffff:127.0.0.1", "127.0.0.1"),
            ("[::ffff:7f00:1]", "127.0.0.1"),
            ("0:0:0:0:0:ffff:a9fe:a9fe", "169.254.169.254"),
        ] {
            assert_eq!(parsed(text), Some(format!("address {address}")), "{text}");
        }
    }

    #[test]
    fn nothing_else_is_a_host() {
        let long = format!("{}.com", "a".repeat(64));
        for text in [
            "",
            ".",
            "..",
            ".a",
            "a..b",
            "a b",
            "a/b",
            "a@b",
            "user:password@a",
            "a%00",
            "a\0",
            "a\r\nHost: b",
            "ä.example",
            "127.0.0.256",
            "127.0.0.0.1",
            "127.0.0.08",
            "256.1",
            "4294967296",
            "1.2.3.0x1g",
            "0x7f.0.0.0x100",
            "[::1",
            "::1]",
            "[127.0.0.1]",
            "fe80::1%eth0",
            "[]",
            "*",
            "*.example.com",
            long.as_str(),
        ] {
            // A part that is no number after all makes a name.
            let expected = (text == "1.2.3.0x1g").then(|| "name 1.2.3.0x1g".to_owned());
            assert_eq!(parsed(text), expected, "{text:?}");
        }
    }
}
