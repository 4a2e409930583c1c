//! Reads files that a skill's author controls: never more than a limit, never anything but a regular
//! file, never outside the directory handle.

use cap_std::fs::{Dir, File, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};
use std::io::{self, Read as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("is {0}, not a file")]
    NotAFile(&'static str),
    #[error("is larger than {0} bytes")]
    TooLarge(u64),
    #[error("leads out of the skill")]
    Outside,
    #[error("{}", plain(.0))]
    Io(#[from] io::Error),
}

/// The system's message for an error, in lower case and without the error number.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// Opens a regular file for reading.
///
/// The metadata are those of the opened file, so it does not matter if its name leads elsewhere later.
pub(crate) fn open(dir: &Dir, path: &Path) -> Result<(File, Metadata), ReadError> {
    let mut options = OpenOptions::new();
    // Without `O_NONBLOCK`, opening a FIFO would block until another process opens it for writing.
    options
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = match dir.open_with(path, &options) {
        // A socket cannot be opened at all, so read its type by name.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Err(ReadError::NotAFile(kind(&dir.metadata(path)?)));
        }
        file => file.map_err(escape_or_io)?,
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(ReadError::NotAFile(kind(&meta)));
    }
    Ok((file, meta))
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(dir: &Dir, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let (file, meta) = open(dir, path)?;
    read_open(file, &meta, limit)
}

/// Reads a file that [`open`] opened, if it has at most `limit` bytes.
pub(crate) fn read_open(file: File, meta: &Metadata, limit: u64) -> Result<Vec<u8>, ReadError> {
    if meta.len() > limit {
        return Err(ReadError::TooLarge(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge(limit));
    }
    Ok(bytes)
}

/// The real path of an open file or directory.
pub(crate) fn real_path(file: &impl AsRawFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// cap-std reports a path that leaves its directory as a permission error without an errno of its
/// own, or with `EXDEV` where the kernel did the resolving.
pub(crate) fn escape_or_io(error: io::Error) -> ReadError {
    let escaped = error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error())
        || (error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none());
    if escaped {
        ReadError::Outside
    } else {
        ReadError::Io(error)
    }
}

fn kind(meta: &Metadata) -> &'static str {
    use rustix::fs::FileType;
    match FileType::from_raw_mode(meta.mode()) {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::BlockDevice | FileType::CharacterDevice => "a device",
        _ => "something else",
    }
}

/// As many combining marks as one character has in any language; more of them only cover the lines around it.
const MAX_MARKS: usize = 4;

/// Escapes a name for a message. Control characters, invisible characters and characters without a glyph are
/// escaped, so that a file name cannot rewrite the line it is printed in, nor look like another name.
pub fn show(name: &str) -> String {
    if name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return name.to_owned();
    }
    let categories = CodePointMapData::<GeneralCategory>::new();
    let mut shown = String::with_capacity(name.len());
    let (mut before, mut marks) = (GeneralCategory::Unassigned, 0);
    for c in name.chars() {
        let category = categories.get(c);
        marks = match category {
            GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark => marks + 1,
            _ => 0,
        };
        // A variation selector that turns a symbol into an emoji has a visible effect.
        let makes_emoji = c == '\u{fe0f}' && before == GeneralCategory::OtherSymbol;
        if marks > MAX_MARKS || (is_hidden(c, category) && !makes_emoji) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        before = category;
    }
    shown
}

/// Whether a character is invisible or ambiguous. Blank letters are among the default-ignorable code points.
fn is_hidden(c: char, category: GeneralCategory) -> bool {
    use GeneralCategory as Category;
    matches!(
        category,
        Category::Control
            | Category::Format
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::PrivateUse
            | Category::Unassigned
    ) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const SECRET: &str = "outside";

    /// `around/secret`, and beside it `root` with a file, a directory, and links that lead out of it in
    /// every way a link can.
    fn tree() -> (tempfile::TempDir, Dir) {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().join("root");
        fs::create_dir_all(root.join("d/e")).unwrap();
        fs::write(around.path().join("secret"), SECRET).unwrap();
        fs::write(root.join("f"), "inside").unwrap();
        fs::write(root.join("d/f"), "inside").unwrap();
        symlink(around.path(), root.join("absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("../up", root.join("d/chained")).unwrap();
        symlink("../secret", root.join("direct")).unwrap();
        symlink("d/../../secret", root.join("crooked")).unwrap();
        symlink("d/f", root.join("inward")).unwrap();
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).unwrap();
        (around, dir)
    }

    fn read_text(root: &Dir, path: &str) -> Result<String, ReadError> {
        read(root, Path::new(path), 100).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn a_path_that_leads_out_is_an_error_and_one_that_stays_inside_is_read() {
        let (_around, root) = tree();
        for path in [
            "up/secret",
            "absolute/secret",
            "direct",
            "crooked",
            "d/chained/secret",
            "../secret",
        ] {
            let error = read_text(&root, path).unwrap_err();
            assert!(matches!(error, ReadError::Outside), "{path}: {error}");
        }
        for path in [
            "f",
            "d/f",
            "inward",
            "d/../f",
            "./d/./f",
            "d/e/../../inward",
        ] {
            assert_eq!(read_text(&root, path).unwrap(), "inside", "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_leads_out_of_its_directory(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just(".."), Just("."), Just(""), Just("d"), Just("e"), Just("f"), Just("secret"), Just("root"),
                    Just("absolute"), Just("up"), Just("chained"), Just("direct"), Just("crooked"), Just("inward"),
                ],
                0..8,
            ),
            absolute in any::<bool>(),
        ) {
            let (around, root) = tree();
            let mut path = parts.join("/");
            if absolute {
                path = format!("{}/{path}", around.path().display());
            }
            if let Ok(text) = read_text(&root, &path) {
                prop_assert_eq!(text, "inside", "{}", path);
            }
        }

        #[test]
        fn a_shown_name_stays_on_its_line(name in any::<String>()) {
            let controls = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{2028}' | '\u{2029}');
            let shown = show(&name);
            prop_assert!(!shown.chars().any(controls));
            prop_assert_eq!(show(&shown), shown);
        }
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for c in [
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{180e}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{2029}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fffe}',
            '\u{e000}',
            '\u{1d173}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{10ffff}',
        ] {
            assert_eq!(show(&format!("a{c}b")), format!("a{}b", c.escape_unicode()));
        }
    }

    #[test]
    fn stacked_combining_marks_are_escaped() {
        let four = format!("a{}", "\u{301}".repeat(4));
        assert_eq!(show(&four), four);
        assert_eq!(
            show(&format!("{four}\u{301}\u{20dd}b")),
            format!("{four}\\u{{301}}\\u{{20dd}}b")
        );
    }

    #[test]
    fn text_of_any_script_stays_readable() {
        for text in [
            "plain ASCII, \"quoted\" \\ and all",
            "Zażółć gęślą jaźń",
            "e\u{301}te\u{301}",
            "Việt Nam",
            "Ελληνικά",
            "українська",
            "שָׁלוֹם",
            "مرحبا",
            "हिन्दी में",
            "ภาษาไทยนี้",
            "中文，日本語、한국어",
            "“–” … ½ € 🙂 ❤\u{fe0f}",
        ] {
            assert_eq!(show(text), text);
        }
    }
}
