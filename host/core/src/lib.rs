//! Runs the scripts of agent skills contained.
//!
//! A script runs only by a [`Permit`], and only a decision under a [`Policy`] makes one. What the
//! script did is an [`Outcome`], however badly it ended; what the host failed at is an [`Error`].
//!
//! ```no_run
//! use skillrun::{AuditLog, Decision, Host, Policy, Request, Settings, Skill};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // One host for the process, shared by all tasks.
//! let audit = AuditLog::file("/var/log/agent/skillrun.jsonl");
//! let cache = "/var/cache/agent".into();
//! let host = Host::new(Settings { cache, audit, sealed: vec![], slots: Some(32) });
//! let skill = Skill::load("skills/word-count")?.into();
//! let args = vec!["README.md".to_owned()];
//! let request = Request { args, workspace: Some(".".into()), ..Request::new(&skill, "count.py") };
//! match host.decide(&Policy::default(), request)? {
//!     Decision::Permitted(permit) => println!("{}", host.run(permit).await?.stdout),
//!     Decision::Refused(refusal) => eprintln!("{refusal}"),
//!     _ => {}
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The parts, in the order in which they depend on each other:
//!
//! | module | holds |
//! |---|---|
//! | `grant`, `limits`, `outcome` | what may be touched, how much, what came of it |
//! | `skill` | a folder with a `SKILL.md`, its scripts, finding them |
//! | `check`, `prompt` | what a skill is worth before it runs, and how a model is told of it |
//! | `policy`, `request`, `decision` | what is allowed, what is wanted, whether it may run |
//! | `audit` | the record of runs and refusals |
//! | `runtime` | what executes a script, behind one interface |
//! | `host` | one run from decision to outcome |

mod audit;
pub mod check;
mod decision;
mod error;
mod files;
mod grant;
mod host;
mod limits;
mod outcome;
mod policy;
pub mod prompt;
mod request;
mod runtime;
mod skill;
mod suggest;

pub use audit::AuditLog;
pub use check::check;
pub use decision::{Check, Decision, Permit, Refusal};
pub use error::Error;
pub use grant::{Grant, GrantError};
pub use host::{Host, RuntimeState, Settings};
pub use limits::{LimitError, Limits, parse_bytes, parse_duration, show_bytes, show_duration};
pub use outcome::{Enforcement, Hold, Isolation, Outcome, Status, TRUNCATION_MARKER, Usage};
pub use policy::{Approval, Native, Policy, PolicyError};
pub use request::{Paths, Request, Tier};
pub use runtime::native::NativeState;
pub use runtime::{Chunk, Live, Stream};
pub use skill::{
    AllowedTools, Found, FrontMatter, Language, Library, Script, Skill, SkillError, Skipped, Value,
};
pub use skillrun_runtimes::third_party_licenses;
