//! The tables of the approvals file, and how earlier versions become them.
//!
//! Schema version 1 joined grants with newlines, and a path may contain one, so two lines may be one grant. From such a
//! file only the approvals with at most one line are kept; the others have to be approved again.

use super::encoded;
use rusqlite::{Connection, params};

/// The schema version of the tables below.
pub(super) const VERSION: i64 = 4;
pub(super) const APPROVALS: &str = "
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
        approver TEXT,
        channel TEXT,
        UNIQUE (tenant, skill, script, content, grants)
    ) STRICT;
";
/// `text` is last: it may be long, and the columns before it are read without it.
pub(super) const SESSIONS_AND_QUESTIONS: &str = "
    CREATE TABLE session (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        tenant TEXT NOT NULL,
        session TEXT NOT NULL,
        skill TEXT NOT NULL,
        content TEXT NOT NULL,
        grants TEXT NOT NULL,
        time TEXT NOT NULL,
        expires INTEGER NOT NULL,
        approver TEXT NOT NULL,
        channel TEXT NOT NULL,
        UNIQUE (tenant, session, skill, content, grants)
    ) STRICT;
    CREATE TABLE question (
        id TEXT PRIMARY KEY NOT NULL,
        tenant TEXT NOT NULL,
        asked INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        answer TEXT,
        approver TEXT,
        channel TEXT,
        text TEXT NOT NULL
    ) STRICT;
    PRAGMA user_version = 4;
";

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

pub(super) fn corrupt() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
        None,
    )
}

/// The tables and their columns, with what SQLite reports about them: name, type, and whether it is hidden or generated.
const COLUMNS: [(&str, &str); 3] = [
    (
        "approval",
        "id INTEGER 0,tenant TEXT 0,skill TEXT 0,script TEXT 0,content TEXT 0,grants TEXT 0,files TEXT 0,\
         source BLOB 0,answer TEXT 0,time TEXT 0,approver TEXT 0,channel TEXT 0",
    ),
    (
        "session",
        "id INTEGER 0,tenant TEXT 0,session TEXT 0,skill TEXT 0,content TEXT 0,grants TEXT 0,time TEXT 0,\
         expires INTEGER 0,approver TEXT 0,channel TEXT 0",
    ),
    (
        "question",
        "id TEXT 0,tenant TEXT 0,asked INTEGER 0,expires INTEGER 0,answer TEXT 0,approver TEXT 0,channel TEXT 0,\
         text TEXT 0",
    ),
];

/// Fails unless approvals and answers are rows of tables with the columns above. A view, a virtual table, a generated
/// column or a trigger computes approvals that nobody gave.
pub(super) fn check_schema(connection: &Connection) -> rusqlite::Result<()> {
    let others = "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')";
    let others: i64 = connection.query_row(others, [], |row| row.get(0))?;
    if others != 0 {
        return Err(corrupt());
    }
    for (table, expected) in COLUMNS {
        let (tables, columns): (i64, Option<String>) = connection.query_row(
            "SELECT
                (SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND type = 'table' AND rootpage > 0),
                (SELECT group_concat(name || ' ' || type || ' ' || hidden, ',') FROM pragma_table_xinfo(?1))",
            [table],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        if (tables, columns.as_deref()) != (1, Some(expected)) {
            return Err(corrupt());
        }
    }
    Ok(())
}

/// Migrates an older schema version to the current one.
pub(super) fn migrate(connection: &Connection, from: i64) -> rusqlite::Result<()> {
    check_integrity(connection)?;
    if from == 1 {
        migrate_v1(connection)?;
    }
    if from < 3 {
        connection.execute_batch("ALTER TABLE approval RENAME COLUMN world TO tenant")?;
    }
    // Nobody recorded who gave the approvals that are already there.
    connection.execute_batch(
        "ALTER TABLE approval ADD COLUMN approver TEXT; ALTER TABLE approval ADD COLUMN channel TEXT",
    )?;
    connection.execute_batch(SESSIONS_AND_QUESTIONS)
}
