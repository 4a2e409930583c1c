//! Compiles decisions on system calls to a BPF program for the kernel.
//!
//! The kernel checks and compiles a filter whenever it is installed, and evaluates it for every
//! existing call, so its size costs time at every start. Calls have consecutive numbers and most
//! neighbours share an answer: the program is a binary search over ranges, a tenth as long as a list
//! of comparisons. A library would generate that list, with one answer for all calls in it.

use super::{Is, Test};
use std::collections::BTreeMap;

/// The answer to a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    Allow,
    /// This error.
    Errno(i32),
    /// The end of the process.
    Kill,
    /// The error of the first list whose tests all pass. If there is none, allow if all tests of one of the other
    /// lists pass, otherwise this error.
    If(
        &'static [(&'static [Test], i32)],
        &'static [&'static [Test]],
        i32,
    ),
}

/// One instruction in the kernel's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) yes: u8,
    pub(super) no: u8,
    pub(super) value: u32,
}

impl Instruction {
    /// Its representation in memory.
    pub(super) fn bytes(&self) -> [u8; 8] {
        let [a, b] = self.code.to_ne_bytes();
        let [c, d, e, f] = self.value.to_ne_bytes();
        [a, b, self.yes, self.no, c, d, e, f]
    }
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// The offsets of a call's number, its architecture and its six arguments.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

#[cfg(target_arch = "x86_64")]
const NATIVE_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE_ARCH: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const NATIVE_ARCH: u32 = 0xc000_00f3;

/// Compiles a program. Calls that are not listed get `otherwise`; a call of another architecture,
/// which has other numbers, kills the process.
pub(super) fn compile(answers: &BTreeMap<u32, Answer>, otherwise: i32) -> Vec<Instruction> {
    let mut program = vec![
        plain(LOAD, ARCHITECTURE),
        branch(IF_EQUAL, NATIVE_ARCH, 1, 0),
        plain(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        plain(LOAD, NUMBER),
    ];
    program.extend(search(&ranges(answers, otherwise)));
    program
}

/// Compiles a program that reports calls for which all tests of one list pass; all others are left to
/// other filters.
pub(super) fn report(calls: &[(i64, &[&[Test]])]) -> Vec<Instruction> {
    let allow = plain(RETURN, libc::SECCOMP_RET_ALLOW);
    let mut program = vec![
        plain(LOAD, ARCHITECTURE),
        branch(IF_EQUAL, NATIVE_ARCH, 1, 0),
        allow,
        plain(LOAD, NUMBER),
    ];
    for (number, lists) in calls {
        let (mut code, mut loaded) = (Vec::new(), Vec::new());
        for tests in *lists {
            code.extend(all_pass(tests, &mut loaded));
            code.push(plain(RETURN, libc::SECCOMP_RET_USER_NOTIF));
        }
        code.push(allow);
        let past = u8::try_from(code.len()).unwrap_or(u8::MAX);
        let number = u32::try_from(*number).unwrap_or(u32::MAX);
        program.push(branch(IF_EQUAL, number, 0, past));
        program.extend(code);
    }
    program.push(allow);
    program
}

/// Ranges of call numbers by their first, in order, each with the code for its calls.
fn ranges(answers: &BTreeMap<u32, Answer>, otherwise: i32) -> Vec<(u32, Vec<Instruction>)> {
    let mut ranges: Vec<(u32, Vec<Instruction>)> = Vec::new();
    let mut add = |first: u32, code: Vec<Instruction>| {
        // A new range begins only if its code differs from the last.
        if ranges.last().is_none_or(|(_, last)| *last != code) {
            ranges.push((first, code));
        }
    };
    let mut next = 0;
    for (number, answer) in answers {
        if *number > next {
            add(next, leaf(Answer::Errno(otherwise)));
        }
        add(*number, leaf(*answer));
        next = number + 1;
    }
    add(next, leaf(Answer::Errno(otherwise)));
    ranges
}

/// A binary search for the range that a number is in.
fn search(ranges: &[(u32, Vec<Instruction>)]) -> Vec<Instruction> {
    let [only] = ranges else {
        let (below, above) = ranges.split_at(ranges.len() / 2);
        let Some((first, _)) = above.first() else {
            return Vec::new();
        };
        let (below, above) = (search(below), search(above));
        let mut code = match u8::try_from(below.len()) {
            Ok(length) => vec![branch(IF_AT_LEAST, *first, length, 0)],
            // Too far for a branch.
            Err(_) => vec![
                branch(IF_AT_LEAST, *first, 0, 1),
                plain(JUMP, u32::try_from(below.len()).unwrap_or(u32::MAX)),
            ],
        };
        code.extend(below);
        code.extend(above);
        return code;
    };
    only.1.clone()
}

/// The code for a call whose number is known.
fn leaf(answer: Answer) -> Vec<Instruction> {
    let error = |errno: i32| plain(RETURN, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned());
    let allow = plain(RETURN, libc::SECCOMP_RET_ALLOW);
    match answer {
        Answer::Allow => vec![allow],
        Answer::Errno(errno) => vec![error(errno)],
        Answer::Kill => vec![plain(RETURN, libc::SECCOMP_RET_KILL_PROCESS)],
        Answer::If(errors, lists, errno) => {
            let (mut code, mut loaded) = (Vec::new(), Vec::new());
            for (tests, errno) in errors {
                code.extend(all_pass(tests, &mut loaded));
                code.push(error(*errno));
            }
            for tests in lists {
                code.extend(all_pass(tests, &mut loaded));
                code.push(allow);
            }
            code.push(error(errno));
            code
        }
    }
}

/// Continues if all tests pass, and skips the next instruction if one fails. `loaded` is the code that loaded the value that is
/// there before, and then the one after a test that failed. Nothing is loaded twice in a row.
fn all_pass(tests: &[Test], loaded: &mut Vec<Instruction>) -> Vec<Instruction> {
    let mut checks: Vec<Check> = tests.iter().flat_map(checks).collect();
    // Which test failed is not known.
    let is_same = checks.windows(2).all(|pair| pair[0].load == pair[1].load);
    for check in &mut checks {
        match check.load == *loaded {
            true => check.load.clear(),
            false => loaded.clone_from(&check.load),
        }
    }
    if !is_same {
        loaded.clear();
    }
    let mut left: usize = checks.iter().map(|check| check.load.len() + 1).sum();
    let mut code = Vec::new();
    for Check { load, value, equal } in checks {
        left -= load.len() + 1;
        code.extend(load);
        // The lists in the table are short; the kernel refuses a jump out of the program.
        let out = u8::try_from(left + 1).unwrap_or(u8::MAX);
        code.push(match equal {
            true => branch(IF_EQUAL, value, 0, out),
            false => branch(IF_EQUAL, value, out, 0),
        });
    }
    code
}

/// A comparison with the loaded value.
struct Check {
    load: Vec<Instruction>,
    value: u32,
    /// Whether the values must be equal.
    equal: bool,
}

fn checks(test: &Test) -> Vec<Check> {
    // The lower half comes first on every architecture here.
    let low = ARGUMENTS + 8 * u32::from(test.0);
    let check = |load, value| Check {
        load,
        value,
        equal: true,
    };
    let at = |offset| vec![plain(LOAD, offset)];
    match test.1 {
        Is::Equal(value) => vec![check(at(low), value)],
        Is::Not(value) => vec![Check {
            equal: false,
            ..check(at(low), value)
        }],
        Is::Without(mask) => vec![check(vec![plain(LOAD, low), plain(AND, mask)], 0)],
        Is::Exactly(mask, value) => vec![check(vec![plain(LOAD, low), plain(AND, mask)], value)],
        Is::Null => vec![check(at(low + 4), 0), check(at(low), 0)],
    }
}

fn plain(code: u16, value: u32) -> Instruction {
    branch(code, value, 0, 0)
}

fn branch(code: u16, value: u32, yes: u8, no: u8) -> Instruction {
    Instruction {
        code,
        yes,
        no,
        value,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A call as the kernel shows it to a filter.
    pub(in super::super) struct Call {
        pub(in super::super) architecture: u32,
        pub(in super::super) number: u32,
        pub(in super::super) arguments: [u64; 6],
    }

    /// Interprets a program as the kernel does.
    pub(in super::super) fn run(program: &[Instruction], call: &Call) -> u32 {
        let mut loaded = 0u32;
        let mut at = 0;
        loop {
            let Instruction {
                code,
                yes,
                no,
                value,
            } = program[at];
            at += 1;
            let jump = |condition: bool| usize::from(if condition { yes } else { no });
            match code {
                LOAD => {
                    loaded = match value {
                        NUMBER => call.number,
                        ARCHITECTURE => call.architecture,
                        offset => {
                            let offset = offset - ARGUMENTS;
                            let argument = call.arguments[offset as usize / 8];
                            (argument >> (8 * (offset % 8))) as u32
                        }
                    }
                }
                AND => loaded &= value,
                JUMP => at += value as usize,
                IF_EQUAL => at += jump(loaded == value),
                IF_AT_LEAST => at += jump(loaded >= value),
                RETURN => return value,
                other => panic!("no instruction {other}"),
            }
        }
    }

    pub(in super::super) fn call(number: u32, arguments: [u64; 6]) -> Call {
        Call {
            architecture: NATIVE_ARCH,
            number,
            arguments,
        }
    }

    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;

    fn error(errno: i32) -> u32 {
        libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
    }

    #[test]
    fn every_number_gets_its_own_answer_and_no_neighbours() {
        // Far jumps need many ranges: neighbours that differ.
        let answer = |number: u32| match number % 3 {
            0 => Some(Answer::Allow),
            1 => Some(Answer::Errno(libc::EPERM)),
            _ => None,
        };
        let answers = (0..900).filter_map(|number| Some((number, answer(number)?)));
        let program = compile(&answers.collect(), libc::ENOSYS);
        for number in (0..1000).chain([0x4000_0000, u32::MAX]) {
            let expected = match answer(number).filter(|_| number < 900) {
                Some(Answer::Allow) => ALLOWED,
                Some(_) => error(libc::EPERM),
                None => error(libc::ENOSYS),
            };
            assert_eq!(run(&program, &call(number, [0; 6])), expected, "{number}");
        }
    }

    #[test]
    fn calls_of_another_architecture_end_the_process() {
        let program = compile(&BTreeMap::from([(1, Answer::Allow)]), libc::ENOSYS);
        let foreign = Call {
            architecture: 0x4000_0003,
            ..call(1, [0; 6])
        };
        assert_eq!(run(&program, &foreign), libc::SECCOMP_RET_KILL_PROCESS);
        assert_eq!(run(&program, &call(1, [0; 6])), ALLOWED);
    }

    #[test]
    fn arguments_are_tested_as_the_table_says() {
        const LISTS: &[&[Test]] = &[
            &[Test(0, Is::Equal(5)), Test(1, Is::Equal(0))],
            &[Test(4, Is::Exactly(0b1101, 0b0101))],
            &[
                Test(2, Is::Without(0b1100)),
                Test(3, Is::Null),
                Test(0, Is::Equal(9)),
            ],
        ];
        const ERRORS: &[(&[Test], i32)] = &[
            (&[Test(0, Is::Equal(7))], libc::EINVAL),
            (&[Test(5, Is::Equal(1)), Test(1, Is::Equal(0))], libc::EINTR),
        ];
        let answers = BTreeMap::from([(3, Answer::If(ERRORS, LISTS, libc::EPERM))]);
        let program = compile(&answers, libc::ENOSYS);
        let ask = |arguments| run(&program, &call(3, arguments)) == ALLOWED;
        assert!(ask([5, 0, 0, 0, 0, 0]));
        // The kernel uses 32 bits, and so must a test.
        assert!(ask([5 | 1 << 40, 0, 0, 0, 0, 0]));
        assert!(!ask([5, 7, 0, 0, 0, 0]));
        assert!(!ask([6, 0, 0, 0, 0, 0]));
        // A list that fails at its first or second test leaves another value for the next.
        assert!(ask([5, 9, 0, 0, 0b0101, 0]));
        assert!(ask([6, 0, 0, 0, 0b0111, 0]));
        assert!(!ask([6, 0, 0, 0, 0b0100, 0]));
        assert!(!ask([6, 0, 0, 0, 0b1101, 0]));
        assert!(ask([9, 0, 0b0011, 0, 0, 0]));
        assert!(!ask([9, 0, 0b0100, 0, 0, 0]));
        assert!(!ask([9, 0, 0, 1, 0, 0]));
        // A pointer is null only if all of it is zero.
        assert!(!ask([9, 0, 0, 1 << 32, 0, 0]));
        let answer = |arguments| run(&program, &call(3, arguments));
        assert_eq!(answer([0; 6]), error(libc::EPERM));
        assert_eq!(answer([7, 0, 0, 0, 0b0101, 1]), error(libc::EINVAL));
        assert_eq!(answer([5, 0, 0, 0, 0, 1]), error(libc::EINTR));
        assert_eq!(answer([5, 1, 0, 0, 0b0101, 1]), ALLOWED);
    }
}
