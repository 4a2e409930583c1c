//! Fake secrets where real ones would be, and files that must not change.
//!
//! Every secret contains a token that is unique to this run, so that finding it anywhere proves where it came from.
//! The job searches for it as it is, reversed, in hexadecimal and in base64.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Where a fake secret is, what it is called, and the text around its token.
const FILES: [(&str, &str, &str); 17] = [
    (
        "home/.ssh/id_rsa",
        "ssh key",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
    ),
    ("home/.ssh/id_ed25519", "second ssh key", "{}\n"),
    (
        "home/.aws/credentials",
        "aws credentials",
        "[default]\naws_access_key_id = AKIA\naws_secret_access_key = {}\n",
    ),
    (
        "home/.netrc",
        "netrc",
        "machine example.com login me password {}\n",
    ),
    (
        "home/.git-credentials",
        "git credentials",
        "https://me:{}@example.com\n",
    ),
    (
        "home/.npmrc",
        "npm token",
        "//registry.example.com/:_authToken={}\n",
    ),
    ("home/.pypirc", "pypi token", "[pypi]\npassword = {}\n"),
    (
        "home/.docker/config.json",
        "docker login",
        "{\"auths\":{\"x\":{\"auth\":\"{}\"}}}\n",
    ),
    ("home/.kube/config", "kube config", "token: {}\n"),
    ("home/.config/gh/hosts.yml", "gh token", "oauth_token: {}\n"),
    (
        "home/.config/google-chrome/Default/Login Data",
        "chrome logins",
        "{}\n",
    ),
    (
        "home/.mozilla/firefox/x.default/logins.json",
        "firefox logins",
        "{\"encryptedPassword\":\"{}\"}\n",
    ),
    ("home/.bitcoin/wallet.dat", "wallet", "{}\n"),
    ("home/.bash_history", "shell history", "export TOKEN={}\n"),
    (
        "home/.claude/settings.json",
        "agent settings",
        "{\"key\":\"{}\"}\n",
    ),
    ("home/.env", "env file of the home", "SECRET={}\n"),
    ("project/.env", "env file of the project", "SECRET={}\n"),
];
/// Environment variables of the caller with fake secrets.
const VARIABLES: [&str; 7] = [
    "AWS_SECRET_ACCESS_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GITHUB_TOKEN",
    "NPM_TOKEN",
    "DATABASE_URL",
    "SSH_AUTH_SOCK",
];
/// Files without a secret that scripts often change.
const CANARIES: [&str; 6] = [
    "canary/notes.txt",
    "home/.bashrc",
    "home/.profile",
    "home/.ssh/authorized_keys",
    "home/.config/autostart/x.desktop",
    "project/Makefile",
];
/// The content of the workspace, which the script may read and change.
const WORK: [(&str, &str); 3] = [
    ("data.csv", "name,count\na,1\nb,2\n"),
    ("README.md", "# A project\n"),
    ("src/app.py", "print('hello')\n"),
];
/// Nothing below these may change.
const KEPT: [&str; 4] = ["home", "canary", "project", "skill"];

/// The secrets of one run.
pub(super) struct Sentinels {
    /// Name, token, and the token in other forms.
    all: Vec<(&'static str, String, Vec<Vec<u8>>)>,
}

impl Sentinels {
    /// Creates everything around a script in `root`.
    pub(super) fn plant(root: &Path) -> io::Result<Self> {
        let mut all = Vec::new();
        for (path, name, around) in FILES {
            let token = token();
            write(
                &root.join(path),
                &around.replacen("{}", &token, 1).replace("{}", ""),
            )?;
            all.push((name, token));
        }
        all.extend(VARIABLES.map(|name| (name, token())));
        for path in CANARIES {
            write(&root.join(path), "as it was\n")?;
        }
        for (path, text) in WORK {
            write(&root.join("project/work").join(path), text)?;
        }
        let forms = |(name, token): (&'static str, String)| {
            let forms = forms(&token);
            (name, token, forms)
        };
        Ok(Self {
            all: all.into_iter().map(forms).collect(),
        })
    }

    /// The caller's environment variables.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self
            .all
            .iter()
            .filter(|(name, ..)| VARIABLES.contains(name));
        variables.map(|(name, token, _)| (*name, token.as_str()))
    }

    /// The names of the secrets that some bytes contain.
    pub(super) fn found_in(&self, bytes: &[u8]) -> Vec<&'static str> {
        let found = self.all.iter().filter(|(_, _, forms)| {
            let holds = |form: &Vec<u8>| bytes.windows(form.len()).any(|part| part == form);
            forms.iter().any(holds)
        });
        found.map(|(name, ..)| *name).collect()
    }

    /// The names of the secrets in files and file names below a folder.
    pub(super) fn found_below(&self, folder: &Path) -> io::Result<Vec<&'static str>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            found.extend(self.found_in(entry.file_name().as_encoded_bytes()));
            let kind = entry.file_type()?;
            if kind.is_dir() {
                found.extend(self.found_below(&entry.path())?);
            } else if kind.is_file() {
                found.extend(self.found_in(&fs::read(entry.path())?));
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// Random letters that cannot be guessed and that no text encoding changes.
fn token() -> String {
    let random = || RandomState::new().hash_one(0);
    format!("SENTINEL{:016x}{:016x}", random(), random())
}

fn forms(token: &str) -> Vec<Vec<u8>> {
    let bytes = token.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![
        bytes.to_vec(),
        bytes.iter().rev().copied().collect(),
        hex.to_uppercase().into_bytes(),
        hex.into_bytes(),
    ];
    // The letters depend on where in a group of three the token begins; the groups at its ends are left out.
    forms.extend((0..3).map(|skip| base64(&bytes[skip..])));
    forms
}

/// Whole groups of three bytes in base64.
fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks_exact(3).flat_map(|three| {
        let group = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        [18, 12, 6, 0].map(|shift| LETTERS[(group >> shift) as usize & 63])
    });
    groups.collect()
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// The state outside the workspace.
#[derive(Debug)]
pub(super) struct Picture(BTreeMap<PathBuf, String>);

impl Picture {
    pub(super) fn of(root: &Path) -> io::Result<Self> {
        let mut all = BTreeMap::new();
        for kept in KEPT {
            look(root, &root.join(kept), &mut all)?;
        }
        Ok(Self(all))
    }

    /// What differs afterwards.
    pub(super) fn changes(&self, after: &Self) -> Vec<String> {
        let paths = self.0.keys().chain(after.0.keys());
        let paths: std::collections::BTreeSet<_> = paths.collect();
        let changed = paths.into_iter().filter_map(|path| {
            let how = match (self.0.get(path), after.0.get(path)) {
                (Some(before), Some(after)) if before == after => return None,
                (Some(_), Some(_)) => "changed",
                (None, _) => "made",
                (_, None) => "removed",
            };
            Some(format!("{how} `{}`", path.display()))
        });
        changed.collect()
    }
}

fn look(root: &Path, path: &Path, all: &mut BTreeMap<PathBuf, String>) -> io::Result<()> {
    let name = path.strip_prefix(root).unwrap_or(path).to_owned();
    if name == Path::new("project/work") {
        return Ok(());
    }
    let meta = path.symlink_metadata()?;
    let mut told = format!("{:o} {} {}", meta.mode(), meta.uid(), meta.nlink());
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            look(root, &entry?.path(), all)?;
        }
    } else {
        let bytes = if meta.is_file() {
            fs::read(path)?
        } else {
            vec![]
        };
        let hash =
            std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(bytes);
        told += &format!(
            " {}.{} {:?} {hash}",
            meta.mtime(),
            meta.mtime_nsec(),
            fs::read_link(path).ok()
        );
    }
    all.insert(name, told);
    Ok(())
}
