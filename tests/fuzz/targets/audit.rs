//! The files of an audit log that another program may have changed: its rotated files, the current file, and the head.
//!
//! A log that verifies has all lines that were written, byte for byte and in their order. Only a head of an older
//! version, or a missing head beside lines without numbers, proves less, and that is reported as a note.

#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use skillrun::{Approvals, AuditLog, Host, Policy, Request, Settings, Skill};
use skillrun::audit::{AuditFiles, AuditFilter, AuditFindingKind};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// Lines of the log; enough for three files.
const LINES: usize = 9;

struct Template {
    folder: PathBuf,
    /// The files by name, the head and the lock included.
    files: Vec<(String, Vec<u8>)>,
    /// All lines in order.
    lines: Vec<Vec<u8>>,
}

static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let log = folder.join("audit.jsonl");
    let host = Host::new(Settings {
        cache: folder.join("cache"),
        audit: AuditLog::file(&log).rotate_at(1200),
        approvals: Approvals::memory(),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    let skill = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/word-count");
    let skill = Arc::new(Skill::load(skill).expect("an example of this repository"));
    for number in 0..LINES {
        let request = Request::new(&skill, format!("no-such-script-{number}"));
        host.blocking().decide(&Policy::default(), request)
            .expect("a refusal is recorded");
    }
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            files.push((name, fs::read(path).expect("a file")));
        }
    }
    files.sort();
    let mut lines = Vec::new();
    let keep = |line: &skillrun::audit::AuditLine<'_>| {
        lines.push(line.json().as_bytes().to_vec());
        ControlFlow::Continue(())
    };
    AuditFiles::of(&log)
        .read(&AuditFilter::default(), keep)
        .expect("the log");
    assert_eq!(lines.len(), LINES);
    assert!(files.len() >= 4, "the log is rotated");
    assert!(AuditFiles::of(&log).verify(None).expect("the log").is_valid());
    Template {
        folder,
        files,
        lines,
    }
});

fuzz_target!(|data: &[u8]| {
    let Template {
        folder,
        files,
        lines,
    } = &*TEMPLATE;
    let mut changed = files.clone();
    let _ = edit(&mut Unstructured::new(data), &mut changed, lines);
    for (name, bytes) in &changed {
        fs::write(folder.join(name), bytes).expect("a file");
    }
    for (name, _) in files {
        if !changed.iter().any(|(there, _)| there == name) {
            let _ = fs::remove_file(folder.join(name));
        }
    }
    check(folder, &changed);
    for (name, _) in &changed {
        let _ = fs::remove_file(folder.join(name));
    }
});

fn check(folder: &Path, changed: &[(String, Vec<u8>)]) {
    let Template { files, lines, .. } = &*TEMPLATE;
    let log = AuditFiles::of(folder.join("audit.jsonl"));
    let mut read: Vec<Vec<u8>> = Vec::new();
    let all = log.read(&AuditFilter::default(), |line| {
        read.push(line.json().as_bytes().to_vec());
        ControlFlow::Continue(())
    });
    let (Ok(_), Ok(verified)) = (all, log.verify(None)) else {
        return;
    };
    for finding in verified.findings.iter().chain(&verified.notes) {
        assert!(
            !finding.message.chars().any(char::is_control),
            "{finding:?}"
        );
    }
    if changed == files {
        assert!(verified.is_valid());
    }
    if !verified.is_valid() {
        return;
    }
    let head = |files: &[(String, Vec<u8>)]| {
        let head = files.iter().find(|(name, _)| name == "audit.head");
        head.map(|(_, bytes)| bytes.clone())
    };
    let is_noted = || {
        verified
            .notes
            .iter()
            .any(|note| note.kind == AuditFindingKind::Head)
    };
    if head(changed) != head(files) {
        // Nothing can be verified if the whole log is gone. A head whose pending line was changed after that line was
        // written still proves every line.
        assert!(
            verified.lines == 0 || is_noted() || read == *lines,
            "no note says that the head is gone: {verified:?}"
        );
        // Nothing proves the last line any more.
        read.pop();
    }
    // Lines without a chain are accepted only before the chain begins.
    if read.iter().any(|line| lines.contains(line)) {
        let first = lines.iter().take(read.len());
        assert!(
            read.iter().eq(first),
            "lines are changed, missing, moved or duplicated: {verified:?}"
        );
    }
    if head(changed) == head(files) {
        assert_eq!(
            read.len(),
            lines.len(),
            "the end is missing although the head records it"
        );
    }
}

/// Changes files as any program with write access could: bytes, lines and whole files.
fn edit(
    input: &mut Unstructured<'_>,
    files: &mut Vec<(String, Vec<u8>)>,
    lines: &[Vec<u8>],
) -> Result<()> {
    for _ in 0..input.int_in_range(0..=4)? {
        if files.is_empty() {
            return Ok(());
        }
        let at = input.choose_index(files.len())?;
        let bytes = &mut files[at].1;
        let offset = input.int_in_range(0..=bytes.len())?;
        match input.int_in_range(0..=8u8)? {
            0 => {
                for (index, byte) in input.bytes(input.len().min(8))?.iter().enumerate() {
                    if let Some(target) = bytes.get_mut(offset + index) {
                        *target = *byte;
                    }
                }
            }
            1 => bytes.truncate(offset),
            2 => {
                let more = input.bytes(input.len().min(64))?.to_vec();
                bytes.splice(offset..offset, more);
            }
            3 => drop(files.remove(at)),
            4 | 5 => {
                // Whole lines are removed, duplicated or moved.
                let mut all: Vec<Vec<u8>> = bytes
                    .split_inclusive(|byte| *byte == b'\n')
                    .map(<[u8]>::to_vec)
                    .collect();
                if !all.is_empty() {
                    let line = all.remove(input.choose_index(all.len())?);
                    for _ in 0..input.int_in_range(0..=2)? {
                        let to = input.int_in_range(0..=all.len())?;
                        all.insert(to, line.clone());
                    }
                }
                *bytes = all.concat();
            }
            6 => {
                let mut line = input.choose(lines)?.clone();
                line.push(b'\n');
                let start = bytes[..offset]
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .map_or(0, |at| at + 1);
                bytes.splice(start..start, line);
            }
            7 => {
                let other = input.choose_index(files.len())?;
                files[at].1 = files[other].1.clone();
            }
            _ => {
                let more = input.bytes(input.len().min(256))?.to_vec();
                bytes.extend(more);
            }
        }
    }
    Ok(())
}
