//! Runs the scripts of agent skills in a sandbox.
//!
//! A [`Request`] is checked under a [`Policy`] and becomes a [`Plan`]. If the policy demands it, a person is asked. Then
//! there is a [`Permit`], and only a permit runs. What the script did is an [`Outcome`], however badly it ended; a failure
//! of the host is an [`Error`].
//!
//! # What an embedding program does
//!
//! | task | with |
//! |---|---|
//! | [run a script](#run-a-script) | [`Host`], [`Request`], [`Decision`], [`Outcome`] |
//! | [stream its output, stop it](#stream-and-stop) | [`Live`], [`Chunk`] |
//! | [ask a person](#ask-a-person) | [`Question`], [`Answer`], [`Host::answer`] |
//! | [set the rules](#set-the-rules) | [`Policy`], [`Grant`], [`Limits`] |
//! | [load a skill for an agent](#load-a-skill-for-an-agent) | [`Load`], [`Expander`], [`Host::decide_all`] |
//! | [add a runtime](#add-a-runtime) | [`runtime::Runtime`], [`Host::with_runtimes`] |
//!
//! ## Run a script
//!
//! ```no_run
//! use skillrun::{Approvals, AuditLog, Decision, Host, Policy, Request, Settings, Skill};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // One host for the process, shared by all tasks.
//! let host = Host::new(Settings {
//!     cache: "/var/cache/agent".into(),
//!     audit: AuditLog::file("/var/log/agent/skillrun.jsonl"),
//!     approvals: Approvals::file("/var/lib/agent/approvals.db"),
//!     protected: vec![],
//!     slots: Some(32),
//! });
//! let skill = Skill::load("skills/word-count")?.into();
//! let args = vec!["README.md".to_owned()];
//! let request = Request { args, workspace: Some(".".into()), ..Request::new(&skill, "count.py") };
//! match host.decide(&Policy::default(), request).await? {
//!     Decision::Permitted(permit) => println!("{}", host.run(permit).await?.stdout),
//!     Decision::Pending(question) => println!("a person must be asked: {question:?}"),
//!     Decision::Refused(refusal) => eprintln!("{refusal}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## Stream and stop
//!
//! ```no_run
//! # async fn example(host: &skillrun::Host, permit: skillrun::Permit) -> Result<(), Box<dyn std::error::Error>> {
//! let (sender, mut chunks) = tokio::sync::mpsc::channel(64);
//! let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
//! let live = skillrun::Live {
//!     output: Some(sender),
//!     stop: Some(Box::pin(async move { drop(stopped.await) })),
//!     ..Default::default()
//! };
//! let show = async {
//!     while let Some(chunk) = chunks.recv().await {
//!         println!("{:?}: {} bytes", chunk.stream, chunk.bytes.len());
//!     }
//! };
//! // Dropping `stop` stops the script, and so does dropping the future of the run.
//! let (outcome, ()) = tokio::join!(host.run_live(permit, live), show);
//! println!("{:?}", outcome?.status);
//! # drop(stop);
//! # Ok(())
//! # }
//! ```
//!
//! ## Ask a person
//!
//! ```no_run
//! # async fn example(host: &skillrun::Host) -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun::{Answer, Decision};
//! for question in host.questions().await? {
//!     println!("may {} run {:?}?", question.skill, question.scripts);
//!     // The answer is recorded before anything runs. A question that is not answered in time counts as no.
//!     for decision in host.answer(&question.id, Answer::YesOnce).await? {
//!         if let Decision::Permitted(permit) = decision {
//!             host.run(permit).await?;
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## Set the rules
//!
//! ```
//! use skillrun::Policy;
//! let text = r#"
//!     approval = "first-run"
//!     allow = ["read:./data", "env:API_KEY"]
//!     [limits]
//!     time = "10s"
//! "#;
//! // Relative paths are resolved against the directory of the policy.
//! let policy = Policy::parse(text, "/srv/agent".as_ref())?.and_allow(vec!["write:/srv/out".parse()?]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Load a skill for an agent
//!
//! ```no_run
//! # async fn example(host: &skillrun::Host) -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun::{Decision, Load, Policy, Ran, Request, Skill};
//! use std::collections::BTreeMap;
//! let skill = Skill::load("skills/word-count")?.into();
//! let load = Load::new(&skill, None);
//! let requests = load.scripts().map(|script| Request::new(&skill, script)).collect();
//! // All scripts of the skill share one question.
//! let batch = host.decide_all(&Policy::default(), requests).await?;
//! let mut ran = BTreeMap::new();
//! for (request, decision) in batch.decided {
//!     ran.insert(request, match decision {
//!         Decision::Permitted(permit) => Ran::from(host.run(permit).await),
//!         Decision::Refused(refusal) => Ran::Refused(refusal),
//!         Decision::Pending(_) => continue,
//!     });
//! }
//! println!("{}", load.render(ran.into_values().collect()));
//! # Ok(())
//! # }
//! ```
//!
//! ## Add a runtime
//!
//! ```no_run
//! use skillrun::runtime::Runtime;
//! use skillrun::skill::CustomLanguage;
//! use skillrun::{Host, Settings, Skill};
//! use std::sync::Arc;
//! static LANGUAGES: [CustomLanguage; 1] =
//!     [CustomLanguage { word: "lua", extension: "lua", interpreter: "lua" }];
//!
//! fn with_lua(settings: Settings, lua: Arc<dyn Runtime>) -> Result<Host, Box<dyn std::error::Error>> {
//!     let host = Host::with_runtimes(settings, vec![lua]);
//!     // Decisions, approvals, slots, scratch directories and the audit log are the same as for our own.
//!     let skill = Skill::load_with("skills/lua-demo", &LANGUAGES)?;
//!     println!("{} scripts", skill.scripts().len());
//!     Ok(host)
//! }
//! ```
//!
//! # Modules
//!
//! From the bottom up; no module depends on one that depends on it. The model of skills is a crate of its own.
//!
//! | module | contents |
//! |---|---|
//! | [`skill`] | a folder with a `SKILL.md`, its scripts, grants, finding them |
//! | [`limits`], [`outcome`] | how much a run may use, and its result |
//! | `refusal`, `error` | why something did not run |
//! | `programs`, `contents` | commands of this machine; the content of skills, hashed once for a decision |
//! | `ownership`, `walk` | whether another user may write a file; opening a path without links that a script could have made |
//! | [`policy`], `request`, `plan` | what is allowed, what is wanted, and the checked request |
//! | [`approval`] | what a person is asked, and what was approved |
//! | `decision` | whether it may run |
//! | [`audit`] | the record of runs and refusals, and its verification |
//! | [`runtime`] | what executes a script, behind one interface |
//! | `host` | one run from decision to outcome |
//! | `load`, [`expand`] | a skill as an agent loads it, and markers in a model's output |

pub mod approval;
pub mod audit;
mod contents;
mod decision;
mod error;
pub mod expand;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod host;
pub mod limits;
mod load;
#[doc(hidden)]
pub mod measure;
pub mod outcome;
#[doc(hidden)]
pub mod ownership;
mod plan;
pub mod policy;
mod programs;
mod ran;
mod refusal;
mod request;
pub mod runtime;
#[doc(hidden)]
pub mod walk;

// The model of skills is a crate of its own, and used like a module.
#[doc(inline)]
pub use skillrun_skill as skill;
use skillrun_skill::{content, files, grant, suggest, text, utf8};

pub use approval::{Answer, AnswerError, Approvals, Question};
pub use audit::AuditLog;
pub use decision::{Decision, Permit};
pub use error::{Error, RunError};
pub use expand::Expander;
pub use host::{Batch, BatchQuestion, Blocking, Host, Settings};
pub use limits::Limits;
pub use load::Load;
pub use outcome::{Outcome, Status};
pub use plan::{Mount, Plan};
pub use policy::Policy;
pub use ran::Ran;
pub use refusal::{Check, Refusal};
pub use request::{Paths, Request, RequestedBy, Target, Tier};
pub use runtime::{Chunk, Live, Stream};
#[doc(inline)]
pub use skillrun_skill::{Grant, Language, Script, Skill};
