//! The line about what a failed run was denied, with the flags that would allow it.

use crate::paths;
use skillrun::outcome::{Denial, DenialHint};
use skillrun::{Grant, Outcome};
use skillrun_skill::text::{shell_word, single_quoted};
use std::path::Path;

/// Denials in the line. `--json` has the others.
const MAX_SHOWN: usize = 8;

/// All denials in one line; those with the same advice together. `None` if there is nothing to say: a file that does not
/// exist cannot be read with any grant.
///
/// The person at the terminal may learn what exists on this machine, so this checks.
pub(crate) fn line(outcome: &Outcome, flags: Flags) -> Option<String> {
    show(&outcome.denied, outcome.denied_truncated, flags)
}

/// The flags of the command that ran the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flags {
    /// Those of `run`.
    OfRun,
    /// Those of `load` and `expand`, which cannot choose the tier.
    OfAgent,
}

fn show(denied: &[Denial], truncated: bool, flags: Flags) -> Option<String> {
    let denied: Vec<&Denial> = denied.iter().filter(|denial| !is_missing(denial)).collect();
    let mut groups: Vec<(Option<DenialHint>, Vec<&Denial>)> = Vec::new();
    for denial in denied.iter().take(MAX_SHOWN) {
        match groups.iter_mut().find(|(hint, _)| *hint == denial.hint) {
            Some((_, same)) => same.push(denial),
            None => groups.push((denial.hint, vec![denial])),
        }
    }
    let groups = groups.into_iter();
    let mut parts: Vec<String> = groups
        .map(|(hint, same)| group(hint, &same, flags))
        .collect();
    if parts.is_empty() {
        return None;
    }
    match denied.len().saturating_sub(MAX_SHOWN) {
        _ if truncated => parts.push("more".into()),
        0 => {}
        more => parts.push(format!("{more} more")),
    }
    Some(parts.join("; "))
}

/// Whether a file could not be read because there is none.
fn is_missing(denial: &Denial) -> bool {
    matches!(parsed(&denial.grant), Some(Grant::Read(path)) if !exists(&path))
}

fn group(hint: Option<DenialHint>, same: &[&Denial], flags: Flags) -> String {
    let items: Vec<String> = same.iter().map(|denial| item(denial)).collect();
    let items = items.join(", ");
    let advice = match hint {
        Some(DenialHint::WriteSkill) => "pass --allow write:skill".into(),
        Some(DenialHint::RunNatively) if flags == Flags::OfRun => {
            "pass --runtime native --allow native".into()
        }
        Some(DenialHint::RunNativelyWithNetwork) if flags == Flags::OfRun => {
            "pass --runtime native --allow native --allow 'net:*'".into()
        }
        Some(hint) => hint.to_string(),
        None => {
            let (mut flags, mut others) = (Vec::new(), Vec::new());
            for advice in same.iter().filter_map(|denial| advice(&denial.grant)) {
                let (all, text) = match advice {
                    Advice::Flag(flag) => (&mut flags, flag),
                    Advice::Other(text) => (&mut others, text.to_owned()),
                };
                if !all.contains(&text) {
                    all.push(text);
                }
            }
            if !flags.is_empty() {
                others.insert(0, format!("pass {}", flags.join(" ")));
            }
            match others.is_empty() {
                true => return items,
                false => others.join("; "),
            }
        }
    };
    format!("{items} ({advice})")
}

/// A script chooses the name, so it is quoted if it could be read as something else, such as our advice.
fn item(denial: &Denial) -> String {
    let grant = match parsed(&denial.grant) {
        Some(Grant::Net(..)) => denial.grant.clone(),
        _ => shell_word(&denial.grant).unwrap_or_else(|| single_quoted(&denial.grant)),
    };
    format!("{grant} ×{}", denial.count)
}

/// What a person can do about a denial.
enum Advice {
    /// Pass this flag.
    Flag(String),
    Other(&'static str),
}

/// `None` if it is no grant, or cannot be written in a command.
fn advice(grant: &str) -> Option<Advice> {
    let granted = match parsed(grant)? {
        // A file that does not exist cannot be granted; its directory can.
        Grant::Write(path) if !exists(&path) => match path.parent()? {
            parent if is_too_wide(parent) => {
                return Some(Advice::Other(
                    "a file must exist to be granted; use a workspace for new ones: -w DIR",
                ));
            }
            parent => Grant::Write(parent.to_owned()),
        },
        Grant::Read(path) | Grant::Write(path) if path.is_dir() && is_too_wide(&path) => {
            return Some(Advice::Other("grant only what it needs in that directory"));
        }
        granted => granted,
    };
    let granted = shell_word(&granted.to_string())?;
    Some(Advice::Flag(format!("--allow {granted}")))
}

/// Whether a directory contains much more than the files of one script: the home directories, directories of the system,
/// and those around skillrun's own files.
fn is_too_wide(directory: &Path) -> bool {
    let Ok(real) = directory.canonicalize() else {
        return false;
    };
    let system = [
        "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/sbin", "/usr",
    ];
    let shared = ["/home", "/run", "/var"];
    // Their parents are as wide as they are.
    let depth = match shared.iter().any(|shared| real.starts_with(shared)) {
        true => 2,
        false => 1,
    };
    let is_top = real.components().skip(1).count() <= depth;
    is_top || system.iter().any(|system| real.starts_with(system)) || paths::is_around_own(&real)
}

/// A grant that is shown as it is.
fn parsed(grant: &str) -> Option<Grant> {
    let parsed: Grant = grant.parse().ok()?;
    (parsed.to_string() == grant).then_some(parsed)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(grant: &str, count: u64, hint: Option<DenialHint>) -> Denial {
        Denial {
            grant: grant.into(),
            count,
            hint,
        }
    }

    #[test]
    fn denials_with_the_same_advice_are_one_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("a file"), "").unwrap();
        let denied = [
            denial("run:git", 2, Some(DenialHint::RunNatively)),
            denial(&format!("read:{}", path("a file")), 1, None),
            denial("run:jq", 1, Some(DenialHint::RunNatively)),
            denial(&format!("write:{}", path("new")), 1, None),
            denial(&format!("read:{}", path("missing")), 3, None),
            denial("read:/a\\u{1b}", 1, None),
        ];
        let top = folder.path().display();
        assert_eq!(
            show(&denied, false, Flags::OfRun).unwrap(),
            format!(
                "run:git ×2, run:jq ×1 (pass --runtime native --allow native); \
                 'read:{top}/a file' ×1, write:{top}/new ×1 \
                 (pass --allow 'read:{top}/a file' --allow write:{top})"
            )
        );
    }

    #[test]
    fn a_flag_that_grants_several_denials_is_named_once() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().display();
        let write = |name: &str| denial(&format!("write:{top}/{name}"), 1, None);
        let denied = [write("a"), denial("net:h:1", 1, None), write("b")];
        assert_eq!(
            show(&denied, false, Flags::OfRun).unwrap(),
            format!(
                "write:{top}/a ×1, net:h:1 ×1, write:{top}/b ×1 (pass --allow write:{top} --allow net:h:1)"
            )
        );
    }

    #[test]
    fn a_missing_file_alone_is_not_worth_a_line() {
        assert_eq!(
            show(
                &[denial("read:/no/such/file", 1, None)],
                false,
                Flags::OfRun
            ),
            None
        );
    }

    #[test]
    fn a_name_that_reads_like_advice_is_quoted() {
        let name = "write:/x ×1 (pass --allow native); run:ok";
        assert_eq!(
            show(
                &[denial(name, 1, Some(DenialHint::Never))],
                false,
                Flags::OfRun
            )
            .unwrap(),
            format!("'{name}' ×1 (no grant allows it)")
        );
    }

    #[test]
    fn the_line_is_short() {
        let many: Vec<Denial> = (0..20)
            .map(|n| denial(&format!("run:p{n}"), 1, Some(DenialHint::Never)))
            .collect();
        assert_eq!(
            show(&many, false, Flags::OfRun).unwrap(),
            "run:p0 ×1, run:p1 ×1, run:p2 ×1, run:p3 ×1, run:p4 ×1, run:p5 ×1, run:p6 ×1, run:p7 ×1 (no grant allows it); 12 more"
        );
    }

    #[test]
    fn a_command_without_a_flag_for_the_tier_names_none() {
        let denied = [
            denial("run:git", 1, Some(DenialHint::RunNatively)),
            denial("net:h:1", 1, Some(DenialHint::RunNativelyWithNetwork)),
            denial("write:/skill/x", 1, Some(DenialHint::WriteSkill)),
        ];
        assert_eq!(
            show(&denied, false, Flags::OfAgent).unwrap(),
            "run:git ×1 (run it natively and grant `native`); \
             net:h:1 ×1 (run it natively and grant `native` and `net:*`); \
             write:/skill/x ×1 (pass --allow write:skill)"
        );
    }
}
