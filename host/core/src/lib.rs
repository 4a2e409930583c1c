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
//! match host.decide(&Policy::default(), request).await? {
//!     Decision::Permitted(permit) => println!("{}", host.run(permit).await?.stdout),
//!     Decision::Pending(question) => println!("a person must be asked: {question:?}"), // then host.answer
//!     Decision::Refused(refusal) => eprintln!("{refusal}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Skills, grants and the description of skills for a model are in the crate `skillrun-skill`, which is re-exported here.
//! Checking a skill without running it is the crate `skillrun-check`; nothing here depends on it.
//!
//! The parts, roughly from the bottom up:
//!
//! | module | contents |
//! |---|---|
//! | `limits`, `outcome` | how much a script may use, and the result |
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
mod contents;
mod decision;
mod error;
mod expand;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod limits;
mod load;
#[doc(hidden)]
pub mod measure;
mod outcome;
pub mod ownership;
mod plan;
mod policy;
mod programs;
mod ran;
mod refusal;
mod request;
mod runtime;
mod utf8;
pub mod walk;

// The model of skills is a crate of its own, and used like a module.
use skillrun_skill::{self as skill, content, files, grant, suggest, text};

pub use approval::{
    Answer, AnswerError, Approvals, AskedScript, Change, ChangedFile, Question, StoredApproval,
};
pub use audit::{
    AuditFiles, AuditFilter, AuditFinding, AuditFindingKind, AuditLine, AuditLog, AuditTime,
    AuditTimeError, LineHash, LineHashError, Verification, VerifiedFile,
};
pub use decision::{Decision, Permit};
pub use error::{Error, RunError};
pub use expand::{Expander, Marker, MarkerEvent, MarkerKind, Piece};
pub use host::{Batch, BatchQuestion, Blocking, Host, Settings};
pub use limits::{LimitError, Limits, parse_bytes, parse_duration, show_bytes, show_duration};
pub use load::Load;
pub use outcome::{
    Enforcement, Isolation, LimitEnforcement, Outcome, Status, TRUNCATION_MARKER, Usage,
};
pub use plan::{Mount, Plan, RunsIn};
pub use policy::{
    ApprovalMode, EffectiveRules, NativeMode, Policy, PolicyError, PolicyFile, PolicyPart, Trust,
    TrustError, TrustedPolicies, TrustedPolicy,
};
pub use ran::Ran;
pub use refusal::{Check, Refusal};
pub use request::{Paths, Request, RequestedBy, Target, Tier};
pub use runtime::native::NativeState;
pub use runtime::output::Output;
pub use runtime::{
    BoxFuture, Chunk, Ended, Live, RunContext, Runtime, RuntimeState, Stdin, Stream,
};
pub use skillrun_runtimes::third_party_licenses;
#[doc(inline)]
pub use skillrun_skill::{
    AllowedTools, CustomLanguage, Found, FrontMatter, Grant, GrantError, Language, Library, Script,
    Skill, SkillError, Skipped, Value, prompt,
};
pub use utf8::Utf8Decoder;
