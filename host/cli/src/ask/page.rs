//! Splits long texts into pages.
//!
//! The alternate screen has no scrollback: text that does not fit would never be seen. So a long text is shown page by
//! page, and only the last page accepts a yes.

use super::sheet::{INDENT, MIN_TEXT, Window, wrap};

/// A smaller window cannot show a question, so nothing is asked in one.
const MIN_ROWS: usize = 8;
/// In a narrower window rows are wrapped again, at column 0, where they could look like ours.
const MIN_COLUMNS: usize = INDENT + MIN_TEXT + 1;

/// Whether a window cannot show a question.
pub(super) fn is_too_small(window: Window) -> bool {
    window.rows < MIN_ROWS || window.columns < MIN_COLUMNS
}

/// Splits `texts` into pages. Each text begins a new page, and the last page ends with `options`.
pub(super) fn pages(texts: &[&str], options: &str, window: Window) -> Vec<String> {
    let height = window.rows.max(MIN_ROWS);
    let options = rows(options, window);
    // The longest prompt below any page but the last.
    let more = rows(&prompt_for_next(99, 99), window).len();
    let whole = height.saturating_sub(more).max(1);
    let mut pages = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let is_last = at + 1 == texts.len();
        let rows = rows(text, window);
        let mut left = rows.as_slice();
        // In a tiny window the options need every row; their page still has one row of the text.
        let available = match is_last {
            true => height.saturating_sub(options.len()).max(1),
            false => whole,
        };
        while left.len() > available {
            let (page, rest) = left.split_at(whole.min(left.len() - 1));
            pages.push(page.to_vec());
            left = rest;
        }
        pages.push(left.to_vec());
    }
    let count = pages.len();
    let each = pages.into_iter().enumerate().map(|(at, mut page)| {
        match at + 1 == count {
            true => page.extend(options.iter().cloned()),
            false => page.extend(rows(&prompt_for_next(at + 1, count), window)),
        }
        page.join("\n")
    });
    each.collect()
}

fn prompt_for_next(page: usize, of: usize) -> String {
    format!("page {page} of {of}: Enter shows the next one, anything else is no\n> ")
}

/// The rows of a text in this window.
fn rows(text: &str, window: Window) -> Vec<String> {
    // A character in the last column wraps on some terminals only. A character takes up to two columns.
    let width = window.columns.saturating_sub(1).max(2);
    let lines = text.lines().flat_map(|line| wrap(line, width));
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        columns: 40,
        rows: 10,
    };
    const OPTIONS: &str = "[y] yes\n[n] no\n> ";

    fn lines(count: usize) -> String {
        (1..=count).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn a_text_that_fits_is_one_page() {
        assert_eq!(
            pages(&[&lines(7)], OPTIONS, WINDOW),
            [format!("{}[y] yes\n[n] no\n> ", lines(7))]
        );
    }

    #[test]
    fn no_row_is_lost_and_each_page_fits() {
        for count in 0..60 {
            for columns in [1, 8, 30, 80] {
                let window = Window { columns, ..WINDOW };
                let text = lines(count);
                let pages = pages(&["a\n", &text], OPTIONS, window);
                for page in &pages {
                    assert!(columns < 30 || page.lines().count() <= 10, "{page}");
                    assert!(page.ends_with("> "), "{page:?}");
                }
                // Without the prompt for the next page.
                let own = |page: &String| {
                    let page = page.replace('\n', "");
                    page.split("page ").next().unwrap_or_default().to_owned()
                };
                let all: String = pages.iter().map(own).collect();
                for n in 1..=count {
                    let line = format!("line {n}");
                    assert!(all.contains(&line), "{line} of {count} in {columns}: {all}");
                }
                let (last, before) = pages.split_last().unwrap();
                assert!(last.replace('\n', "").contains("[y] yes"), "{last}");
                let before = before.concat().replace('\n', "");
                assert!(!before.contains("[y]"), "{before}");
            }
        }
    }

    #[test]
    fn each_row_is_stored_once() {
        let text = lines(5000);
        let pages = pages(&[&text], OPTIONS, WINDOW);
        let held: usize = pages.iter().map(String::len).sum();
        let added: usize = (1..=pages.len())
            .map(|at| prompt_for_next(at, pages.len()).len() + 4)
            .sum();
        assert!(pages.len() > 500);
        assert!(held <= text.len() + added, "{held} for {}", text.len());
    }

    #[test]
    fn pages_are_numbered_and_say_how_to_continue() {
        let pages = pages(&["a difference\n", &lines(9)], OPTIONS, WINDOW);
        assert_eq!(
            pages,
            [
                "a difference\npage 1 of 3: Enter shows the next one, \nanything else is no\n> "
                    .to_owned(),
                format!(
                    "{}page 2 of 3: Enter shows the next one, \nanything else is no\n> ",
                    lines(7)
                ),
                "line 8\nline 9\n[y] yes\n[n] no\n> ".to_owned(),
            ]
        );
    }
}
