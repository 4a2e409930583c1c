//! Tests of the documentation: README.md, the book in docs/ and the other pages for readers.
//!
//! - Every `console` block runs and prints what the page shows. The commands of a page run one after the other in a
//!   copy of what a clone of the repository contains, with an empty home. `UPDATE=1` rewrites the pages.
//! - A block that cannot run here is marked `console,ignore`, and a comment above it gives the reason.
//! - The recorded session of the README, an SVG, is what its commands print.
//! - The Rust examples of docs/embedding.md are the tests in `embedding.rs`.
//! - Every file of the repository that a page names in backticks exists.
//! - Every link leads to a file and a heading that exist, and pages of the book link only to files of the book.
//!
//! In a block, a line that starts with `$ ` is a command and the lines below it are its output, stdout and stderr
//! together. `...` on a line of its own stands for any lines, `[..]` for any text in a line, `[CWD]` and `[HOME]` for
//! those directories. A command that fails is followed by `$ echo $?`.
//!
//! `snapbox` compares. Its sibling `trycmd` would also read the blocks, but it is not a shell, so a pipe could not be
//! shown, and its dependencies turn on features that build wasmtime a second time.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue panics, and the panic names the line"
)]

use markdown::mdast::Node;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// The parts of a clone that the commands on the pages use.
const CLONE: [&str; 6] = [
    "CHANGELOG.md",
    "LICENSE-MIT",
    "README.md",
    "docs",
    "skills",
    "tests/check/forecast",
];
/// The pages outside the book.
const TOP: [&str; 5] = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "tests/README.md",
];
/// Begins the comment above a block that does not run. The rest of the comment is the reason.
const NOT_RUN: &str = "<!-- not run: ";

#[test]
fn every_console_block_prints_what_the_page_shows() {
    let cache = prepared_cache();
    let mut wrong = Vec::new();
    let mut run = 0;
    for page in pages() {
        let blocks: Vec<Block> = blocks(&page).into_iter().filter(Block::runs).collect();
        if blocks.is_empty() {
            continue;
        }
        run += blocks.len();
        let shell = Shell::new(&cache);
        let mut steps: Vec<Step> = blocks.iter().flat_map(Block::steps).collect();
        let mut last = 0;
        for step in &mut steps {
            let at = format!("{}:{}", name(&page), step.line);
            if last != 0 && step.command != "echo $?" {
                wrong.push(format!(
                    "{at}: the command above exits with {last}; show it with `$ echo $?`"
                ));
            }
            let (printed, code) = shell.run(&step.command, last);
            // The page shows the code, so it is no longer a failure.
            last = if step.command == "echo $?" { 0 } else { code };
            let (printed, shown) = shell.compare(&at, printed, &step.output);
            if let Err(difference) = shown {
                wrong.push(format!("{at}: `{}`\n{difference}", step.command));
            }
            step.output = printed;
        }
        if last != 0 {
            wrong.push(format!(
                "{}: the last command exits with {last}; show it with `$ echo $?`",
                name(&page)
            ));
        }
        if std::env::var_os("UPDATE").is_some() {
            rewrite(&page, &steps);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // If no blocks were found, any page would pass.
    assert!(run >= 10, "only {run} blocks were found");
}

#[test]
fn every_console_block_runs_or_says_why_not() {
    let mut wrong = Vec::new();
    for page in pages() {
        for block in blocks(&page) {
            let at = format!("{}:{}", name(&page), block.line);
            match block.language.as_str() {
                "console" if block.text.starts_with("$ ") => {}
                "console" => wrong.push(format!("{at}: the block does not start with a command")),
                "console,ignore" if block.above.starts_with(NOT_RUN) => {}
                "console,ignore" => wrong.push(format!(
                    "{at}: no comment `{NOT_RUN}REASON -->` above the block"
                )),
                other
                    if other.starts_with("console")
                        || matches!(other, "" | "sh" | "bash" | "shell") =>
                {
                    wrong.push(format!(
                        "{at}: `{other}` is neither `console` nor `console,ignore` nor `text`"
                    ));
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let book = top().join("docs");
    let mut anchors: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for page in pages() {
        for (line, link) in links(&page) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let at = format!("{}:{line}: `{link}`", name(&page));
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => normal(&page.parent().unwrap().join(path)),
            };
            if !target.exists() {
                wrong.push(format!("{at}: no such file"));
            } else if page.starts_with(&book) && !target.starts_with(&book) {
                wrong.push(format!("{at} leads out of the book"));
            } else if !anchor.is_empty() {
                let known = anchors
                    .entry(target.clone())
                    .or_insert_with(|| headings(&target));
                if !known.contains(anchor) {
                    wrong.push(format!("{at}: no such heading; there are {known:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 30, "only {checked} links were found");
}

#[test]
fn every_file_that_a_page_names_exists() {
    let folders = [
        ".ci/",
        "benches/",
        "docs/",
        "host/",
        "runtimes/",
        "skills/",
        "tests/",
    ];
    let mut wrong = Vec::new();
    let mut checked = 0;
    // The changelog also names files that no longer exist.
    for page in pages()
        .iter()
        .filter(|page| !page.ends_with("CHANGELOG.md"))
    {
        nodes(page, |node| {
            let Node::InlineCode(code) = node else { return };
            let path = code.value.as_str();
            // Capitals are a placeholder.
            let is_path = folders.iter().any(|folder| path.starts_with(folder))
                && !path.contains([' ', '*', '<', '{', '…'])
                && !path.contains("NAME");
            if is_path {
                checked += 1;
                if !top().join(path).exists() {
                    wrong.push(format!("{}:{}: `{path}`", name(page), line(node)));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "no such files:\n{}", wrong.join("\n"));
    assert!(checked >= 30, "only {checked} paths were found");
}

#[test]
fn every_page_is_in_the_summary() {
    let book = top().join("docs");
    let listed: BTreeSet<PathBuf> = links(&book.join("SUMMARY.md"))
        .into_iter()
        .map(|(_, link)| normal(&book.join(link)))
        .collect();
    let pages: BTreeSet<PathBuf> = pages()
        .into_iter()
        .filter(|page| page.starts_with(&book) && !page.ends_with("SUMMARY.md"))
        .collect();
    assert_eq!(listed, pages);
}

#[test]
fn the_examples_of_embedding_are_tests_that_run() {
    let mut run = Vec::new();
    let mut rest = include_str!("embedding.rs");
    while let Some((_, begin)) = rest.split_once("        // docs: begin\n") {
        let (example, end) = begin.split_once("        // docs: end\n").unwrap();
        let lines = example.lines();
        let lines = lines.map(|line| line.strip_prefix("        ").unwrap_or(line));
        run.push(lines.collect::<Vec<_>>().join("\n"));
        rest = end;
    }
    let page = blocks(&top().join("docs/embedding.md"));
    let page = page.iter().filter(|block| block.language == "rust");
    let shown: Vec<&str> = page.map(|block| block.text.trim_end()).collect();
    assert_eq!(run, shown);
}

#[test]
fn the_readme_has_at_most_150_lines() {
    let lines = read(&top().join("README.md")).lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}

#[test]
fn the_recorded_session_is_what_its_commands_print() {
    let cache = prepared_cache();
    let folder = tempfile::tempdir().unwrap();
    let drawn = folder.path().join("demo.svg");
    let status = Command::new("python3")
        .arg(top().join(".ci/demo.py"))
        .arg(env!("CARGO_BIN_EXE_skillrun"))
        .arg(&drawn)
        .env("XDG_CACHE_HOME", &cache)
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    if std::env::var_os("UPDATE").is_some() {
        fs::copy(&drawn, top().join("docs/demo.svg")).unwrap();
    }
    let [drawn, shown] =
        [drawn, top().join("docs/demo.svg")].map(|file| snapbox::Data::text(read(&file)));
    let result = snapbox::Assert::new().try_eq(Some(&"docs/demo.svg"), drawn, shown);
    assert!(
        result.is_ok(),
        "{}\nhint: `just demo` records it again",
        result.unwrap_err()
    );
}

/// Compiles the interpreters into the cache that the tests of `outside` use, too: once, not once per block.
fn prepared_cache() -> PathBuf {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let home = tempfile::tempdir().unwrap();
    let prepared = Command::new(env!("CARGO_BIN_EXE_skillrun"))
        .args(["runtimes", "prepare"])
        .env("HOME", home.path())
        .env("XDG_CACHE_HOME", &cache)
        .output()
        .unwrap();
    assert!(
        prepared.status.success(),
        "{}",
        String::from_utf8_lossy(&prepared.stderr)
    );
    cache
}

/// Where the commands of one page run: a copy of a clone, an empty home, and a clean environment.
struct Shell {
    root: tempfile::TempDir,
    cache: PathBuf,
    assert: snapbox::Assert,
}

impl Shell {
    fn new(cache: &Path) -> Self {
        // Not in `/tmp`, where a script has a directory of its own, so that nothing there is denied to it.
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        let [home, bin, clone] = ["home", "bin", "skillrun"].map(|name| root.path().join(name));
        for folder in [&home, &bin] {
            fs::create_dir(folder).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_skillrun"), bin.join("skillrun")).unwrap();
        for name in CLONE {
            copy_all(&top().join(name), &clone.join(name));
        }
        let mut redactions = snapbox::Redactions::new();
        redactions.insert("[CWD]", clone).unwrap();
        redactions.insert("[HOME]", home).unwrap();
        Self {
            root,
            cache: cache.to_owned(),
            assert: snapbox::Assert::new().redact_with(redactions),
        }
    }

    /// Runs a command as a shell does after one that exited with `last`; returns what it printed and its exit code.
    fn run(&self, command: &str, last: i32) -> (String, i32) {
        let path = |name| self.root.path().join(name);
        let output = path("output");
        let file = File::create(&output).unwrap();
        let status = Command::new("sh")
            .arg("-c")
            .arg(format!("(exit {last})\n{command}"))
            .current_dir(path("skillrun"))
            .env_clear()
            .env("HOME", path("home"))
            .env(
                "PATH",
                format!("{}:/usr/local/bin:/usr/bin:/bin", path("bin").display()),
            )
            .env("XDG_CACHE_HOME", &self.cache)
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .status()
            .unwrap();
        (fs::read_to_string(output).unwrap(), status.code().unwrap())
    }

    /// The output in the page's form, with `...` and `[..]` where the page has them, and whether it matches the page.
    fn compare(
        &self,
        at: &str,
        printed: String,
        shown: &str,
    ) -> (String, snapbox::assert::Result<()>) {
        let data = |text: &str| snapbox::Data::text(text.to_owned());
        let (normal, _) = self.assert.normalize(data(&printed), data(shown));
        let result = self.assert.try_eq(Some(&at), data(&printed), data(shown));
        (normal.render().unwrap_or(printed), result)
    }
}

/// A fenced code block.
struct Block {
    /// The line of the fence.
    line: usize,
    language: String,
    text: String,
    /// The line above it that is not empty.
    above: String,
}

/// A command on a page.
struct Step {
    line: usize,
    command: String,
    /// How many lines of output the page shows.
    lines: usize,
    output: String,
}

impl Block {
    fn runs(&self) -> bool {
        self.language == "console"
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step {
                    line: self.line + 1 + index,
                    command: command.to_owned(),
                    lines: 0,
                    output: String::new(),
                }),
                (None, Some(step)) => {
                    step.lines += 1;
                    step.output.push_str(line);
                    step.output.push('\n');
                }
                (None, None) => {}
            }
        }
        steps
    }
}

/// Writes the output of the commands below them.
fn rewrite(page: &Path, steps: &[Step]) {
    let text = read(page);
    let lines: Vec<&str> = text.lines().collect();
    let mut new = String::new();
    let mut next = 0;
    for step in steps {
        for line in &lines[next..step.line] {
            new.push_str(line);
            new.push('\n');
        }
        new.push_str(&step.output);
        next = step.line + step.lines;
    }
    for line in &lines[next..] {
        new.push_str(line);
        new.push('\n');
    }
    fs::write(page, new).unwrap();
}

/// Every node of a page.
fn nodes(page: &Path, mut each: impl FnMut(&Node)) {
    let tree = markdown::to_mdast(&read(page), &markdown::ParseOptions::gfm()).unwrap();
    let mut open = vec![&tree];
    while let Some(node) = open.pop() {
        each(node);
        open.extend(node.children().into_iter().flatten().rev());
    }
}

fn line(node: &Node) -> usize {
    node.position().map_or(0, |position| position.start.line)
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = read(page);
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    nodes(page, |node| {
        if let Node::Code(code) = node {
            let before = &lines[..line(node).saturating_sub(1)];
            let above = before.iter().rev().find(|line| !line.trim().is_empty());
            blocks.push(Block {
                line: line(node),
                language: code.lang.clone().unwrap_or_default(),
                text: code.value.clone(),
                above: above.copied().unwrap_or_default().to_owned(),
            });
        }
    });
    blocks
}

fn links(page: &Path) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    nodes(page, |node| {
        let url = match node {
            Node::Link(link) => &link.url,
            Node::Image(image) => &image.url,
            Node::Definition(definition) => &definition.url,
            _ => return,
        };
        links.push((line(node), url.clone()));
    });
    links
}

/// The anchors of a page, as GitHub and mdBook make them from its headings.
fn headings(page: &Path) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    nodes(page, |node| {
        if let Node::Heading(heading) = node {
            let text: String = heading.children.iter().map(Node::to_string).collect();
            let slug = slug(&text);
            let mut anchor = slug.clone();
            for number in 1.. {
                if anchors.insert(anchor) {
                    break;
                }
                anchor = format!("{slug}-{number}");
            }
        }
    });
    anchors
}

fn slug(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

/// Every page that is checked, in order.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = TOP.iter().map(|page| top().join(page)).collect();
    for entry in fs::read_dir(top().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

fn top() -> PathBuf {
    normal(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// A path without `.` and `..`, whether it exists or not.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = normal.pop(),
            other => normal.push(other),
        }
    }
    normal
}

fn name(page: &Path) -> String {
    page.strip_prefix(top()).unwrap().display().to_string()
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

fn copy_all(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy_all(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}
