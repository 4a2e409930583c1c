//! The log and its verification together: a log verifies as it was written, and changes are detected.

use super::*;
use chain::{Form, Head, Pending, PendingLine, StoredHead};
use std::fs;
use std::sync::Mutex;
use tempfile::TempDir;

mod batches;
mod edits;
mod writers;

const LOG: &str = "audit.jsonl";

struct TestLog {
    folder: TempDir,
}

fn test_log() -> TestLog {
    let folder = tempfile::tempdir().unwrap();
    TestLog { folder }
}

fn run_info(skill: &str) -> RunInfo<'_> {
    RunInfo {
        run_id: "run",
        skill,
        script: "scripts/main.py",
        ..RunInfo::default()
    }
}

fn refusal(reason: &str) -> Event<'static> {
    Event::refused(run_info("skill"), reason)
}

fn write(log: &AuditLog, reason: &str) {
    log.write_blocking(refusal(reason)).unwrap();
}

impl TestLog {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self) -> AuditLog {
        AuditLog::file(self.path(LOG))
    }

    fn add(&self, lines: usize) {
        for n in 0..lines {
            write(&self.log(), &format!("reason {n}"));
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path(LOG)).unwrap();
        text.lines().map(ToOwned::to_owned).collect()
    }

    fn set_lines(&self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.path(LOG), text).unwrap();
    }

    fn verify(&self) -> Verification {
        AuditFiles::of(self.path(LOG)).verify(None).unwrap()
    }

    /// The findings, each as `file:line: message`.
    fn findings(&self) -> Vec<String> {
        texts(&self.verify().findings)
    }

    fn notes(&self) -> Vec<String> {
        texts(&self.verify().notes)
    }
}

/// Waits for a future without an async runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(done) => return done,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

fn texts(findings: &[AuditFinding]) -> Vec<String> {
    let texts = findings.iter().map(|finding| {
        let file = finding.file.file_name().unwrap().to_string_lossy();
        let line = finding.line.map(|line| format!(":{line}"));
        format!("{file}{}: {}", line.unwrap_or_default(), finding.message)
    });
    texts.collect()
}

#[test]
fn an_untouched_log_verifies_and_its_newest_hash_is_that_of_the_last_line() {
    let test = test_log();
    assert!(test.verify().is_valid());
    test.add(5);
    let done = test.verify();
    assert_eq!(texts(&done.findings), [""; 0]);
    assert_eq!(texts(&done.notes), [""; 0]);
    assert_eq!((done.lines, done.newest), (5, Some(5)));
    let lines = test.lines();
    assert_eq!(done.newest_hash, Some(LineHash::of(lines[4].as_bytes())));
    assert!(lines[0].ends_with(",\"previous\":null}"), "{}", lines[0]);
    assert!(lines[4].starts_with("{\"v\":1,\"seq\":5,\"time\":\""));
}

#[test]
fn each_kind_of_change_has_its_own_finding() {
    type Change = fn(&mut Vec<String>);
    let cases: [(Change, &[&str]); 10] = [
        (|_| {}, &[]),
        (
            |lines| lines[1] = lines[1].replace("reason 1", "reason X"),
            &[
                "audit.jsonl:3: does not follow line 2: `previous` is not the hash of that line, so one of the two was changed",
            ],
        ),
        (
            |lines| lines[4] = lines[4].replace("reason 4", "reason X"),
            &["audit.jsonl:5: was changed: `audit.head` records another hash"],
        ),
        (
            |lines| drop(lines.remove(1)),
            &["audit.jsonl:2: `seq` 2 is missing before it"],
        ),
        (
            |lines| drop(lines.drain(..2)),
            &["audit.jsonl:1: `seq` 1 to 2 are missing before it"],
        ),
        (
            |lines| lines.truncate(3),
            &["audit.head: `seq` 4 to 5 are missing at the end of the log"],
        ),
        (
            |lines| lines.insert(2, lines[0].clone()),
            &["audit.jsonl:3: `seq` 1 is out of place after `seq` 2"],
        ),
        (
            |lines| lines.insert(2, "{\"event\":\"started\"}".to_owned()),
            &["audit.jsonl:3: is not in the chain: it has no `seq`"],
        ),
        (
            |lines| lines.swap(1, 2),
            &[
                "audit.jsonl:2: `seq` 2 is missing before it",
                "audit.jsonl:3: `seq` 2 is out of place after `seq` 3",
            ],
        ),
        (
            |lines| lines[2] = "x".into(),
            &["audit.jsonl:3: is not a line of the log"],
        ),
    ];
    let test = test_log();
    test.add(5);
    let lines = test.lines();
    for (change, wanted) in cases {
        let mut changed = lines.clone();
        change(&mut changed);
        test.set_lines(&changed);
        assert_eq!(test.findings(), wanted);
    }
    fs::remove_file(test.path(LOG)).unwrap();
    let all = ["audit.head: `seq` 1 to 5 are missing at the end of the log"];
    assert_eq!(test.findings(), all);
}

#[test]
fn a_changed_line_is_still_found_after_further_lines() {
    let test = test_log();
    test.add(3);
    let lines = test.lines();
    let mut changed = lines.clone();
    changed[2] = changed[2].replace("reason 2", "reason X");
    test.set_lines(&changed);
    test.add(2);
    let found = "audit.jsonl:4: does not follow line 3: `previous` is not the hash of that line, so one of the two was changed";
    assert_eq!(test.findings(), [found]);
    // Removed last lines leave a gap.
    test.set_lines(&lines[..1]);
    test.add(1);
    let found = "audit.jsonl:2: `seq` 2 to 5 are missing before it";
    assert_eq!(test.findings(), [found]);
}

#[test]
fn a_line_that_a_killed_writer_left_incomplete_is_ended_and_noted() {
    let test = test_log();
    test.add(2);
    let (text, head) = (fs::read(test.path(LOG)).unwrap(), test.path("audit.head"));
    let mut old = head_in(&head);
    test.add(1);
    let whole = fs::read(test.path(LOG)).unwrap();
    // The head as it was when the third line was about to be written.
    let third = &whole[text.len()..whole.len() - 1];
    old.pending = Pending::Lines(vec![PendingLine::of(third)]);
    let old = old.text(Form::AtRest);
    let note = "audit.jsonl:3: was cut short when it was written: its writer was killed, or the disk was full";
    for end in text.len() + 1..whole.len() - 1 {
        // As if the writer had been killed in the middle of its line.
        fs::write(test.path(LOG), &whole[..end]).unwrap();
        fs::write(&head, &old).unwrap();
        assert_eq!((test.findings(), test.notes()), (vec![], vec![note.into()]));
        test.add(2);
        assert_eq!((test.findings(), test.notes()), (vec![], vec![note.into()]));
        assert_eq!(test.verify().newest, Some(5));
    }
    // The whole line is there, with and without its newline, and the head does not record it as the newest.
    for end in whole.len() - 1..=whole.len() {
        fs::write(test.path(LOG), &whole[..end]).unwrap();
        fs::write(&head, &old).unwrap();
        let note = "audit.jsonl:3: is newer than the line in `audit.head`: its writer was killed";
        assert_eq!((test.findings(), test.notes()), (vec![], vec![note.into()]));
        test.add(1);
        assert_eq!((test.findings(), test.notes()), (vec![], vec![]));
        assert_eq!(test.verify().newest, Some(4));
    }
    // A line that is cut later is a finding.
    fs::write(test.path(LOG), &whole).unwrap();
    fs::write(&head, &old).unwrap();
    test.add(1);
    let text = fs::read(test.path(LOG)).unwrap();
    fs::write(test.path(LOG), &text[..text.len() - 10]).unwrap();
    let found = "audit.jsonl:4: was cut short after it was written";
    assert_eq!(test.findings(), [found]);
    test.add(1);
    assert_eq!(test.findings(), [found]);
}

const FOREIGN: &str =
    "is not in the chain: another program added it, or the head lost it in a power failure";

/// A line as a program that can read the log would forge it.
fn forged(after: &str, seq: u64) -> String {
    let previous = LineHash::of(after.as_bytes());
    format!(
        "{{\"v\":1,\"seq\":{seq},\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"approved\",\"previous\":\"{previous}\"}}"
    )
}

#[test]
fn lines_that_another_program_appends_are_found_before_and_after_further_lines() {
    for count in 1..4 {
        let test = test_log();
        test.add(2);
        let mut lines = test.lines();
        for seq in 3..3 + count {
            lines.push(forged(&lines[lines.len() - 1], seq));
        }
        test.set_lines(&lines);
        let found: Vec<String> = (3..3 + count)
            .map(|line| format!("audit.jsonl:{line}: {FOREIGN}"))
            .collect();
        assert_eq!((test.findings(), test.notes()), (found.clone(), vec![]));
        for further in 1..6 {
            test.add(1);
            assert_eq!((test.findings(), test.notes()), (found.clone(), vec![]));
            assert_eq!(test.verify().newest, Some(2 + further));
        }
        // Once more, after the further lines.
        let mut lines = test.lines();
        lines.push(forged(&lines[lines.len() - 1], 8));
        test.set_lines(&lines);
        test.add(1);
        let again = format!("audit.jsonl:{}: {FOREIGN}", lines.len());
        assert_eq!(test.findings(), [found, vec![again]].concat());
    }
}

#[test]
fn lines_appended_to_a_part_or_with_the_wrong_hash_are_found() {
    let test = test_log();
    test.add(3);
    let length = fs::metadata(test.path(LOG)).unwrap().len();
    write(&test.log().rotate_at(length), "in the next file");
    let part = test.path("audit-1.jsonl");
    let text = fs::read_to_string(&part).unwrap();
    let last = text.lines().last().unwrap();
    fs::write(&part, format!("{text}{}\n", forged(last, 4))).unwrap();
    assert_eq!(test.findings(), [format!("audit-1.jsonl:4: {FOREIGN}")]);
    fs::write(&part, &text).unwrap();
    assert_eq!(test.findings(), [""; 0]);
    let mut lines = test.lines();
    lines.push(forged("something", 5));
    test.set_lines(&lines);
    test.add(2);
    assert_eq!(test.findings(), [format!("audit.jsonl:2: {FOREIGN}")]);
    assert_eq!(test.verify().newest, Some(6));
}

#[test]
fn an_incomplete_line_that_is_not_pending_is_foreign() {
    let test = test_log();
    test.add(2);
    let text = fs::read_to_string(test.path(LOG)).unwrap();
    fs::write(test.path(LOG), format!("{text}{}", event::line_prefix(3))).unwrap();
    let found = "audit.jsonl:3: is not a line of the log";
    assert_eq!(
        (test.findings(), test.notes()),
        (vec![found.into()], vec![])
    );
    test.add(2);
    assert_eq!(
        (test.findings(), test.notes()),
        (vec![found.into()], vec![])
    );
}

fn head_in(path: &Path) -> Head {
    match Head::read(&fs::File::open(path).unwrap(), u64::MAX).unwrap() {
        StoredHead::Valid(head) => head,
        other => panic!("{other:?}"),
    }
}

/// The events of the log, in order.
fn events(test: &TestLog) -> Vec<String> {
    let event = |line: &String| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["event"].as_str().unwrap().to_owned()
    };
    test.lines().iter().map(event).collect()
}

#[test]
fn a_head_of_an_older_version_is_updated_with_a_note_and_accepts_no_further_line() {
    let test = test_log();
    test.add(2);
    let path = test.path("audit.head");
    let older = |mut head: Head| {
        head.pending = Pending::NotRecorded;
        fs::write(&path, head.text(Form::AtRest)).unwrap();
    };
    older(head_in(&path));
    let now = "audit.head: is from an older version; the next line of the log replaces it";
    assert_eq!((test.findings(), test.notes()), (vec![], vec![now.into()]));
    test.add(2);
    assert_eq!(
        events(&test),
        ["refused", "refused", "new_head", "refused", "refused"]
    );
    let note = "audit.jsonl:3: the head was from an older version".to_owned();
    assert_eq!(
        (test.findings(), test.notes()),
        (vec![], vec![note.clone()])
    );
    // A line after the older head, as a program that can append would add one.
    older(head_in(&path));
    let mut lines = test.lines();
    lines.push(forged(&lines[lines.len() - 1], 6));
    test.set_lines(&lines);
    let found = format!("audit.jsonl:6: {FOREIGN}");
    assert_eq!(test.findings(), [found.as_str()]);
    test.add(1);
    assert_eq!(test.findings(), [found]);
}

#[test]
fn only_regular_files_of_our_own_are_written() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    for name in [LOG, "audit.head", "audit.lock"] {
        let beside = match name {
            LOG => String::new(),
            _ => format!("its {} `{{}}`: ", &name[6..]),
        };
        let fails = |make: &dyn Fn(&Path, &Path), why: &str| {
            let test = test_log();
            // It keeps its files open.
            let log = test.log();
            test.add(1);
            let (path, aside) = (test.path(name), test.path("aside"));
            fs::rename(&path, &aside).unwrap();
            make(&path, &aside);
            for error in [
                log.write_blocking(refusal("")).unwrap_err(),
                log.check_writable().unwrap_err(),
                block_on(log.write(refusal(""))).unwrap_err(),
                log.check_writable().unwrap_err(),
            ] {
                let beside = beside.replace("{}", &path.display().to_string());
                let log = test.path(LOG);
                assert_eq!(
                    error.to_string(),
                    format!(
                        "cannot write the audit log `{}`: {beside}{why}",
                        log.display()
                    )
                );
            }
            // The allowed twin: the original file.
            fs::remove_file(&path).unwrap();
            if aside.exists() {
                fs::rename(&aside, &path).unwrap();
            }
            test.add(1);
            assert!(test.verify().is_valid());
        };
        let link = "it is a symbolic link, not a regular file";
        fails(&|path, _| symlink("/dev/null", path).unwrap(), link);
        fails(&|path, aside| symlink(aside, path).unwrap(), link);
        fails(
            &|path, aside| fs::hard_link(aside, path).unwrap(),
            "it has more than one hard link",
        );
        fails(
            &|path, _| {
                fs::write(path, "").unwrap();
                let mode = fs::Permissions::from_mode(0o602);
                fs::set_permissions(path, mode).unwrap();
            },
            "it may be written by other users",
        );
        fails(
            &|path, _| {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
            },
            match name {
                // Nobody reads from it.
                "audit.lock" => "no such device or address",
                _ => "it is not a regular file",
            },
        );
        if rustix::process::geteuid().is_root() {
            fails(
                &|path, _| {
                    fs::write(path, "").unwrap();
                    std::os::unix::fs::chown(path, Some(65534), None).unwrap();
                },
                "it belongs to another user",
            );
        }
    }
}

#[test]
fn a_lost_head_is_recorded_once_and_reported_until_a_newer_hash_is_passed() {
    const LATER: &str = "lines before this one may have been removed or replaced";
    for (content, now, later) in [
        (
            None,
            "audit.jsonl: has no head next to it: lines removed from the end cannot be detected",
            "the head was missing",
        ),
        (
            Some(""),
            "audit.jsonl: has no head next to it: lines removed from the end cannot be detected",
            "the head was missing",
        ),
        (
            Some("what"),
            "audit.head: is not the head of an audit log",
            "the head could not be read",
        ),
    ] {
        let test = test_log();
        test.add(3);
        assert_eq!(events(&test), ["refused"; 3]);
        let head = test.path("audit.head");
        match content {
            None => fs::remove_file(&head).unwrap(),
            Some(text) => fs::write(&head, text).unwrap(),
        }
        // Remove the last line.
        test.set_lines(&test.lines()[..2]);
        assert_eq!((test.findings(), test.notes()), (vec![now.into()], vec![]));
        test.add(2);
        let wanted = ["refused", "refused", "new_head", "refused", "refused"];
        assert_eq!(events(&test), wanted);
        let found = format!("audit.jsonl:3: {later}: {LATER}");
        assert_eq!(
            (test.findings(), test.notes()),
            (vec![found.clone()], vec![])
        );
        let done = test.verify();
        assert_eq!(done.newest, Some(5));
        // A hash from before the loss does not accept it; a newer one does.
        let lines = test.lines();
        for (line, accepts) in [(1, false), (2, true), (3, true), (4, true)] {
            let after = LineHash::of(lines[line].as_bytes());
            let files = AuditFiles::of(test.path(LOG));
            let done = files.verify(Some(after)).unwrap();
            let (findings, notes) = match accepts {
                true => (vec![], vec![found.clone()]),
                false => (vec![found.clone()], vec![]),
            };
            assert_eq!(
                (texts(&done.findings), texts(&done.notes)),
                (findings, notes)
            );
        }
        // The head is lost once more, after that hash.
        let after = done.newest_hash;
        fs::remove_file(&head).unwrap();
        test.add(1);
        let done = AuditFiles::of(test.path(LOG)).verify(after).unwrap();
        let again = format!("audit.jsonl:6: the head was missing: {LATER}");
        assert_eq!(texts(&done.findings), [again]);
    }
}

#[test]
fn a_log_that_lost_its_head_after_it_was_rotated_is_continued_from_the_last_part() {
    let test = test_log();
    test.add(2);
    let length = fs::metadata(test.path(LOG)).unwrap().len();
    write(&test.log().rotate_at(length), "in the next file");
    for name in [LOG, "audit.head"] {
        fs::remove_file(test.path(name)).unwrap();
    }
    test.add(1);
    assert_eq!(events(&test), ["new_head", "refused"]);
    let found = "audit.jsonl:1: the head was missing: lines before this one may have been removed or replaced";
    assert_eq!(test.findings(), [found]);
    assert_eq!(test.verify().newest, Some(4));
}

#[test]
fn a_copy_without_a_head_verifies_with_a_note() {
    let test = test_log();
    test.add(2);
    fs::copy(test.path(LOG), test.path("copy.jsonl")).unwrap();
    let done = AuditFiles::named([test.path("copy.jsonl")]).verify(None);
    let done = done.unwrap();
    let note = "copy.jsonl: has no head next to it: lines removed from the end cannot be detected";
    assert_eq!(
        (texts(&done.findings), texts(&done.notes)),
        (vec![], vec![note.into()])
    );
}

#[test]
fn a_log_from_before_the_chain_is_continued() {
    let test = test_log();
    let old = "{\"v\":1,\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"refused\",\"previous\":null}";
    test.set_lines(&[
        old.to_owned(),
        old.replace("refused", "started"),
        old.into(),
    ]);
    assert_eq!(test.findings(), [""; 0]);
    test.add(2);
    let notes = vec![
        "audit.jsonl:4: the log was from an older version, without a head".to_owned(),
        "audit.jsonl: 3 lines are from before the log had a chain; only the last of them is in it"
            .to_owned(),
    ];
    assert_eq!((test.findings(), test.notes()), (vec![], notes));
    // `new_head` is written once.
    assert_eq!(test.verify().newest, Some(6));
    let mut lines = test.lines();
    lines[2] = lines[2].replace("refused", "aborted");
    test.set_lines(&lines);
    let found = "audit.jsonl:4: does not follow line 3: `previous` is not the hash of that line, so one of the two was changed";
    assert_eq!(test.findings(), [found]);
}

#[test]
fn a_log_that_was_moved_truncated_or_removed_is_continued() {
    let test = test_log();
    test.add(2);
    fs::rename(test.path(LOG), test.path("old.1")).unwrap();
    test.add(2);
    fs::copy(test.path(LOG), test.path("old.2")).unwrap();
    fs::write(test.path(LOG), "").unwrap();
    test.add(1);
    let missing = "audit.jsonl:1: `seq` 1 to 4 are missing before it";
    assert_eq!(test.findings(), [missing]);
    // The order in which the files are passed does not matter.
    let files = [LOG, "old.2", "old.1"].map(|name| test.path(name));
    let done = AuditFiles::named(files).verify(None).unwrap();
    assert_eq!((texts(&done.findings), done.newest), (vec![], Some(5)));
    // A hash that was stored when the old files were moved away replaces them.
    let stored = LineHash::of(
        fs::read_to_string(test.path("old.2"))
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .as_bytes(),
    );
    let files = AuditFiles::of(test.path(LOG));
    assert!(files.verify(Some(stored)).unwrap().is_valid());
    let newest = done.newest_hash.unwrap();
    assert_eq!(
        texts(&files.verify(Some(newest)).unwrap().findings),
        [missing]
    );
    fs::remove_file(test.path(LOG)).unwrap();
    test.add(1);
    assert_eq!(
        test.findings(),
        ["audit.jsonl:1: `seq` 1 to 5 are missing before it"]
    );
}

#[test]
fn a_rewritten_chain_is_found_only_by_a_stored_hash() {
    let test = test_log();
    test.add(3);
    let stored = test.verify().newest_hash.unwrap();
    test.add(2);
    assert!(
        AuditFiles::of(test.path(LOG))
            .verify(Some(stored))
            .unwrap()
            .is_valid()
    );
    for name in [LOG, "audit.head"] {
        fs::remove_file(test.path(name)).unwrap();
    }
    test.add(5);
    assert!(test.verify().is_valid());
    let done = AuditFiles::of(test.path(LOG)).verify(Some(stored)).unwrap();
    let found = format!(
        "audit.jsonl: no line has the hash {stored}: it was rewritten, or is in another file"
    );
    assert_eq!(texts(&done.findings), [found]);
}

#[test]
fn a_full_file_becomes_a_part_and_the_chain_continues() {
    let test = test_log();
    test.add(1);
    let line = fs::metadata(test.path(LOG)).unwrap().len();
    let log = test.log().rotate_at(3 * line);
    // An existing file is not overwritten.
    fs::write(test.path("audit-4.jsonl"), "").unwrap();
    for _ in 0..9 {
        write(&log, "reason 0");
    }
    let mut names: Vec<_> = fs::read_dir(test.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let wanted = [
        "audit-1.jsonl",
        "audit-4.1.jsonl",
        "audit-4.jsonl",
        "audit-7.jsonl",
        "audit.head",
        LOG,
        "audit.lock",
    ];
    assert_eq!(names, wanted);
    let done = test.verify();
    assert_eq!(
        (texts(&done.findings), done.lines, done.newest),
        (vec![], 10, Some(10))
    );
    let lines: Vec<_> = done.files.iter().map(|file| file.lines).collect();
    assert_eq!(lines, [3, 0, 3, 3, 1]);
    fs::remove_file(test.path("audit-4.1.jsonl")).unwrap();
    assert_eq!(
        test.findings(),
        ["audit-7.jsonl:1: `seq` 4 to 6 are missing before it"]
    );
}

#[test]
fn a_line_that_is_too_long_to_load_is_found() {
    let test = test_log();
    test.add(2);
    let mut lines = test.lines();
    lines.insert(1, "x".repeat(lines::MAX_LINE_BYTES + 1));
    test.set_lines(&lines);
    assert_eq!(test.findings(), ["audit.jsonl:2: is longer than 16MiB"]);
    // Texts are truncated; grants are not, and an agent may request many.
    let grants = [crate::Grant::Env("X".repeat(lines::MAX_LINE_BYTES))];
    let run = RunInfo {
        grants: &grants,
        ..run_info("skill")
    };
    let event = Event::refused(run, &"x".repeat(lines::MAX_LINE_BYTES));
    let error = test.log().write_blocking(event).unwrap_err().to_string();
    assert!(
        error.contains(": a line of 167") && error.ends_with(" bytes is too long"),
        "{error}"
    );
}

#[test]
fn threads_write_one_chain_over_many_files() {
    let test = test_log();
    let log = test.log().rotate_at(5000);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..100 {
                    write(log, &format!("thread {thread} line {n}"));
                }
            });
        }
    });
    let done = test.verify();
    assert_eq!(
        (texts(&done.findings), texts(&done.notes)),
        (vec![], vec![])
    );
    assert_eq!((done.lines, done.newest), (800, Some(800)));
    assert!(done.files.len() > 10);
}

#[test]
fn a_sink_gets_a_chain_without_the_lines_that_it_failed_to_write() {
    let lines: Arc<Mutex<Vec<u8>>> = Arc::default();
    let (taken, fails) = (Arc::clone(&lines), Arc::new(Mutex::new(false)));
    let failing = Arc::clone(&fails);
    let log = AuditLog::sink(move |line| {
        if *failing.lock().unwrap() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        taken.lock().unwrap().extend(line);
        Ok(())
    });
    write(&log, "a");
    *fails.lock().unwrap() = true;
    assert!(log.write_blocking(refusal("")).is_err());
    *fails.lock().unwrap() = false;
    write(&log.clone(), "b");
    let test = test_log();
    fs::write(test.path(LOG), lines.lock().unwrap().as_slice()).unwrap();
    let done = AuditFiles::named([test.path(LOG)]).verify(None).unwrap();
    assert_eq!((texts(&done.findings), done.newest), (vec![], Some(2)));
}

#[test]
fn a_forged_number_does_not_stop_the_log() {
    let test = test_log();
    test.add(1);
    let mut lines = test.lines();
    lines.push(lines[0].replace("\"seq\":1", &format!("\"seq\":{}", u64::MAX)));
    lines.push("{}".into());
    test.set_lines(&lines);
    test.add(2);
    assert!(!test.verify().is_valid());
    fs::remove_file(test.path("audit.head")).unwrap();
    test.set_lines(&lines[1..]);
    test.add(2);
    assert!(!test.verify().is_valid());
}
