//! An approvals database that another program may have changed, with the files that SQLite may find beside it.
//!
//! A script that was not approved never runs without a question, whatever the file contains, and the file is never
//! replaced by another.

#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use skillrun::approval::Approver;
use skillrun::{Answer, Approvals, AuditLog, Decision, Host, Policy, Request, Settings, Skill};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

struct Template {
    database: PathBuf,
    bytes: Vec<u8>,
    host: Host,
    approved: Arc<Skill>,
    other: Arc<Skill>,
}

static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let database = folder.join("approvals.db");
    let host = Host::new(Settings {
        cache: folder.join("cache"),
        audit: AuditLog::sink(|_| Ok(())),
        approvals: Approvals::file(&database),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    let approved = skill(&folder, "approved", "print('yes')");
    let other = skill(&folder, "other", "print('no')");
    let Decision::Pending(question) = decide(&host, &approved) else {
        panic!("no question is open");
    };
    let answered = host.blocking()
        .answer(&question.id, Answer::YesOnce, Approver::new("fuzz", "test"))
        .expect("the approval is stored")
        .expect("this host asked");
    assert!(matches!(answered[..], [Ok(_)]));
    assert!(matches!(decide(&host, &approved), Decision::Permitted(_)));
    let bytes = fs::read(&database).expect("the database");
    Template {
        database,
        bytes,
        host,
        approved,
        other,
    }
});

fn skill(folder: &Path, name: &str, script: &str) -> Arc<Skill> {
    let folder = folder.join(name);
    fs::create_dir_all(folder.join("scripts")).expect("a folder");
    fs::write(
        folder.join("SKILL.md"),
        format!("---\nname: {name}\ndescription: x\n---\n"),
    )
    .expect("a file");
    fs::write(folder.join("scripts/a.py"), script).expect("a file");
    Arc::new(Skill::load(folder).expect("a skill"))
}

fn decide(host: &Host, skill: &Arc<Skill>) -> Decision {
    let request = Request::new(skill, "scripts/a.py");
    host.blocking().decide(&Policy::default(), request)
        .expect("a decision")
}

fuzz_target!(|data: &[u8]| {
    let Template {
        database,
        bytes,
        host,
        approved,
        other,
    } = &*TEMPLATE;
    let mut changed = bytes.clone();
    let mut input = Unstructured::new(data);
    let beside = edit(&mut input, &mut changed).unwrap_or_default();
    write(database, &changed);
    for (suffix, bytes) in &beside {
        write(
            &PathBuf::from(format!("{}{suffix}", database.display())),
            bytes,
        );
    }

    let listed = host.blocking().approvals();
    if changed == *bytes && beside.is_empty() {
        assert_eq!(listed.as_ref().map(Vec::len).ok(), Some(1));
        assert!(matches!(decide(host, approved), Decision::Permitted(_)));
    }
    let request = Request::new(other, "scripts/a.py");
    match host.blocking().decide(&Policy::default(), request) {
        Ok(Decision::Pending(question)) => drop(host.blocking().decline(&question.id, "enough")),
        Ok(Decision::Permitted(_)) => panic!("a script that was not approved runs"),
        _ => {}
    }
    let _ = host.blocking().revoke(&[1, i64::MAX]);
    assert!(
        fs::symlink_metadata(database)
            .expect("the database is gone")
            .is_file()
    );
    for suffix in ["-journal", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", database.display()));
    }
});

fn write(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    let mut file = fs::OpenOptions::new();
    let mut file = file
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .expect("a file");
    file.write_all(bytes).expect("a file");
}

/// Changes some bytes, or all, and returns the files beside the database.
fn edit(input: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let mut beside = Vec::new();
    match input.int_in_range(0..=7u8)? {
        0 => *bytes = input.bytes(input.len())?.to_vec(),
        1 => bytes.truncate(input.int_in_range(0..=bytes.len())?),
        2 => beside.push(("-journal", input.bytes(input.len())?.to_vec())),
        3 => beside.push(("-wal", input.bytes(input.len())?.to_vec())),
        _ => {
            for _ in 0..input.int_in_range(0..=6)? {
                // Half of the changes hit the header and the schema.
                let end = if input.arbitrary()? { 512 } else { bytes.len() };
                let at = input.int_in_range(0..=end.min(bytes.len()) - 1)?;
                for (offset, byte) in input.bytes(input.len().min(6))?.iter().enumerate() {
                    if let Some(there) = bytes.get_mut(at + offset) {
                        *there = *byte;
                    }
                }
            }
        }
    }
    Ok(beside)
}
