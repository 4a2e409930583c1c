//! Runs the scripts of agent skills in a sandbox.
//!
//! A script runs only with a [`Permit`], and only a decision under a [`Policy`] creates one. What the
//! script did is an [`Outcome`], however badly it ended; a failure of the host is an [`Error`].
//!
//! ```no_run
//! use skillrun::{Approvals, AuditLog, Decision, Host, Policy, Request, Settings, Skill};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // One host for the process, shared by all tasks.
//! let audit = AuditLog::file("/var/log/agent/skillrun.jsonl");
//! let cache = "/var/cache/agent".into();
//! let approvals = Approvals::file("/var/lib/agent/approvals.db");
//! let host = Host::new(Settings { cache, audit, approvals, protected: vec![], slots: Some(32) });
//! let skill = Skill::load("skills/word-count")?.into();
//! let args = vec!["README.md".to_owned()];
//! let request = Request { args, workspace: Some(".".into()), ..Request::new(&skill, "count.py") };
//! match host.decide(&Policy::default(), request)? {
//!     Decision::Permitted(permit) => println!("{}", host.run(permit).await?.stdout),
//!     Decision::Pending(question) => println!("a person must be asked: {question:?}"), // then host.answer
//!     Decision::Refused(refusal) => eprintln!("{refusal}"),
//!     _ => {}
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The parts, roughly from the bottom up:
//!
//! | module | contents |
//! |---|---|
//! | `grant`, `limits`, `outcome` | what may be touched, how much, and the result |
//! | `skill` | a folder with a `SKILL.md`, its scripts, finding them |
//! | `check`, `prompt` | findings about a skill before it runs, and its description for a model |
//! | `ownership` | whether another user may write a file |
//! | `walk` | opening a path that a person named, without links that a script could have made |
//! | `policy`, `request`, `decision` | what is allowed, what is wanted, whether it may run |
//! | `approval` | what a person is asked, and what was approved |
//! | `audit` | the record of runs and refusals, and its verification |
//! | `runtime` | what executes a script, behind one interface |
//! | `host` | one run from decision to outcome |
//! | `load` | a skill as an agent loads it |
//! | `expand` | markers in a model's output |

mod approval;
mod audit;
pub mod check;
mod decision;
mod error;
mod expand;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod grant;
mod host;
mod limits;
mod load;
#[doc(hidden)]
pub mod measure;
mod outcome;
pub mod ownership;
mod policy;
mod programs;
pub mod prompt;
mod ran;
mod request;
mod runtime;
mod skill;
mod suggest;
mod utf8;
pub mod walk;

pub use approval::{
    Answer, AnswerError, Approvals, AskedScript, Change, ChangedFile, Question, StoredApproval,
};
pub use audit::{
    AuditFiles, AuditFilter, AuditFinding, AuditFindingKind, AuditLine, AuditLog, AuditTime,
    AuditTimeError, LineHash, LineHashError, Verification, VerifiedFile,
};
pub use check::check;
pub use decision::{Check, Decision, Permit, Refusal};
pub use error::Error;
pub use expand::{Expander, Marker, MarkerEvent, MarkerKind, Piece};
pub use files::show as show_name;
pub use grant::{Grant, GrantError};
pub use host::{Host, RuntimeState, Settings};
pub use limits::{LimitError, Limits, parse_bytes, parse_duration, show_bytes, show_duration};
pub use load::Load;
pub use outcome::{
    Enforcement, Isolation, LimitEnforcement, Outcome, Status, TRUNCATION_MARKER, Usage,
};
pub use policy::{
    ApprovalMode, EffectiveRules, NativeMode, Policy, PolicyError, PolicyFile, PolicyPart, Trust,
    TrustError, TrustedPolicies, TrustedPolicy,
};
pub use ran::Ran;
pub use request::{Paths, Request, RequestedBy, Target, Tier};
pub use runtime::native::NativeState;
pub use runtime::{Chunk, Live, Stream};
pub use skill::{
    AllowedTools, Found, FrontMatter, Language, Library, Script, Skill, SkillError, Skipped, Value,
};
pub use skillrun_runtimes::third_party_licenses;
pub use utf8::Utf8Decoder;
