//! Tar archives of skills and workspaces.
//!
//! Whatever the bytes are, every path that is read is plain, relative and unique, and no more bytes come out than went
//! in. What was read is written to an archive that is read as the same files, and always as the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun_skill::{Bounds, FileMap};

const BLOCK: usize = 512;

fuzz_target!(|data: &[u8]| {
    read(data);
    // A wrong checksum would stop nearly every input at its first header.
    let mut valid = data.to_vec();
    set_checksums(&mut valid);
    read(&valid);
    valid.resize(valid.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    set_checksums(&mut valid);
    read(&valid);
});

fn read(archive: &[u8]) {
    let Ok(map) = FileMap::from_tar(archive) else {
        return;
    };
    let files = map.files().map(|(path, _)| path);
    for path in files.chain(map.directories()) {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        assert!(path.split('/').all(plain), "{path:?}");
    }
    assert!(map.bytes() <= archive.len() as u64);
    let written = map.to_tar().expect("an archive");
    let again = FileMap::from_tar(&written).expect("the archive that was written");
    assert_eq!(again, map);
    assert_eq!(again.to_tar().as_ref(), Ok(&written));
    let bounds = Bounds {
        entries: map.len(),
        bytes: map.bytes(),
    };
    assert!(FileMap::from_tar_within(&written, bounds).is_ok());
    if let Some(entries) = map.len().checked_sub(1) {
        let bounds = Bounds { entries, ..bounds };
        assert!(FileMap::from_tar_within(&written, bounds).is_err());
    }
}

/// Makes the checksum of every header valid.
fn set_checksums(archive: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = archive.get_mut(at..at + BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            return;
        }
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let digits = header[124..135].iter();
        let digits = digits.take_while(|byte| (b'0'..=b'7').contains(byte));
        let size = digits.fold(0usize, |size, digit| size * 8 + usize::from(digit - b'0'));
        let Some(next) = size.checked_next_multiple_of(BLOCK) else {
            return;
        };
        at += BLOCK + next;
    }
}
