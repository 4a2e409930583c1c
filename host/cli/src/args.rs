//! What was typed.

use crate::audit::Audit;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  skillrun run skills/word-count count.py --workspace . -- README.md
  skillrun run csv-summary summarize --input '{\"path\": \"sales.csv\"}' -w data
  git log | skillrun run ./skills/log-digest digest.py
  skillrun list
  skillrun show word-count
  skillrun check skills

Exit codes of `run`: the script's own; 124 timed out, 125 host error, 126 refused, 127 not found,
128+N killed by signal N.";

const RUN_EXAMPLES: &str = "\
Examples:
  skillrun run skills/word-count count.py --workspace . -- README.md
  skillrun run word-count count --timeout 5s --json
  skillrun run csv-summary summarize --input @request.json -w data
  skillrun run notes search.py --allow read:./archive --env NOTES_LANG=de

A skill is named by path, or by name looked up in --skills DIR, ./.agents/skills, ./.claude/skills,
./.chorus/skills, ./skills, ~/.agents/skills, ~/.claude/skills, ~/.r9s/skills.
The skill's folder is read-only; a workspace is readable and writable; nothing else is there.

Exit codes: the script's own; 124 timed out, 125 host error, 126 refused, 127 not found,
128+N killed by signal N.";

/// Run the scripts of agent skills, contained.
#[derive(Debug, Parser)]
#[command(name = "skillrun", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a script of a skill
    Run(Box<Run>),
    /// List the skills that can be found
    List(List),
    /// Show a skill and its scripts
    Show(Show),
    /// Print a skill as an agent reads it: instructions, what its scripts printed, references
    Load(Load),
    /// Run the markers in what a model writes: text in, text with their output out
    Expand(Expand),
    /// Trust the policy of a directory, or check one
    Policy(Policy),
    /// List what people have approved, or take it back
    Approvals(Approvals),
    /// Check skills against the specification, and tell what their scripts will meet here
    Check(Check),
    /// Print what a model is told of skills and their scripts
    Prompt(Prompt),
    /// List the interpreters, or compile them for this machine ahead of time
    Runtimes(Runtimes),
    /// Show or verify the record of runs and refusals
    Audit(Audit),
    /// Show what this machine offers and what would be used
    Doctor(Doctor),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Run(run) => run.json,
            Self::List(list) => list.json,
            Self::Show(show) => show.json,
            // An agent reads its text, whatever went wrong.
            Self::Load(_) | Self::Expand(_) => false,
            Self::Policy(policy) => policy.json(),
            Self::Approvals(approvals) => approvals.json(),
            Self::Check(check) => check.format() == CheckFormat::Json,
            Self::Prompt(prompt) => prompt.json,
            Self::Runtimes(runtimes) => runtimes.json(),
            Self::Audit(audit) => audit.json(),
            Self::Doctor(doctor) => doctor.json,
            Self::Completions { .. } => false,
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// The skill: a path, or a name to look up
    pub(crate) skill: String,
    /// The script: its file name, its stem, or its path inside the skill
    pub(crate) script: String,
    /// Arguments for the script
    #[arg(last = true)]
    pub(crate) args: Vec<OsString>,
    /// A JSON value for the script's standard input; @FILE reads it from a file, - from stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) input: Option<String>,
    /// A directory the script may read and write, and starts in
    #[arg(short, long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Something the script may touch: read:PATH write:PATH env:NAME interpreter:NAME …
    #[arg(long, value_name = "GRANT")]
    pub(crate) allow: Vec<String>,
    /// Follow symbolic links in --input @FILE, --workspace and --allow, also those that a script could have made
    #[arg(long)]
    pub(crate) follow: bool,
    /// A variable for the script: with a value, or passed on from this environment
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Time limit, 1s to 600s [default: 30s, or the policy's]
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// Memory limit, 64MiB to 4GiB [default: 256MiB, or the policy's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Output kept of each stream [default: 10MiB, or the policy's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_output: Option<String>,
    /// Total fuel, about one unit per instruction [default: as much as the time allows]
    #[arg(long, value_name = "N")]
    pub(crate) fuel: Option<u64>,
    /// Where to run it
    #[arg(long, value_enum, default_value_t = Runtime::Auto)]
    pub(crate) runtime: Runtime,
    /// The policy [default: ./skillrun.toml, which must be trusted, then ~/.config/skillrun/skillrun.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Show the script /skill, /workspace and /tmp instead of this machine's paths
    #[arg(long)]
    pub(crate) virtual_paths: bool,
    /// Print the whole outcome as JSON instead of the script's output
    #[arg(long, conflicts_with = "raw")]
    pub(crate) json: bool,
    /// Pass the script's output on byte by byte, valid UTF-8 or not
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print no warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Runtime {
    Auto,
    Wasm,
    Native,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct Skills {
    /// A folder that holds skills, searched first
    #[arg(long = "skills", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Show {
    /// The skill: a path, or a name to look up
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const LOAD_EXAMPLES: &str = "\
Examples:
  skillrun load word-count                            # asks at the terminal before anything runs
  skillrun load word-count --scripts count.py -y      # runs one of its scripts without asking
  skillrun load deploy --answers answers.json         # [{\"skill\": …, \"script\": …, \"answer\": \"yes_once\"}]

Only scripts that SKILL.md refers to run. Exit codes: 0, 126 a script was refused, 127 no such skill; the text
is printed in each case.";

#[derive(Debug, ClapArgs)]
#[command(after_help = LOAD_EXAMPLES)]
pub(crate) struct Load {
    /// The skill: a path, or a name to look up
    pub(crate) skill: String,
    /// Run these of the scripts that the instructions refer to, instead of all
    #[arg(long, value_name = "SCRIPT", value_delimiter = ',')]
    pub(crate) scripts: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) agent: Agent,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What every command takes that runs something because an agent wants it.
#[derive(Debug, ClapArgs)]
pub(crate) struct Agent {
    /// Ask nobody: this is the person's own yes
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// A file of answers to what a person would be asked
    #[arg(long, value_name = "FILE", conflicts_with = "yes")]
    pub(crate) answers: Option<PathBuf>,
    /// A directory that what runs may read and write, and starts in
    #[arg(short, long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Something that all that runs may touch: read:PATH write:PATH env:NAME run:COMMAND …
    #[arg(long, value_name = "GRANT")]
    pub(crate) allow: Vec<String>,
    /// Follow symbolic links in --workspace and --allow, also those that a script could have made
    #[arg(long)]
    pub(crate) follow: bool,
    /// The tenant, for approvals and the audit log
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) world: String,
    /// The conversation, for approvals and the audit log
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) chat: String,
    /// The policy [default: ./skillrun.toml, which must be trusted, then ~/.config/skillrun/skillrun.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Print no warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

const EXPAND_EXAMPLES: &str = "\
Examples:
  agent | skillrun expand --skill word-count -w .          # !{scripts/count.py notes.md} becomes its output
  agent | skillrun expand --allow run:git -w . -y          # !{git log -1 --oneline}
  agent | skillrun expand --events events.jsonl --hand-back --skill lookup

%{cmd} and !{! cmd} run and leave the text, !{cmd} is replaced by what it prints. A command with a `/` is a
script of a --skill, any other needs run:NAME from the policy or --allow. There is no shell.

Exit codes: 0, 126 a marker was not run, 127 no such skill; the text is printed in each case but the last.";

#[derive(Debug, ClapArgs)]
#[command(after_help = EXPAND_EXAMPLES)]
pub(crate) struct Expand {
    /// A skill whose scripts may be named: a path, or a name to look up
    #[arg(long, value_name = "SKILL")]
    pub(crate) skill: Vec<String>,
    /// Append what became of each marker to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Leave captured output out of the text: it is in the events
    #[arg(long, requires = "events")]
    pub(crate) hand_back: bool,
    /// Output kept of each stream of each marker
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub(crate) max_output: String,
    #[command(flatten)]
    pub(crate) agent: Agent,
}

const POLICY_EXAMPLES: &str = "\
Examples:
  skillrun policy check               # what ./skillrun.toml means, or where it is wrong
  skillrun policy trust               # shows ./skillrun.toml and asks
  skillrun policy untrust ../other/skillrun.toml

The policy of a directory comes with it, so it counts only after somebody has trusted it, and as long as it
does not change. Naming a policy with --policy needs no trust, unless it is inside the workspace.

Exit codes: 0, 1 not a valid policy, 125 host error, 126 not trusted.";

#[derive(Debug, ClapArgs)]
#[command(after_help = POLICY_EXAMPLES)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) action: PolicyAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyAction {
    /// Show a policy, ask, and let it count as long as it stays as it is
    Trust {
        /// The policy
        #[arg(default_value = "skillrun.toml")]
        file: PathBuf,
        /// Ask nobody: this is the person's own yes
        #[arg(short, long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take trust back
    Untrust {
        /// The policy, which may be gone
        #[arg(default_value = "skillrun.toml")]
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List what is trusted
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what a policy means, or where it is wrong
    Check {
        /// The policy [default: ./skillrun.toml, then ~/.config/skillrun/skillrun.toml]
        file: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Policy {
    fn json(&self) -> bool {
        match self.action {
            PolicyAction::Trust { json, .. }
            | PolicyAction::Untrust { json, .. }
            | PolicyAction::List { json }
            | PolicyAction::Check { json, .. } => json,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    pub(crate) action: ApprovalsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsAction {
    /// List what is approved
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take approvals back; the scripts are asked for again
    #[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
    Revoke {
        /// Their numbers
        #[arg(group = "which")]
        ids: Vec<i64>,
        /// All of a skill, by its folder's name
        #[arg(long, value_name = "SKILL", group = "which")]
        skill: Option<String>,
        /// All
        #[arg(long, group = "which")]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Approvals {
    fn json(&self) -> bool {
        match self.action {
            ApprovalsAction::List { json } | ApprovalsAction::Revoke { json, .. } => json,
        }
    }
}

const CHECK_EXAMPLES: &str = "\
Examples:
  skillrun check skills/word-count
  skillrun check skills                     # every skill in a folder
  skillrun check skills --format github     # annotations in a workflow
  skillrun check skills --format sarif > skills.sarif

Errors are the rules of the specification, as the reference validator has them. What is found by reading
the scripts is a warning or a note: nothing is run.

Exit codes: 0 no errors, 1 errors (with --strict warnings too), 127 no such skill, 125 host error.";

#[derive(Debug, ClapArgs)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// The skills: paths, names to look up, or folders that hold skills
    #[arg(required = true)]
    pub(crate) skill: Vec<String>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub(crate) format: CheckFormat,
    /// Print JSON; the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Let warnings count as errors for the exit code
    #[arg(long)]
    pub(crate) strict: bool,
}

impl Check {
    pub(crate) fn format(&self) -> CheckFormat {
        match self.json {
            true => CheckFormat::Json,
            false => self.format,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    Text,
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// Workflow commands
    Github,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Prompt {
    /// The skills: paths, or names to look up [default: all that can be found]
    pub(crate) skill: Vec<String>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// What to print
    #[arg(long, value_enum, default_value_t = PromptFormat::Markdown)]
    pub(crate) format: PromptFormat,
    /// Print JSON: both texts, and what they are made of
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PromptFormat {
    /// The scripts of each skill that has some
    Markdown,
    /// The skills, as `skills-ref to-prompt` prints them
    Xml,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Runtimes {
    #[command(subcommand)]
    pub(crate) action: RuntimesAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuntimesAction {
    /// List the interpreters
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Print what others wrote in them, and the texts of its licences
        #[arg(long, conflicts_with = "json")]
        licenses: bool,
    },
    /// Compile the interpreters for this machine, as their first use would
    Prepare {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Runtimes {
    fn json(&self) -> bool {
        match self.action {
            RuntimesAction::List { json, .. } | RuntimesAction::Prepare { json } => json,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// The policy [default: ./skillrun.toml, which must be trusted, then ~/.config/skillrun/skillrun.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
