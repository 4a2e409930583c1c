//! What a program may reach.
//!
//! A name is checked before it is looked up, and each address after that: a name says nothing about where it leads. An address
//! that is not public needs a rule for it, whatever name leads there.

use crate::address::is_public;
use crate::host::Host;
use std::net::IpAddr;

/// The port of a rule that names none.
pub const DEFAULT_PORT: u16 = 443;

/// A host, some hosts or a network, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    to: To,
    /// Any, if there is none.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum To {
    /// All names, and all public addresses.
    All,
    Name(String),
    /// All names below this one.
    Below(String),
    Network(Network),
}

/// Addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

impl Rule {
    /// `host` is a name, `*.` and a name, an address, a network such as `10.0.0.0/8` or `[fd00::/8]`, or `*`. Without a port, the rule is
    /// for port 443; `*` is for all of them then.
    pub fn parse(host: &str, port: Option<u16>) -> Option<Self> {
        if host == "*" {
            return Some(Self { to: To::All, port });
        }
        let port = Some(port.unwrap_or(DEFAULT_PORT));
        let to = if let Some(name) = host.strip_prefix("*.") {
            match Host::parse(name)? {
                Host::Name(name) => To::Below(format!(".{name}")),
                Host::Address(_) => return None,
            }
        } else if host.contains('/') {
            To::Network(Network::parse(host)?)
        } else {
            match Host::parse(host)? {
                Host::Name(name) => To::Name(name),
                Host::Address(address) => To::Network(Network::only(address)),
            }
        };
        Some(Self { to, port })
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

impl Network {
    fn only(address: IpAddr) -> Self {
        let bits = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        Self { address, bits }
    }

    /// The bits after the common ones must be zero.
    fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('[').map(|rest| rest.strip_suffix(']'));
        let (text, in_brackets) = match inner {
            Some(inner) => (inner?, true),
            None => (text, false),
        };
        let (address, bits) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let is_plain = !bits.starts_with('+') && (bits == "0" || !bits.starts_with('0'));
        let bits: u8 = bits.parse().ok().filter(|_| is_plain)?;
        let network = Self { address, bits };
        let is_valid = bits <= Self::only(address).bits
            && in_brackets == address.is_ipv6()
            // Such a network is one of IPv4, written in another way.
            && crate::address::canonical(address) == address;
        (is_valid && network.masked(address) == network.value()).then_some(network)
    }

    fn value(&self) -> u128 {
        match self.address {
            IpAddr::V4(four) => u128::from(four.to_bits()),
            IpAddr::V6(six) => six.to_bits(),
        }
    }

    /// The common bits of an address of the same kind.
    fn masked(&self, address: IpAddr) -> u128 {
        let rest = Self::only(address).bits - self.bits;
        let value = Self::only(address).value();
        let mask = u128::MAX.checked_shl(rest.into()).unwrap_or(0);
        value & mask
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && self.masked(address) == self.value()
    }
}

/// Everything that a program may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self(rules.into_iter().collect())
    }
}

impl Rules {
    /// Whether nothing can be reached.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a connection to a host may be attempted. If it is a name, each of its addresses must be allowed as well.
    pub fn allow_host(&self, host: &Host, port: u16) -> bool {
        match host {
            Host::Address(address) => self.allow_address(host, *address, port),
            Host::Name(name) => self.0.iter().any(|rule| {
                let is_named = match &rule.to {
                    // Loopback, by the name that is reserved for it.
                    To::All => !host.is_local(),
                    To::Name(own) => own == name,
                    To::Below(suffix) => name.len() > suffix.len() && name.ends_with(suffix),
                    To::Network(_) => false,
                };
                is_named && rule.has_port(port)
            }),
        }
    }

    /// Whether `address`, to which an allowed host leads, may be connected to.
    pub fn allow_address(&self, host: &Host, address: IpAddr, port: u16) -> bool {
        let address = crate::address::canonical(address);
        let is_named = self.0.iter().any(|rule| match &rule.to {
            To::Network(network) => network.contains(address) && rule.has_port(port),
            // The public addresses of a program that names them instead of hosts.
            To::All => {
                matches!(host, Host::Address(_)) && is_public(address) && rule.has_port(port)
            }
            _ => false,
        });
        let by_name = match host {
            Host::Name(_) if host.is_local() => address.is_loopback(),
            Host::Name(_) => is_public(address),
            Host::Address(_) => false,
        };
        is_named || by_name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(all: &[(&str, Option<u16>)]) -> Rules {
        let parse = |(host, port): &(&str, Option<u16>)| Rule::parse(host, *port);
        all.iter().map(|rule| parse(rule).unwrap()).collect()
    }

    fn allows(rules: &Rules, host: &str, port: u16) -> bool {
        rules.allow_host(&Host::parse(host).unwrap(), port)
    }

    #[test]
    fn a_name_is_allowed_with_its_port_only() {
        let rules = rules(&[("api.example.com", None), ("API.example.org", Some(8080))]);
        for (host, port, expected) in [
            ("api.example.com", 443, true),
            ("API.EXAMPLE.COM.", 443, true),
            ("api.example.com", 80, false),
            ("api.example.com", 8443, false),
            ("api.example.org", 8080, true),
            ("api.example.org", 443, false),
            ("example.com", 443, false),
            ("a.api.example.com", 443, false),
            ("api.example.com.evil.test", 443, false),
            ("evil-api.example.com", 443, false),
            ("93.184.216.34", 443, false),
        ] {
            assert_eq!(allows(&rules, host, port), expected, "{host}:{port}");
        }
    }

    #[test]
    fn a_wildcard_is_for_names_below() {
        let rules = rules(&[("*.example.com", None)]);
        for (host, expected) in [
            ("a.example.com", true),
            ("a.b.example.com", true),
            ("example.com", false),
            ("badexample.com", false),
            ("example.com.evil.test", false),
        ] {
            assert_eq!(allows(&rules, host, 443), expected, "{host}");
        }
    }

    #[test]
    fn a_star_is_for_the_public_internet() {
        let all = rules(&[("*", None)]);
        for (host, expected) in [
            ("example.com", true),
            ("8.8.8.8", true),
            ("localhost", false),
            ("a.localhost", false),
            ("127.0.0.1", false),
            ("10.0.0.1", false),
            ("169.254.169.254", false),
            ("::1", false),
        ] {
            assert_eq!(allows(&all, host, 80), expected, "{host}");
        }
        let one = rules(&[("*", Some(80))]);
        assert!(allows(&one, "example.com", 80));
        assert!(!allows(&one, "example.com", 443));
        assert!(!allows(&one, "8.8.8.8", 443));
    }

    #[test]
    fn a_network_is_for_its_addresses() {
        let rules = rules(&[
            ("10.1.0.0/16", None),
            ("[fd00::/8]", Some(8080)),
            ("127.0.0.1", Some(80)),
        ]);
        for (host, port, expected) in [
            ("10.1.2.3", 443, true),
            ("10.1.255.255", 443, true),
            ("10.2.0.0", 443, false),
            ("10.1.2.3", 80, false),
            ("::ffff:10.1.2.3", 443, true),
            ("fd12::1", 8080, true),
            ("fc00::1", 8080, false),
            ("127.0.0.1", 80, true),
            ("0x7f.1", 80, true),
            ("127.0.0.2", 80, false),
        ] {
            assert_eq!(allows(&rules, host, port), expected, "{host}:{port}");
        }
        // A name that leads there is not allowed by that.
        assert!(!allows(&rules, "internal.example", 443));
    }

    #[test]
    fn a_name_may_lead_to_public_and_to_granted_addresses() {
        let rules = rules(&[
            ("internal.example", None),
            ("10.0.0.0/8", None),
            ("localhost", None),
            ("*", Some(80)),
        ]);
        for (host, address, port, expected) in [
            ("internal.example", "93.184.216.34", 443, true),
            ("internal.example", "10.1.2.3", 443, true),
            ("internal.example", "::ffff:10.1.2.3", 443, true),
            ("internal.example", "10.1.2.3", 80, false),
            ("internal.example", "192.168.0.1", 443, false),
            ("internal.example", "127.0.0.1", 443, false),
            ("localhost", "127.0.0.1", 443, true),
            ("localhost", "::1", 443, true),
            ("localhost", "169.254.169.254", 443, false),
        ] {
            let (name, at) = (Host::parse(host).unwrap(), address.parse().unwrap());
            let allowed = rules.allow_address(&name, at, port);
            assert_eq!(allowed, expected, "{host} {address}:{port}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for host in [
            "",
            "*.",
            "*.*",
            "*.10.0.0.1",
            "a/8",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/08",
            "10.0.0.0/+8",
            "fd00::/8",
            "[10.0.0.0/8]",
            "[fd00::/129]",
            "[fd00::1/8]",
            "[::ffff:10.0.0.0/104]",
        ] {
            assert_eq!(Rule::parse(host, None), None, "{host}");
        }
        assert!(allows(&rules(&[("0.0.0.0/0", None)]), "127.0.0.1", 443));
    }
}
