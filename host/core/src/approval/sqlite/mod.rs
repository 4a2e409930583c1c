//! The approvals that outlive a process: an SQLite file that only its owner can access.
//!
//! It is opened for each question and each answer: a person answers in seconds, and a file that was moved
//! or repaired in the meantime is noticed. A file that cannot be read is never replaced or repaired here:
//! approvals are a person's decisions, and losing them silently is as wrong as inventing them.

mod questions;
mod schema;

use super::store::{
    ApprovalKey, ApprovalStore, LastApproval, NewApproval, SessionApproval, StoredApproval,
};
use super::{Answer, Approver, Scope};
use crate::error::Error;
use crate::text::shell_path;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};
use schema::{APPROVALS, SESSIONS_AND_QUESTIONS, VERSION, check_schema, corrupt, migrate};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long to wait for another process that writes. Writing takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Grants as one text. It is a JSON array, so different grants have different texts.
fn encoded(grants: &[String]) -> String {
    serde_json::Value::from(grants).to_string()
}

fn decoded(grants: &str) -> Vec<String> {
    serde_json::from_str(grants).unwrap_or_default()
}

/// The approvals file.
#[derive(Debug, Clone)]
pub(super) struct SqliteStore(PathBuf);

impl ApprovalStore for SqliteStore {
    fn contains(&self, key: &ApprovalKey<'_>) -> Result<bool, Error> {
        let grants = encoded(key.grants);
        let wanted = [key.tenant, key.skill, key.script, key.content, &grants];
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

    fn last(&self, tenant: &str, skill: &str, script: &str) -> Result<Option<LastApproval>, Error> {
        self.read(None, |connection| {
            let found = connection.query_row(
                "SELECT time, files, source, grants FROM approval
                 WHERE tenant = ?1 AND skill = ?2 AND script = ?3 ORDER BY id DESC LIMIT 1",
                params![tenant, skill, script],
                |row| {
                    let grants: String = row.get(3)?;
                    Ok(LastApproval {
                        time: row.get(0)?,
                        files: row.get(1)?,
                        source: row.get(2)?,
                        grants: decoded(&grants),
                    })
                },
            );
            found.optional()
        })
    }

    fn add(
        &self,
        approvals: &[NewApproval<'_>],
        session: Option<&SessionApproval>,
    ) -> Result<(), Error> {
        self.write(OpenMode::Create, |connection| {
            for approval in approvals {
                add_approval(connection, approval)?;
            }
            session.map_or(Ok(()), |session| add_session(connection, session))
        })
    }

    fn list(&self, scope: Scope<'_>) -> Result<Vec<StoredApproval>, Error> {
        self.read(Vec::new(), |connection| {
            let mut rows = connection.prepare(
                "SELECT id, tenant, skill, script, content, grants, time, approver, channel
                 FROM approval WHERE ?1 IS NULL OR tenant = ?1 ORDER BY id",
            )?;
            let rows = rows.query_map([scope.tenant()], |row| {
                let grants: String = row.get(5)?;
                Ok(StoredApproval {
                    id: row.get(0)?,
                    tenant: row.get(1)?,
                    skill: row.get(2)?,
                    script: row.get(3)?,
                    content: row.get(4)?,
                    grants: decoded(&grants),
                    time: row.get(6)?,
                    approver: approver(row, 7)?,
                })
            })?;
            rows.collect()
        })
    }

    fn revoke(&self, scope: Scope<'_>, ids: &[i64]) -> Result<usize, Error> {
        if !self.exists()? {
            return Ok(0);
        }
        self.write(OpenMode::Existing, |connection| {
            let mut revoked = 0;
            for id in ids {
                revoked += connection.execute(
                    "DELETE FROM approval WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2)",
                    params![id, scope.tenant()],
                )?;
            }
            Ok(revoked)
        })
    }

    fn session(
        &self,
        tenant: &str,
        session: &str,
        skill: &str,
    ) -> Result<Vec<SessionApproval>, Error> {
        // As in `contains`, every value comes from the table.
        let all = self.read(Vec::new(), |connection| {
            let mut rows = connection.prepare(
                "SELECT tenant, session, skill, content, grants, time, expires, approver, channel
                 FROM session NOT INDEXED WHERE id IN
                 (SELECT id FROM session WHERE tenant = ?1 AND session = ?2 AND skill = ?3)",
            )?;
            let rows = rows.query_map([tenant, session, skill], session_approval)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let is_wanted = |one: &SessionApproval| {
            one.tenant == tenant && one.session == session && one.skill == skill
        };
        match all.iter().all(is_wanted) {
            true => Ok(all),
            false => Err(self.failed(&corrupt())),
        }
    }

    fn sessions(&self, scope: Scope<'_>) -> Result<Vec<SessionApproval>, Error> {
        self.read(Vec::new(), |connection| {
            let mut rows = connection.prepare(
                "SELECT tenant, session, skill, content, grants, time, expires, approver, channel
                 FROM session WHERE ?1 IS NULL OR tenant = ?1 ORDER BY id",
            )?;
            let rows = rows.query_map([scope.tenant()], session_approval)?;
            rows.collect()
        })
    }

    fn extend_session(
        &self,
        tenant: &str,
        session: &str,
        skill: &str,
        now: SystemTime,
        expires: SystemTime,
    ) -> Result<(), Error> {
        self.change(
            "UPDATE session SET expires = ?5
             WHERE tenant = ?1 AND session = ?2 AND skill = ?3 AND expires > ?4",
            params![tenant, session, skill, millis(now), millis(expires)],
        )
        .map(drop)
    }

    fn end_session(
        &self,
        tenant: &str,
        session: &str,
        skill: Option<&str>,
    ) -> Result<usize, Error> {
        self.change(
            "DELETE FROM session WHERE tenant = ?1 AND session = ?2 AND (?3 IS NULL OR skill = ?3)",
            params![tenant, session, skill],
        )
    }

    fn remove_expired_sessions(&self, now: SystemTime) -> Result<(), Error> {
        self.change("DELETE FROM session WHERE expires <= ?1", [millis(now)])
            .map(drop)
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.0)
    }
}

/// The approver in two columns, from this one on.
fn approver(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Option<Approver>> {
    let (id, channel): (Option<String>, Option<String>) = (row.get(at)?, row.get(at + 1)?);
    let both = id.zip(channel);
    Ok(both.map(|(id, channel)| Approver::new(&id, &channel)))
}

fn add_approval(connection: &Connection, approval: &NewApproval<'_>) -> rusqlite::Result<()> {
    let NewApproval { key, approver, .. } = approval;
    let added = connection.execute(
        "INSERT OR REPLACE INTO approval
         (tenant, skill, script, content, grants, files, source, answer, time, approver, channel)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            key.tenant,
            key.skill,
            key.script,
            key.content,
            encoded(key.grants),
            approval.files,
            approval.source,
            approval.answer.word(),
            approval.time,
            approver.id(),
            approver.channel(),
        ],
    );
    added.map(drop)
}

fn add_session(connection: &Connection, approval: &SessionApproval) -> rusqlite::Result<()> {
    connection.execute(
        "DELETE FROM session WHERE tenant = ?1 AND session = ?2 AND skill = ?3 AND content != ?4",
        params![
            approval.tenant,
            approval.session,
            approval.skill,
            approval.content
        ],
    )?;
    connection.execute(
        "INSERT OR REPLACE INTO session
         (tenant, session, skill, content, grants, time, expires, approver, channel)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            approval.tenant,
            approval.session,
            approval.skill,
            approval.content,
            encoded(&approval.grants),
            approval.time,
            millis(approval.expires),
            approval.approver.id(),
            approval.approver.channel(),
        ],
    )?;
    Ok(())
}

fn session_approval(row: &rusqlite::Row<'_>) -> rusqlite::Result<SessionApproval> {
    let grants: String = row.get(4)?;
    Ok(SessionApproval {
        tenant: row.get(0)?,
        session: row.get(1)?,
        skill: row.get(2)?,
        content: row.get(3)?,
        // Grants that cannot be read cover nothing.
        grants: decoded(&grants),
        time: row.get(5)?,
        expires: time(row.get(6)?),
        approver: approver(row, 7)?.ok_or_else(corrupt)?,
    })
}

/// A time as milliseconds since 1970.
fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// A number that no time has is long ago.
fn time(millis: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    let time = SystemTime::UNIX_EPOCH.checked_add(since);
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

impl SqliteStore {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Changes the rows of an existing file with one statement. Returns how many there were.
    fn change(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize, Error> {
        if !self.exists()? {
            return Ok(0);
        }
        let connection = self.connect(OpenMode::Existing)?;
        let changed = connection.execute(sql, values);
        changed.map_err(|error| self.failed(&error))
    }

    /// Changes the file in one transaction.
    fn write<T>(
        &self,
        mode: OpenMode,
        write: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let mut connection = self.connect(mode)?;
        // Takes the lock first: two processes that read before they write could both have to give up.
        let behavior = rusqlite::TransactionBehavior::Immediate;
        let written = connection
            .transaction_with_behavior(behavior)
            .and_then(|transaction| {
                let written = write(&transaction)?;
                transaction.commit()?;
                Ok(written)
            });
        written.map_err(|error| self.failed(&error))
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
        let connection = self.connect(OpenMode::Existing)?;
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
        let move_away = || "move the file away".to_owned();
        if !meta.is_file() {
            return refuse("it is not a regular file", move_away());
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return refuse("it belongs to another user", move_away());
        }
        if meta.mode() & 0o077 != 0 {
            let change = match shell_path(&self.0) {
                Some(path) => format!("run `chmod 600 {path}`"),
                None => "make it accessible only to yourself".to_owned(),
            };
            return refuse(
                "it is accessible to other users, who could have written it",
                format!("{change}, then check it with `skillrun approvals list`"),
            );
        }
        Ok(true)
    }

    fn connect(&self, mode: OpenMode) -> Result<Connection, Error> {
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
        // SQLite would refuse a link anywhere in the path. Only the file itself must not be one.
        let folder = self
            .0
            .parent()
            .and_then(|folder| folder.canonicalize().ok());
        let path = match (folder, self.0.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => self.0.clone(),
        };
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(LOCK_TIMEOUT).map_err(failed)?;
        // A closed question leaves no arguments behind in the file.
        connection
            .pragma_update(None, "secure_delete", true)
            .map_err(failed)?;
        // The journal is emptied and stays. A new one for every change would end each native run whose workspace is
        // around it: a protected path that appears counts as made by the script.
        connection
            .pragma_update(None, "journal_mode", "truncate")
            .map_err(failed)?;
        let version = || connection.pragma_query_value(None, "user_version", |row| row.get(0));
        if (0i64..VERSION).contains(&version().map_err(failed)?) {
            // Two processes may get here at the same time; the second finds the tables.
            connection
                .execute_batch("BEGIN IMMEDIATE")
                .map_err(failed)?;
            match version().map_err(failed)? {
                0 => {
                    connection.execute_batch(APPROVALS).map_err(failed)?;
                    let others = connection.execute_batch(SESSIONS_AND_QUESTIONS);
                    others.map_err(failed)?;
                }
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
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.broken(
                "it is locked by another process".into(),
                "try again when that process has finished".into(),
            ),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.broken(
                "it is damaged".into(),
                {
                    let recover = match shell_path(&self.0) {
                        Some(path) => format!("`sqlite3 {path} .recover`"),
                        None => "the command `.recover` of `sqlite3`".to_owned(),
                    };
                    format!(
                        "{recover} may recover its content; if you move the file away, every script has to be \
                         approved again"
                    )
                },
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
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    Existing,
    Create,
}

#[cfg(test)]
mod tests;
