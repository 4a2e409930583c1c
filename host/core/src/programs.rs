//! Where the programs of this machine are: interpreters, and commands that a policy names.

use rustix::fs::{Access, access};
use std::path::{Path, PathBuf};

/// Where commands are looked for, and nowhere else: a person's own folders hold what only that person
/// chose, and shims that need his home.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The first program of these names that is where every confined program can see it.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let folders = PATH.split(':').map(Path::new);
    let mut candidates = folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    candidates.find(|path| {
        path.is_file() && access(path, Access::EXEC_OK).is_ok() && skillrun_confine::is_shown(path)
    })
}

/// A variable, or a setting of `git`, its value, and what it is for.
type Entry = (&'static str, &'static str, &'static str);

/// A command that executes what files in its current directory say.
///
/// Approving `git status` does not approve the program that `.git/config` in a stranger's workspace names. So these
/// commands get variables that take precedence over such files. Whatever they start is confined like themselves.
///
/// Commands whose purpose is to execute what they find (`make`, `npm`, `cargo`, `bash`, `python3`) are not listed.
/// Nor are commands that read only the user's or the system's configuration (`curl`, `rg`, `less`, `tar`, `ssh`):
/// their environment is built from scratch, and their home is the scratch directory.
struct Configured {
    command: &'static str,
    variables: &'static [Entry],
    /// Passed as `GIT_CONFIG_KEY_N` and `GIT_CONFIG_VALUE_N`, which take precedence like `git -c`.
    settings: &'static [Entry],
}

/// Some settings of `git` cannot be overridden, because an empty value breaks the command (`diff.external`) or the
/// repository chooses the key: drivers in `.gitattributes` (`filter`, `textconv`, `merge`), aliases,
/// `remote.*.uploadpack`, `submodule.*.update`. The programs that they name run confined.
const CONFIGURED: [Configured; 2] = [
    Configured {
        command: "git",
        variables: &[
            (
                "GIT_CONFIG_NOSYSTEM",
                "1",
                "nothing but the repository and this table counts",
            ),
            ("GIT_TERMINAL_PROMPT", "0", "there is no terminal to ask at"),
            ("GIT_ASKPASS", "", "core.askPass: asks for passwords"),
            ("GIT_PAGER", "cat", "core.pager and pager.*"),
            (
                "GIT_EDITOR",
                "true",
                "core.editor: `git commit` without -m, `git tag -a`",
            ),
            (
                "GIT_SEQUENCE_EDITOR",
                "true",
                "sequence.editor: `git rebase -i`",
            ),
            ("GIT_PROXY_COMMAND", "", "core.gitProxy: git:// remotes"),
            (
                "GIT_OPTIONAL_LOCKS",
                "0",
                "`git status` does not rewrite the index",
            ),
        ],
        settings: &[
            (
                "safe.directory",
                "*",
                "a person gave it the workspace; without namespaces its private user owns no file",
            ),
            (
                "core.fsmonitor",
                "false",
                "`git status` asks it what changed",
            ),
            (
                "core.hooksPath",
                "/dev/null",
                "hooks: commit, checkout, merge, push",
            ),
            ("core.sshCommand", "ssh", "ssh:// remotes"),
            (
                "core.alternateRefsCommand",
                "true",
                "fetch from a repository with alternates",
            ),
            (
                "credential.helper",
                "",
                "asks for passwords; an empty one forgets those before",
            ),
            (
                "protocol.ext.allow",
                "never",
                "ext:: remotes are command lines",
            ),
            (
                "gpg.program",
                "gpg",
                "`git log` with log.showSignature; signed commits",
            ),
            ("gpg.openpgp.program", "gpg", "the same by its other name"),
            (
                "gpg.x509.program",
                "gpgsm",
                "the same for gpg.format = x509",
            ),
            (
                "gpg.ssh.program",
                "ssh-keygen",
                "the same for gpg.format = ssh",
            ),
            (
                "gpg.ssh.defaultKeyCommand",
                "false",
                "finds a key to sign with",
            ),
        ],
    },
    Configured {
        command: "hg",
        variables: &[
            (
                "HGRCSKIPREPO",
                "1",
                ".hg/hgrc: hooks, extensions, aliases, editors",
            ),
            ("HGRCPATH", "", "nor any other file of settings"),
            ("HGPLAIN", "1", "output as programs expect it"),
        ],
        settings: &[],
    },
];

/// The variables that keep a command from executing what files in its current directory say.
pub(crate) fn safe_variables(command: &str) -> Vec<(String, String)> {
    let Some(known) = CONFIGURED.iter().find(|known| known.command == command) else {
        return Vec::new();
    };
    let variables = known.variables.iter();
    let mut all: Vec<(String, String)> = variables
        .map(|(name, value, _)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    if known.settings.is_empty() {
        return all;
    }
    let count = known.settings.len().to_string();
    all.push(("GIT_CONFIG_COUNT".to_owned(), count));
    for (number, (key, value, _)) in known.settings.iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{number}"), (*key).to_owned()));
        all.push((format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned()));
    }
    all
}
