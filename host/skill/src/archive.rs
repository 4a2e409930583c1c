//! Reads and writes tar archives of a [`FileMap`].
//!
//! An archive is untrusted. The crate `tar` finds the headers and checks their sums; what they mean is decided
//! here, so that an archive has one meaning or none: its own interpretation of extended headers also accepts links,
//! sparse files and a size that differs from the one in the header, and its way to unpack is made for a disk. Compressed
//! archives are not accepted. Decompressing would need a limit of its own, and the caller knows the format.

use crate::file_map::{Bounds, Entry, FileMap, FileMapError, bad_path};
use std::io::Read as _;
use tar::{Archive, Builder, EntryType, Header};

const BLOCK: u64 = 512;
/// Bytes of an extended header. Those of attributes can be large; a path has at most a thousand bytes.
const MAX_EXTENSION: u64 = 1024 * 1024;
/// Directories that are written have this mode.
const DIRECTORY_MODE: u32 = 0o755;
/// The first bytes of compressed files.
const COMPRESSED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
];

impl FileMap {
    /// The files of a tar archive that is not compressed. It must contain nothing but files and directories.
    /// For megabytes, call it from a blocking thread.
    pub fn from_tar(archive: &[u8]) -> Result<Self, FileMapError> {
        Self::from_tar_within(archive, Bounds::default())
    }

    /// The same with other bounds.
    pub fn from_tar_within(archive: &[u8], bounds: Bounds) -> Result<Self, FileMapError> {
        let mut reader = Reader {
            map: Self::within(bounds),
            path: None,
        };
        let compressed = COMPRESSED.iter();
        if let Some((_, format)) = { compressed }.find(|(magic, _)| archive.starts_with(magic)) {
            let why = format!("it is compressed ({format}); decompress it first");
            return Err(FileMapError::Archive { why });
        }
        let mut end = 0;
        let mut tar = Archive::new(archive);
        for entry in tar.entries().map_err(unreadable)?.raw(true) {
            let mut entry = entry.map_err(unreadable)?;
            let size = entry.size();
            let start = entry.raw_file_position();
            let rest = (archive.len() as u64).saturating_sub(start);
            if size > rest {
                return Err(broken("it ends in the middle of an entry"));
            }
            let header = entry.header().clone();
            reader.entry(&header, size, |limit| {
                let mut bytes = Vec::new();
                let read = (&mut entry).take(limit).read_to_end(&mut bytes);
                read.map(|_| bytes).map_err(unreadable)
            })?;
            end = start + size.div_ceil(BLOCK) * BLOCK;
        }
        if reader.path.is_some() {
            return Err(broken("an extended header describes no entry"));
        }
        // Without the empty blocks at its end, an upload that was cut off would look complete. After them, another
        // program could find further entries.
        let rest = usize::try_from(end).ok().and_then(|end| archive.get(end..));
        match rest {
            Some(rest) if rest.len() as u64 >= BLOCK && rest.iter().all(|byte| *byte == 0) => {
                Ok(reader.map)
            }
            Some(rest) if rest.iter().any(|byte| *byte != 0) => {
                Err(broken("there are bytes after its end"))
            }
            _ => Err(broken("the end-of-archive marker is missing")),
        }
    }

    /// The files as a tar archive. The same files always give the same bytes: the entries are sorted, and owners and
    /// times are zero. For megabytes, call it from a blocking thread.
    pub fn to_tar(&self) -> Result<Vec<u8>, FileMapError> {
        let mut archive = Builder::new(Vec::new());
        for (path, entry) in self.entries() {
            let mut header = Header::new_gnu();
            let (kind, mode, bytes): (_, _, &[u8]) = match entry {
                Entry::Directory => (EntryType::Directory, DIRECTORY_MODE, &[]),
                Entry::File { bytes, mode } => (EntryType::Regular, *mode, bytes),
            };
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(bytes.len() as u64);
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            let path = match kind {
                EntryType::Directory => format!("{path}/"),
                _ => path.to_owned(),
            };
            let written = archive.append_data(&mut header, path, bytes);
            written.map_err(unreadable)?;
        }
        archive.into_inner().map_err(unreadable)
    }
}

fn broken(why: &str) -> FileMapError {
    FileMapError::Archive { why: why.into() }
}

fn unreadable(error: impl std::borrow::Borrow<std::io::Error>) -> FileMapError {
    FileMapError::Archive {
        why: crate::text::show(&crate::files::plain(error.borrow())),
    }
}

/// The map so far, and what the last extended header says about the next entry.
struct Reader {
    map: FileMap,
    path: Option<String>,
}

impl Reader {
    /// Takes one entry. `read` returns up to this many of its bytes.
    fn entry(
        &mut self,
        header: &Header,
        size: u64,
        read: impl FnOnce(u64) -> Result<Vec<u8>, FileMapError>,
    ) -> Result<(), FileMapError> {
        let kind = header.entry_type();
        if let EntryType::GNULongName | EntryType::XHeader | EntryType::XGlobalHeader = kind {
            if size > MAX_EXTENSION {
                return Err(broken("an extended header is too large"));
            }
            let bytes = read(size)?;
            return self.extension(kind, &bytes);
        }
        let path = match self.path.take() {
            Some(path) => path,
            None => text(&header.path_bytes())?,
        };
        match kind {
            EntryType::Regular => {
                let mode = header.mode().map_err(unreadable)?;
                if size > self.map.bytes_left() {
                    let limit = self.map.bounds().bytes;
                    return Err(FileMapError::TooLarge { limit });
                }
                self.map.insert_with_mode(&path, read(size)?, mode)
            }
            EntryType::Directory if size == 0 => self.map.insert_directory(&path),
            other => Err(FileMapError::Kind {
                path,
                kind: word(other),
            }),
        }
    }

    fn extension(&mut self, kind: EntryType, bytes: &[u8]) -> Result<(), FileMapError> {
        let path = match kind {
            EntryType::GNULongName => {
                let name = bytes.strip_suffix(b"\0").unwrap_or(bytes);
                Some(text(name)?)
            }
            EntryType::XHeader => pax_path(bytes)?,
            // It would apply to every entry that follows. `git archive` writes one with a comment.
            _ => match records(bytes)?
                .iter()
                .all(|record| record.key == b"comment")
            {
                true => return Ok(()),
                false => return Err(broken("it has a global header")),
            },
        };
        match (&self.path, path) {
            (_, None) => {}
            (None, Some(path)) => self.path = Some(path),
            (Some(known), Some(_)) => {
                return Err(bad_path(known, "is followed by another one for the entry"));
            }
        }
        Ok(())
    }
}

/// The path in an extended header of POSIX, if it contains one.
fn pax_path(bytes: &[u8]) -> Result<Option<String>, FileMapError> {
    let mut path = None;
    for Record { key, value } in records(bytes)? {
        match key {
            b"path" if path.is_some() => return Err(broken("an entry has two paths")),
            b"path" => path = Some(text(value)?),
            // A program that reads the one size finds other entries than one that reads the other.
            b"size" => return Err(broken("an entry has two sizes")),
            key if key.starts_with(b"GNU.sparse.") => {
                return Err(FileMapError::Kind {
                    path: path.unwrap_or_default(),
                    kind: word(EntryType::GNUSparse),
                });
            }
            // Times, owners and attributes do not matter here.
            _ => {}
        }
    }
    Ok(path)
}

/// The records of an extended header: each is its own length, a key and a value.
fn records(mut bytes: &[u8]) -> Result<Vec<Record<'_>>, FileMapError> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let first = record(bytes);
        let (record, rest) = first.ok_or_else(|| broken("an extended header is damaged"))?;
        records.push(record);
        bytes = rest;
    }
    Ok(records)
}

struct Record<'a> {
    key: &'a [u8],
    value: &'a [u8],
}

/// The first record, and the bytes after it. It is `LENGTH KEY=VALUE` and a line feed, where the length counts all of it.
fn record(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let digits = bytes.iter().position(|byte| *byte == b' ')?;
    let length = bytes.get(..digits)?;
    if !length.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let record = record.get(digits + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    let (key, value) = record.split_at(equals);
    let value = value.get(1..)?;
    Some((Record { key, value }, rest))
}

fn text(bytes: &[u8]) -> Result<String, FileMapError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(bad_path(&String::from_utf8_lossy(bytes), "is not UTF-8")),
    }
}

fn word(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Symlink | EntryType::GNULongLink => "a symbolic link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a FIFO",
        EntryType::GNUSparse => "a sparse file",
        EntryType::Directory => "a directory with bytes",
        _ => "of an unknown type",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One entry with a valid checksum, padded.
    fn entry(kind: u8, path: &[u8], bytes: &[u8], change: impl FnOnce(&mut Header)) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path);
        header.as_old_mut().linkflag = [kind];
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        header.set_mtime(1);
        header.set_uid(1000);
        header.set_gid(1000);
        change(&mut header);
        header.set_cksum();
        let mut all = header.as_bytes().to_vec();
        all.extend(bytes);
        all.resize(all.len().next_multiple_of(512), 0);
        all
    }

    fn plain(kind: u8, path: &str, bytes: &str) -> Vec<u8> {
        entry(kind, path.as_bytes(), bytes.as_bytes(), |_| {})
    }

    fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut all = entries.concat();
        all.extend([0; 1024]);
        all
    }

    fn read(entries: &[Vec<u8>]) -> Result<FileMap, FileMapError> {
        FileMap::from_tar(&archive(entries))
    }

    fn paths(entries: &[Vec<u8>]) -> Vec<String> {
        let map = read(entries).unwrap_or_else(|error| panic!("{error}"));
        map.files().map(|(path, _)| path.to_owned()).collect()
    }

    fn why(entries: &[Vec<u8>]) -> String {
        read(entries).unwrap_err().to_string()
    }

    fn pax(records: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = String::new();
        for (key, value) in records {
            let rest = format!(" {key}={value}\n");
            let mut length = rest.len() + 1;
            while length.to_string().len() + rest.len() != length {
                length += 1;
            }
            bytes += &format!("{length}{rest}");
        }
        plain(b'x', "pax", &bytes)
    }

    #[test]
    fn files_and_directories_are_read_as_other_programs_write_them() {
        let long = format!("d/{}", "n".repeat(200));
        let split = entry(b'0', b"name", b"u", |header| {
            *header = Header::new_ustar();
            header.set_path("prefix/name").unwrap();
            header.set_size(1);
            header.set_mode(0o644);
        });
        let all = [
            plain(b'g', "pax_global_header", "13 comment=x\n"),
            plain(b'5', "./", ""),
            plain(b'5', "./scripts/", ""),
            plain(b'0', "./SKILL.md", "s"),
            entry(b'\0', b"scripts/old", b"o", |header| header.set_mode(0o755)),
            plain(b'L', "././@LongLink", &format!("{long}\0")),
            plain(b'0', "cut", "l"),
            pax(&[
                ("mtime", "1.5"),
                ("path", "caf\u{e9}"),
                ("SCHILY.xattr.a", "\n\n"),
            ]),
            plain(b'0', "cut", "p"),
            split,
            plain(b'5', "empty/", ""),
        ];
        let map = read(&all).unwrap();
        let files: Vec<_> = map.files().collect();
        let expected: [(&str, &[u8]); 5] = [
            ("SKILL.md", b"s"),
            ("caf\u{e9}", b"p"),
            (&long, b"l"),
            ("prefix/name", b"u"),
            ("scripts/old", b"o"),
        ];
        assert_eq!(files, expected);
        assert_eq!(map.mode("SKILL.md"), Some(0o644));
        assert_eq!(map.mode("scripts/old"), Some(0o755));
        let directories: Vec<_> = map.directories().collect();
        assert_eq!(directories, ["d", "empty", "prefix", "scripts"]);
    }

    #[test]
    fn what_is_neither_a_file_nor_a_directory_is_refused() {
        for (kind, word) in [
            (b'1', "a hard link"),
            (b'2', "a symbolic link"),
            (b'K', "a symbolic link"),
            (b'3', "a device"),
            (b'4', "a device"),
            (b'6', "a FIFO"),
            (b'S', "a sparse file"),
            (b'7', "of an unknown type"),
            (b'V', "of an unknown type"),
            (b'\xff', "of an unknown type"),
        ] {
            let bad = entry(kind, b"bad", b"", |header| {
                header.as_old_mut().linkname[..6].copy_from_slice(b"target");
            });
            let message = format!("`bad` is {word}; only files and directories are accepted");
            assert_eq!(why(&[plain(b'0', "good", ""), bad]), message);
        }
        let sparse = pax(&[("GNU.sparse.major", "1")]);
        assert!(why(&[sparse, plain(b'0', "a", "")]).contains("a sparse file"));
        let full = "`d` is a directory with bytes; only files and directories are accepted";
        assert_eq!(why(&[plain(b'5', "d", "x")]), full);
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused_however_it_is_written() {
        for path in ["../x", "/x", "a/../../x", ""] {
            let header = vec![plain(b'0', path, "")];
            let long = vec![
                plain(b'L', "l", &format!("{path}\0")),
                plain(b'0', "fine", ""),
            ];
            let extended = vec![pax(&[("path", path)]), plain(b'0', "fine", "")];
            for entries in [header, long, extended] {
                let error = read(&entries).unwrap_err();
                assert!(
                    matches!(error, FileMapError::Path { .. }),
                    "{path}: {error}"
                );
            }
        }
        let not_text = [
            entry(b'0', b"a\xff", b"", |_| {}),
            entry(b'L', b"l", b"a\xff\0", |_| {}),
            entry(b'x', b"x", b"10 path=\xff\n", |_| {}),
        ];
        for entry in not_text {
            let error = read(&[entry, plain(b'0', "fine", "")]).unwrap_err();
            assert!(error.to_string().contains("`"), "{error}");
        }
        let inner_nul = [plain(b'L', "l", "a\0b\0"), plain(b'0', "fine", "")];
        assert_eq!(why(&inner_nul), "the path `a\\u{0}b` contains a NUL byte");
        // The twins.
        let fine = [plain(b'L', "l", "a/b\0"), plain(b'0', "cut", "")];
        assert_eq!(paths(&fine), ["a/b"]);
        let fine = [pax(&[("path", "a/b")]), plain(b'0', "cut", "")];
        assert_eq!(paths(&fine), ["a/b"]);
    }

    #[test]
    fn an_archive_has_one_meaning_or_none() {
        let file = || plain(b'0', "f", "f");
        let cases: [(Vec<Vec<u8>>, &str); 9] = [
            (vec![file(), file()], "`f` appears twice"),
            (vec![plain(b'5', "f/", ""), file()], "`f` appears twice"),
            (
                vec![pax(&[("path", "a"), ("path", "b")]), file()],
                "the tar archive cannot be read: an entry has two paths",
            ),
            (
                vec![pax(&[("path", "a")]), plain(b'L', "l", "b\0"), file()],
                "the path `a` is followed by another one for the entry",
            ),
            (
                vec![pax(&[("size", "0")]), file()],
                "the tar archive cannot be read: an entry has two sizes",
            ),
            (
                vec![plain(b'g', "g", "10 path=x\n"), file()],
                "the tar archive cannot be read: it has a global header",
            ),
            (
                vec![file(), pax(&[("path", "a")])],
                "the tar archive cannot be read: an extended header describes no entry",
            ),
            (
                vec![plain(b'x', "x", "99 path=a\n"), file()],
                "the tar archive cannot be read: an extended header is damaged",
            ),
            (
                vec![file(), vec![0; 512], plain(b'0', "hidden", "")],
                "the tar archive cannot be read: there are bytes after its end",
            ),
        ];
        for (entries, message) in cases {
            assert_eq!(why(&entries), message);
        }
        assert_eq!(paths(&[file(), vec![0; 512]]), ["f"]);
    }

    #[test]
    fn bytes_that_are_no_whole_archive_are_refused() {
        let whole = archive(&[plain(b'0', "f", "content")]);
        let cut = "the tar archive cannot be read: the end-of-archive marker is missing";
        let of = |bytes: &[u8]| FileMap::from_tar(bytes).map_err(|error| error.to_string());
        assert_eq!(of(&whole[..1024]), Err(cut.into()));
        assert_eq!(of(b""), Err(cut.into()));
        for length in 1..1024 {
            assert!(of(&whole[..length]).is_err(), "{length}");
        }
        let mut wrong = whole.clone();
        wrong[0] ^= 1;
        let message = "the tar archive cannot be read: archive header checksum mismatch";
        assert_eq!(of(&wrong), Err(message.into()));
        let lies = entry(b'0', b"f", b"", |header| header.set_size(1 << 20));
        let message = "the tar archive cannot be read: it ends in the middle of an entry";
        assert_eq!(of(&archive(&[lies])), Err(message.into()));
        let gzip = "the tar archive cannot be read: it is compressed (gzip); decompress it first";
        assert_eq!(of(b"\x1f\x8b\x08\0"), Err(gzip.into()));
        // The twins: the whole archive, with one empty block at its end, and an empty archive.
        assert!(of(&whole).is_ok() && of(&whole[..1536]).is_ok());
        assert_eq!(of(&[0; 1024]), Ok(FileMap::new()));
    }

    #[test]
    fn an_archive_beyond_its_bounds_is_refused_before_its_bytes_are_copied() {
        let two = archive(&[plain(b'0', "d/a", "12345"), plain(b'0', "b", "12345")]);
        let within = |entries, bytes| {
            let bounds = Bounds { entries, bytes };
            FileMap::from_tar_within(&two, bounds).map_err(|error| error.to_string())
        };
        assert!(within(3, 10).is_ok());
        let message = "the files have more than 9 bytes";
        assert_eq!(within(3, 9), Err(message.into()));
        let message = "there are more than 2 files and directories";
        assert_eq!(within(2, 10), Err(message.into()));
    }

    /// Names as scripts and other programs make them.
    fn name() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z]{1,3}", "[^/\\x00]{1,12}", "[a-z \u{e9}]{90,120}",]
            .prop_filter("names a file", |name| name != "." && name != "..")
    }

    /// Files as they fit into one directory.
    fn file_map() -> impl Strategy<Value = FileMap> {
        let path = proptest::collection::vec(name(), 1..4);
        let bytes = proptest::collection::vec(any::<u8>(), 0..1100);
        let entry = (path, proptest::option::of((bytes, 0..=0o7777u32)));
        proptest::collection::vec(entry, 0..12).prop_map(|entries| {
            let mut map = FileMap::new();
            for (path, file) in entries {
                let path = path.join("/");
                // Two paths may be the same, or one a directory of the other.
                let _ = match file {
                    Some((bytes, mode)) => map.insert_with_mode(&path, bytes, mode),
                    None => map.insert_directory(&path),
                };
            }
            map
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(map in file_map()) {
            let archive = map.to_tar().unwrap();
            prop_assert_eq!(&FileMap::from_tar(&archive).unwrap(), &map);
            prop_assert_eq!(map.to_tar().unwrap(), archive);
        }

        #[test]
        fn no_bytes_crash_the_reader(map in file_map(), at in any::<proptest::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
            let mut archive = map.to_tar().unwrap();
            let at = at.index(archive.len());
            match cut {
                true => archive.truncate(at),
                false => archive[at] = byte,
            }
            if let Ok(read) = FileMap::from_tar(&archive) {
                prop_assert_eq!(FileMap::from_tar(&read.to_tar().unwrap()).unwrap(), read);
            }
        }
    }
}
