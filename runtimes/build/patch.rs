//! Applies a unified diff to one file.
//!
//! Stricter than `patch`: every hunk must apply at the line it names, without an offset and without fuzz, so that a
//! change is never applied to a version of the file that it was not made for. The program `patch` is not used because
//! not every build machine has it.

/// Applies the diffs in `patch`, in order. Text before a `---` line is a comment.
pub(crate) fn apply(source: &str, patch: &str) -> Result<String, String> {
    let mut text = source.to_owned();
    let mut lines = patch.split_inclusive('\n').enumerate().peekable();
    let mut applied = false;
    while let Some((at, line)) = lines.next() {
        if !line.starts_with("--- ") {
            continue;
        }
        if !lines
            .next()
            .is_some_and(|(_, line)| line.starts_with("+++ "))
        {
            return Err(format!("line {}: `---` without `+++`", at + 1));
        }
        let mut hunks = Vec::new();
        while let Some((at, header)) = lines.next_if(|(_, line)| line.starts_with("@@ ")) {
            let mut hunk =
                Hunk::new(header).ok_or_else(|| format!("line {}: not a hunk", at + 1))?;
            while hunk.is_incomplete() {
                let line = lines.next().map(|(_, line)| line);
                hunk.take(line)
                    .map_err(|what| format!("the hunk at line {}: {what}", at + 1))?;
            }
            hunks.push((at + 1, hunk));
        }
        text = patched(&text, &hunks)?;
        applied |= !hunks.is_empty();
    }
    if applied {
        Ok(text)
    } else {
        Err("it contains no hunk".into())
    }
}

/// One change: the lines from `start` on, and their replacement.
struct Hunk<'a> {
    /// Counted from 0.
    start: usize,
    missing_old: usize,
    missing_new: usize,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

impl<'a> Hunk<'a> {
    /// Reads `@@ -start,count +start,count @@`.
    fn new(header: &str) -> Option<Self> {
        let mut words = header.split_ascii_whitespace().skip(1);
        let (start, missing_old) = range(words.next()?.strip_prefix('-')?)?;
        let (_, missing_new) = range(words.next()?.strip_prefix('+')?)?;
        // If nothing is replaced, the lines are inserted after the named one.
        let start = if missing_old == 0 {
            start
        } else {
            start.checked_sub(1)?
        };
        (words.next()? == "@@").then_some(Self {
            start,
            missing_old,
            missing_new,
            old: Vec::new(),
            new: Vec::new(),
        })
    }

    fn is_incomplete(&self) -> bool {
        self.missing_old + self.missing_new > 0
    }

    fn take(&mut self, line: Option<&'a str>) -> Result<(), String> {
        let (sign, text) = line
            .and_then(|line| line.split_at_checked(1))
            .ok_or("it ends early")?;
        let (old, new) = match sign {
            " " => (true, true),
            "-" => (true, false),
            "+" => (false, true),
            _ => {
                return Err(format!(
                    "`{}` is not a line of a diff",
                    line.unwrap_or("").trim_end()
                ));
            }
        };
        let miscounted = "its line counts differ from its header";
        if old {
            self.missing_old = self.missing_old.checked_sub(1).ok_or(miscounted)?;
            self.old.push(text);
        }
        if new {
            self.missing_new = self.missing_new.checked_sub(1).ok_or(miscounted)?;
            self.new.push(text);
        }
        Ok(())
    }
}

/// Reads `start,count`, or `start` alone for one line.
fn range(text: &str) -> Option<(usize, usize)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

fn patched(source: &str, hunks: &[(usize, Hunk<'_>)]) -> Result<String, String> {
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let mut text = String::with_capacity(source.len() + source.len() / 64);
    let mut done = 0;
    for (at, hunk) in hunks {
        let end = hunk.start + hunk.old.len();
        if hunk.start < done || lines.get(hunk.start..end) != Some(&hunk.old[..]) {
            return Err(format!(
                "the hunk at line {at} does not apply at line {} of the file",
                hunk.start + 1
            ));
        }
        text.extend(lines[done..hunk.start].iter().chain(&hunk.new).copied());
        done = end;
    }
    text.extend(lines[done..].iter().copied());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::apply;

    const SOURCE: &str = "one\ntwo\nthree\nfour\nfive\n";
    const PATCH: &str = "Why the second line changes.\n\n\
        --- a/file\n+++ b/file\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n@@ -5 +6 @@\n-five\n+5\n\n\
        Why the first goes, in what the diff before made.\n\n\
        --- a/file\n+++ b/file\n@@ -1,2 +1 @@\n-one\n 2\n";

    #[test]
    fn diffs_apply_one_after_the_other() {
        assert_eq!(
            apply(SOURCE, PATCH).as_deref(),
            Ok("2\n2.5\nthree\nfour\n5\n")
        );
    }

    #[test]
    fn a_hunk_applies_only_at_its_own_line() {
        let moved = format!("zero\n{SOURCE}");
        assert_eq!(
            apply(&moved, PATCH),
            Err("the hunk at line 5 does not apply at line 1 of the file".into())
        );
        let other = SOURCE.replace("three", "3");
        assert_eq!(
            apply(&other, PATCH),
            Err("the hunk at line 5 does not apply at line 1 of the file".into())
        );
    }

    #[test]
    fn an_invalid_diff_is_refused() {
        for (patch, message) in [
            ("only words\n", "it contains no hunk"),
            ("--- a/file\n@@ -1 +1 @@\n", "line 1: `---` without `+++`"),
            ("--- a\n+++ b\n@@ one @@\n", "line 3: not a hunk"),
            (
                "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n",
                "the hunk at line 3: it ends early",
            ),
            (
                "--- a\n+++ b\n@@ -1,1 +1,2 @@\n-one\n-two\n",
                "the hunk at line 3: its line counts differ from its header",
            ),
            (
                "--- a\n+++ b\n@@ -1 +1 @@\none\n",
                "the hunk at line 3: `one` is not a line of a diff",
            ),
        ] {
            assert_eq!(apply(SOURCE, patch), Err(message.into()), "{patch}");
        }
    }
}
