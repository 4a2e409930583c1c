//! Files that were damaged, forged or written by earlier versions.

use super::*;
use crate::approval::store::{AnswerState, GivenAnswer, OpenQuestion, QuestionStore as _};

#[test]
fn no_two_lists_of_grants_have_the_same_text() {
    let lists: [&[&str]; 6] = [
        &[],
        &[""],
        &["read:/a", "write:/b"],
        &["read:/a\nwrite:/b"],
        &["read:/a\",\"write:/b"],
        &["read:/a\\", "write:/b"],
    ];
    let texts = lists.map(|list| {
        let list: Vec<String> = list.iter().map(|&grant| grant.to_owned()).collect();
        let text = encoded(&list);
        assert_eq!(decoded(&text), list);
        text
    });
    let different: std::collections::HashSet<_> = texts.iter().collect();
    assert_eq!(different.len(), lists.len());
}

#[test]
fn a_damaged_table_approves_nothing_although_its_index_is_whole() {
    use std::os::unix::fs::FileExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore(folder.path().join("approvals.db"));
    let connection = store.connect(OpenMode::Create).unwrap();
    connection
        .execute(
            "INSERT INTO approval (tenant, skill, script, content, grants, files, answer, time)
             VALUES ('', 's', 'a', 'c', '[]', '{}', 'yes_once', 't')",
            [],
        )
        .unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'approval'";
    let root: u32 = connection.query_row(root, [], |row| row.get(0)).unwrap();
    let page: u32 = connection
        .pragma_query_value(None, "page_size", |row| row.get(0))
        .unwrap();
    drop(connection);
    let key = KEY;
    assert!(store.contains(&key).unwrap());
    let file = fs::OpenOptions::new().write(true).open(&store.0).unwrap();
    let bytes = vec![0xff; page as usize];
    file.write_all_at(&bytes, u64::from((root - 1) * page))
        .unwrap();
    assert!(store.contains(&key).is_err());
}

fn alice() -> Approver {
    Approver::new("alice", "terminal")
}

const KEY: ApprovalKey<'static> = ApprovalKey {
    tenant: "",
    skill: "s",
    script: "a",
    content: "c",
    grants: &[],
};

fn add(store: &SqliteStore, key: ApprovalKey<'_>) {
    let approval = NewApproval {
        key,
        files: "{}",
        source: None,
        answer: Answer::YesOnce,
        approver: &alice(),
        time: "t",
    };
    store.add(&[approval], None).unwrap();
}

/// A database with one approval, and the key of it.
fn store_of_one(folder: &Path) -> (SqliteStore, ApprovalKey<'static>) {
    let store = SqliteStore(folder.join("approvals.db"));
    add(&store, KEY);
    (store, KEY)
}

#[test]
fn an_index_approves_nothing_that_its_row_does_not_say() {
    let values = ["tenant-1", "skill-1", "script-1", "content-1", "grants-1"];
    for value in values {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore(folder.path().join("approvals.db"));
        let [tenant, skill, script, content, grants] = values;
        let key = ApprovalKey {
            tenant,
            skill,
            script,
            content,
            grants: &[grants.to_owned()],
        };
        add(&store, key);
        assert!(store.contains(&key).unwrap());
        // Change the value in the page of the table. The page of the index keeps it.
        let connection = Connection::open(&store.0).unwrap();
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'approval'";
        let root: u32 = connection.query_row(root, [], |row| row.get(0)).unwrap();
        let size = connection.pragma_query_value(None, "page_size", |row| row.get(0));
        let size: u32 = size.unwrap();
        let (root, size) = (root as usize, size as usize);
        drop(connection);
        let mut bytes = fs::read(&store.0).unwrap();
        let page = &mut bytes[(root - 1) * size..root * size];
        let at = page
            .windows(value.len())
            .position(|w| w == value.as_bytes());
        page[at.unwrap() + value.len() - 1] = b'2';
        fs::write(&store.0, bytes).unwrap();
        let why = store.contains(&key).unwrap_err().to_string();
        assert!(why.contains("it is damaged"), "{value}: {why}");
    }
}

#[test]
fn only_a_known_yes_in_a_table_of_our_own_approves() {
    let changed = |sql: &str| {
        let folder = tempfile::tempdir().unwrap();
        let (store, key) = store_of_one(folder.path());
        let connection = Connection::open(&store.0).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        store.contains(&key).map_err(|error| error.to_string())
    };
    assert_eq!(changed(""), Ok(true));
    assert_eq!(
        changed("UPDATE approval SET answer = 'yes_in_session'"),
        Ok(true)
    );
    assert_eq!(changed("UPDATE approval SET skill = 'other'"), Ok(false));
    let view = "ALTER TABLE approval RENAME TO was; CREATE VIEW approval AS SELECT * FROM was";
    let generated = "DROP TABLE approval;
         CREATE TABLE approval (id INTEGER PRIMARY KEY, tenant TEXT, skill TEXT, script TEXT, content TEXT,
            grants TEXT, files TEXT, source BLOB, answer TEXT AS ('yes_once'), time TEXT, approver TEXT, channel TEXT);
         INSERT INTO approval (tenant, skill, script, content, grants) VALUES ('', 's', 'a', 'c', '[]')";
    for sql in [
        "UPDATE approval SET answer = 'no'",
        "UPDATE approval SET answer = ''",
        "UPDATE approval SET answer = 'YES_ONCE'",
        "ALTER TABLE approval ADD COLUMN more TEXT",
        "CREATE TRIGGER again AFTER DELETE ON approval BEGIN SELECT 1; END",
        "CREATE VIEW more AS SELECT 1",
        "DROP TABLE session",
        "DROP TABLE question; CREATE VIEW question AS SELECT 'x' AS id, 'yes_once' AS answer",
        "ALTER TABLE question RENAME COLUMN text TO other",
        view,
        generated,
    ] {
        let why = changed(sql).unwrap_err();
        assert!(why.contains("it is damaged"), "{sql}: {why}");
    }
}

#[test]
fn unambiguous_approvals_of_an_older_file_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore(folder.path().join("approvals.db"));
    let connection = Connection::open(&store.0).unwrap();
    let old = APPROVALS
        .replace("approver TEXT,", "")
        .replace("channel TEXT,", "")
        .replace("tenant", "world");
    let old = format!("{old} PRAGMA user_version = 1;");
    connection.execute_batch(&old).unwrap();
    for (script, grants) in [
        ("none", ""),
        ("one", "write:/a"),
        ("two", "read:/a\nwrite:/b"),
        ("bytes", "write:/a\u{fffd}"),
    ] {
        let row = params![script, grants];
        connection
            .execute(
                "INSERT INTO approval (world, skill, script, content, grants, files, answer, time)
                 VALUES ('', 's', ?1, 'c', ?2, '{}', 'yes_once', 't')",
                row,
            )
            .unwrap();
    }
    drop(connection);
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(&store.0, fs::Permissions::from_mode(0o600)).unwrap();
    let kept = store.list(Scope::All).unwrap();
    assert!(kept.iter().all(|one| one.approver.is_none()));
    let kept: Vec<_> = kept
        .iter()
        .map(|one| (one.id, one.script.as_str(), one.grants.concat()))
        .collect();
    assert_eq!(
        kept,
        [(1, "none", String::new()), (2, "one", "write:/a".into())]
    );
    let contains = |script: &'static str, grants: &[&str]| {
        let grants: Vec<String> = grants.iter().map(|&grant| grant.to_owned()).collect();
        let key = ApprovalKey {
            script,
            grants: &grants,
            ..KEY
        };
        store.contains(&key).unwrap()
    };
    assert!(contains("none", &[]) && contains("one", &["write:/a"]));
    assert!(!contains("two", &["read:/a", "write:/b"]));
    assert!(!contains("two", &["read:/a\nwrite:/b"]));
}

#[test]
fn an_answer_that_is_none_of_the_three_is_damage() {
    for sql in [
        "UPDATE question SET answer = 'YES_ONCE'",
        "UPDATE question SET answer = ''",
        "UPDATE question SET approver = NULL",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore(folder.path().join("approvals.db"));
        let asked = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let question = OpenQuestion {
            id: "q".into(),
            tenant: String::new(),
            text: String::new(),
            asked,
            expires: asked + Duration::from_secs(1),
        };
        store.open(&question).unwrap();
        let given = GivenAnswer {
            answer: Answer::YesOnce,
            approver: alice(),
        };
        let state = store.answer(Scope::All, "q", &given, asked).unwrap();
        assert_eq!(state, AnswerState::Recorded);
        assert_eq!(store.answer_to("q").unwrap(), Some(given));
        let connection = Connection::open(&store.0).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let why = store.answer_to("q").unwrap_err().to_string();
        assert!(why.contains("it is damaged"), "{sql}: {why}");
    }
}

#[test]
fn a_file_of_the_previous_version_is_extended() {
    let folder = tempfile::tempdir().unwrap();
    let (store, key) = store_of_one(folder.path());
    let connection = Connection::open(&store.0).unwrap();
    let before = "DROP TABLE session; DROP TABLE question;
         ALTER TABLE approval DROP COLUMN approver; ALTER TABLE approval DROP COLUMN channel;
         PRAGMA user_version = 3";
    connection.execute_batch(before).unwrap();
    drop(connection);
    assert!(store.contains(&key).unwrap());
    assert_eq!(store.list(Scope::All).unwrap()[0].approver, None);
    assert_eq!(store.sessions(Scope::All).unwrap(), []);
}

#[test]
fn a_closed_question_leaves_nothing_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore(folder.path().join("approvals.db"));
    let secret = "s3cr3t-argument".repeat(1000);
    let question = OpenQuestion {
        id: "q".into(),
        tenant: String::new(),
        text: secret,
        asked: SystemTime::UNIX_EPOCH,
        expires: SystemTime::UNIX_EPOCH,
    };
    store.open(&question).unwrap();
    let contains = || {
        let bytes = fs::read(&store.0).unwrap();
        bytes.windows(6).any(|window| window == b"s3cr3t")
    };
    assert!(contains());
    store.close("q").unwrap();
    assert!(!contains());
}

#[test]
fn a_link_to_the_directory_is_followed_and_one_to_the_file_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("state")).unwrap();
    std::os::unix::fs::symlink("state", at("linked")).unwrap();
    let store = SqliteStore(at("linked/approvals.db"));
    store.connect(OpenMode::Create).unwrap();
    assert!(at("state/approvals.db").is_file());
    std::os::unix::fs::symlink("approvals.db", at("state/other.db")).unwrap();
    let store = SqliteStore(at("state/other.db"));
    store.connect(OpenMode::Create).unwrap_err();
}
