//! Finds the programs of this machine: interpreters, and commands that a policy names.

use rustix::fs::{Access, access};
use std::path::{Path, PathBuf};

/// The only directories that are searched for commands. A user's own directories contain what only that user
/// chose, and shims that need their home.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The first program with one of these names that every confined program can see.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let folders = PATH.split(':').map(Path::new);
    let mut candidates = folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    candidates.find(|path| {
        path.is_file() && access(path, Access::EXEC_OK).is_ok() && skillrun_confine::is_shown(path)
    })
}

/// A variable, or a setting of `git`, and its value.
type Entry = (&'static str, &'static str);

/// A command that executes what files in its current directory say.
///
/// Approving `git status` does not approve the program that `.git/config` in a stranger's workspace names. So these
/// commands get variables that take precedence over such files. Whatever they start is confined like themselves.
///
/// Commands whose purpose is to execute what they find (`make`, `npm`, `cargo`, `bash`, `python3`) are not listed.
/// Nor are commands that read only the user's or the system's configuration (`curl`, `rg`, `less`, `tar`, `ssh`):
/// their environment is built from scratch, and their home is the scratch directory.
struct HardenedCommand {
    command: &'static str,
    variables: &'static [Entry],
    /// Passed as `GIT_CONFIG_KEY_N` and `GIT_CONFIG_VALUE_N`, which take precedence like `git -c`.
    settings: &'static [Entry],
}

/// Some settings of `git` cannot be overridden, because an empty value breaks the command (`diff.external`) or the
/// repository chooses the key: drivers in `.gitattributes` (`filter`, `textconv`, `merge`), aliases,
/// `remote.*.uploadpack`, `submodule.*.update`. The programs that they name run confined.
const HARDENED_COMMANDS: [HardenedCommand; 2] = [
    HardenedCommand {
        command: "git",
        variables: &[
            // Only the repository and this table apply.
            ("GIT_CONFIG_NOSYSTEM", "1"),
            // There is no terminal to ask at.
            ("GIT_TERMINAL_PROMPT", "0"),
            // core.askPass: asks for passwords.
            ("GIT_ASKPASS", ""),
            // core.pager and pager.*.
            ("GIT_PAGER", "cat"),
            // core.editor: `git commit` without -m, `git tag -a`.
            ("GIT_EDITOR", "true"),
            // sequence.editor: `git rebase -i`.
            ("GIT_SEQUENCE_EDITOR", "true"),
            // core.gitProxy: git:// remotes.
            ("GIT_PROXY_COMMAND", ""),
            // `git status` does not rewrite the index.
            ("GIT_OPTIONAL_LOCKS", "0"),
        ],
        settings: &[
            // A person granted the workspace; without namespaces its private user owns no file.
            ("safe.directory", "*"),
            // `git status` asks it what changed.
            ("core.fsmonitor", "false"),
            // Hooks: commit, checkout, merge, push.
            ("core.hooksPath", "/dev/null"),
            // ssh:// remotes.
            ("core.sshCommand", "ssh"),
            // Fetch from a repository with alternates.
            ("core.alternateRefsCommand", "true"),
            // Asks for passwords; an empty one forgets those before.
            ("credential.helper", ""),
            // ext:: remotes are command lines.
            ("protocol.ext.allow", "never"),
            // `git log` with log.showSignature; signed commits.
            ("gpg.program", "gpg"),
            // The same by its other name.
            ("gpg.openpgp.program", "gpg"),
            // The same for gpg.format = x509.
            ("gpg.x509.program", "gpgsm"),
            // The same for gpg.format = ssh.
            ("gpg.ssh.program", "ssh-keygen"),
            // Finds a key to sign with.
            ("gpg.ssh.defaultKeyCommand", "false"),
        ],
    },
    HardenedCommand {
        command: "hg",
        variables: &[
            // .hg/hgrc: hooks, extensions, aliases, editors.
            ("HGRCSKIPREPO", "1"),
            // All other configuration files.
            ("HGRCPATH", ""),
            // Output as programs expect it.
            ("HGPLAIN", "1"),
        ],
        settings: &[],
    },
];

/// The variables that keep a command from executing what files in its current directory say.
pub(crate) fn safe_variables(command: &str) -> Vec<(String, String)> {
    let Some(known) = HARDENED_COMMANDS
        .iter()
        .find(|known| known.command == command)
    else {
        return Vec::new();
    };
    let variables = known.variables.iter();
    let mut all: Vec<(String, String)> = variables
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    if known.settings.is_empty() {
        return all;
    }
    let count = known.settings.len().to_string();
    all.push(("GIT_CONFIG_COUNT".to_owned(), count));
    for (number, (key, value)) in known.settings.iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{number}"), (*key).to_owned()));
        all.push((format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned()));
    }
    all
}
