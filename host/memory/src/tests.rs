//! Memories and stacks as an engine uses them.

#![expect(unsafe_code, reason = "each block says why it is sound")]

use crate::mapping::page_size;
use crate::pagemap::{Mapped, PageMap, is_exact};
use crate::{Image, Memories, Stacks};
use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use wasmtime::{LinearMemory, MemoryCreator as _, MemoryType, StackCreator as _};

const WASM_PAGE: usize = 64 << 10;
/// Pages of the image; the memory has as many pages of zeros behind it.
const IMAGE: usize = 64 * WASM_PAGE;
const MINIMUM: usize = 2 * IMAGE;
const RESERVED: usize = 1 << 30;
const GUARD: usize = 1 << 20;

fn image() -> Vec<u8> {
    (0..IMAGE).map(|index| (index / 7 % 251) as u8).collect()
}

fn memories(max_idle: usize, max_resident: usize) -> Memories {
    let memories = Memories::new(max_idle, max_resident);
    memories.set_image(Image::from_bytes(&image()).unwrap());
    memories
}

fn create(memories: &Memories) -> Box<dyn LinearMemory> {
    let ty = MemoryType::new((MINIMUM / WASM_PAGE) as u32, None);
    memories
        .new_memory(ty, MINIMUM, None, Some(RESERVED), GUARD)
        .unwrap()
}

/// What a guest could read and write.
fn bytes(memory: &mut Box<dyn LinearMemory>) -> &mut [u8] {
    // SAFETY: the memory has as many accessible bytes, and the reference borrows it.
    unsafe { std::slice::from_raw_parts_mut(memory.as_ptr(), memory.byte_size()) }
}

/// Asserts that a memory is as the image says; returns its address.
fn assert_initial(memory: &mut Box<dyn LinearMemory>) -> usize {
    assert_eq!(memory.byte_size(), MINIMUM);
    let found = bytes(memory);
    assert!(found[..IMAGE] == image(), "it starts with the image");
    assert!(found[IMAGE..].iter().all(|byte| *byte == 0), "zeros follow");
    found.as_ptr().addr()
}

/// The access that this process has to an address, such as `rw-p`.
fn access(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|hex| usize::from_str_radix(hex, 16).unwrap());
        let access = rest.split(' ').next()?;
        (start <= address && address < end).then(|| access.to_owned())
    })
}

/// The private copies of pages in a mapping of this process. Unlike a scan, every kernel has this file.
fn private_bytes(address: usize, size: usize) -> usize {
    let pages = File::open("/proc/self/pagemap").unwrap();
    let mut entries = vec![0; size / page_size() * 8];
    pages
        .read_exact_at(&mut entries, (address / page_size() * 8) as u64)
        .unwrap();
    let (entries, _) = entries.as_chunks::<8>();
    let entries = entries.iter().map(|entry| u64::from_ne_bytes(*entry));
    // Present or swapped, and no page of a file.
    entries
        .filter(|entry| entry >> 62 != 0 && entry >> 61 & 1 == 0)
        .count()
        * page_size()
}

#[test]
fn a_memory_starts_as_the_image_followed_by_zeros() {
    assert_initial(&mut create(&memories(0, 0)));
}

#[test]
fn what_one_run_wrote_is_gone_for_the_next() {
    let page = page_size();
    // More ranges than one scan returns; and the limits of the image, where copied bytes end and zeros begin.
    let scattered: Vec<usize> = (0..MINIMUM / page).step_by(3).map(|n| n * page).collect();
    let edges = vec![0, IMAGE - 1, IMAGE, MINIMUM - 1];
    let everything = (0..MINIMUM).step_by(page).collect();
    for written in [scattered, edges, everything] {
        for max_resident in [0, page, MINIMUM] {
            let memories = memories(1, max_resident);
            let mut first = create(&memories);
            let address = assert_initial(&mut first);
            for offset in &written {
                bytes(&mut first)[*offset] ^= 0xff;
            }
            drop(first);
            let mut second = create(&memories);
            // The same pages, so it was reset and not mapped anew.
            assert_eq!(assert_initial(&mut second), address);
        }
    }
}

#[test]
fn a_run_without_page_faults_is_reset_without_a_scan() {
    let page = page_size();
    if PageMap::open().is_none() {
        return;
    }
    // No fault is ever counted, although the last run causes one: so nothing finds the page that it wrote.
    let memories = Memories::counting(1, MINIMUM, || Some(7));
    memories.set_image(Image::from_bytes(&image()).unwrap());
    let known = [0, IMAGE - 1, IMAGE, MINIMUM - 1];
    for _ in 0..3 {
        let mut memory = create(&memories);
        assert_initial(&mut memory);
        for offset in known {
            bytes(&mut memory)[offset] ^= 0xff;
        }
    }
    let mut memory = create(&memories);
    assert_initial(&mut memory);
    bytes(&mut memory)[8 * page] ^= 0xff;
    drop(memory);
    assert_eq!(
        bytes(&mut create(&memories))[8 * page],
        image()[8 * page] ^ 0xff
    );
}

#[test]
fn a_fault_that_is_counted_or_cannot_be_counted_leads_to_a_scan() {
    fn more() -> Option<u64> {
        thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });
        COUNT.with(|count| Some(count.replace(count.get() + 1)))
    }
    for faults in [
        more as fn() -> Option<u64>,
        || None,
        crate::faults::page_faults,
    ] {
        let memories = Memories::counting(1, MINIMUM, faults);
        memories.set_image(Image::from_bytes(&image()).unwrap());
        for number in 0..40 {
            let mut memory = create(&memories);
            assert_initial(&mut memory);
            // The same page again, and one that was not written before.
            bytes(&mut memory)[0] ^= 1;
            bytes(&mut memory)[number * 3 * page_size()] ^= 1;
        }
    }
}

#[test]
fn what_was_written_stays_resident_up_to_the_limit() {
    let page = page_size();
    let memories = memories(1, 8 * page);
    // Without a scan, everything is discarded.
    let can_scan = usize::from(PageMap::open().is_some());
    for (pages, kept) in [(8, 8), (9, 0), (3, 3)] {
        let mut memory = create(&memories);
        for number in 0..pages {
            bytes(&mut memory)[number * 5 * page] ^= 1;
        }
        let address = memory.as_ptr().addr();
        drop(memory);
        let kept = can_scan * kept * page;
        assert_eq!(private_bytes(address, MINIMUM), kept, "{pages}");
        // So that the next one starts with no private pages.
        let mut memory = create(&memories);
        bytes(&mut memory).iter_mut().for_each(|byte| *byte ^= 1);
    }
}

/// The page faults of this thread: tests run on several.
fn own_page_faults() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure, for which zeros are valid, too.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    Some((usage.ru_minflt + usage.ru_majflt) as u64)
}

/// In a huge page, a run writes next to what an earlier one wrote without a page fault.
#[test]
fn the_kernel_joins_no_pages_in_which_a_run_wrote_unseen() {
    const HUGE: usize = 2 << 20;
    let memories = Memories::counting(1, MINIMUM, own_page_faults);
    memories.set_image(Image::from_bytes(&image()).unwrap());
    let mut first = create(&memories);
    let base = assert_initial(&mut first);
    let begin = (base + IMAGE).next_multiple_of(HUGE) - base;
    assert!(begin + HUGE <= MINIMUM);
    bytes(&mut first)[begin] = 1;
    drop(first);
    let mut second = create(&memories);
    assert_eq!(assert_initial(&mut second), base);
    let start = bytes(&mut second)[begin..].as_mut_ptr();
    // SAFETY: it changes no byte, and the range is inside the memory.
    let joined = unsafe { libc::madvise(start.cast(), HUGE, libc::MADV_COLLAPSE) };
    assert_eq!(joined, -1);
    drop(second);
    let mut third = create(&memories);
    bytes(&mut third)[begin + page_size()] = 1;
    drop(third);
    assert_initial(&mut create(&memories));
}

#[test]
fn a_memory_that_grew_is_small_again_and_grows_by_zeros() {
    let memories = memories(1, MINIMUM);
    let grown = MINIMUM + 16 * WASM_PAGE;
    let mut address = None;
    for _ in 0..3 {
        let mut memory = create(&memories);
        let own = assert_initial(&mut memory);
        assert_eq!(*address.get_or_insert(own), own);
        assert_eq!(access(own + MINIMUM).as_deref(), Some("---p"));
        memory.grow_to(grown).unwrap();
        assert_eq!(memory.byte_size(), grown);
        assert_eq!(memory.as_ptr().addr(), own);
        assert!(bytes(&mut memory)[MINIMUM..].iter().all(|byte| *byte == 0));
        bytes(&mut memory)[MINIMUM..].fill(0xaa);
        assert_eq!(access(own + grown).as_deref(), Some("---p"));
        assert_eq!(access(own - 1).as_deref(), Some("---p"));
    }
}

#[test]
fn a_memory_grows_to_its_reservation_and_no_further() {
    let mut memory = create(&memories(0, 0));
    memory.grow_to(RESERVED).unwrap();
    let end = memory.as_ptr().addr() + RESERVED;
    assert_eq!(access(end - 1).as_deref(), Some("rw-p"));
    assert_eq!(access(end).as_deref(), Some("---p"));
    assert_eq!(access(end + GUARD - 1).as_deref(), Some("---p"));
    memory.grow_to(RESERVED + WASM_PAGE).unwrap_err();
    assert_eq!(memory.byte_size(), RESERVED);
}

#[test]
fn live_memories_share_nothing_and_as_many_are_kept_as_may_be() {
    let memories = memories(2, MINIMUM);
    let mut live: Vec<_> = (0..3).map(|_| create(&memories)).collect();
    for (number, memory) in live.iter_mut().enumerate() {
        bytes(memory)[0] = 100 + number as u8;
    }
    let addresses: Vec<usize> = live.iter().map(|memory| memory.as_ptr().addr()).collect();
    for (number, memory) in live.iter_mut().enumerate() {
        assert_eq!(bytes(memory)[0], 100 + number as u8);
    }
    drop(live);
    assert_eq!(memories.idle_count(), 2);
    let again: Vec<_> = (0..2).map(|_| create(&memories)).collect();
    // The one that was kept last is used first.
    assert_eq!(again[0].as_ptr().addr(), addresses[1]);
    assert_eq!(again[1].as_ptr().addr(), addresses[0]);
}

#[test]
fn an_image_that_is_no_whole_part_of_its_file_is_refused() {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, &image()).unwrap();
    // SAFETY: nobody else has the file, and it is not written any more.
    let open =
        |offset, length| unsafe { Image::from_file(file.try_clone().unwrap(), offset, length) };
    for (offset, length) in [
        (0, 0),
        (1, WASM_PAGE),
        (0, WASM_PAGE + 1),
        (WASM_PAGE as u64, IMAGE),
        (u64::MAX - 0xffff, WASM_PAGE),
    ] {
        open(offset, length).unwrap_err();
    }
    assert_eq!(open(WASM_PAGE as u64, WASM_PAGE).unwrap().size(), WASM_PAGE);
}

#[test]
fn an_image_in_memory_has_no_shared_mapping() {
    // Before Linux 6.7, there is none of a memfd that is sealed against writing.
    let image = Image::from_bytes(&image()).unwrap();
    let address = image.bytes().at(0).addr();
    assert_eq!(access(address).as_deref(), Some("r--p"));
}

#[test]
fn a_memory_that_is_shared_or_has_other_addresses_or_pages_is_refused() {
    let memories = memories(1, 0);
    let pages = (MINIMUM / WASM_PAGE) as u32;
    let created = |ty| memories.new_memory(ty, MINIMUM, None, Some(RESERVED), GUARD);
    let bytes = MemoryType::builder().page_size_log2(0).build().unwrap();
    for ty in [
        MemoryType::shared(pages, pages),
        MemoryType::new64(pages.into(), None),
        bytes,
    ] {
        assert!(created(ty).is_err());
    }
    assert!(created(MemoryType::new(pages, None)).is_ok());
}

#[test]
fn a_scan_that_misses_a_written_page_or_reports_another_is_not_used() {
    let is_used = |scan: &dyn Fn(Range<usize>, Mapped, bool) -> Vec<Range<usize>>| {
        // Each page is scanned before and after it is written.
        let count = Cell::new(0);
        is_exact(|range, mapped| {
            count.set(count.get() + 1);
            Ok(scan(range, mapped, count.get() % 2 == 0))
        })
        .unwrap()
    };
    let right = |range, is_written| match is_written {
        true => vec![range],
        false => vec![],
    };
    assert!(is_used(&|range, _, is_written| right(range, is_written)));
    for wrong in [Mapped::File, Mapped::Zeros] {
        for answer in [false, true] {
            assert!(!is_used(
                &|range, mapped, is_written| match mapped == wrong {
                    true => right(range, answer),
                    false => right(range, is_written),
                }
            ));
        }
    }
    is_exact(|_, _| Err(std::io::ErrorKind::Unsupported.into())).unwrap_err();
}

#[test]
fn a_memory_without_an_image_or_smaller_than_it_is_refused() {
    let ty = MemoryType::new(1, None);
    let created = |memories: &Memories, minimum| {
        memories.new_memory(ty.clone(), minimum, None, Some(RESERVED), GUARD)
    };
    assert!(created(&Memories::new(1, 0), MINIMUM).is_err());
    assert!(created(&memories(1, 0), IMAGE - WASM_PAGE).is_err());
    assert!(created(&memories(1, 0), IMAGE).is_ok());
}

#[test]
fn a_stack_is_guarded_and_used_again_unless_it_must_be_zero() {
    let stacks = Stacks::new(1);
    let size = 16 << 20;
    let stack = stacks.new_stack(size, false).unwrap();
    let (range, guard) = (stack.range(), stack.guard_range());
    assert_eq!(range.len(), size);
    assert_eq!(
        (guard.end.addr(), stack.top().addr()),
        (range.start, range.end)
    );
    assert_eq!(access(guard.start.addr()).as_deref(), Some("---p"));
    assert_eq!(access(range.start).as_deref(), Some("rw-p"));
    for offset in (0..size).step_by(page_size()) {
        // SAFETY: the address is inside the stack, which nobody uses.
        unsafe { stack.top().sub(offset + 1).write(1) };
    }
    drop(stack);
    assert_eq!(private_bytes(range.start, size), 1 << 20, "the top stays");
    let fresh = stacks.new_stack(size, true).unwrap();
    assert_ne!(fresh.range(), range);
    assert_eq!(stacks.new_stack(size, false).unwrap().range(), range);
    assert_eq!(
        stacks.new_stack(2 * size, false).unwrap().range().len(),
        2 * size
    );
}

#[test]
fn a_forked_child_does_not_use_the_page_map_of_its_parent() {
    // Without a scan, a child has nothing to confuse.
    let Some(map) = PageMap::open() else {
        return;
    };
    let works = || map.written(0..0, Mapped::Zeros, |_| ()).is_ok();
    assert!(works());
    // SAFETY: the child makes system calls and exits, and uses no lock of the parent's threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = i32::from(works());
        // SAFETY: it ends the child, which must not return into the test.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: `status` is valid for writing, and the child is ours.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, libc::WEXITSTATUS(status)), (child, 0));
    assert!(works(), "the parent's own map is as it was");
}
