//! Who uses this command, as the approver of what they typed and answered.

use skillrun::approval::Approver;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Bytes of `/etc/passwd` that are searched. A larger file has another way to look users up.
const MAX_BYTES: u64 = 1024 * 1024;

/// An answer at the terminal.
pub(crate) const TERMINAL: &str = "terminal";
/// An answer in the file of `--answers`.
pub(crate) const ANSWERS: &str = "answers";
/// `-y`.
pub(crate) const FLAG: &str = "flag";
/// `skillrun run`.
pub(crate) const COMMAND: &str = "command";

/// The user of this process. The environment is not consulted: anything may have set `USER`.
pub(crate) fn approver(channel: &str) -> Approver {
    let uid = rustix::process::getuid().as_raw();
    let users = File::open("/etc/passwd").ok();
    let name = users.and_then(|users| find(BufReader::new(users), uid, MAX_BYTES));
    Approver::new(&name.unwrap_or_else(|| format!("uid {uid}")), channel)
}

/// The name of a user in the first `max` bytes of `/etc/passwd`.
fn find(users: impl BufRead, uid: u32, max: u64) -> Option<String> {
    let mut users = users.take(max);
    let mut line = Vec::new();
    loop {
        line.clear();
        users.read_until(b'\n', &mut line).ok()?;
        // The end of the last line may be missing, and with it the last digits of its number.
        if line.is_empty() || (users.limit() == 0 && !line.ends_with(b"\n")) {
            return None;
        }
        let name = login_name(line.trim_ascii_end(), uid);
        if name.is_some() {
            return name;
        }
    }
}

/// The name in a line of `/etc/passwd`, if the line is about this user.
fn login_name(line: &[u8], uid: u32) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    let mut fields = line.split(':');
    let name = fields.next().filter(|name| !name.is_empty())?;
    let is_user = fields.nth(1)?.parse() == Ok(uid);
    is_user.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_cut_names_nobody() {
        let found = |users: &str, max| find(users.as_bytes(), 1000, max);
        // Without its last digit, the number is that of another user.
        assert_eq!(found("bob:x:10000:10000:", 10), None);
        assert_eq!(found("bob:x:1000:1000:\n", 17).as_deref(), Some("bob"));
        // A file may end without the end of a line.
        assert_eq!(found("bob:x:1000:1000:", 100).as_deref(), Some("bob"));
        let second = "alice:x:1:1:\nbob:x:1000:1000:\n";
        assert_eq!(found(second, 100).as_deref(), Some("bob"));
        assert_eq!(found(second, 15), None);
    }

    #[test]
    fn a_login_name_is_found_by_the_number_of_the_user() {
        let name = |line: &str| login_name(line.as_bytes(), 1000);
        assert_eq!(
            name("alice:x:1000:1000::/:/bin/sh").as_deref(),
            Some("alice")
        );
        for other in [
            "bob:x:1001:1000::/:/bin/sh",
            ":x:1000:1000::/:/bin/sh",
            "+nis:::",
            "alice:x",
            "",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
        assert_eq!(login_name(b"al\xffice:x:1000:", 1000), None);
    }
}
