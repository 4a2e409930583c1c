//! The command line as it was typed, and the help texts.

use crate::audit::Audit;
use crate::complete::{script_names, skill_names};
use clap::{
    Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    ValueHint,
};
use std::ffi::OsString;
use std::path::PathBuf;

/// The command that has a parser of its own.
const RUN: &str = "run";

/// Options are shown under these headings.
const ACCESS: &str = "Access";
const LIMITS: &str = "Limits";
const INPUT_OUTPUT: &str = "Input and output";
const RUNTIME: &str = "Runtime";
const APPROVAL: &str = "Approval";
const SKILLS_POLICY: &str = "Skills and policy";

// In the texts below an indented line is printed as it is. The other lines of a paragraph are joined and wrapped to the
// terminal's width: see `with_joined_lines`. A test runs every example.

const EXAMPLES: &str = "\
Examples:
  skillrun run skills/word-count count.py --workspace . -- README.md
  skillrun run csv-summary summarize --input '{\"path\": \"sales.csv\"}' -w data
  skillrun run log-digest digest.py < server.log
  skillrun list
  skillrun show word-count
  skillrun check skills

`skillrun help COMMAND` shows the options and examples of a command.

Exit codes of `run`: the script's own; 124 timed out, 125 host error or usage error, 126 refused, 127 not found, 128+N
killed by signal N. Wrong usage of any command exits with 125.";

const RUN_EXAMPLES: &str = "\
Examples:
  skillrun run skills/word-count count.py --workspace . -- README.md
  skillrun run word-count -w . --timeout 5s --json -- README.md
  skillrun run csv-summary summarize --input @request.json -w data
  skillrun run disk-usage usage.sh --allow read:./docs -- \"$PWD/docs\"

A skill is a path, or a name that is looked up in --skills DIR, ./.agents/skills, ./.claude/skills, ./.chorus/skills,
./skills, ~/.agents/skills, ~/.claude/skills and ~/.r9s/skills.

The script can read its skill. It can read and write the workspace and its own temporary directory. Everything else needs
a grant.

Exit codes: the script's own; 124 timed out, 125 host error or usage error, 126 refused, 127 not found, 128+N killed by
signal N.";

const LIST_EXAMPLES: &str = "\
Examples:
  skillrun list
  skillrun list --skills skills --json";

const SHOW_EXAMPLES: &str = "\
Examples:
  skillrun show word-count
  skillrun show ./skills/word-count --json";

const PROMPT_EXAMPLES: &str = "\
Examples:
  skillrun prompt
  skillrun prompt word-count csv-summary --format xml";

const APPROVALS_EXAMPLES: &str = "\
Examples:
  skillrun approvals list
  skillrun approvals revoke --all";

const APPROVALS_LIST_EXAMPLES: &str = "\
Examples:
  skillrun approvals list
  skillrun approvals list --json";

const REVOKE_EXAMPLES: &str = "\
Examples:
  skillrun approvals revoke 1
  skillrun approvals revoke --skill word-count
  skillrun approvals revoke --all";

const RUNTIMES_EXAMPLES: &str = "\
Examples:
  skillrun runtimes list
  skillrun runtimes prepare";

const RUNTIMES_LIST_EXAMPLES: &str = "\
Examples:
  skillrun runtimes list
  skillrun runtimes list --licenses";

const PREPARE_EXAMPLES: &str = "\
Examples:
  skillrun runtimes prepare
  skillrun runtimes prepare --json

The compiled interpreters are stored in $XDG_CACHE_HOME/skillrun, or ~/.cache/skillrun. A container image or a CI cache
can contain this directory.";

const AUDIT_EXAMPLES: &str = "\
Examples:
  skillrun audit show -n 20
  skillrun audit verify";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  skillrun doctor
  skillrun doctor --json

Exit codes: 0 everything works, 1 something does not, 125 host error or usage error.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  skillrun completions bash > ~/.skillrun.bash   # source it in ~/.bashrc
  skillrun completions fish > ~/.skillrun.fish   # source it in config.fish

The scripts ask `skillrun` for the names of skills and scripts, so it must be in PATH.";

/// Run the scripts of agent skills in a sandbox.
#[derive(Debug, Parser)]
#[command(name = "skillrun", version, after_help = EXAMPLES)]
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
    /// Print a skill for an agent: instructions, output of the scripts they refer to, references
    Load(Load),
    /// Run the markers in a model's output and print the text with their results
    Expand(Expand),
    /// Trust, check or list policies
    Policy(Policy),
    /// List or revoke approvals
    Approvals(Approvals),
    /// Check skills against the specification, and report what their scripts need
    Check(Check),
    /// Print the description of skills and scripts for a model's system prompt
    Prompt(Prompt),
    /// List the interpreters, or compile them for this machine in advance
    Runtimes(Runtimes),
    /// Show or verify the audit log
    #[command(after_help = AUDIT_EXAMPLES)]
    Audit(Audit),
    /// Report what this machine supports, and test that scripts are confined
    Doctor(Doctor),
    /// Print shell completions
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Args {
    /// Parses a command line, the name of the program first.
    pub(crate) fn parse_words(
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().collect();
        if let Some(run) = parse_run(&words) {
            let command = Command::Run(Box::new(run));
            return Ok(Self { command });
        }
        Self::parse_any(words)
    }

    /// The same by the parser of all commands.
    fn parse_any(words: Vec<OsString>) -> Result<Self, clap::Error> {
        let mut command = with_joined_lines(Self::command());
        let matches = command.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Parses the arguments of `run`, without the parser of the other commands: building that one takes longer than parsing.
/// `None` for anything else, and for errors and requests for help, which name what the other parser knows.
fn parse_run(words: &[OsString]) -> Option<Run> {
    let own = words.get(1..)?;
    if own.first()? != RUN {
        return None;
    }
    let command = Run::augment_args(clap::Command::new(RUN));
    let matches = command.try_get_matches_from(own).ok()?;
    Run::from_arg_matches(&matches).ok()
}

/// Joins the lines of each paragraph below the options, so that only clap wraps them. Breaks in the source would remain
/// where a terminal is narrower, and every second line would be short.
fn with_joined_lines(command: clap::Command) -> clap::Command {
    let help = command.get_after_help().map(ToString::to_string);
    let command = match help {
        Some(help) => command.after_help(join_lines(&help)),
        None => command,
    };
    command.mut_subcommands(with_joined_lines)
}

/// Joins lines that are neither empty, indented nor the heading of a block.
fn join_lines(text: &str) -> String {
    let mut joined = String::new();
    let mut continues = false;
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        joined.push_str(match (joined.is_empty(), continues && is_prose) {
            (true, _) => "",
            (false, true) => " ",
            (false, false) => "\n",
        });
        joined.push_str(line);
        continues = is_prose;
    }
    joined
}

impl Command {
    /// Whether the command runs scripts, or programs of this machine.
    pub(crate) fn runs_scripts(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Load(_) | Self::Expand(_) | Self::Doctor(_)
        )
    }

    /// Whether errors are printed as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Run(run) => run.json,
            Self::List(list) => list.json,
            Self::Show(show) => show.json,
            // An agent reads the text, also that of an error.
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
    #[arg(add = skill_names())]
    pub(crate) skill: String,
    /// The script: its file name, its stem, or its path inside the skill [default: the only one]
    #[arg(add = script_names())]
    pub(crate) script: Option<String>,
    /// Arguments for the script
    #[arg(last = true)]
    pub(crate) args: Vec<OsString>,
    /// A directory that the script starts in, and may read and write
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = ACCESS)]
    pub(crate) workspace: Option<PathBuf>,
    /// Grant access: read:PATH write:PATH env:NAME net:* interpreter:NAME native
    #[arg(long, value_name = "GRANT", help_heading = ACCESS)]
    pub(crate) allow: Vec<String>,
    /// Set an environment variable; without =VALUE, take its value from skillrun's environment
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = ACCESS)]
    pub(crate) env: Vec<String>,
    /// Follow symbolic links in --input @FILE, --workspace and --allow, even those that a script could have created
    #[arg(long, help_heading = ACCESS)]
    pub(crate) follow: bool,
    /// Time limit, 1s to 600s [default: 30s, or the policy's]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = LIMITS)]
    pub(crate) timeout: Option<String>,
    /// Memory limit, 64MiB to 4GiB [default: 256MiB, or the policy's]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = LIMITS)]
    pub(crate) memory: Option<String>,
    /// How much of each output stream is kept [default: 10MiB, or the policy's]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = LIMITS)]
    pub(crate) max_output: Option<String>,
    /// Total fuel, about one unit per instruction [default: as much as the time allows]
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    pub(crate) fuel: Option<u64>,
    /// A JSON value for the script's standard input; @FILE reads it from a file, - from stdin
    #[arg(long, value_name = "JSON|@FILE|-", help_heading = INPUT_OUTPUT)]
    pub(crate) input: Option<String>,
    /// Print the whole outcome as JSON instead of the script's output
    #[arg(long, conflicts_with = "raw", help_heading = INPUT_OUTPUT)]
    pub(crate) json: bool,
    /// Pass the script's output on byte by byte, even if it is not valid UTF-8
    #[arg(long, help_heading = INPUT_OUTPUT)]
    pub(crate) raw: bool,
    /// Print no warnings, notes or progress
    #[arg(short, long, help_heading = INPUT_OUTPUT)]
    pub(crate) quiet: bool,
    /// Which tier runs the script
    #[arg(long, value_enum, default_value_t = Runtime::Auto, help_heading = RUNTIME)]
    pub(crate) runtime: Runtime,
    /// Show the script /skill, /workspace and /tmp instead of this machine's paths
    #[arg(long, help_heading = RUNTIME)]
    pub(crate) virtual_paths: bool,
    /// The policy [default: ./skillrun.toml, which must be trusted, then ~/.config/skillrun/skillrun.toml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = SKILLS_POLICY)]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skills: Skills,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Runtime {
    Auto,
    Wasm,
    Native,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct Skills {
    /// A directory that contains skills, searched first
    #[arg(long = "skills", value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = SKILLS_POLICY)]
    pub(crate) folders: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct Show {
    /// The skill: a path, or a name to look up
    #[arg(add = skill_names())]
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const LOAD_EXAMPLES: &str = "\
Examples:
  skillrun load word-count --scripts count.py -w . -y
  skillrun load word-count -w . --answers ~/answers.json

Without -y and --answers, skillrun asks at the terminal before a script runs. An answers file is a list such as
[{\"skill\": \"word-count\", \"script\": \"scripts/count.py\", \"answer\": \"yes_once\"}].

Only scripts that SKILL.md refers to run.

Exit codes: 0, 126 a script was refused, 127 no such skill, 125 host error or usage error. The text is printed in the
first three cases.";

#[derive(Debug, ClapArgs)]
#[command(after_help = LOAD_EXAMPLES)]
pub(crate) struct Load {
    /// The skill: a path, or a name to look up
    #[arg(add = skill_names())]
    pub(crate) skill: String,
    /// Run only these of the scripts that the instructions refer to
    #[arg(long, value_name = "SCRIPT", value_delimiter = ',', add = script_names())]
    pub(crate) scripts: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) agent: Agent,
    /// Print JSON
    #[arg(long, help_heading = INPUT_OUTPUT)]
    pub(crate) json: bool,
}

/// The options of every command that runs something on behalf of an agent.
#[derive(Debug, ClapArgs)]
pub(crate) struct Agent {
    /// Approve everything without asking, unless an enforcing policy demands an answer
    #[arg(short, long, help_heading = APPROVAL)]
    pub(crate) yes: bool,
    /// Read the answers to questions from this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "yes", help_heading = APPROVAL)]
    pub(crate) answers: Option<PathBuf>,
    /// The tenant, for approvals and the audit log
    #[arg(long, alias = "world", value_name = "NAME", default_value = "", hide_default_value = true, help_heading = APPROVAL)]
    pub(crate) tenant: String,
    /// The session (one conversation), for approvals and the audit log
    #[arg(long, alias = "chat", value_name = "NAME", default_value = "", hide_default_value = true, help_heading = APPROVAL)]
    pub(crate) session: String,
    /// A directory that scripts and commands start in, and may read and write
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = ACCESS)]
    pub(crate) workspace: Option<PathBuf>,
    /// Grant all scripts and commands access: read:PATH write:PATH env:NAME net:* run:COMMAND interpreter:NAME native
    #[arg(long, value_name = "GRANT", help_heading = ACCESS)]
    pub(crate) allow: Vec<String>,
    /// Follow symbolic links in --workspace and --allow, even those that a script could have created
    #[arg(long, help_heading = ACCESS)]
    pub(crate) follow: bool,
    /// The policy [default: ./skillrun.toml, which must be trusted, then ~/.config/skillrun/skillrun.toml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = SKILLS_POLICY)]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Print no warnings, notes or progress
    #[arg(short, long, help_heading = INPUT_OUTPUT)]
    pub(crate) quiet: bool,
}

const EXPAND_EXAMPLES: &str = "\
Examples:
  echo '!{scripts/count.py SKILL.md}' | skillrun expand --skill word-count -y
  echo 'Today is !{date}' | skillrun expand --allow run:date -y

!{cmd} is replaced by the output of the command. %{cmd} and !{! cmd} run it and are removed from the text. A command
with a `/` is a script of a --skill. Any other command needs a run:NAME grant from the policy or --allow. No shell is
involved.

Exit codes: 0, 126 a marker was not run, 127 no such skill, 125 host error or usage error. The text is printed in the
first two cases.";

#[derive(Debug, ClapArgs)]
#[command(after_help = EXPAND_EXAMPLES)]
pub(crate) struct Expand {
    /// A skill whose scripts markers may run: a path, or a name to look up
    #[arg(long, value_name = "SKILL", add = skill_names(), help_heading = SKILLS_POLICY)]
    pub(crate) skill: Vec<String>,
    /// Append the result of each marker to this file, as JSON lines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = INPUT_OUTPUT)]
    pub(crate) events: Option<PathBuf>,
    /// Leave captured output out of the text; it is only in the events
    #[arg(long, requires = "events", help_heading = INPUT_OUTPUT)]
    pub(crate) hand_back: bool,
    /// How much of each output stream of a marker is kept
    #[arg(long, value_name = "SIZE", default_value = "64KiB", help_heading = INPUT_OUTPUT)]
    pub(crate) max_output: String,
    #[command(flatten)]
    pub(crate) agent: Agent,
}

const POLICY_EXAMPLES: &str = "\
Examples:
  skillrun policy check
  skillrun policy trust --yes
  skillrun policy untrust ../other/skillrun.toml

A policy in the current directory counts only after you have trusted it, and only until it changes. A policy named with
--policy needs no trust, unless it is inside the workspace. No flag and no policy widens /etc/skillrun/skillrun.toml or a
policy with `enforce = true`.

Exit codes: 0, 1 not a valid policy, 125 host error or usage error, 126 refused, 127 no such policy, or not trusted.";

const TRUST_EXAMPLES: &str = "\
Examples:
  skillrun policy trust --yes
  skillrun policy trust --yes ../other/skillrun.toml

Without --yes, skillrun shows the policy and asks at the terminal.";

const UNTRUST_EXAMPLES: &str = "\
Examples:
  skillrun policy untrust
  skillrun policy untrust ../other/skillrun.toml";

const POLICY_LIST_EXAMPLES: &str = "\
Examples:
  skillrun policy list
  skillrun policy list --json";

const POLICY_CHECK_EXAMPLES: &str = "\
Examples:
  skillrun policy check
  skillrun policy check ../other/skillrun.toml --json";

#[derive(Debug, ClapArgs)]
#[command(after_help = POLICY_EXAMPLES)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) action: PolicyAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyAction {
    /// Show a policy, ask, and trust it until it changes
    #[command(after_help = TRUST_EXAMPLES)]
    Trust {
        /// The policy
        #[arg(default_value = "skillrun.toml", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Trust it without asking
        #[arg(short, long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop trusting a policy
    #[command(after_help = UNTRUST_EXAMPLES)]
    Untrust {
        /// The policy; the file need not exist any more
        #[arg(default_value = "skillrun.toml", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the trusted policies
    #[command(after_help = POLICY_LIST_EXAMPLES)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what a policy and its ceilings mean, or its errors
    #[command(after_help = POLICY_CHECK_EXAMPLES)]
    Check {
        /// The policy [default: ./skillrun.toml, then ~/.config/skillrun/skillrun.toml]
        #[arg(value_hint = ValueHint::FilePath)]
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
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    pub(crate) action: ApprovalsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsAction {
    /// List the approvals
    #[command(after_help = APPROVALS_LIST_EXAMPLES)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke approvals; skillrun asks again before the scripts run
    #[command(
        after_help = REVOKE_EXAMPLES,
        override_usage = "skillrun approvals revoke [OPTIONS] [NUMBER]...",
        group = clap::ArgGroup::new("which").required(true).multiple(true)
    )]
    Revoke {
        /// Numbers of approvals, as `skillrun approvals list` prints them
        #[arg(value_name = "NUMBER", value_parser = approval_number, group = "which")]
        ids: Vec<String>,
        /// Every approval of a skill, by the name of its folder
        #[arg(long, value_name = "SKILL", add = skill_names(), group = "which")]
        skill: Option<String>,
        /// Everything that was approved for sessions of this name
        #[arg(long, value_name = "NAME", group = "which")]
        session: Option<String>,
        /// Every approval
        #[arg(long, group = "which")]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn approval_number(typed: &str) -> Result<String, String> {
    match typed.parse::<u64>() {
        Ok(_) => Ok(typed.to_owned()),
        Err(_) => Err(
            "write the number that `skillrun approvals list` prints, or --skill NAME to revoke every approval of a skill"
                .into(),
        ),
    }
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
  skillrun check skills                     # every skill in a directory
  skillrun check skills --format github     # annotations in a workflow
  skillrun check skills --format sarif > skills.sarif

Violations of the specification are errors, the same as those of the reference validator. Findings in the
scripts are warnings or notes. No script runs.

Exit codes: 0 no errors, 1 errors (with --strict also warnings), 127 no such skill, 125 host error or usage error.";

#[derive(Debug, ClapArgs)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// The skills: paths, names to look up, or directories that contain skills
    #[arg(required = true, add = skill_names())]
    pub(crate) skill: Vec<String>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub(crate) format: CheckFormat,
    /// Print JSON; the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Exit with 1 for warnings, too
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
#[command(after_help = PROMPT_EXAMPLES)]
pub(crate) struct Prompt {
    /// The skills: paths, or names to look up [default: every skill that can be found]
    #[arg(add = skill_names())]
    pub(crate) skill: Vec<String>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// What to print
    #[arg(long, value_enum, default_value_t = PromptFormat::Markdown)]
    pub(crate) format: PromptFormat,
    /// Print JSON: both texts, and the data they were made from
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PromptFormat {
    /// The scripts of each skill that has any
    Markdown,
    /// The skills, as `skills-ref to-prompt` prints them
    Xml,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = RUNTIMES_EXAMPLES)]
pub(crate) struct Runtimes {
    #[command(subcommand)]
    pub(crate) action: RuntimesAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuntimesAction {
    /// List the interpreters
    #[command(after_help = RUNTIMES_LIST_EXAMPLES)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Print the third-party components of the interpreters and their licences
        #[arg(long, conflicts_with = "json")]
        licenses: bool,
    },
    /// Compile the interpreters for this machine, instead of on first use
    #[command(after_help = PREPARE_EXAMPLES)]
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
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct Doctor {
    /// The policy [default: ./skillrun.toml, which must be trusted, then ~/.config/skillrun/skillrun.toml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = SKILLS_POLICY)]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skills: Skills,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_parser_of_run_means_what_the_parser_of_all_commands_does() {
        for line in [
            "skillrun run skill",
            "/usr/bin/skillrun run skill script.py -- -h --json run",
            "skillrun run -w . skill --allow read:a --allow=env:B script --env C=D --follow",
            "skillrun run skill --timeout 5s --memory 64MiB --json -q --input @file",
            "skillrun run run run -- run",
        ] {
            let alone = parse_run(&words(line)).unwrap();
            let Command::Run(any) = Args::parse_any(words(line)).unwrap().command else {
                panic!("{line}");
            };
            assert_eq!(format!("{alone:?}"), format!("{any:?}"), "{line}");
        }
    }

    #[test]
    fn errors_help_and_other_commands_are_left_to_the_parser_of_all_commands() {
        for line in [
            "",
            "skillrun",
            "run skill",
            "skillrun list",
            "skillrun help run",
            "skillrun --help run skill",
            "skillrun run",
            "skillrun run --help",
            "skillrun run skill --no-such-flag",
            "skillrun run skill --json --raw",
            "skillrun run skill script extra",
        ] {
            assert!(parse_run(&words(line)).is_none(), "{line}");
        }
    }
}
