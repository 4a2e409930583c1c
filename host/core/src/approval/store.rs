//! The approvals that outlive a process: an SQLite file for its owner alone.
//!
//! It is opened for each question and each answer: a person answers in seconds, and a file that was moved
//! or repaired meanwhile is noticed. What cannot be read is never replaced or mended here: approvals are
//! somebody's word, and losing them silently is as wrong as inventing them.
//!
//! In layout 1 grants were joined by newlines, and a path may hold one: two lines may be one grant. Of such a file only
//! the approvals with at most one line are kept; the others are asked for again.

use super::content::Content;
use crate::error::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};
use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long another process that writes is waited for. Writing takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// The source of a script is kept to show what changed; a longer one is compared by its hash alone.
const MAX_SOURCE: usize = 1024 * 1024;
/// The layout of the tables below.
const VERSION: i64 = 2;
const TABLES: &str = "
    CREATE TABLE approval (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        world TEXT NOT NULL,
        skill TEXT NOT NULL,
        script TEXT NOT NULL,
        content TEXT NOT NULL,
        grants TEXT NOT NULL,
        files TEXT NOT NULL,
        source BLOB,
        answer TEXT NOT NULL,
        time TEXT NOT NULL,
        UNIQUE (world, skill, script, content, grants)
    ) STRICT;
    PRAGMA user_version = 2;
";

/// Grants as one text: a JSON array, which no other grants have.
pub(super) fn encoded(grants: &[String]) -> String {
    serde_json::Value::from(grants).to_string()
}

fn decoded(grants: &str) -> Vec<String> {
    serde_json::from_str(grants).unwrap_or_default()
}

/// The grants of a row in layout 1, if they can only be these.
fn decoded_1(grants: &str) -> Option<Vec<String>> {
    match grants {
        "" => Some(Vec::new()),
        // A newline, or what stood for bytes that are not UTF-8.
        _ if grants.contains(['\n', '\r', char::REPLACEMENT_CHARACTER]) => None,
        one => Some(vec![one.to_owned()]),
    }
}

/// Turns layout 1 into layout 2.
fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let mut rows = connection.prepare("SELECT id, grants FROM approval")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
    for (id, grants) in rows {
        match decoded_1(&grants) {
            Some(grants) => connection.execute(
                "UPDATE approval SET grants = ?2 WHERE id = ?1",
                params![id, encoded(&grants)],
            )?,
            None => connection.execute("DELETE FROM approval WHERE id = ?1", [id])?,
        };
    }
    connection.pragma_update(None, "user_version", VERSION)
}

/// A yes that was given to one script with one content and some grants.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Approved {
    /// Its number, by which it is revoked.
    pub id: i64,
    /// The tenant.
    pub world: String,
    /// The skill's folder.
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

/// What a yes is remembered by.
pub(super) struct Key<'a> {
    pub(super) world: &'a str,
    pub(super) skill: &'a str,
    pub(super) script: Cow<'a, str>,
    pub(super) content: &'a str,
    /// Sorted and [`encoded`].
    pub(super) grants: &'a str,
}

/// What the last yes to a script was given to.
pub(super) struct Last {
    pub(super) time: String,
    pub(super) files: Content,
    pub(super) source: Option<Vec<u8>>,
    pub(super) grants: Vec<String>,
}

/// The file.
#[derive(Debug, Clone)]
pub(super) struct Store(pub(super) PathBuf);

impl Store {
    pub(super) fn holds(&self, key: &Key<'_>) -> Result<bool, Error> {
        self.read(false, |connection| {
            let found = connection.query_row(
                "SELECT 1 FROM approval WHERE world = ?1 AND skill = ?2 AND script = ?3
                 AND content = ?4 AND grants = ?5",
                params![
                    key.world,
                    key.skill,
                    key.script.as_ref(),
                    key.content,
                    key.grants
                ],
                |_| Ok(()),
            );
            found.optional().map(|found| found.is_some())
        })
    }

    /// The newest yes to a script, whatever it held then.
    pub(super) fn last(&self, key: &Key<'_>) -> Result<Option<Last>, Error> {
        self.read(None, |connection| {
            let found = connection.query_row(
                "SELECT time, files, source, grants FROM approval
                 WHERE world = ?1 AND skill = ?2 AND script = ?3 ORDER BY id DESC LIMIT 1",
                params![key.world, key.skill, key.script.as_ref()],
                |row| {
                    let files: String = row.get(1)?;
                    let grants: String = row.get(3)?;
                    Ok(Last {
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
        files: &Content,
        source: Option<&[u8]>,
        answer: &str,
    ) -> Result<(), Error> {
        let files = serde_json::to_string(files).unwrap_or_default();
        let source = source.filter(|source| source.len() <= MAX_SOURCE);
        let time = jiff::Timestamp::now().to_string();
        let connection = self.open(Open::Make)?;
        let added = connection.execute(
            "INSERT OR REPLACE INTO approval
             (world, skill, script, content, grants, files, source, answer, time)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                key.world,
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

    pub(super) fn list(&self) -> Result<Vec<Approved>, Error> {
        self.read(Vec::new(), |connection| {
            let mut rows = connection.prepare(
                "SELECT id, world, skill, script, content, grants, time FROM approval ORDER BY id",
            )?;
            let rows = rows.query_map([], |row| {
                let grants: String = row.get(5)?;
                Ok(Approved {
                    id: row.get(0)?,
                    world: row.get(1)?,
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
        if !self.is_there()? {
            return Ok(0);
        }
        let connection = self.open(Open::Existing)?;
        let mut revoked = 0;
        for id in ids {
            let deleted = connection.execute("DELETE FROM approval WHERE id = ?1", [id]);
            revoked += deleted.map_err(|error| self.failed(&error))?;
        }
        Ok(revoked)
    }

    /// Reads, or says what there is where nothing was ever approved.
    fn read<T>(
        &self,
        nothing: T,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        if !self.is_there()? {
            return Ok(nothing);
        }
        let connection = self.open(Open::Existing)?;
        read(&connection).map_err(|error| self.failed(&error))
    }

    /// Whether the file is there, and one that only its owner can have written.
    fn is_there(&self) -> Result<bool, Error> {
        let refuse = |why: &str, hint: String| Err(self.broken(why.into(), hint));
        let meta = match fs::symlink_metadata(&self.0) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return refuse(&crate::files::plain(&error), String::new()),
        };
        let path = self.0.display();
        if !meta.is_file() {
            return refuse("is not a file", format!("move `{path}` away"));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return refuse("belongs to another user", format!("move `{path}` away"));
        }
        if meta.mode() & 0o077 != 0 {
            return refuse(
                "is open to other users, who may have written it",
                format!("look at it with `skillrun approvals list` after chmod 600 `{path}`"),
            );
        }
        Ok(true)
    }

    fn open(&self, how: Open) -> Result<Connection, Error> {
        let io = |error: io::Error| self.broken(crate::files::plain(&error), String::new());
        if how == Open::Make && !self.is_there()? {
            if let Some(folder) = self.0.parent() {
                let mut make = fs::DirBuilder::new();
                make.recursive(true)
                    .mode(0o700)
                    .create(folder)
                    .map_err(io)?;
            }
            let mut file = fs::OpenOptions::new();
            // What SQLite makes beside it takes its rights from it.
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
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        let version = || connection.pragma_query_value(None, "user_version", |row| row.get(0));
        if (0i64..VERSION).contains(&version().map_err(failed)?) {
            // Two processes may come here at once; the second finds the tables.
            connection
                .execute_batch("BEGIN IMMEDIATE")
                .map_err(failed)?;
            match version().map_err(failed)? {
                0 => connection.execute_batch(TABLES).map_err(failed)?,
                1 => migrate(&connection).map_err(failed)?,
                _ => {}
            }
            connection.execute_batch("COMMIT").map_err(failed)?;
        }
        match version().map_err(failed)? {
            VERSION => Ok(connection),
            newer => Err(self.broken(
                format!("has the layout {newer}, which this version does not know"),
                "use the skillrun that wrote it".into(),
            )),
        }
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        let path = self.0.display();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.broken(
                "is held by another process".into(),
                "find out which one holds it, and try again".into(),
            ),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.broken(
                "is damaged".into(),
                format!(
                    "`sqlite3 {path} .recover` may save what is in it; moved away, every script is asked \
                     for again"
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
enum Open {
    Existing,
    Make,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lists_of_grants_have_one_text() {
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
    fn what_can_only_mean_one_thing_is_kept_from_an_older_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store(folder.path().join("approvals.db"));
        let connection = Connection::open(&store.0).unwrap();
        let old = TABLES.replace("user_version = 2", "user_version = 1");
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
        let holds = |script: &'static str, grants: &[&str]| {
            let grants: Vec<String> = grants.iter().map(|&grant| grant.to_owned()).collect();
            let key = Key {
                world: "",
                skill: "s",
                script: script.into(),
                content: "c",
                grants: &encoded(&grants),
            };
            store.holds(&key).unwrap()
        };
        assert!(holds("none", &[]) && holds("one", &["write:/a"]));
        assert!(!holds("two", &["read:/a", "write:/b"]));
        assert!(!holds("two", &["read:/a\nwrite:/b"]));
    }
}
