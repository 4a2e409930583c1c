//! Asking a person: at the terminal, or by a file of answers where there is none.
//!
//! What is shown comes from a skill and from a model, and wants to be believed. So it is asked only at a real
//! terminal, on a screen of its own, whatever was typed before the question is thrown away, every character that
//! could steer the terminal is shown as what it is, long texts are cut visibly, and whatever is not clearly a yes is
//! a no.
//!
//! What is left: text that another process writes to the same terminal while a question is open (`skillrun expand |
//! cat` with a slow `cat`) covers it until it is drawn again, at most a second later or with the next key.

mod answers;
mod page;
mod question;
mod screen;
mod sheet;
mod terminal;

use crate::failure::{Failure, say};
use crate::own_file::OwnFile;
use answers::Prepared;
use question::{all_arguments, difference, text};
use sheet::Window;
use skillrun::{Answer, AnswerError, Check, Decision, Host, Question, Refusal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use terminal::{Heard, Terminal};

/// Somebody wants the command to end.
static STOPPED: AtomicBool = AtomicBool::new(false);
const STOPPED_WHY: &str = "the command was stopped";

/// Time to read a text and think.
const CONFIRM_WITHIN: Duration = Duration::from_secs(600);

/// Whether somebody who was asked, or a signal since, wants the command to end.
pub(crate) fn stopped() -> bool {
    STOPPED.load(Ordering::SeqCst)
}

fn stop() {
    STOPPED.store(true, Ordering::SeqCst);
}

/// Leaves the terminal as it was found, right before the process exits while a question may be open.
pub(crate) fn restore_terminal() {
    terminal::restore();
}

/// Where answers come from.
#[derive(Debug)]
pub(crate) enum Asks {
    /// From a person at the terminal.
    Person,
    /// From a file.
    Prepared(Vec<Prepared>),
}

impl Asks {
    pub(crate) fn new(file: Option<(&Path, OwnFile)>) -> Result<Self, Failure> {
        match file {
            Some((path, file)) => Ok(Self::Prepared(answers::read(path, file)?)),
            None => Ok(Self::Person),
        }
    }

    /// Has every open decision answered. Decisions that share a question are answered together. Once the command
    /// is [`stopped`], nothing more is asked and all that is open is declined.
    pub(crate) fn settle(
        &self,
        host: &Host,
        decisions: Vec<Decision>,
    ) -> Result<Vec<Decision>, Failure> {
        let mut settled = Vec::with_capacity(decisions.len());
        let mut answered: Vec<(String, std::vec::IntoIter<Decision>)> = Vec::new();
        for decision in decisions {
            let Decision::Open(question) = decision else {
                settled.push(decision);
                continue;
            };
            let known = answered.iter().position(|(id, _)| *id == question.id);
            let at = match known {
                Some(at) => at,
                None => {
                    let answers = self.answer(host, &question)?;
                    answered.push((question.id.clone(), answers.into_iter()));
                    answered.len() - 1
                }
            };
            settled.extend(answered[at].1.next());
        }
        Ok(settled)
    }

    fn answer(&self, host: &Host, question: &Question) -> Result<Vec<Decision>, Failure> {
        let decided = match self {
            Self::Prepared(all) => match answers::of(all, question) {
                Some(answer) => host.answer(&question.id, answer),
                None => host.decline(&question.id, "the answers hold none to it"),
            },
            Self::Person if stopped() => host.decline(&question.id, STOPPED_WHY),
            Self::Person => match Terminal::open() {
                Some(mut terminal) => match ask(&mut terminal, question)? {
                    Said::Answer(answer) => host.answer(&question.id, answer),
                    Said::Nothing(why) => host.decline(&question.id, why),
                },
                None => host.decline(&question.id, "there is no terminal to ask at"),
            },
        };
        match decided {
            Ok(decisions) => Ok(decisions),
            // It is recorded already; the answer came too late.
            Err(AnswerError::Expired { .. }) => Ok(too_late(question)),
            Err(AnswerError::Host(error)) => Err(error.into()),
            Err(other) => Err(Failure::host(other.to_string())),
        }
    }
}

/// What comes of a question whose time passed while somebody thought about it.
fn too_late(question: &Question) -> Vec<Decision> {
    let each = question.scripts.iter().map(|script| {
        let name = skillrun::show_name(&script.script);
        Decision::Refused(Refusal {
            check: Check::Approval,
            message: format!("`{name}` was not approved: nobody answered in time"),
            hint: None,
        })
    });
    each.collect()
}

/// What a person made of a question.
enum Said {
    Answer(Answer),
    Nothing(&'static str),
}

fn ask(terminal: &mut Terminal, question: &Question) -> Result<Said, Failure> {
    let patience = Duration::from_secs(question.timeout_seconds);
    let until = Instant::now() + patience;
    let mut more: Option<fn(&Question, Window) -> String> = None;
    loop {
        let window = terminal.window();
        let asked = text(question, window);
        let shown = more.map(|more| more(question, window));
        let texts: Vec<&str> = shown
            .iter()
            .chain([&asked.text])
            .map(|text| &**text)
            .collect();
        let pages = match terminal.has_pages() {
            true => page::pages(&texts, &asked.options, window),
            false => vec![texts.concat() + &asked.options],
        };
        let line = match hear_pages(terminal, &pages, window, until)? {
            Heard::Line(line) => line,
            Heard::Resized => continue,
            Heard::Interrupted => {
                stop();
                return Ok(Said::Answer(Answer::No));
            }
            Heard::Stopped => return Ok(Said::Nothing(STOPPED_WHY)),
            Heard::Nothing => return Ok(Said::Nothing("nobody answered in time")),
        };
        return Ok(Said::Answer(match line.to_ascii_lowercase().as_str() {
            "y" | "yes" => Answer::YesOnce,
            "s" => Answer::YesInSession,
            // What is shown pushes the question away, so it is asked again.
            "d" if asked.is_shown("[d]") => {
                more = Some(|question, window| match &question.change {
                    Some(change) => difference(change, window),
                    None => String::new(),
                });
                continue;
            }
            "a" if asked.is_shown("[a]") => {
                more = Some(all_arguments);
                continue;
            }
            // Whatever is unclear is no.
            _ => Answer::No,
        }));
    }
}

/// Shows pages one after the other and waits for the answer to the last. Only somebody who has seen all of them can
/// say yes: whatever is typed below an earlier page is no.
fn hear_pages(
    terminal: &mut Terminal,
    pages: &[String],
    window: Window,
    until: Instant,
) -> std::io::Result<Heard> {
    if terminal.has_pages() && window.rows < page::MIN_ROWS {
        let text = "skillrun asks: enlarge the window to answer\n> ";
        let left = until.saturating_duration_since(Instant::now());
        return Ok(match terminal.hear(text, window, left)? {
            Heard::Line(_) => Heard::Line("no".into()),
            heard => heard,
        });
    }
    let mut heard = Heard::Nothing;
    for (at, page) in pages.iter().enumerate() {
        heard = terminal.hear(
            page,
            window,
            until.saturating_duration_since(Instant::now()),
        )?;
        match &heard {
            Heard::Line(line) if at + 1 == pages.len() || line.is_empty() => {}
            Heard::Line(_) => return Ok(Heard::Line("no".into())),
            _ => return Ok(heard),
        }
    }
    Ok(heard)
}

/// Tells whoever cannot be asked what would help.
pub(crate) fn tell_refused(decisions: &[Decision]) {
    for decision in decisions {
        if let Decision::Refused(refusal) = decision {
            say(refusal.word(), &refusal.message);
            if let Some(hint) = &refusal.hint {
                say("hint", hint);
            }
        }
    }
}

/// Shows a text at the terminal and asks for a yes. `None` if there is nobody to ask; whatever is unclear is no.
pub(crate) fn confirm(text: &str, prompt: &str) -> Result<Option<bool>, Failure> {
    let Some(mut terminal) = Terminal::open() else {
        return Ok(None);
    };
    let until = Instant::now() + CONFIRM_WITHIN;
    loop {
        let window = terminal.window();
        let pages = match terminal.has_pages() {
            true => page::pages(&[text], prompt, window),
            false => vec![format!("{text}{prompt}")],
        };
        let yes = |line: String| matches!(line.to_ascii_lowercase().as_str(), "y" | "yes");
        return Ok(Some(
            match hear_pages(&mut terminal, &pages, window, until)? {
                Heard::Line(line) => yes(line),
                Heard::Resized => continue,
                Heard::Interrupted | Heard::Stopped | Heard::Nothing => false,
            },
        ));
    }
}
