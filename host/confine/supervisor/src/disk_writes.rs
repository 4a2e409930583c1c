//! Counts the bytes that the processes of a run have written to disk.
//!
//! When a parent reaps a child, the kernel adds the child's I/O counters to the parent's. If the parent
//! ignores SIGCHLD, the kernel reaps the child itself and its counters are lost. We therefore keep the
//! last sample of every process that disappeared, minus whatever its possible reapers have gained since.

use crate::tree::Process;
use std::collections::{BTreeMap, BTreeSet};

/// How often the counters of one sample are read at most, if processes exit meanwhile.
const MAX_PASSES: usize = 4;

/// The last known state of a process.
#[derive(Debug, Clone, Copy)]
struct Sample {
    parent: i32,
    bytes: u64,
    /// The kernel's list of children lacked it, although it was alive.
    unlisted: bool,
}

/// The count, updated with every sample.
#[derive(Debug, Default)]
pub(crate) struct DiskWrites {
    samples: BTreeMap<i32, Sample>,
    /// Process ids in an order in which parents come before their children.
    order: Vec<i32>,
    /// Written by processes whose counters were lost, because nothing reaped them.
    lost: u64,
    /// Written by processes that only the reaper of orphans can have reaped, if anything did.
    orphaned: u64,
}

impl DiskWrites {
    /// Takes a sample and returns the bytes written in total.
    ///
    /// `processes` must list parents before their children. `reaper` is the process that reaps orphans,
    /// and `reaped_bytes` its own counter. `read` returns the counter of another process, given its last
    /// known value.
    pub(crate) fn sample<'a>(
        &mut self,
        processes: impl Iterator<Item = &'a Process>,
        reaper: i32,
        reaped_bytes: u64,
        read: impl Fn(i32, u64) -> Option<u64>,
    ) -> u64 {
        let last = std::mem::take(&mut self.samples);
        let order = std::mem::take(&mut self.order);
        let mut exited = BTreeSet::new();
        let before = |id: i32| last.get(&id).map_or(0, |sample| sample.bytes);
        for (Process { id, parent }, bytes) in read_all(processes, |id| read(id, before(id))) {
            // Parents are read first, so the counters of a child that is still alive are not yet in its
            // parent's.
            let bytes = bytes.unwrap_or(before(id));
            if bytes < before(id) {
                // The id was reused by another process.
                exited.insert(id);
            }
            self.record(id, parent, bytes, false);
        }
        for id in &order {
            let Some(sample) = last.get(id).filter(|_| !self.samples.contains_key(id)) else {
                continue;
            };
            // The kernel's list of children may skip one while another exits.
            match read(*id, sample.bytes) {
                Some(_) if !sample.unlisted => self.record(*id, sample.parent, sample.bytes, true),
                _ => {
                    exited.insert(*id);
                }
            }
        }
        self.attribute_exited(&last, &order, &exited, reaper);
        let live = self.samples.values().map(|sample| sample.bytes);
        let live = live.fold(0, u64::saturating_add);
        live.saturating_add(self.lost)
            .saturating_add(self.orphaned.max(reaped_bytes))
    }

    /// Whether counters were lost, because a process ignores SIGCHLD.
    pub(crate) fn has_lost_counters(&self) -> bool {
        self.lost > 0
    }

    fn record(&mut self, id: i32, parent: i32, bytes: u64, unlisted: bool) {
        let sample = Sample {
            parent,
            bytes,
            unlisted,
        };
        self.samples.insert(id, sample);
        self.order.push(id);
    }

    /// Finds out which process now counts the bytes of those that exited. Children come before their
    /// parents, because they may have exited first.
    fn attribute_exited(
        &mut self,
        last: &BTreeMap<i32, Sample>,
        order: &[i32],
        exited: &BTreeSet<i32>,
        reaper: i32,
    ) {
        let mut gains = BTreeMap::new();
        for (id, sample) in &self.samples {
            if let Some(before) = last.get(id).filter(|_| !exited.contains(id)) {
                gains.insert(*id, sample.bytes - before.bytes);
            }
        }
        // Bytes of exited descendants, by their exited parent.
        let mut inherited: BTreeMap<i32, u64> = BTreeMap::new();
        for id in order.iter().rev().filter(|id| exited.contains(id)) {
            let Some(Sample { parent, bytes, .. }) = last.get(id).copied() else {
                continue;
            };
            let from_descendants = inherited.get(id).copied().unwrap_or(0);
            if parent == reaper {
                self.orphaned = self
                    .orphaned
                    .saturating_add(bytes)
                    .saturating_add(from_descendants);
            } else if let Some(gain) = gains.get_mut(&parent) {
                let mut unclaimed = |bytes: u64| {
                    let claimed = bytes.min(*gain);
                    *gain -= claimed;
                    bytes - claimed
                };
                self.lost = self.lost.saturating_add(unclaimed(bytes));
                // The descendants may have become orphans first.
                self.orphaned = self.orphaned.saturating_add(unclaimed(from_descendants));
            } else {
                let sum = inherited.entry(parent).or_default();
                *sum = sum.saturating_add(bytes).saturating_add(from_descendants);
            }
        }
    }
}

/// Reads the counters of all processes that still exist.
///
/// A process that was listed and is gone when it is read may have been reaped before or after its parent
/// was read. So everything is read again without it: now its counters are in its parent's. In the last
/// pass a process that is gone has no counter.
fn read_all<'a>(
    processes: impl Iterator<Item = &'a Process>,
    read: impl Fn(i32) -> Option<u64>,
) -> Vec<(Process, Option<u64>)> {
    let mut processes: Vec<Process> = processes.copied().collect();
    for _ in 1..MAX_PASSES {
        let read: Vec<Option<u64>> = processes.iter().map(|process| read(process.id)).collect();
        let found = processes.iter().copied().zip(read);
        let found: Vec<_> = found.filter(|(_, bytes)| bytes.is_some()).collect();
        if found.len() == processes.len() {
            return found;
        }
        processes = found.into_iter().map(|(process, _)| process).collect();
    }
    let last = processes.into_iter();
    last.map(|process| (process, read(process.id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAPER: i32 = 1;

    /// The processes that one sample finds, as (id, parent, bytes), and the bytes of the reaper.
    type Found<'a> = (&'a [(i32, i32, u64)], u64);

    /// The count after these samples.
    fn count(samples: &[Found<'_>]) -> u64 {
        let mut writes = DiskWrites::default();
        let mut count = 0;
        for (live, reaped_bytes) in samples {
            let process = |&(id, parent, _): &(i32, i32, u64)| Process { id, parent };
            let processes: Vec<Process> = live.iter().map(process).collect();
            let read = |id, _| live.iter().find(|one| one.0 == id).map(|one| one.2);
            count = writes.sample(processes.iter(), REAPER, *reaped_bytes, read);
        }
        count
    }

    #[test]
    fn bytes_of_reaped_children_count_once() {
        let first: &[_] = &[(2, 1, 1), (3, 2, 5), (4, 3, 7)];
        assert_eq!(count(&[(first, 0)]), 13);
        assert_eq!(count(&[(first, 0), (&[(2, 1, 1), (3, 2, 12)], 0)]), 13);
        assert_eq!(count(&[(first, 0), (&[(2, 1, 13)], 0)]), 13);
        assert_eq!(count(&[(first, 0), (&[(2, 1, 15)], 0)]), 15);
    }

    #[test]
    fn a_child_that_is_reaped_while_a_sample_is_taken_counts_once() {
        let both = [Process { id: 2, parent: 1 }, Process { id: 3, parent: 2 }];
        let alive = |id, _| Some(if id == 3 { 5 } else { 0 });
        let reaped = |id, _| (id == 2).then_some(5);
        // Reaped before its parent was read, or between the two reads.
        for reads_before in [0, 1] {
            let mut writes = DiskWrites::default();
            assert_eq!(writes.sample(both.iter(), REAPER, 0, alive), 5);
            let left = std::cell::Cell::new(reads_before);
            let read = |id, last| match left.get() {
                0 => reaped(id, last),
                _ => {
                    left.set(left.get() - 1);
                    alive(id, last)
                }
            };
            assert_eq!(writes.sample(both.iter(), REAPER, 0, read), 5);
            assert_eq!(writes.sample(both[..1].iter(), REAPER, 0, reaped), 5);
        }
    }

    #[test]
    fn bytes_of_unreaped_children_are_kept() {
        let samples: &[Found<'_>] = &[
            (&[(2, 1, 0), (3, 2, 5)], 0),
            (&[(2, 1, 0), (4, 2, 6)], 0),
            (&[(2, 1, 0), (5, 2, 7)], 0),
            (&[(2, 1, 0)], 0),
        ];
        assert_eq!(count(samples), 18);
    }

    #[test]
    fn orphans_count_once_however_late_they_are_reaped() {
        let alive: Found<'_> = (&[(2, 1, 0), (3, 1, 5)], 0);
        let exited: Found<'_> = (&[(2, 1, 0)], 0);
        let reaped: Found<'_> = (&[(2, 1, 0)], 6);
        assert_eq!(count(&[alive, exited]), 5);
        assert_eq!(count(&[alive, exited, reaped]), 6);
        // Its parent exited with it.
        let family: Found<'_> = (&[(2, 1, 0), (3, 2, 1), (4, 3, 5)], 0);
        assert_eq!(count(&[family, (&[(2, 1, 1)], 0)]), 6);
        assert_eq!(count(&[family, (&[(2, 1, 1)], 5)]), 6);
    }

    #[test]
    fn a_reused_process_id_is_another_process() {
        let samples: &[Found<'_>] = &[(&[(2, 1, 0), (3, 2, 5)], 0), (&[(2, 1, 0), (3, 2, 1)], 0)];
        assert_eq!(count(samples), 6);
    }

    #[test]
    fn a_process_that_one_list_skips_counts_once() {
        let both = [Process { id: 2, parent: 1 }, Process { id: 3, parent: 2 }];
        let mut writes = DiskWrites::default();
        let read = |id, _| Some(if id == 3 { 5 } else { 1 });
        assert_eq!(writes.sample(both.iter(), REAPER, 0, read), 6);
        assert_eq!(writes.sample(both[..1].iter(), REAPER, 0, read), 6);
        assert_eq!(writes.sample(both.iter(), REAPER, 0, read), 6);
    }
}
