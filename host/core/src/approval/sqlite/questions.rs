//! Open questions in the approvals file.

use super::schema::corrupt;
use super::{OpenMode, SqliteStore, approver, millis, time};
use crate::approval::Scope;
use crate::approval::store::{AnswerState, GivenAnswer, OpenQuestion, QuestionStore};
use crate::error::Error;
use rusqlite::{OptionalExtension as _, params};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long a question stays in the file after it expired. The process that asked it removes it sooner.
const KEEP_EXPIRED: Duration = Duration::from_secs(60 * 60);

impl QuestionStore for SqliteStore {
    fn open(&self, question: &OpenQuestion) -> Result<(), Error> {
        let left_behind = question.asked.checked_sub(KEEP_EXPIRED);
        self.write(OpenMode::Create, |connection| {
            connection.execute(
                "DELETE FROM question WHERE expires <= ?1",
                [millis(left_behind.unwrap_or(SystemTime::UNIX_EPOCH))],
            )?;
            connection.execute(
                "INSERT INTO question (id, tenant, asked, expires, text) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    question.id,
                    question.tenant,
                    millis(question.asked),
                    millis(question.expires),
                    question.text,
                ],
            )
        })
        .map(drop)
    }

    fn questions(&self, scope: Scope<'_>, now: SystemTime) -> Result<Vec<OpenQuestion>, Error> {
        self.read(Vec::new(), |connection| {
            let mut rows = connection.prepare(
                "SELECT id, tenant, text, asked, expires FROM question NOT INDEXED
                 WHERE (?1 IS NULL OR tenant = ?1) AND answer IS NULL AND expires > ?2 ORDER BY asked",
            )?;
            let rows = rows.query_map(params![scope.tenant(), millis(now)], |row| {
                Ok(OpenQuestion {
                    id: row.get(0)?,
                    tenant: row.get(1)?,
                    text: row.get(2)?,
                    asked: time(row.get(3)?),
                    expires: time(row.get(4)?),
                })
            })?;
            rows.collect()
        })
    }

    fn answer(
        &self,
        scope: Scope<'_>,
        id: &str,
        given: &GivenAnswer,
        now: SystemTime,
    ) -> Result<AnswerState, Error> {
        if !self.exists()? {
            return Ok(AnswerState::Unknown);
        }
        let (tenant, now) = (scope.tenant(), millis(now));
        self.write(OpenMode::Existing, |connection| {
            let changed = connection.execute(
                "UPDATE question NOT INDEXED SET answer = ?3, approver = ?4, channel = ?5
                 WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2) AND answer IS NULL AND expires > ?6",
                params![
                    id,
                    tenant,
                    given.answer.word(),
                    given.approver.id(),
                    given.approver.channel(),
                    now
                ],
            )?;
            if changed == 1 {
                return Ok(AnswerState::Recorded);
            }
            let found = connection.query_row(
                "SELECT answer IS NOT NULL FROM question NOT INDEXED
                 WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2)",
                params![id, tenant],
                |row| row.get(0),
            );
            Ok(match found.optional()? {
                None => AnswerState::Unknown,
                Some(true) => AnswerState::Answered,
                Some(false) => AnswerState::Expired,
            })
        })
    }

    fn answer_to(&self, id: &str) -> Result<Option<GivenAnswer>, Error> {
        self.read(None, |connection| {
            let found = connection.query_row(
                "SELECT answer, approver, channel FROM question NOT INDEXED
                 WHERE id = ?1 AND answer IS NOT NULL",
                [id],
                |row| {
                    let answer: String = row.get(0)?;
                    let answer = answer.parse().map_err(|_| corrupt())?;
                    let approver = approver(row, 1)?.ok_or_else(corrupt)?;
                    Ok(GivenAnswer { answer, approver })
                },
            );
            found.optional()
        })
    }

    fn reopen(&self, id: &str) -> Result<(), Error> {
        self.change(
            "UPDATE question SET answer = NULL, approver = NULL, channel = NULL WHERE id = ?1",
            [id],
        )
        .map(drop)
    }

    fn close(&self, id: &str) -> Result<(), Error> {
        self.change("DELETE FROM question WHERE id = ?1", [id])
            .map(drop)
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.0)
    }
}
