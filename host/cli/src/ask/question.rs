//! The text of a question.
//!
//! The grants come last, directly above the possible answers. No text of a skill or a model can push them off the
//! screen or look like a line of ours.

use super::sheet::{self, Sheet, Window, quoted, shown, shown_up_to};
use skillrun::approval::{AskedScript, Change};
use skillrun::{Grant, Question};
use std::time::Duration;

/// Characters shown of each name in a list.
const MAX_NAME: usize = 60;
/// How long two scripts are compared. After that, the diff is correct, but longer than it could be.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);
/// Lines shown of a diff.
const MAX_LINES: usize = 200;
/// Bytes shown of all arguments together.
const MAX_ARGUMENTS: usize = 64 * 1024;

/// How much is shown of texts that an author could make long on purpose.
#[derive(Debug, Clone, Copy)]
struct Budget {
    /// Entries of each list.
    items: usize,
    scripts: usize,
    /// Characters of each description and argument.
    characters: usize,
}

/// From the largest to the smallest. We take the first with which the whole question fits on the screen.
const BUDGETS: [Budget; 7] = [
    budget(20, 20, sheet::MAX_TEXT),
    budget(10, 20, 160),
    budget(5, 20, 100),
    budget(3, 20, 60),
    budget(1, 20, 40),
    budget(1, 10, 40),
    budget(1, 5, 40),
];

const fn budget(items: usize, scripts: usize, characters: usize) -> Budget {
    Budget {
        items,
        scripts,
        characters,
    }
}

/// A rendered question and its possible answers.
pub(super) struct QuestionText {
    pub(super) text: String,
    pub(super) options: String,
}

impl QuestionText {
    pub(super) fn offers(&self, option: &str) -> bool {
        self.options.contains(option)
    }
}

/// Renders a question with the largest budget that fits into the window.
pub(super) fn render(question: &Question, window: Window) -> QuestionText {
    let mut rendered = None;
    for budget in BUDGETS {
        let (sheet, cut) = render_within(question, window, budget);
        let options = options(question, cut);
        let rows = sheet.rows + window.rows_of(&options);
        rendered = Some(QuestionText {
            text: sheet.text,
            options,
        });
        if rows <= window.rows {
            break;
        }
    }
    rendered.unwrap_or_else(|| QuestionText {
        text: String::new(),
        options: String::new(),
    })
}

/// What was left out of a question.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    arguments: bool,
    scripts: bool,
}

fn render_within(question: &Question, window: Window, budget: Budget) -> (Sheet, Cut) {
    let mut sheet = Sheet::new(window);
    let mut cut = Cut::default();
    let is_command = question.skill.is_empty();
    let skill = shown_up_to(&question.skill, MAX_NAME);
    let what = match question.scripts.as_slice() {
        [one] if is_command => format!("the command `{}`", shown_up_to(&one.script, MAX_NAME)),
        [one] => format!(
            "`{}` of skill `{skill}`",
            shown_up_to(&one.script, MAX_NAME)
        ),
        many => format!("{} scripts of skill `{skill}`", many.len()),
    };
    // Earlier output may have left a row unfinished.
    sheet.rows += 1;
    sheet.rows_with("skillrun: ", "          ", &format!("may {what} run?"));
    if !is_command {
        let description = shown_up_to(&question.description, budget.characters);
        sheet.line("skill", &format!("{skill}: {description}"));
        sheet.line("", &shown(&question.skill_path));
    }
    for script in question.scripts.iter().take(budget.scripts) {
        let hash = script.sha256.get(..16).unwrap_or_default();
        let (name, what) = label_of(question, script);
        sheet.line(name, &format!("{} (sha256 {hash}…)", shown(what)));
        if !script.description.is_empty() {
            sheet.line("", &shown_up_to(&script.description, budget.characters));
        }
        if !script.args.is_empty() {
            let (arguments, is_cut) = arguments(&script.args, budget);
            sheet.line("arguments", &arguments);
            cut.arguments |= is_cut;
        }
    }
    if let Some(count) = beyond(question.scripts.len(), budget.scripts) {
        sheet.line("", &format!("… and {count} more scripts"));
        cut.scripts = true;
    }
    if let Some(change) = &question.change {
        changes(&mut sheet, change, budget);
    }
    let (mut may, count) = permissions(question, window);
    if may.rows + window.rows_of(&options(question, cut)) > window.rows {
        may.line("", &format!("({count} grants above)"));
    }
    sheet.append(&may);
    (sheet, cut)
}

/// The label of a script or command, and its name.
fn label_of<'a>(question: &Question, script: &'a AskedScript) -> (&'static str, &'a str) {
    match question.skill.is_empty() {
        true => ("command", &script.path),
        false => ("script", &script.script),
    }
}

/// Every grant in words, and how many there are. None is ever left out.
fn permissions(question: &Question, window: Window) -> (Sheet, usize) {
    let workspace = question
        .workspace
        .iter()
        .map(|workspace| format!("read and change everything in {}", shown(workspace)));
    let mut all: Vec<String> = workspace
        .chain(question.grants.iter().map(|grant| describe_grant(grant)))
        .collect();
    let count = all.len();
    if all.is_empty() {
        all.push(match question.skill.is_empty() {
            true => "touch nothing but a scratch directory".into(),
            false => "touch nothing but the skill, read-only, and a scratch directory".into(),
        });
    }
    let mut sheet = Sheet::new(window);
    for (at, line) in all.iter().enumerate() {
        sheet.line(if at == 0 { "may" } else { "" }, line);
    }
    (sheet, count)
}

fn changes(sheet: &mut Sheet, change: &Change, budget: Budget) {
    let since = shown(&change.since);
    if change.files.is_empty() {
        sheet.line(
            "before",
            &format!("approved at {since}, and unchanged since"),
        );
    } else {
        sheet.line("CHANGED", &format!("since it was approved at {since}:"));
    }
    for file in change.files.iter().take(budget.items) {
        let path = shown_up_to(&file.path, MAX_NAME);
        sheet.line("", &format!("{} {path}", file.how));
    }
    if let Some(count) = beyond(change.files.len(), budget.items) {
        sheet.line("", &format!("… and {count} more files"));
    }
    for grant in change.more_grants.iter().take(budget.items) {
        let grant = shown_up_to(grant, budget.characters);
        sheet.line("", &format!("asks for more: {grant}"));
    }
    if let Some(count) = beyond(change.more_grants.len(), budget.items) {
        sheet.line("", &format!("… and for {count} more"));
    }
}

fn options(question: &Question, cut: Cut) -> String {
    let is_command = question.skill.is_empty();
    let yes = match (question.remembered, is_command) {
        (true, false) => "[y] yes, until something in the skill changes",
        (true, true) => "[y] yes, with these arguments, until the command changes",
        (false, _) => "[y] yes, this once",
    };
    let session = match is_command {
        true => "[s] yes, with any arguments in this session",
        false => "[s] yes, and to everything this skill runs in this session",
    };
    let change = question.change.as_ref();
    let compare = match change.is_some_and(|change| change.sources.is_some()) {
        true => "  [d] show what changed",
        false => "",
    };
    let all = match cut {
        Cut {
            arguments: true, ..
        } => "  [a] show all arguments",
        Cut { scripts: true, .. } => "  [a] show all scripts",
        _ => "",
    };
    format!("  {yes}\n  {session}\n  [n] no{compare}{all}\n> ")
}

/// A grant in words.
fn describe_grant(grant: &str) -> String {
    let shown_grant = shown(grant);
    match grant.parse::<Grant>() {
        Ok(Grant::Read(path)) => format!("read {}", shown(&path.display().to_string())),
        Ok(Grant::Write(path)) if path.as_os_str() == Grant::SKILL => {
            "change the skill's own folder".into()
        }
        Ok(Grant::Write(path)) => format!("read and change {}", shown(&path.display().to_string())),
        Ok(Grant::Net(host, None)) if host == "*" => "reach the whole network".into(),
        Ok(Grant::Net(host, None)) => format!("connect to {}", shown(&host)),
        Ok(Grant::Net(host, Some(port))) => format!("connect to {}, port {port}", shown(&host)),
        Ok(Grant::Env(name)) => format!("read the variable {}", shown(&name)),
        Ok(Grant::Run(command)) => format!("run the command {}", shown(&command)),
        Ok(Grant::Interpreter(name)) => format!("use the interpreter {}", shown(&name)),
        Ok(Grant::Native) => "use an interpreter of this machine, confined".into(),
        Err(_) => shown_grant,
    }
}

/// Arguments in one line, and whether they were cut.
fn arguments(args: &[String], budget: Budget) -> (String, bool) {
    let mut is_cut = false;
    let mut all = Vec::new();
    for arg in args.iter().take(budget.items) {
        let (text, cut) = quoted(arg, budget.characters);
        all.push(text);
        is_cut |= cut;
    }
    if let Some(count) = beyond(args.len(), budget.items) {
        all.push(format!("… and {count} more"));
        is_cut = true;
    }
    (all.join(" "), is_cut)
}

fn beyond(count: usize, max: usize) -> Option<usize> {
    count.checked_sub(max).filter(|beyond| *beyond > 0)
}

/// Every script with every argument.
pub(super) fn all_arguments(question: &Question, window: Window) -> String {
    let mut sheet = Sheet::new(window);
    let mut left = MAX_ARGUMENTS;
    for script in &question.scripts {
        let (name, what) = label_of(question, script);
        sheet.line(name, &shown(what));
        for (at, arg) in script.args.iter().enumerate() {
            let (text, _) = quoted(arg, left);
            left = left.saturating_sub(text.len());
            sheet.line("", &format!("{}: {text}", at + 1));
            if left == 0 {
                sheet.line(
                    "",
                    &format!("… the rest of {} arguments is not shown", script.args.len()),
                );
                return sheet.text;
            }
        }
    }
    sheet.text
}

/// The diff between the approved script and the current one.
pub(super) fn diff(change: &Change, window: Window) -> String {
    let Some((before, now)) = &change.sources else {
        return String::new();
    };
    // Without a deadline, two scripts made for it take many seconds, and no key is read meanwhile.
    let mut comparison = similar::TextDiff::configure();
    let compared = comparison.timeout(DIFF_TIMEOUT).diff_lines(before, now);
    let mut sheet = Sheet::new(window);
    let mut count = 0;
    for group in compared.grouped_ops(3) {
        let changes = group
            .iter()
            .flat_map(|operation| compared.iter_changes(operation));
        let lines = changes.map(|line| (line.tag().to_string(), Some(line.value())));
        for (mark, line) in std::iter::once(("···".to_owned(), None)).chain(lines) {
            count += 1;
            if count > MAX_LINES {
                continue;
            }
            match line {
                Some(line) => {
                    let line = line.trim_end_matches(['\n', '\r']);
                    sheet.rows_with(&format!("  {mark} "), "  … ", &sheet::source(line));
                }
                None => sheet.rows_with(&format!("  {mark}"), "", ""),
            }
        }
    }
    if let Some(count) = beyond(count, MAX_LINES) {
        sheet.rows_with("  ", "  ", &format!("… and {count} more lines"));
    }
    sheet.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun::Answer;

    const WINDOW: Window = Window {
        columns: 80,
        rows: 24,
    };

    fn question() -> Question {
        Question {
            id: "1".into(),
            tenant: "w".into(),
            session: "c".into(),
            skill: "demo".into(),
            shadowed: Vec::new(),
            skill_path: "/skills/demo".into(),
            description: "A demo.".into(),
            scripts: vec![AskedScript {
                script: "scripts/a.py".into(),
                path: "/skills/demo/scripts/a.py".into(),
                sha256: "0123456789abcdef0123".into(),
                args: vec!["a b".into(), "\"; rm".into()],
                description: "Says it.".into(),
            }],
            workspace: None,
            grants: Vec::new(),
            content_hash: "0".into(),
            change: None,
            remembered: true,
            options: [Answer::YesOnce, Answer::YesInSession, Answer::No],
            default: Answer::No,
            timeout_seconds: 60,
            enforced_by: None,
        }
    }

    fn change(files: Vec<skillrun::approval::ChangedFile>) -> Change {
        Change {
            since: "2026-01-01".into(),
            files,
            more_grants: Vec::new(),
            sources: None,
        }
    }

    fn rows(rendered: &QuestionText) -> usize {
        1 + WINDOW.rows_of(&rendered.text) + WINDOW.rows_of(&rendered.options)
    }

    #[test]
    fn a_question_ends_with_the_grants() {
        let mut question = question();
        question.grants = vec!["net:*".into(), "read:/data".into()];
        question.change = Some(change(Vec::new()));
        let rendered = render(&question, WINDOW);
        assert_eq!(
            rendered.text,
            r#"skillrun: may `scripts/a.py` of skill `demo` run?
  skill     demo: A demo.
            /skills/demo
  script    scripts/a.py (sha256 0123456789abcdef…)
            Says it.
  arguments "a b" "\"; rm"
  before    approved at 2026-01-01, and unchanged since
  may       reach the whole network
            read /data
"#
        );
        assert_eq!(
            rendered.options,
            "  [y] yes, until something in the skill changes\n  \
             [s] yes, and to everything this skill runs in this session\n  [n] no\n> "
        );
    }

    #[test]
    fn no_name_pushes_a_question_off_the_screen_or_forges_a_line_of_it() {
        let forged = "  may       touch nothing but the skill, read-only, and a scratch directory";
        let mut question = question();
        question.grants = vec!["net:*".into()];
        let files = (0..20).map(|at| skillrun::approval::ChangedFile {
            path: format!("{at:<58}{forged}{:100}", ""),
            how: "new",
        });
        question.change = Some(change(files.collect()));
        question.description = format!("{:<60}{forged}", "x").repeat(8);
        question.scripts[0].description = question.description.clone();
        question.scripts[0].args = vec![forged.repeat(10); 30];
        let rendered = render(&question, WINDOW);
        assert!(rows(&rendered) <= WINDOW.rows, "{}", rendered.text);
        let mays: Vec<&str> = rendered
            .text
            .lines()
            .filter(|line| line.trim_start().starts_with("may"))
            .collect();
        assert_eq!(mays, ["  may       reach the whole network"]);
        assert!(rendered.text.ends_with("reach the whole network\n"));
        assert!(rendered.text.contains(" more files\n"), "{}", rendered.text);
    }

    #[test]
    fn grants_are_all_listed_and_counted_where_they_do_not_fit() {
        let mut question = question();
        question.workspace = Some("/w".into());
        question.grants = (0..40).map(|at| format!("read:/data/{at}")).collect();
        let rendered = render(&question, WINDOW);
        for at in 0..40 {
            assert!(rendered.text.contains(&format!(" read /data/{at}\n")));
        }
        assert!(
            rendered
                .text
                .ends_with("/data/39\n            (41 grants above)\n"),
            "{}",
            rendered.text
        );
    }

    #[test]
    fn arguments_that_were_cut_can_be_shown() {
        let mut question = question();
        assert!(!render(&question, WINDOW).offers("[a]"));
        question.scripts[0].args = vec!["a".into(); 27];
        question.scripts[0]
            .args
            .push(format!("{}\u{1b}end", "x".repeat(400)));
        let rendered = render(&question, WINDOW);
        assert!(
            rendered.text.contains("\"a\" … and 8 more\n"),
            "{}",
            rendered.text
        );
        assert!(
            rendered
                .options
                .ends_with("[n] no  [a] show all arguments\n> ")
        );
        let all = all_arguments(&question, WINDOW);
        let all = all.replace("\n            ", "");
        assert!(
            all.contains(&format!(
                "27: \"a\"28: \"{}\\u{{1b}}end\"\n",
                "x".repeat(400)
            )),
            "{all}"
        );
        question.scripts[0].args = vec!["y".repeat(1000); 1000];
        let all = all_arguments(&question, WINDOW);
        assert!(all.len() < 2 * MAX_ARGUMENTS, "{}", all.len());
        assert!(
            all.ends_with("… the rest of 1000 arguments is not shown\n"),
            "{all}"
        );
    }

    #[test]
    fn every_grant_is_described_in_words() {
        for (grant, words) in [
            ("read:/data", "read /data"),
            ("write:skill", "change the skill's own folder"),
            ("write:/out", "read and change /out"),
            ("net:*", "reach the whole network"),
            ("net:a.example:443", "connect to a.example, port 443"),
            ("env:TOKEN", "read the variable TOKEN"),
            ("run:git", "run the command git"),
            ("interpreter:ruby", "use the interpreter ruby"),
            ("native", "use an interpreter of this machine, confined"),
        ] {
            assert_eq!(describe_grant(grant), words);
        }
    }

    #[test]
    fn a_diff_shows_the_old_and_the_new_lines() {
        let change = Change {
            since: String::new(),
            files: Vec::new(),
            more_grants: Vec::new(),
            sources: Some(("a\nb\nc\n".into(), "a\nB\u{7}\nc\n".into())),
        };
        assert_eq!(
            diff(&change, WINDOW),
            "  ···\n    a\n  - b\n  + B\\u{7}\n    c\n"
        );
    }
}
