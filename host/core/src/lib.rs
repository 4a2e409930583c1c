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
//! | [stream its output, stop it](#stream-and-stop) | [`Host::start`], [`running::Run`] |
//! | [serve several customers](#serve-several-customers) | [`Host::tenant`], [`tenant::Tenant`] |
//! | [ask a person](#ask-a-person) | [`Question`], [`Answer`], [`Host::answer`], [`Host::answered`] |
//! | [set the rules](#set-the-rules) | [`Policy`], [`Grant`], [`Limits`] |
//! | [load a skill for an agent](#load-a-skill-for-an-agent) | [`Load`], [`Expander`], [`Host::decide_all`] |
//! | [run a skill that is not on disk](#run-a-skill-that-is-not-on-disk) | [`skill::FileMap`], [`Host::skill_from_files`], [`Host::workspace_from_files`] |
//! | [add a runtime](#add-a-runtime) | [`runtime::Runtime`], [`Host::with_runtimes`] |
//!
//! ## Run a script
//!
//! ```no_run
//! use skillrun::{Approvals, AuditLog, Decision, Host, Policy, Request, Settings};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // One host for the process, shared by all tasks.
//! let host = Host::new(Settings {
//!     cache: "/var/cache/agent".into(),
//!     audit: AuditLog::file("/var/log/agent/skillrun.jsonl"),
//!     approvals: Approvals::file("/var/lib/agent/approvals.db"),
//!     protected: vec![],
//!     slots: Some(32),
//!     workers: Default::default(),
//! });
//! let skill = host.load_skill("skills/word-count").await?;
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
//! use skillrun::running::RunEvent;
//! let mut run = host.start(permit);
//! while let Some(event) = run.next_event().await {
//!     match event {
//!         RunEvent::Stdout(bytes) => println!("{}", String::from_utf8_lossy(&bytes)),
//!         // Dropping the handle stops the script, too.
//!         RunEvent::Stderr(_) => run.cancel(),
//!         _ => {}
//!     }
//! }
//! println!("{:?}", run.wait().await?.status);
//! # Ok(())
//! # }
//! ```
//!
//! ## Serve several customers
//!
//! ```no_run
//! # async fn example(host: &skillrun::Host, policy: skillrun::Policy) -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun::tenant::{Quota, TenantSettings};
//! use skillrun::{Decision, Request};
//! let acme = host.tenant("acme");
//! acme.configure(TenantSettings {
//!     policy,
//!     skill_dirs: vec!["/srv/acme/skills".into()],
//!     quota: Quota { running: Some(4), ..Quota::default() },
//!     audit_fields: [("region".into(), "eu".into())].into(),
//! })?;
//! let skill = acme.skill("report").await?;
//! if let Decision::Permitted(permit) = acme.decide(Request::new(&skill, "write.py")).await? {
//!     println!("{}", acme.run(permit).await?.stdout);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## Ask a person
//!
//! ```no_run
//! # async fn example(host: &skillrun::Host) -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun::approval::Approver;
//! use skillrun::Answer;
//! for question in host.questions().await? {
//!     println!("may {} run {:?}?", question.skill, question.scripts);
//!     // The answer is recorded before anything runs. A question that is not answered in time counts as no.
//!     let approver = Approver::new("alice@example.com", "chat");
//!     let answered = host.answer(&question.id, Answer::YesOnce, approver).await?;
//!     // `None` for a question of another process, which gets the permits from `Host::answered`.
//!     for permit in answered.into_iter().flatten() {
//!         host.run(permit?).await?;
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
//! The same without a text is a [`policy::Definition`]. [`Policy::bounded_by`] puts a policy below one that it cannot widen.
//!
//! ## Load a skill for an agent
//!
//! ```no_run
//! # async fn example(host: &skillrun::Host) -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun::{Load, Policy, Ran, Request};
//! use std::collections::BTreeMap;
//! let skill = host.load_skill("skills/word-count").await?;
//! let load = Load::new(&skill, None);
//! let requests = load.scripts().map(|script| Request::new(&skill, script)).collect();
//! // All scripts of the skill share one question.
//! let batch = host.decide_all(&Policy::default(), requests).await?;
//! let mut ran = BTreeMap::new();
//! for (request, decided) in batch.decided {
//!     ran.insert(request, match decided {
//!         Ok(permit) => Ran::from(host.run(permit).await),
//!         Err(refusal) => Ran::Refused(refusal),
//!     });
//! }
//! println!("{}", host.render(load, ran.into_values().collect()).await);
//! # Ok(())
//! # }
//! ```
//!
//! ## Run a skill that is not on disk
//!
//! ```no_run
//! # async fn example(host: &skillrun::Host, archive: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun::Request;
//! use skillrun::skill::{Bounds, FileMap};
//! let skill = host.skill_from_files("word-count", FileMap::from_tar(archive)?).await?.into();
//! let files = FileMap::from_files([("notes.txt", "one two three")])?;
//! let workspace = host.workspace_from_files(files).await?;
//! let request = Request { workspace: Some((&workspace).into()), ..Request::new(&skill, "count.py") };
//! // Decide and run it like any other; then:
//! let returned = host.files_of(&workspace, Bounds::default()).await?;
//! println!("{} files", returned.files.files().count());
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
//!     let host = Host::with_runtimes(settings, vec![lua])?;
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
//! | [`limits`], `tier`, [`outcome`] | how much a run may use, where it runs, and its result |
//! | `refusal`, `error` | why something did not run |
//! | `approver`, `clock` | who said yes or no, and when |
//! | `programs`, `contents` | commands of this machine; the content of skills, hashed once for a decision |
//! | `ownership`, `walk` | whether another user may write a file; opening a path without links that a script could have made |
//! | `workspace`, `private` | the directory in which a script starts; directories for files that are given as bytes |
//! | [`policy`], `request`, `plan` | what is allowed, what is wanted, and the checked request |
//! | [`approval`] | what a person is asked, and what was approved |
//! | `decision` | whether it may run |
//! | [`audit`] | the record of runs and refusals, and its verification |
//! | [`runtime`] | what executes a script, behind one interface |
//! | `host` | one run from decision to outcome |
//! | `load`, [`expand`] | a skill as an agent loads it, and markers in a model's output |

pub mod approval;
mod approver;
pub mod audit;
mod clock;
mod contents;
mod decision;
mod descriptors;
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
mod private;
mod programs;
mod ran;
mod refusal;
mod request;
pub mod runtime;
mod tier;
#[doc(hidden)]
pub mod walk;
mod workspace;

// The model of skills is a crate of its own, and used like a module.
#[doc(inline)]
pub use skillrun_skill as skill;
use skillrun_skill::{content, files, grant, suggest, text, utf8};

pub use approval::{Answer, AnswerError, Approvals, Question};
pub use audit::AuditLog;
pub use decision::{Decision, Permit};
pub use error::{Error, RunError};
pub use expand::Expander;
pub use host::{Batch, BatchQuestion, Blocking, Host, Settings, running, tenant};
pub use limits::Limits;
pub use load::Load;
pub use outcome::{Outcome, Status};
pub use plan::{Mount, Plan};
pub use policy::Policy;
pub use ran::Ran;
pub use refusal::{Check, Refusal};
pub use request::{Paths, Request, RequestedBy, Target};
pub use runtime::Live;
#[doc(inline)]
pub use skillrun_skill::{Grant, Language, Script, Skill};
pub use tier::Tier;
