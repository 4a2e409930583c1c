//! Seccomp filters: a table of calls, and what makes programs for the kernel of it.

/// Calls with their names.
macro_rules! calls {
    ($($call:ident),* $(,)?) => {
        &[$((stringify!($call), libc::$call)),*]
    };
}

mod table;

use crate::{Backend, Unable};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// Calls with what they are for, where they count, and what their arguments must be.
pub(crate) struct Entry {
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who read the table"))]
    why: &'static str,
    at: Where,
    calls: &'static [Call],
    one: Option<Call>,
    /// Alternatives, each a list of tests that must all hold.
    when: &'static [&'static [Test]],
}

type Call = (&'static str, i64);

/// The programs that an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    All,
    Namespaces,
    Landlock,
    Network,
    NoNetwork,
}

/// A test on the argument of this number, of which the lower half counts.
pub(crate) struct Test(u8, Is);

pub(crate) enum Is {
    Equal(u64),
    Not(u64),
    Without(u64),
    /// No address.
    None,
}

impl Entry {
    const fn new(why: &'static str) -> Self {
        Self {
            why,
            at: Where::All,
            calls: &[],
            one: None,
            when: &[],
        }
    }

    const fn calls(self, calls: &'static [Call]) -> Self {
        Self { calls, ..self }
    }

    /// One more, for a call that the library of numbers lacks.
    const fn call(self, name: &'static str, number: i64) -> Self {
        let one = Some((name, number));
        Self { one, ..self }
    }

    const fn only(self, at: Where) -> Self {
        Self { at, ..self }
    }

    const fn when(self, when: &'static [&'static [Test]]) -> Self {
        Self { when, ..self }
    }

    fn counts(&self, backend: Backend, network: bool) -> bool {
        match self.at {
            Where::All => true,
            Where::Namespaces => backend == Backend::Namespaces,
            Where::Landlock => backend == Backend::Landlock,
            Where::Network => network,
            Where::NoNetwork => !network,
        }
    }

    fn names(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().chain(&self.one)
    }

    fn rules(&self) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        let rules = self.when.iter().map(|tests| {
            let tests = tests.iter().map(Test::condition);
            SeccompRule::new(tests.collect::<Result<_, _>>()?)
        });
        rules.collect()
    }
}

impl Test {
    fn condition(&self) -> Result<SeccompCondition, seccompiler::BackendError> {
        let (compare, value) = match self.1 {
            Is::Equal(value) => (SeccompCmpOp::Eq, value),
            Is::Not(value) => (SeccompCmpOp::Ne, value),
            Is::Without(mask) => (SeccompCmpOp::MaskedEq(mask), 0),
            Is::None => (SeccompCmpOp::Eq, 0),
        };
        // The kernel takes 32 bits of each of these arguments, but for addresses.
        let length = match self.1 {
            Is::None => SeccompCmpArgLen::Qword,
            _ => SeccompCmpArgLen::Dword,
        };
        SeccompCondition::new(self.0, length, compare, value)
    }
}

/// The filters for one program, in the order in which they are put in force: of several that refuse a
/// call the last one's answer counts.
pub(crate) fn filters(backend: Backend, network: bool) -> Result<Vec<Vec<u8>>, Unable> {
    let deny = |errno: i32| SeccompAction::Errno(errno.cast_unsigned());
    let allow = SeccompAction::Allow;
    let all = [
        (table::ALLOWED, deny(libc::ENOSYS), allow.clone()),
        (table::REFUSED, allow.clone(), deny(libc::EPERM)),
        (table::UNSUPPORTED, allow, deny(libc::EOPNOTSUPP)),
    ];
    let compiled = all.map(|(entries, otherwise, here)| {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for entry in entries
            .iter()
            .filter(|entry| entry.counts(backend, network))
        {
            for (_, number) in entry.names() {
                rules.entry(*number).or_default().extend(entry.rules()?);
            }
        }
        let filter = SeccompFilter::new(rules, otherwise, here, architecture())?;
        BpfProgram::try_from(filter)
    });
    let programs = compiled.into_iter().collect::<Result<Vec<_>, _>>();
    let programs = programs.map_err(|error| Unable {
        step: "compile the filters of calls".into(),
        why: error.to_string(),
    })?;
    Ok(programs.iter().map(bytes).collect())
}

const fn architecture() -> TargetArch {
    #[cfg(target_arch = "x86_64")]
    return TargetArch::x86_64;
    #[cfg(target_arch = "aarch64")]
    return TargetArch::aarch64;
    #[cfg(target_arch = "riscv64")]
    return TargetArch::riscv64;
}

fn bytes(program: &BpfProgram) -> Vec<u8> {
    let instructions = program.iter().map(|instruction| {
        let [a, b] = instruction.code.to_ne_bytes();
        let [c, d, e, f] = instruction.k.to_ne_bytes();
        [a, b, instruction.jt, instruction.jf, c, d, e, f]
    });
    instructions.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_says_why_and_names_calls() {
        for entry in [table::ALLOWED, table::REFUSED, table::UNSUPPORTED]
            .into_iter()
            .flatten()
        {
            assert!(entry.why.len() > 3, "{}", entry.why);
            assert!(entry.names().count() > 0, "{}", entry.why);
        }
    }

    #[test]
    fn the_filters_of_every_kind_of_program_are_programs() {
        for backend in [Backend::Namespaces, Backend::Landlock] {
            for network in [false, true] {
                let filters = filters(backend, network).unwrap_or_default();
                assert_eq!(filters.len(), 3, "{backend:?} {network}");
                assert!(filters.iter().all(|filter| filter.len() % 8 == 0));
            }
        }
    }
}
