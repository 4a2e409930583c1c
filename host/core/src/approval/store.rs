//! The approvals that outlive a process: an SQLite file that only its owner can access.
//!
//! It is opened for each question and each answer: a person answers in seconds, and a file that was moved
//! or repaired in the meantime is noticed. A file that cannot be read is never replaced or repaired here:
//! approvals are a person's decisions, and losing them silently is as wrong as inventing them.
//!
//! Schema version 1 joined grants with newlines, and a path may contain one, so two lines may be one grant. From such a
//! file only the approvals with at most one line are kept; the others have to be approved again.

use super::question::Answer;
use crate::content::FileHashes;
use crate::error::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};
use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process that writes. Writing takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The source of a script is stored to show what changed; a longer one is compared only by its hash.
const MAX_SOURCE: usize = 1024 * 1024;
/// The schema version of the tables below.
const VERSION: i64 = 3;
const TABLES: &str = "
    CREATE TABLE approval (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        tenant TEXT NOT NULL,
        skill TEXT NOT NULL,
        script TEXT NOT NULL,
        content TEXT NOT NULL,
        grants TEXT NOT NULL,
        files TEXT NOT NULL,
        source BLOB,
        answer TEXT NOT NULL,
        time TEXT NOT NULL,
        UNIQUE (tenant, skill, script, content, grants)
    ) STRICT;
    PRAGMA user_version = 3;
";

/// Grants as one text. It is a JSON array, so different grants have different texts.
pub(super) fn encoded(grants: &[String]) -> String {
    serde_json::Value::from(grants).to_string()
}

fn decoded(grants: &str) -> Vec<String> {
    serde_json::from_str(grants).unwrap_or_default()
}

/// The grants of a row in schema version 1, if they are unambiguous.
fn decoded_v1(grants: &str) -> Option<Vec<String>> {
    match grants {
        "" => Some(Vec::new()),
        // A newline, or the replacement for bytes that are not UTF-8.
        _ if grants.contains(['\n', '\r', char::REPLACEMENT_CHARACTER]) => None,
        one => Some(vec![one.to_owned()]),
    }
}

/// Encodes the grants of schema version 1 as version 2 does.
fn migrate_v1(connection: &Connection) -> rusqlite::Result<()> {
    let mut rows = connection.prepare("SELECT id, grants FROM approval")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
    for (id, grants) in rows {
        match decoded_v1(&grants) {
            Some(grants) => connection.execute(
                "UPDATE approval SET grants = ?2 WHERE id = ?1",
                params![id, encoded(&grants)],
            )?,
            None => connection.execute("DELETE FROM approval WHERE id = ?1", [id])?,
        };
    }
    Ok(())
}

/// Fails if the file is damaged: a migration must not rewrite what it cannot read.
fn check_integrity(connection: &Connection) -> rusqlite::Result<()> {
    // Unlike `quick_check`, this compares the index with the table. It reads the whole file, but only once, before a
    // migration, and the file is small.
    let result: String =
        connection.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
    match result.as_str() {
        "ok" => Ok(()),
        _ => Err(corrupt()),
    }
}

fn corrupt() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
        None,
    )
}

/// The columns of the table, with what SQLite reports about them: name, type, and whether it is hidden or generated.
const COLUMNS: &str = "id INTEGER 0,tenant TEXT 0,skill TEXT 0,script TEXT 0,content TEXT 0,grants TEXT 0,\
                       files TEXT 0,source BLOB 0,answer TEXT 0,time TEXT 0";

/// Fails unless the approvals are rows of a table with the columns above. A view, a virtual table, a generated column or
/// a trigger computes approvals that nobody gave.
fn check_schema(connection: &Connection) -> rusqlite::Result<()> {
    let (tables, others, columns): (i64, i64, Option<String>) = connection.query_row(
        "SELECT
            (SELECT count(*) FROM sqlite_schema WHERE name = 'approval' AND type = 'table' AND rootpage > 0),
            (SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')),
            (SELECT group_concat(name || ' ' || type || ' ' || hidden, ',') FROM pragma_table_xinfo('approval'))",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    match (tables, others, columns.as_deref()) {
        (1, 0, Some(COLUMNS)) => Ok(()),
        _ => Err(corrupt()),
    }
}

/// Migrates an older schema version to the current one.
fn migrate(connection: &Connection, from: i64) -> rusqlite::Result<()> {
    check_integrity(connection)?;
    if from == 1 {
        migrate_v1(connection)?;
    }
    connection.execute_batch("ALTER TABLE approval RENAME COLUMN world TO tenant")?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// A stored yes to one script, with this content of its skill and these grants.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StoredApproval {
    /// The number to revoke it by.
    pub id: i64,
    /// The tenant.
    pub tenant: String,
    /// The name of the skill's folder.
    pub skill: String,
    /// The script's path in the skill.
    pub script: String,
    /// The hash of everything in the skill.
    pub content: String,
    /// What it may touch.
    pub grants: Vec<String>,
    /// When the yes was given.
    pub time: String,
}

/// The key of a stored yes.
pub(super) struct Key<'a> {
    pub(super) tenant: &'a str,
    pub(super) skill: &'a str,
    pub(super) script: Cow<'a, str>,
    pub(super) content: &'a str,
    /// Sorted and [`encoded`].
    pub(super) grants: &'a str,
}

/// The newest yes to a script, and what it was for.
pub(super) struct LastApproval {
    pub(super) time: String,
    pub(super) files: FileHashes,
    pub(super) source: Option<Vec<u8>>,
    pub(super) grants: Vec<String>,
}

/// The approvals file.
#[derive(Debug, Clone)]
pub(super) struct Store(pub(super) PathBuf);

impl Store {
    pub(super) fn contains(&self, key: &Key<'_>) -> Result<bool, Error> {
        let wanted = [
            key.tenant,
            key.skill,
            key.script.as_ref(),
            key.content,
            key.grants,
        ];
        self.read(false, |connection| {
            // The index only says which row to read. SQLite would take the values of indexed columns from the index, so a
            // damaged one could approve what its row does not say, and what `list` and `revoke` do not show. With NOT
            // INDEXED the row is found by its id, and every value comes from the table.
            let found = connection.query_row(
                "SELECT tenant, skill, script, content, grants, answer FROM approval NOT INDEXED
                 WHERE id = (SELECT id FROM approval WHERE tenant = ?1 AND skill = ?2 AND script = ?3
                 AND content = ?4 AND grants = ?5)",
                wanted,
                |row| {
                    let mut is_wanted = true;
                    for (index, wanted) in wanted.into_iter().enumerate() {
                        is_wanted &= row.get_ref(index)?.as_str()? == wanted;
                    }
                    let answer = row.get_ref(wanted.len())?.as_str()?;
                    let yes = [Answer::YesOnce, Answer::YesInSession];
                    Ok(is_wanted && yes.iter().any(|yes| yes.word() == answer))
                },
            );
            match found.optional()? {
                None => Ok(false),
                Some(true) => Ok(true),
                Some(false) => Err(corrupt()),
            }
        })
    }

    /// The newest yes to a script, for any content of its skill.
    pub(super) fn last(&self, key: &Key<'_>) -> Result<Option<LastApproval>, Error> {
        self.read(None, |connection| {
            let found = connection.query_row(
                "SELECT time, files, source, grants FROM approval
                 WHERE tenant = ?1 AND skill = ?2 AND script = ?3 ORDER BY id DESC LIMIT 1",
                params![key.tenant, key.skill, key.script.as_ref()],
                |row| {
                    let files: String = row.get(1)?;
                    let grants: String = row.get(3)?;
                    Ok(LastApproval {
                        time: row.get(0)?,
                        files: serde_json::from_str(&files).unwrap_or_default(),
                        source: row.get(2)?,
                        grants: decoded(&grants),
                    })
                },
            );
            found.optional()
        })
    }

    pub(super) fn add(
        &self,
        key: &Key<'_>,
        files: &FileHashes,
        source: Option<&[u8]>,
        answer: &str,
    ) -> Result<(), Error> {
        let files = serde_json::to_string(files).unwrap_or_default();
        let source = source.filter(|source| source.len() <= MAX_SOURCE);
        let time = jiff::Timestamp::now().to_string();
        let connection = self.open(OpenMode::Create)?;
        let added = connection.execute(
            "INSERT OR REPLACE INTO approval
             (tenant, skill, script, content, grants, files, source, answer, time)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                key.tenant,
                key.skill,
                key.script.as_ref(),
                key.content,
                key.grants,
                files,
                source,
                answer,
                time
            ],
        );
        added.map(drop).map_err(|error| self.failed(&error))
    }

    pub(super) fn list(&self) -> Result<Vec<StoredApproval>, Error> {
        self.read(Vec::new(), |connection| {
            let mut rows = connection.prepare(
                "SELECT id, tenant, skill, script, content, grants, time FROM approval ORDER BY id",
            )?;
            let rows = rows.query_map([], |row| {
                let grants: String = row.get(5)?;
                Ok(StoredApproval {
                    id: row.get(0)?,
                    tenant: row.get(1)?,
                    skill: row.get(2)?,
                    script: row.get(3)?,
                    content: row.get(4)?,
                    grants: decoded(&grants),
                    time: row.get(6)?,
                })
            })?;
            rows.collect()
        })
    }

    pub(super) fn revoke(&self, ids: &[i64]) -> Result<usize, Error> {
        if !self.exists()? {
            return Ok(0);
        }
        let connection = self.open(OpenMode::Existing)?;
        let mut revoked = 0;
        for id in ids {
            let deleted = connection.execute("DELETE FROM approval WHERE id = ?1", [id]);
            revoked += deleted.map_err(|error| self.failed(&error))?;
        }
        Ok(revoked)
    }

    /// Reads from the file; returns `nothing` if it does not exist.
    fn read<T>(
        &self,
        nothing: T,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        if !self.exists()? {
            return Ok(nothing);
        }
        let connection = self.open(OpenMode::Existing)?;
        read(&connection).map_err(|error| self.failed(&error))
    }

    /// Whether the file exists. Fails if another user could have written it.
    fn exists(&self) -> Result<bool, Error> {
        let refuse = |why: &str, hint: String| Err(self.broken(why.into(), hint));
        let meta = match fs::symlink_metadata(&self.0) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return refuse(&crate::files::plain(&error), String::new()),
        };
        let path = self.0.display();
        if !meta.is_file() {
            return refuse("it is not a regular file", format!("move `{path}` away"));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return refuse("it belongs to another user", format!("move `{path}` away"));
        }
        if meta.mode() & 0o077 != 0 {
            return refuse(
                "it is accessible to other users, who could have written it",
                format!("run `chmod 600 {path}`, then check it with `skillrun approvals list`"),
            );
        }
        Ok(true)
    }

    fn open(&self, mode: OpenMode) -> Result<Connection, Error> {
        let io = |error: io::Error| self.broken(crate::files::plain(&error), String::new());
        if mode == OpenMode::Create && !self.exists()? {
            if let Some(directory) = self.0.parent() {
                let mut builder = fs::DirBuilder::new();
                builder
                    .recursive(true)
                    .mode(0o700)
                    .create(directory)
                    .map_err(io)?;
            }
            let mut file = fs::OpenOptions::new();
            // The files that SQLite creates next to it get the same mode.
            match file.write(true).create_new(true).mode(0o600).open(&self.0) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(io(error));
                }
                _ => {}
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let failed = |error: rusqlite::Error| self.failed(&error);
        let connection = Connection::open_with_flags(&self.0, flags).map_err(failed)?;
        connection.busy_timeout(LOCK_TIMEOUT).map_err(failed)?;
        let version = || connection.pragma_query_value(None, "user_version", |row| row.get(0));
        if (0i64..VERSION).contains(&version().map_err(failed)?) {
            // Two processes may get here at the same time; the second finds the tables.
            connection
                .execute_batch("BEGIN IMMEDIATE")
                .map_err(failed)?;
            match version().map_err(failed)? {
                0 => connection.execute_batch(TABLES).map_err(failed)?,
                older @ 1..VERSION => migrate(&connection, older).map_err(failed)?,
                _ => {}
            }
            connection.execute_batch("COMMIT").map_err(failed)?;
        }
        match version().map_err(failed)? {
            VERSION => {
                check_schema(&connection).map_err(failed)?;
                Ok(connection)
            }
            newer => Err(self.broken(
                format!(
                    "it has schema version {newer}, which this version of skillrun does not support"
                ),
                "use the version of skillrun that wrote it".into(),
            )),
        }
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        let path = self.0.display();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.broken(
                "it is locked by another process".into(),
                "try again when that process has finished".into(),
            ),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.broken(
                "it is damaged".into(),
                format!(
                    "`sqlite3 {path} .recover` may recover its content; if you move the file away, every \
                     script has to be approved again"
                ),
            ),
            _ => self.broken(error.to_string(), String::new()),
        }
    }

    fn broken(&self, why: String, hint: String) -> Error {
        Error::Approvals {
            path: self.0.clone(),
            why,
            hint: (!hint.is_empty()).then_some(hint),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    Existing,
    Create,
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let store = Store(folder.path().join("approvals.db"));
        let connection = store.open(OpenMode::Create).unwrap();
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
        let key = Key {
            tenant: "",
            skill: "s",
            script: "a".into(),
            content: "c",
            grants: "[]",
        };
        assert!(store.contains(&key).unwrap());
        let file = fs::OpenOptions::new().write(true).open(&store.0).unwrap();
        let bytes = vec![0xff; page as usize];
        file.write_all_at(&bytes, u64::from((root - 1) * page))
            .unwrap();
        assert!(store.contains(&key).is_err());
    }

    /// A database with one approval, and the key of it.
    fn store_of_one(folder: &Path) -> (Store, Key<'static>) {
        let store = Store(folder.join("approvals.db"));
        let key = Key {
            tenant: "",
            skill: "s",
            script: "a".into(),
            content: "c",
            grants: "[]",
        };
        store
            .add(&key, &FileHashes::default(), None, Answer::YesOnce.word())
            .unwrap();
        (store, key)
    }

    #[test]
    fn an_index_approves_nothing_that_its_row_does_not_say() {
        let values = ["tenant-1", "skill-1", "script-1", "content-1", "grants-1"];
        for value in values {
            let folder = tempfile::tempdir().unwrap();
            let store = Store(folder.path().join("approvals.db"));
            let [tenant, skill, script, content, grants] = values;
            let key = Key {
                tenant,
                skill,
                script: script.into(),
                content,
                grants,
            };
            let yes = Answer::YesOnce.word();
            store.add(&key, &FileHashes::default(), None, yes).unwrap();
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
                grants TEXT, files TEXT, source BLOB, answer TEXT AS ('yes_once'), time TEXT);
             INSERT INTO approval (tenant, skill, script, content, grants) VALUES ('', 's', 'a', 'c', '[]')";
        for sql in [
            "UPDATE approval SET answer = 'no'",
            "UPDATE approval SET answer = ''",
            "UPDATE approval SET answer = 'YES_ONCE'",
            "ALTER TABLE approval ADD COLUMN more TEXT",
            "CREATE TRIGGER again AFTER DELETE ON approval BEGIN SELECT 1; END",
            "CREATE VIEW more AS SELECT 1",
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
        let store = Store(folder.path().join("approvals.db"));
        let connection = Connection::open(&store.0).unwrap();
        let old = TABLES
            .replace("user_version = 3", "user_version = 1")
            .replace("tenant", "world");
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
        let kept = store.list().unwrap();
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
            let key = Key {
                tenant: "",
                skill: "s",
                script: script.into(),
                content: "c",
                grants: &encoded(&grants),
            };
            store.contains(&key).unwrap()
        };
        assert!(contains("none", &[]) && contains("one", &["write:/a"]));
        assert!(!contains("two", &["read:/a", "write:/b"]));
        assert!(!contains("two", &["read:/a\nwrite:/b"]));
    }
}
