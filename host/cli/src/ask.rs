//! Asks a person for approval: at the terminal, or through an answers file where there is no terminal.
//!
//! The text of a question comes from a skill and from a model, and either may try to mislead the reader. So we ask
//! only at a real terminal, on a screen of our own; we discard everything typed before the question; we escape every
//! character that could control the terminal; we mark where a long text is cut; and any answer but a clear yes is a
//! no.
//!
//! What remains: another process that writes to the same terminal while a question is open (`skillrun expand | cat`
//! with a slow `cat`) covers it until it is drawn again, at most a second later or with the next key.

mod answers;
mod page;
mod question;
mod screen;
mod sheet;
mod terminal;

use crate::approver::{ANSWERS, TERMINAL, approver};
use crate::failure::{Failure, print_message};
use crate::own_file::OwnFile;
use answers::FileAnswer;
use question::{all_arguments, diff, render};
pub(crate) use sheet::Sheet;
use sheet::Window;
use skillrun::{
    Answer, AnswerError, Batch, BatchQuestion, Check, Decision, Host, Permit, Question, Refusal,
};
use skillrun_skill::text::show;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use terminal::{Input, Terminal};

/// A person or a signal has asked the command to end.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// It was a signal, which [`crate::interrupt`] receives as well.
static BY_SIGNAL: AtomicBool = AtomicBool::new(false);
const STOPPED_WHY: &str = "the command was stopped";

/// How long `confirm` waits for an answer.
const CONFIRM_WITHIN: Duration = Duration::from_secs(600);

/// Whether a person at a question, or a signal since the first question, has asked the command to end.
pub(crate) fn stopped() -> bool {
    STOPPED.load(Ordering::SeqCst)
}

/// Whether that was a signal, which [`crate::interrupt`] receives as well.
pub(crate) fn stopped_by_signal() -> bool {
    BY_SIGNAL.load(Ordering::SeqCst)
}

fn stop(by_signal: bool) {
    if by_signal {
        BY_SIGNAL.store(true, Ordering::SeqCst);
    }
    STOPPED.store(true, Ordering::SeqCst);
}

/// Restores the terminal right before the process exits while a question may be open.
pub(crate) fn restore_terminal() {
    terminal::restore();
}

/// What became of a request: it may run, or it is refused.
pub(crate) type Decided = Result<Permit, Refusal>;

/// Where answers come from.
#[derive(Debug)]
pub(crate) enum AnswerSource {
    /// From a person at the terminal.
    Person,
    /// From a file.
    File(Vec<FileAnswer>),
}

impl AnswerSource {
    pub(crate) fn new(file: Option<(&Path, OwnFile)>) -> Result<Self, Failure> {
        match file {
            Some((path, file)) => Ok(Self::File(answers::read(path, file)?)),
            None => Ok(Self::Person),
        }
    }

    /// Asks every question of a batch; returns a permit or a refusal for each request, in their order. Once the command is
    /// [`stopped`], we ask nothing more and decline every open question.
    pub(crate) fn answer_all(&self, host: &Host, batch: Batch) -> Result<Vec<Decided>, Failure> {
        let mut settled: BTreeMap<usize, Decided> = batch.decided.into_iter().collect();
        for BatchQuestion { question, requests } in batch.questions {
            let answers = self.answer(host, &question)?;
            settled.extend(requests.into_iter().zip(answers));
        }
        Ok(settled.into_values().collect())
    }

    /// Asks the question of one decision, if it is pending.
    pub(crate) fn answer_one(&self, host: &Host, decision: Decision) -> Result<Decided, Failure> {
        let question = match decision {
            Decision::Permitted(permit) => return Ok(Ok(permit)),
            Decision::Refused(refusal) => return Ok(Err(refusal)),
            Decision::Pending(question) => question,
        };
        let mut answers = self.answer(host, &question)?;
        answers
            .pop()
            .ok_or_else(|| Failure::host("the question names no script"))
    }

    fn answer(&self, host: &Host, question: &Question) -> Result<Vec<Decided>, Failure> {
        let mut hint = None;
        let hint_for = |usual: &str, enforced: &str| match &question.enforced_by {
            None => usual.to_owned(),
            Some(policy) => {
                format!(
                    "{enforced}; {policy} demands a person's answer, and -y does not count as one"
                )
            }
        };
        let decided = match self {
            Self::File(all) => match answers::find(all, question) {
                Some(answer) => decide(host, question, answer, ANSWERS),
                None => {
                    hint = Some(hint_for(NOT_IN_FILE_HINT, "add an answer to the file"));
                    host.blocking()
                        .decline(&question.id, "the answers file does not answer it")
                }
            },
            Self::Person if stopped() => host.blocking().decline(&question.id, STOPPED_WHY),
            Self::Person => match Terminal::open() {
                Some(mut terminal) => match ask(&mut terminal, question) {
                    Ok(Reply::Answer(answer)) => decide(host, question, answer, TERMINAL),
                    Ok(Reply::NoAnswer(why)) => host.blocking().decline(&question.id, why),
                    Err(failure) => {
                        // Records it. The first error is the one that matters.
                        let why = "the question could not be shown at the terminal";
                        let _ = host.blocking().decline(&question.id, why);
                        return Err(failure);
                    }
                },
                None => {
                    hint = Some(hint_for(NO_TERMINAL_HINT, "run it at a terminal"));
                    host.blocking()
                        .decline(&question.id, "there is no terminal to ask at")
                }
            },
        };
        match decided {
            Ok(decisions) => Ok(match hint {
                Some(hint) => with_hint(decisions, &hint),
                None => decisions,
            }),
            // The answer came too late, and the host has recorded that.
            Err(AnswerError::Expired { .. }) => Ok(expired(question)),
            Err(AnswerError::Host(error)) => Err(error.into()),
            Err(other) => Err(Failure::host(other.to_string())),
        }
    }
}

/// Answers a question of this command. If another process answered it first, that answer counts.
fn decide(
    host: &Host,
    question: &Question,
    answer: Answer,
    channel: &str,
) -> Result<Vec<Decided>, AnswerError> {
    let host = host.blocking();
    let decided = match host.answer(&question.id, answer, approver(channel)) {
        Err(AnswerError::Answered { .. }) => host.answered_now(&question.id)?,
        decided => decided?,
    };
    let id = show(&question.id);
    decided.ok_or(AnswerError::Answered { id })
}

/// These hints name flags of this command.
const NO_TERMINAL_HINT: &str =
    "run it at a terminal, pass --answers FILE, or pass -y if you approve it yourself";
const NOT_IN_FILE_HINT: &str = "add an answer to the file, or pass -y if you approve it yourself";

fn with_hint(decided: Vec<Decided>, hint: &str) -> Vec<Decided> {
    let each = decided.into_iter();
    each.map(|decided| decided.map_err(|refusal| refusal.hint(hint)))
        .collect()
}

/// The decisions on a question that expired before it was answered.
fn expired(question: &Question) -> Vec<Decided> {
    let each = question.scripts.iter().map(|script| {
        let name = show(&script.script);
        let message = format!("`{name}` was not approved: nobody answered in time");
        Err(Refusal::new(Check::Approval, message))
    });
    each.collect()
}

/// Why an answer does not count as yes.
const UNCLEAR: &str = "the answer was neither yes nor no";
const INTERRUPTED: &str = "the question was interrupted";
const TIMED_OUT: &str = "nobody answered in time";

/// How a person answered a question, or why they did not.
enum Reply {
    Answer(Answer),
    NoAnswer(&'static str),
}

fn ask(terminal: &mut Terminal, question: &Question) -> Result<Reply, Failure> {
    let until = Instant::now() + Duration::from_secs(question.timeout_seconds);
    let mut more: Option<fn(&Question, Window) -> String> = None;
    loop {
        let window = terminal.window();
        let rendered = render(question, window);
        let shown = more.map(|more| more(question, window));
        let texts: Vec<&str> = shown
            .iter()
            .chain([&rendered.text])
            .map(|text| &**text)
            .collect();
        let pages = match terminal.has_pages() {
            true => page::pages(&texts, &rendered.options, window),
            false => vec![texts.concat() + &rendered.options],
        };
        let line = match show_pages(terminal, &pages, window, until)? {
            Input::Line(line) => line,
            Input::Resized => continue,
            Input::Interrupted => {
                stop(false);
                return Ok(Reply::NoAnswer(INTERRUPTED));
            }
            Input::Stopped => return Ok(Reply::NoAnswer(STOPPED_WHY)),
            Input::TimedOut => return Ok(Reply::NoAnswer(TIMED_OUT)),
        };
        return Ok(Reply::Answer(match line.to_ascii_lowercase().as_str() {
            "y" | "yes" => Answer::YesOnce,
            "s" => Answer::YesInSession,
            // The details replace the question on the screen, so ask it again.
            "d" if rendered.offers("[d]") => {
                more = Some(|question, window| match &question.change {
                    Some(change) => diff(change, window),
                    None => String::new(),
                });
                continue;
            }
            "a" if rendered.offers("[a]") => {
                more = Some(all_arguments);
                continue;
            }
            "" | "n" | "no" => Answer::No,
            _ => return Ok(Reply::NoAnswer(UNCLEAR)),
        }));
    }
}

/// Shows pages one after the other and waits for the answer to the last. Only a person who has seen all of them can
/// say yes: any text typed below an earlier page is a no.
fn show_pages(
    terminal: &mut Terminal,
    pages: &[String],
    window: Window,
    until: Instant,
) -> std::io::Result<Input> {
    if terminal.has_pages() && page::is_too_small(window) {
        let text = "skillrun asks: enlarge the window to answer\n> ";
        let left = until.saturating_duration_since(Instant::now());
        return Ok(match terminal.read_line(text, window, left)? {
            Input::Line(_) => Input::Line("no".into()),
            input => input,
        });
    }
    let mut input = Input::TimedOut;
    for (at, page) in pages.iter().enumerate() {
        input = terminal.read_line(
            page,
            window,
            until.saturating_duration_since(Instant::now()),
        )?;
        match &input {
            Input::Line(line) if at + 1 == pages.len() || line.is_empty() => {}
            Input::Line(_) => return Ok(Input::Line("no".into())),
            _ => return Ok(input),
        }
    }
    Ok(input)
}

/// Prints every refusal with its hint.
pub(crate) fn report_refused(decided: &[Decided]) {
    for decided in decided {
        if let Err(refusal) = decided {
            print_message(refusal.word(), &refusal.message);
            if let Some(hint) = crate::failure::hint(refusal) {
                print_message("hint", &hint);
            }
        }
    }
}

/// Shows a text at the terminal and asks for a yes. `None` if there is no terminal; `Err` says why there was no yes.
///
/// `text` writes the rows for a window of the given size. It may contain untrusted text only behind a prefix of ours.
pub(crate) fn confirm(
    text: impl Fn(&mut Sheet),
    prompt: &str,
) -> Result<Option<Result<(), &'static str>>, Failure> {
    let Some(mut terminal) = Terminal::open() else {
        return Ok(None);
    };
    let until = Instant::now() + CONFIRM_WITHIN;
    loop {
        let window = terminal.window();
        let mut sheet = Sheet::new(window);
        text(&mut sheet);
        let text = &sheet.text;
        let pages = match terminal.has_pages() {
            true => page::pages(&[text], prompt, window),
            false => vec![format!("{text}{prompt}")],
        };
        return Ok(Some(
            match show_pages(&mut terminal, &pages, window, until)? {
                Input::Line(line) => match line.to_ascii_lowercase().as_str() {
                    "y" | "yes" => Ok(()),
                    "" | "n" | "no" => Err("a person answered `no`"),
                    _ => Err(UNCLEAR),
                },
                Input::Resized => continue,
                Input::Interrupted => Err(INTERRUPTED),
                Input::Stopped => Err(STOPPED_WHY),
                Input::TimedOut => Err(TIMED_OUT),
            },
        ));
    }
}
