//! The log and its verification together: what is written verifies, and what was changed does not.

use super::*;
use chain::Pending;
use std::fs;
use tempfile::TempDir;

mod edits;

const LOG: &str = "audit.jsonl";

struct Place {
    folder: TempDir,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    Place { folder }
}

fn asked(skill: &str) -> Asked<'_> {
    Asked {
        run_id: "run",
        world: "",
        chat: "",
        skill,
        script: "scripts/main.py",
        args: &[],
        grants: &[],
    }
}

fn write(log: &AuditLog, reason: &str) {
    let event = Event::refused(&asked("skill"), reason.to_owned());
    log.write(&event).unwrap();
}

impl Place {
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

    /// What is wrong, as `file:line: message`.
    fn wrong(&self) -> Vec<String> {
        told(&self.verify().findings)
    }

    fn notes(&self) -> Vec<String> {
        told(&self.verify().notes)
    }
}

fn told(findings: &[AuditFinding]) -> Vec<String> {
    let told = findings.iter().map(|finding| {
        let file = finding.file.file_name().unwrap().to_string_lossy();
        let line = finding.line.map(|line| format!(":{line}"));
        format!("{file}{}: {}", line.unwrap_or_default(), finding.message)
    });
    told.collect()
}

#[test]
fn an_untouched_log_verifies_and_its_newest_hash_is_that_of_the_last_line() {
    let place = place();
    assert!(place.verify().holds());
    place.add(5);
    let done = place.verify();
    assert_eq!(told(&done.findings), [""; 0]);
    assert_eq!(told(&done.notes), [""; 0]);
    assert_eq!((done.lines, done.newest), (5, Some(5)));
    let lines = place.lines();
    assert_eq!(done.newest_hash, Some(LineHash::of(lines[4].as_bytes())));
    assert!(lines[0].ends_with(",\"previous\":null}"), "{}", lines[0]);
    assert!(lines[4].starts_with("{\"v\":1,\"seq\":5,\"time\":\""));
}

#[test]
fn each_way_to_change_a_line_is_told_apart() {
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
            &["audit.jsonl:5: was changed: `audit.head` remembers another hash"],
        ),
        (
            |lines| drop(lines.remove(1)),
            &["audit.jsonl:2: number 2 is missing before it"],
        ),
        (
            |lines| drop(lines.drain(..2)),
            &["audit.jsonl:1: numbers 1 to 2 are missing before it"],
        ),
        (
            |lines| lines.truncate(3),
            &["audit.head: numbers 4 to 5 are missing at the end of the log"],
        ),
        (
            |lines| lines.insert(2, lines[0].clone()),
            &["audit.jsonl:3: number 1 is out of place after number 2"],
        ),
        (
            |lines| lines.insert(2, "{\"event\":\"started\"}".to_owned()),
            &["audit.jsonl:3: is not in the chain: it has no `seq`"],
        ),
        (
            |lines| lines.swap(1, 2),
            &[
                "audit.jsonl:2: number 2 is missing before it",
                "audit.jsonl:3: number 2 is out of place after number 3",
            ],
        ),
        (
            |lines| lines[2] = "x".into(),
            &["audit.jsonl:3: is not a line of the log"],
        ),
    ];
    let place = place();
    place.add(5);
    let lines = place.lines();
    for (change, wanted) in cases {
        let mut changed = lines.clone();
        change(&mut changed);
        place.set_lines(&changed);
        assert_eq!(place.wrong(), wanted);
    }
    fs::remove_file(place.path(LOG)).unwrap();
    let all = ["audit.head: numbers 1 to 5 are missing at the end of the log"];
    assert_eq!(place.wrong(), all);
}

#[test]
fn a_line_that_was_changed_is_still_found_after_further_lines() {
    let place = place();
    place.add(3);
    let lines = place.lines();
    let mut changed = lines.clone();
    changed[2] = changed[2].replace("reason 2", "reason X");
    place.set_lines(&changed);
    place.add(2);
    let found = "audit.jsonl:4: does not follow line 3: `previous` is not the hash of that line, so one of the two was changed";
    assert_eq!(place.wrong(), [found]);
    // Removed last lines leave a gap.
    place.set_lines(&lines[..1]);
    place.add(1);
    let found = "audit.jsonl:2: numbers 2 to 5 are missing before it";
    assert_eq!(place.wrong(), [found]);
}

#[test]
fn a_line_that_its_writer_could_not_end_is_ended_and_named() {
    let place = place();
    place.add(2);
    let (text, head) = (fs::read(place.path(LOG)).unwrap(), place.path("audit.head"));
    let mut old = Head::read(&fs::File::open(&head).unwrap())
        .unwrap()
        .unwrap();
    place.add(1);
    let whole = fs::read(place.path(LOG)).unwrap();
    // The head as it was when the third line was about to be written.
    let third = &whole[text.len()..whole.len() - 1];
    old.pending = Pending::Line(LineHash::of(third), third.len() as u64);
    let old = old.to_string();
    let note = "audit.jsonl:3: was cut short when it was written: its writer was killed, or the disk was full";
    for end in text.len() + 1..whole.len() - 1 {
        // As if the writer had been killed in the middle of its line.
        fs::write(place.path(LOG), &whole[..end]).unwrap();
        fs::write(&head, &old).unwrap();
        assert_eq!((place.wrong(), place.notes()), (vec![], vec![note.into()]));
        place.add(2);
        assert_eq!((place.wrong(), place.notes()), (vec![], vec![note.into()]));
        assert_eq!(place.verify().newest, Some(5));
    }
    // The whole line is there, with and without its newline, and the head does not know it.
    for end in whole.len() - 1..=whole.len() {
        fs::write(place.path(LOG), &whole[..end]).unwrap();
        fs::write(&head, &old).unwrap();
        let note = "audit.jsonl:3: is newer than `audit.head` remembers: its writer was killed";
        assert_eq!((place.wrong(), place.notes()), (vec![], vec![note.into()]));
        place.add(1);
        assert_eq!((place.wrong(), place.notes()), (vec![], vec![]));
        assert_eq!(place.verify().newest, Some(4));
    }
    // Cut later, it is not the same.
    fs::write(place.path(LOG), &whole).unwrap();
    fs::write(&head, &old).unwrap();
    place.add(1);
    let text = fs::read(place.path(LOG)).unwrap();
    fs::write(place.path(LOG), &text[..text.len() - 10]).unwrap();
    let found = "audit.jsonl:4: was cut short after it was written";
    assert_eq!(place.wrong(), [found]);
    place.add(1);
    assert_eq!(place.wrong(), [found]);
}

const FOREIGN: &str =
    "is not in the chain: somebody else added it, or the head lost it in a power failure";

/// A line as somebody would forge it who can read the log.
fn forged(after: &str, seq: u64) -> String {
    let previous = LineHash::of(after.as_bytes());
    format!(
        "{{\"v\":1,\"seq\":{seq},\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"approved\",\"previous\":\"{previous}\"}}"
    )
}

#[test]
fn lines_that_somebody_appends_are_named_before_and_after_further_lines() {
    for count in 1..4 {
        let place = place();
        place.add(2);
        let mut lines = place.lines();
        for seq in 3..3 + count {
            lines.push(forged(&lines[lines.len() - 1], seq));
        }
        place.set_lines(&lines);
        let found: Vec<String> = (3..3 + count)
            .map(|line| format!("audit.jsonl:{line}: {FOREIGN}"))
            .collect();
        assert_eq!((place.wrong(), place.notes()), (found.clone(), vec![]));
        for further in 1..6 {
            place.add(1);
            assert_eq!((place.wrong(), place.notes()), (found.clone(), vec![]));
            assert_eq!(place.verify().newest, Some(2 + further));
        }
        // Again, between lines and beside the first ones.
        let mut lines = place.lines();
        lines.push(forged(&lines[lines.len() - 1], 8));
        place.set_lines(&lines);
        place.add(1);
        let again = format!("audit.jsonl:{}: {FOREIGN}", lines.len());
        assert_eq!(place.wrong(), [found, vec![again]].concat());
    }
}

#[test]
fn lines_appended_to_a_part_or_by_the_wrong_hash_are_named() {
    let place = place();
    place.add(3);
    let length = fs::metadata(place.path(LOG)).unwrap().len();
    write(&place.log().rotate_at(length), "in the next file");
    let part = place.path("audit-1.jsonl");
    let text = fs::read_to_string(&part).unwrap();
    let last = text.lines().last().unwrap();
    fs::write(&part, format!("{text}{}\n", forged(last, 4))).unwrap();
    assert_eq!(place.wrong(), [format!("audit-1.jsonl:4: {FOREIGN}")]);
    fs::write(&part, &text).unwrap();
    assert_eq!(place.wrong(), [""; 0]);
    let mut lines = place.lines();
    lines.push(forged("something", 5));
    place.set_lines(&lines);
    place.add(2);
    assert_eq!(place.wrong(), [format!("audit.jsonl:2: {FOREIGN}")]);
    assert_eq!(place.verify().newest, Some(6));
}

#[test]
fn a_line_without_its_end_that_nobody_announced_is_foreign() {
    let place = place();
    place.add(2);
    let text = fs::read_to_string(place.path(LOG)).unwrap();
    fs::write(place.path(LOG), format!("{text}{}", event::beginning(3))).unwrap();
    let found = "audit.jsonl:3: is not a line of the log";
    assert_eq!((place.wrong(), place.notes()), (vec![found.into()], vec![]));
    place.add(2);
    assert_eq!((place.wrong(), place.notes()), (vec![found.into()], vec![]));
}

#[test]
fn a_head_from_before_lines_were_announced_counts_one_line_in() {
    let place = place();
    place.add(1);
    let path = place.path("audit.head");
    let mut old = Head::read(&fs::File::open(&path).unwrap())
        .unwrap()
        .unwrap();
    old.pending = Pending::Unknown;
    place.add(1);
    fs::write(&path, old.to_string()).unwrap();
    let note = "audit.jsonl:2: is newer than `audit.head` remembers: its writer was killed";
    assert_eq!((place.wrong(), place.notes()), (vec![], vec![note.into()]));
    place.add(1);
    assert_eq!((place.wrong(), place.notes()), (vec![], vec![]));
    // Two lines were never left by one writer.
    fs::write(&path, old.to_string()).unwrap();
    let found = [2, 3].map(|line| format!("audit.jsonl:{line}: {FOREIGN}"));
    assert_eq!(place.wrong(), found);
    place.add(1);
    assert_eq!(place.wrong(), found);
}

#[test]
fn only_regular_files_of_ours_are_written() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let event = Event::refused(&asked("skill"), String::new());
    for name in [LOG, "audit.head", "audit.lock"] {
        let beside = match name {
            LOG => String::new(),
            _ => format!("its {} `{{}}`: ", &name[6..]),
        };
        let fails = |make: &dyn Fn(&Path, &Path), why: &str| {
            let place = place();
            place.add(1);
            let (path, aside) = (place.path(name), place.path("aside"));
            fs::rename(&path, &aside).unwrap();
            make(&path, &aside);
            for error in [
                place.log().write(&event).unwrap_err(),
                place.log().probe().unwrap_err(),
            ] {
                let beside = beside.replace("{}", &path.display().to_string());
                let log = place.path(LOG);
                assert_eq!(
                    error.to_string(),
                    format!(
                        "cannot write the audit log `{}`: {beside}{why}",
                        log.display()
                    )
                );
            }
            // The twin: the file as it was.
            fs::remove_file(&path).unwrap();
            if aside.exists() {
                fs::rename(&aside, &path).unwrap();
            }
            place.add(1);
            assert!(place.verify().holds());
        };
        let link = "is a symbolic link, not a file of its own";
        fails(&|path, _| symlink("/dev/null", path).unwrap(), link);
        fails(&|path, aside| symlink(aside, path).unwrap(), link);
        fails(
            &|path, aside| fs::hard_link(aside, path).unwrap(),
            "has another name elsewhere (a hard link)",
        );
        fails(
            &|path, _| {
                fs::write(path, "").unwrap();
                let mode = fs::Permissions::from_mode(0o620);
                fs::set_permissions(path, mode).unwrap();
            },
            "may be written by other users",
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
                _ => "is not a regular file",
            },
        );
        if rustix::process::geteuid().is_root() {
            fails(
                &|path, _| {
                    fs::write(path, "").unwrap();
                    std::os::unix::fs::chown(path, Some(65534), None).unwrap();
                },
                "belongs to another user",
            );
        }
    }
}

#[test]
fn a_head_that_is_gone_or_spoilt_is_told_and_made_anew() {
    let place = place();
    place.add(3);
    fs::remove_file(place.path("audit.head")).unwrap();
    let note = "audit.jsonl: has no head beside it: lines removed from its end would not be found";
    assert_eq!((place.wrong(), place.notes()), (vec![], vec![note.into()]));
    place.add(1);
    assert_eq!((place.wrong(), place.notes()), (vec![], vec![]));
    fs::write(place.path("audit.head"), "what").unwrap();
    assert_eq!(
        place.wrong(),
        ["audit.head: is not the head of an audit log"]
    );
    place.add(1);
    assert_eq!((place.wrong(), place.notes()), (vec![], vec![]));
    assert_eq!(place.verify().newest, Some(5));
}

#[test]
fn a_log_from_before_the_chain_is_gone_on_with() {
    let place = place();
    let old = "{\"v\":1,\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"refused\",\"previous\":null}";
    place.set_lines(&[
        old.to_owned(),
        old.replace("refused", "started"),
        old.into(),
    ]);
    assert_eq!(place.wrong(), [""; 0]);
    place.add(2);
    let note = "audit.jsonl: 3 lines were written before there was a chain; only the last of them is in it";
    assert_eq!((place.wrong(), place.notes()), (vec![], vec![note.into()]));
    assert_eq!(place.verify().newest, Some(5));
    let mut lines = place.lines();
    lines[2] = lines[2].replace("refused", "aborted");
    place.set_lines(&lines);
    let found = "audit.jsonl:4: does not follow line 3: `previous` is not the hash of that line, so one of the two was changed";
    assert_eq!(place.wrong(), [found]);
}

#[test]
fn a_log_that_was_moved_emptied_or_removed_is_gone_on_with() {
    let place = place();
    place.add(2);
    fs::rename(place.path(LOG), place.path("old.1")).unwrap();
    place.add(2);
    fs::copy(place.path(LOG), place.path("old.2")).unwrap();
    fs::write(place.path(LOG), "").unwrap();
    place.add(1);
    let missing = "audit.jsonl:1: numbers 1 to 4 are missing before it";
    assert_eq!(place.wrong(), [missing]);
    // The order in which they are named does not matter.
    let files = [LOG, "old.2", "old.1"].map(|name| place.path(name));
    let done = AuditFiles::named(files).verify(None).unwrap();
    assert_eq!((told(&done.findings), done.newest), (vec![], Some(5)));
    // A hash that was noted when the old files were moved away stands for them.
    let noted = LineHash::of(
        fs::read_to_string(place.path("old.2"))
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .as_bytes(),
    );
    let files = AuditFiles::of(place.path(LOG));
    assert!(files.verify(Some(noted)).unwrap().holds());
    let newest = done.newest_hash.unwrap();
    assert_eq!(
        told(&files.verify(Some(newest)).unwrap().findings),
        [missing]
    );
    fs::remove_file(place.path(LOG)).unwrap();
    place.add(1);
    assert_eq!(
        place.wrong(),
        ["audit.jsonl:1: numbers 1 to 5 are missing before it"]
    );
}

#[test]
fn a_chain_that_was_made_anew_is_found_by_a_noted_hash_alone() {
    let place = place();
    place.add(3);
    let noted = place.verify().newest_hash.unwrap();
    place.add(2);
    assert!(
        AuditFiles::of(place.path(LOG))
            .verify(Some(noted))
            .unwrap()
            .holds()
    );
    for name in [LOG, "audit.head"] {
        fs::remove_file(place.path(name)).unwrap();
    }
    place.add(5);
    assert!(place.verify().holds());
    let done = AuditFiles::of(place.path(LOG)).verify(Some(noted)).unwrap();
    let found = format!(
        "audit.jsonl: no line has the hash {noted}: it was rewritten, or is in another file"
    );
    assert_eq!(told(&done.findings), [found]);
}

#[test]
fn a_file_that_is_full_becomes_a_part_and_the_chain_goes_on() {
    let place = place();
    place.add(1);
    let line = fs::metadata(place.path(LOG)).unwrap().len();
    let log = place.log().rotate_at(3 * line);
    // A file that somebody put there is not overwritten.
    fs::write(place.path("audit-4.jsonl"), "").unwrap();
    for _ in 0..9 {
        write(&log, "reason 0");
    }
    let mut names: Vec<_> = fs::read_dir(place.folder.path())
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
    let done = place.verify();
    assert_eq!(
        (told(&done.findings), done.lines, done.newest),
        (vec![], 10, Some(10))
    );
    let lines: Vec<_> = done.files.iter().map(|file| file.lines).collect();
    assert_eq!(lines, [3, 0, 3, 3, 1]);
    fs::remove_file(place.path("audit-4.1.jsonl")).unwrap();
    assert_eq!(
        place.wrong(),
        ["audit-7.jsonl:1: numbers 4 to 6 are missing before it"]
    );
}

#[test]
fn a_line_too_long_to_be_loaded_is_named() {
    let place = place();
    place.add(2);
    let mut lines = place.lines();
    lines.insert(1, "x".repeat(lines::LONGEST + 1));
    place.set_lines(&lines);
    assert_eq!(place.wrong(), ["audit.jsonl:2: is longer than 16MiB"]);
    // Texts are cut; grants are not, and an agent may name many.
    let grants = [crate::Grant::Env("X".repeat(lines::LONGEST))];
    let asked = Asked {
        grants: &grants,
        ..asked("skill")
    };
    let event = Event::refused(&asked, "x".repeat(lines::LONGEST));
    let error = place.log().write(&event).unwrap_err().to_string();
    assert!(
        error.contains(": a line of 167") && error.ends_with(" bytes is too long"),
        "{error}"
    );
}

#[test]
fn a_log_that_somebody_holds_is_an_error() {
    let place = place();
    place.add(1);
    let held = log::lock(&place.path(LOG)).unwrap();
    let event = Event::refused(&asked("skill"), String::new());
    let error = place.log().write(&event).unwrap_err().to_string();
    assert!(
        error.ends_with("audit.jsonl`: somebody else has held it for 3s"),
        "{error}"
    );
    drop(held);
    place.add(1);
    assert_eq!(place.verify().lines, 2);
}

#[test]
fn threads_write_one_chain_over_many_files() {
    let place = place();
    let log = place.log().rotate_at(5000);
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
    let done = place.verify();
    assert_eq!((told(&done.findings), told(&done.notes)), (vec![], vec![]));
    assert_eq!((done.lines, done.newest), (800, Some(800)));
    assert!(done.files.len() > 10);
}

#[test]
fn a_sink_gets_a_chain_too_and_a_line_it_refused_is_not_in_it() {
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
    let event = Event::refused(&asked("skill"), String::new());
    assert!(log.write(&event).is_err());
    *fails.lock().unwrap() = false;
    write(&log.clone(), "b");
    let place = place();
    fs::write(place.path(LOG), lines.lock().unwrap().as_slice()).unwrap();
    let done = place.verify();
    assert_eq!((told(&done.findings), done.newest), (vec![], Some(2)));
}

#[test]
fn a_number_that_somebody_made_up_does_not_stop_the_log() {
    let place = place();
    place.add(1);
    let mut lines = place.lines();
    lines.push(lines[0].replace("\"seq\":1", &format!("\"seq\":{}", u64::MAX)));
    lines.push("{}".into());
    place.set_lines(&lines);
    place.add(2);
    assert!(!place.verify().holds());
    fs::remove_file(place.path("audit.head")).unwrap();
    place.set_lines(&lines[1..]);
    place.add(2);
    assert!(!place.verify().holds());
}
