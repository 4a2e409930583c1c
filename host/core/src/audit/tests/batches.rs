//! Lines that are appended together: whole, cut short by a killed writer, or in part because a write failed.

use super::*;
use crate::audit::chain::{HEAD_BYTES, MAX_PENDING};
use crate::audit::event::Fields;
use crate::audit::lines::MAX_LINE_BYTES;
use crate::audit::log::{LogFile, NewLine, Write};

fn fields(reason: &str) -> Fields {
    refusal(reason).fields().unwrap()
}

/// Appends one line for each reason in one batch.
fn append(log: &mut LogFile, rotate_at: u64, reasons: &[String]) -> Vec<io::Result<()>> {
    let fields: Vec<Fields> = reasons.iter().map(|reason| fields(reason)).collect();
    let lines: Vec<NewLine<'_>> = fields
        .iter()
        .map(|fields| NewLine { fields, rotate_at })
        .collect();
    log.try_lock().unwrap().unwrap().append(&lines)
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("<{n}>")).collect()
}

impl TestLog {
    fn files(&self) -> LogFile {
        LogFile::new(self.path(LOG))
    }

    fn head_bytes(&self) -> u64 {
        fs::metadata(self.path("audit.head")).unwrap().len()
    }
}

#[test]
fn a_batch_is_one_chain_and_leaves_a_head_at_rest() {
    for count in [1, 2, MAX_PENDING, MAX_PENDING + 1, 3 * MAX_PENDING + 5] {
        let test = test_log();
        let mut log = test.files();
        for batch in 1..=2 {
            let results = append(&mut log, u64::MAX, &numbered(count));
            assert!(results.iter().all(Result::is_ok) && results.len() == count);
            assert_eq!((test.findings(), test.notes()), (vec![], vec![]));
            assert_eq!(test.verify().newest, Some(count as u64 * batch));
            assert_eq!(test.head_bytes(), HEAD_BYTES as u64);
        }
        let lines = test.lines();
        for (n, line) in lines.iter().enumerate() {
            assert!(line.contains(&format!("<{}>", n % count)), "{line}");
        }
    }
}

#[test]
fn a_writer_continues_with_the_head_that_it_left_only_if_nobody_else_wrote() {
    let test = test_log();
    let (mut one, mut other) = (test.files(), test.files());
    for writer in [0, 0, 1, 0, 1, 1, 0] {
        let log = [&mut one, &mut other].into_iter().nth(writer).unwrap();
        assert!(append(log, u64::MAX, &numbered(1))[0].is_ok());
        assert_eq!((test.findings(), test.notes()), (vec![], vec![]));
    }
    // A head that was changed alone does not count.
    let head = fs::read(test.path("audit.head")).unwrap();
    fs::write(test.path("audit.head"), vec![b'x'; head.len()]).unwrap();
    assert!(append(&mut one, u64::MAX, &numbered(1))[0].is_ok());
    assert_eq!((test.findings(), test.notes()), (vec![], vec![]));
    // One that was removed, or a log that was, is noticed.
    fs::remove_file(test.path("audit.head")).unwrap();
    assert!(append(&mut one, u64::MAX, &numbered(1))[0].is_ok());
    let events = events(&test);
    assert_eq!(events[7..], ["refused", "new_head", "refused"]);
    let lines = test.lines();
    test.set_lines(&lines[..9]);
    assert!(append(&mut one, u64::MAX, &numbered(1))[0].is_ok());
    assert_eq!(test.lines().len(), 10);
    let gap = "audit.jsonl:10: `seq` 10 is missing before it";
    assert!(
        test.findings().contains(&gap.to_owned()),
        "{:?}",
        test.findings()
    );
}

#[test]
fn a_batch_is_split_where_the_file_is_rotated() {
    let test = test_log();
    test.add(1);
    let line = fs::metadata(test.path(LOG)).unwrap().len();
    let results = append(&mut test.files(), 10 * line, &numbered(50));
    assert!(results.iter().all(Result::is_ok));
    let done = test.verify();
    assert_eq!((texts(&done.findings), done.newest), (vec![], Some(51)));
    assert!(done.files.len() > 4);
    assert!(done.files.iter().all(|file| file.lines <= 12));
}

#[test]
fn a_line_that_is_too_long_fails_alone() {
    let test = test_log();
    let long = [crate::Grant::Env("X".repeat(MAX_LINE_BYTES))];
    let long = RunInfo {
        grants: &long,
        ..run_info("skill")
    };
    let all = [
        fields("a"),
        fields("b"),
        Event::refused(long, "").fields().unwrap(),
        fields("c"),
    ];
    let lines = all.each_ref().map(|fields| NewLine {
        fields,
        rotate_at: u64::MAX,
    });
    let results = test.files().try_lock().unwrap().unwrap().append(&lines);
    let ok: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(ok, [true, true, false, true]);
    assert_eq!((test.findings(), test.verify().newest), (vec![], Some(3)));
}

/// The log and the head after a batch of `count` lines whose head says that they are pending.
fn pending(count: usize) -> (TestLog, Vec<u8>, usize, String) {
    let test = test_log();
    test.add(2);
    let start = fs::read(test.path(LOG)).unwrap().len();
    let mut head = head_in(&test.path("audit.head"));
    append(&mut test.files(), u64::MAX, &numbered(count));
    let whole = fs::read(test.path(LOG)).unwrap();
    let lines = whole[start..].split(|byte| *byte == b'\n');
    let lines = lines.take(count).map(PendingLine::of).collect();
    head.pending = Pending::Lines(lines);
    let head = head.text(Form::Long);
    (test, whole, start, head)
}

#[test]
fn a_batch_of_a_killed_writer_is_continued_wherever_it_was_cut() {
    let (test, whole, start, head) = pending(3);
    for end in start..=whole.len() {
        fs::write(test.path(LOG), &whole[..end]).unwrap();
        fs::write(test.path("audit.head"), &head).unwrap();
        let written = whole[start..end].split(|byte| *byte == b'\n');
        let left = written.filter(|line| !line.is_empty()).count();
        assert_eq!(test.findings(), [""; 0], "{end}");
        assert!(test.notes().len() <= 2, "{end}: {:?}", test.notes());
        test.add(2);
        assert_eq!(test.findings(), [""; 0], "{end}");
        // A line that was cut short is noted from then on.
        let is_cut = end > start && ![b'\n', b'}'].contains(&whole[end - 1]);
        assert_eq!(test.notes().len(), usize::from(is_cut), "{end}");
        assert_eq!(test.verify().newest, Some(2 + left as u64 + 2), "{end}");
        assert_eq!(test.head_bytes(), HEAD_BYTES as u64);
    }
    let note = "audit.jsonl:5: is the last of 3 lines that are newer than the line in `audit.head`: their writer was killed";
    fs::write(test.path(LOG), &whole).unwrap();
    fs::write(test.path("audit.head"), &head).unwrap();
    assert_eq!(test.notes(), [note]);
}

#[test]
fn a_line_forged_after_or_among_pending_ones_is_found() {
    let (test, whole, start, head) = pending(3);
    let whole = String::from_utf8(whole).unwrap();
    let ours = whole[..start].lines().count();
    for count in 0..=3 {
        let lines = whole.lines().take(ours + count);
        let mut lines: Vec<String> = lines.map(ToOwned::to_owned).collect();
        lines.push(forged(&lines[lines.len() - 1], 3 + count as u64));
        test.set_lines(&lines);
        fs::write(test.path("audit.head"), &head).unwrap();
        assert!(!test.verify().is_valid(), "{count}");
        test.add(2);
        assert!(!test.verify().is_valid(), "{count}");
    }
}

/// Writes batches on a log whose `n`th write fails, and as many after it as `further` says. Returns whether it failed.
fn with_fault(prepare: impl Fn(&TestLog), n: usize, further: usize) -> bool {
    let test = test_log();
    prepare(&test);
    let mut log = test.files();
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    log.faults.set(move |write| {
        // What was written can be removed on a full disk.
        if matches!(write, Write::Truncate) {
            return false;
        }
        let mut count = counted.lock().unwrap();
        *count += 1;
        (n..=n + further).contains(&*count)
    });
    let mut wanted = Vec::new();
    for (batch, lines) in [1, 3, MAX_PENDING + 2].into_iter().enumerate() {
        let reasons: Vec<String> = (0..lines).map(|n| format!("<{batch}.{n}>")).collect();
        let results = append(&mut log, 4000, &reasons);
        for (reason, result) in reasons.into_iter().zip(results) {
            match result {
                Ok(()) => wanted.push(reason),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            }
        }
        let done = test.verify();
        assert!(done.is_valid(), "{n}+{further}: {:?}", done.findings);
    }
    log.faults.set(|_| false);
    append(&mut log, 4000, &["<last>".to_owned()]);
    wanted.push("<last>".into());
    let done = test.verify();
    assert_eq!(texts(&done.findings), [""; 0], "{n}+{further}");
    let written: String = done
        .files
        .iter()
        .map(|file| fs::read_to_string(&file.path).unwrap())
        .collect();
    let reason = |line: &str| {
        let start = line.find("\"reason\":\"<")? + 10;
        let end = start + line[start..].find('>')? + 1;
        Some(line[start..end].to_owned())
    };
    let written: Vec<String> = written.lines().filter_map(reason).collect();
    assert_eq!(written, wanted, "{n}+{further}");
    *count.lock().unwrap() >= n
}

#[test]
fn a_write_that_fails_is_reported_for_the_lines_that_are_not_in_the_log() {
    for further in [0, 1, 2, 5, 100] {
        let mut n = 1;
        while with_fault(|_| {}, n, further) {
            n += 1;
        }
        assert!(n > 10);
    }
}

#[test]
fn the_loss_of_a_head_is_recorded_even_if_writes_fail_meanwhile() {
    for n in 1..4 {
        let test = test_log();
        test.add(2);
        fs::remove_file(test.path("audit.head")).unwrap();
        let mut log = test.files();
        let mut count = 0;
        log.faults.set(move |write| {
            let is_truncation = matches!(write, Write::Truncate);
            count += usize::from(!is_truncation);
            !is_truncation && count <= n
        });
        while append(&mut log, u64::MAX, &numbered(1))[0].is_err() {}
        assert_eq!(events(&test), ["refused", "refused", "new_head", "refused"]);
        let found = "audit.jsonl:3: the head was missing: lines before this one may have been removed or replaced";
        assert_eq!(test.findings(), [found]);
    }
}

#[test]
fn lines_that_could_not_be_removed_after_an_error_count_as_written_and_do_not_break_the_chain() {
    let mut outcomes = std::collections::BTreeSet::new();
    for n in 1..12 {
        let test = test_log();
        test.add(1);
        let mut log = test.files();
        let mut count = 0;
        log.faults.set(move |write| {
            count += usize::from(!matches!(write, Write::Truncate));
            count >= n
        });
        let results = append(&mut log, u64::MAX, &numbered(3));
        log.faults.set(|_| false);
        append(&mut log, u64::MAX, &["later".to_owned()]);
        assert_eq!(test.findings(), [""; 0], "{n}");
        let whole: Vec<serde_json::Value> = test
            .lines()
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let is_written = |reason: &String| whole.iter().any(|line| line["reason"] == **reason);
        let written: Vec<bool> = numbered(3).iter().map(is_written).collect();
        let reported: Vec<bool> = results.iter().map(Result::is_ok).collect();
        assert_eq!(reported, written, "{n}");
        outcomes.insert(written.iter().filter(|written| **written).count());
    }
    // Nothing, the first half, and everything but the head.
    assert_eq!(outcomes.into_iter().collect::<Vec<_>>(), [0, 1, 3]);
}

#[test]
fn a_writer_that_is_killed_before_any_write_leaves_a_log_that_verifies() {
    let killed_at = |n: usize| {
        let test = test_log();
        test.add(1);
        let mut log = test.files();
        let mut count = 0;
        log.faults.set(move |_| {
            count += 1;
            // Nothing after this is executed, as if the process were killed here.
            assert!(count < n, "as the test wants");
            false
        });
        let batch = || append(&mut log, 4000, &numbered(MAX_PENDING + 3));
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(batch)).is_err();
        assert_eq!(test.findings(), [""; 0], "{n}");
        test.add(2);
        assert_eq!((test.findings(), test.notes()), (vec![], vec![]), "{n}");
        assert_eq!(test.head_bytes(), HEAD_BYTES as u64);
        killed
    };
    let mut n = 1;
    while killed_at(n) {
        n += 1;
    }
    assert!(n > 8);
}
