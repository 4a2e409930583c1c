//! The calls that a guest can make, for the fuzz targets: a hostile guest calls whatever it likes, with any
//! handle, name and flag, in any order.

use super::budget::Budget;
use super::files::{Fd, Files, FilesView, reborrow};
use super::typescript::{Left, Transpiler};
use crate::runtime::cache::Cache;
use crate::runtime::protected::ProtectedPaths;
use bytes::Bytes;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use preopens::Host as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use types::{
    DescriptorFlags, HostDescriptor as _, HostDirectoryEntryStream as _, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

/// A directory that a guest sees.
#[derive(Debug, Clone)]
pub struct Mount {
    /// Where it is.
    pub host: PathBuf,
    /// Where the guest sees it.
    pub guest: String,
    /// Whether the guest may change it.
    pub writable: bool,
    /// The one file in it that the guest may see.
    pub only: Option<String>,
}

/// One call. A handle is a number that counts modulo those that are open.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names are those of wasi:filesystem")]
pub enum Call {
    Open {
        at: usize,
        follow: bool,
        path: String,
        how: u8,
        flags: u8,
    },
    CreateDirectory {
        at: usize,
        path: String,
    },
    RemoveDirectory {
        at: usize,
        path: String,
    },
    Unlink {
        at: usize,
        path: String,
    },
    Rename {
        at: usize,
        old: String,
        to: usize,
        new: String,
    },
    Link {
        at: usize,
        follow: bool,
        old: String,
        to: usize,
        new: String,
    },
    Symlink {
        at: usize,
        target: String,
        path: String,
    },
    ReadLink {
        at: usize,
        path: String,
    },
    Stat {
        at: usize,
        follow: bool,
        path: String,
    },
    SetTimesAt {
        at: usize,
        follow: bool,
        path: String,
    },
    SetTimes {
        fd: usize,
    },
    SetSize {
        fd: usize,
        size: u64,
    },
    Read {
        fd: usize,
        offset: u64,
    },
    Write {
        fd: usize,
        offset: u64,
        bytes: Vec<u8>,
    },
    WriteStream {
        fd: usize,
        offset: u64,
        bytes: Vec<u8>,
    },
    Append {
        fd: usize,
        bytes: Vec<u8>,
    },
    List {
        fd: usize,
    },
    Close {
        fd: usize,
    },
}

/// What the bits of `how` and `flags` stand for.
const HOW: [OpenFlags; 4] = [
    OpenFlags::CREATE,
    OpenFlags::DIRECTORY,
    OpenFlags::EXCLUSIVE,
    OpenFlags::TRUNCATE,
];
const FLAGS: [DescriptorFlags; 3] = [
    DescriptorFlags::READ,
    DescriptorFlags::WRITE,
    DescriptorFlags::MUTATE_DIRECTORY,
];

/// What a call returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallResult {
    /// Nothing but success.
    Done,
    /// Bytes of a file.
    Bytes(Vec<u8>),
    /// The target of a link, or the names in a directory.
    Names(Vec<String>),
    /// An error that the guest sees.
    Refused,
    /// An error that ends the guest.
    Trapped(String),
}

/// The files of one guest, and its open handles.
pub struct Guest {
    runtime: Runtime,
    files: Files,
    table: ResourceTable,
    open: Vec<Fd>,
}

impl std::fmt::Debug for Guest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guest").finish_non_exhaustive()
    }
}

impl Guest {
    /// A guest that sees `mounts`, may write `disk` bytes and nothing below the `protected` paths.
    pub fn new(mounts: &[Mount], protected: &[PathBuf], disk: u64) -> io::Result<Self> {
        let protected = Arc::new(ProtectedPaths::new(protected.iter().cloned()));
        let budget = Budget::shared(disk);
        let mut files = Files::new(32);
        for mount in mounts {
            let dir = Dir::open_ambient_dir(&mount.host, ambient_authority())?;
            files.add_mount(
                dir.into_std_file().into(),
                mount.guest.clone(),
                mount.writable,
                mount.only.clone(),
                budget.clone(),
                mount.writable.then(|| Arc::clone(&protected)),
            )?;
        }
        let mut guest = Self {
            runtime: Builder::new_current_thread().build()?,
            files,
            table: ResourceTable::new(),
            open: Vec::new(),
        };
        let opened = guest.view().get_directories();
        let opened = opened.map_err(|error| io::Error::other(error.to_string()))?;
        guest.open = opened.into_iter().map(|(fd, _)| fd).collect();
        Ok(guest)
    }

    /// Makes one call, as the guest's bindings would.
    pub fn call(&mut self, call: &Call) -> CallResult {
        let mut opened = None;
        let mut closed = None;
        let (open, mut view) = (
            &self.open,
            FilesView {
                files: &mut self.files,
                table: &mut self.table,
            },
        );
        if open.is_empty() {
            return CallResult::Refused;
        }
        let fd = |number: usize| reborrow(&open[number % open.len()]);
        let follow = |follow: bool| match follow {
            true => PathFlags::SYMLINK_FOLLOW,
            false => PathFlags::empty(),
        };
        let done = |result: FsResult<()>| result.map(|()| CallResult::Done);
        let now = || NewTimestamp::Now;
        let answer = self.runtime.block_on(async {
            match call.clone() {
                Call::Open {
                    at,
                    follow: links,
                    path,
                    how,
                    flags,
                } => {
                    let how = HOW
                        .iter()
                        .enumerate()
                        .filter(|(bit, _)| how & (1 << bit) != 0)
                        .fold(OpenFlags::empty(), |all, (_, flag)| all | *flag);
                    let flags = FLAGS
                        .iter()
                        .enumerate()
                        .filter(|(bit, _)| flags & (1 << bit) != 0)
                        .fold(DescriptorFlags::empty(), |all, (_, flag)| all | *flag);
                    let fd = view.open_at(fd(at), follow(links), path, how, flags);
                    opened = Some(fd.await?);
                    Ok(CallResult::Done)
                }
                Call::CreateDirectory { at, path } => {
                    done(view.create_directory_at(fd(at), path).await)
                }
                Call::RemoveDirectory { at, path } => {
                    done(view.remove_directory_at(fd(at), path).await)
                }
                Call::Unlink { at, path } => done(view.unlink_file_at(fd(at), path).await),
                Call::Rename { at, old, to, new } => {
                    done(view.rename_at(fd(at), old, fd(to), new).await)
                }
                Call::Link {
                    at,
                    follow: links,
                    old,
                    to,
                    new,
                } => done(view.link_at(fd(at), follow(links), old, fd(to), new).await),
                Call::Symlink { at, target, path } => {
                    done(view.symlink_at(fd(at), target, path).await)
                }
                Call::ReadLink { at, path } => {
                    let target = view.readlink_at(fd(at), path).await?;
                    Ok(CallResult::Names(vec![target]))
                }
                Call::Stat {
                    at,
                    follow: links,
                    path,
                } => {
                    view.metadata_hash_at(fd(at), follow(links), path.clone())
                        .await?;
                    view.stat_at(fd(at), follow(links), path).await?;
                    Ok(CallResult::Done)
                }
                Call::SetTimesAt {
                    at,
                    follow: links,
                    path,
                } => done(
                    view.set_times_at(fd(at), follow(links), path, now(), now())
                        .await,
                ),
                Call::SetTimes { fd: number } => {
                    done(view.set_times(fd(number), now(), now()).await)
                }
                Call::SetSize { fd: number, size } => done(view.set_size(fd(number), size).await),
                Call::Read { fd: number, offset } => {
                    let (bytes, _) = view.read(fd(number), 4096, offset).await?;
                    Ok(CallResult::Bytes(bytes))
                }
                Call::Write {
                    fd: number,
                    offset,
                    bytes,
                } => {
                    view.write(fd(number), bytes, offset).await?;
                    Ok(CallResult::Done)
                }
                Call::WriteStream {
                    fd: number,
                    offset,
                    bytes,
                } => {
                    let stream = view.write_via_stream(fd(number), offset)?;
                    let written = view.table.get_mut(&stream)?.write(Bytes::from(bytes));
                    view.table.delete(stream)?;
                    written.map_err(|_| types::ErrorCode::Io)?;
                    Ok(CallResult::Done)
                }
                Call::Append { fd: number, bytes } => {
                    let stream = view.append_via_stream(fd(number))?;
                    let written = view.table.get_mut(&stream)?.write(Bytes::from(bytes));
                    view.table.delete(stream)?;
                    written.map_err(|_| types::ErrorCode::Io)?;
                    Ok(CallResult::Done)
                }
                Call::List { fd: number } => {
                    let listing = view.read_directory(fd(number)).await?;
                    let mut names = Vec::new();
                    let reborrow = || wasmtime::component::Resource::new_borrow(listing.rep());
                    while let Some(entry) = view.read_directory_entry(reborrow()).await? {
                        names.push(entry.name);
                    }
                    types::HostDirectoryEntryStream::drop(&mut view, listing)
                        .map_err(|_| types::ErrorCode::Io)?;
                    Ok(CallResult::Names(names))
                }
                // The preopened directories stay open: without one there is nothing to call.
                Call::Close { fd: number } => {
                    let number = number % open.len();
                    if number >= view.files.mounts.len() {
                        closed = Some(number);
                    }
                    Ok(CallResult::Done)
                }
            }
        });
        self.open.extend(opened);
        if let Some(number) = closed {
            let fd = self.open.swap_remove(number);
            if let Err(error) = types::HostDescriptor::drop(&mut self.view(), fd) {
                return CallResult::Trapped(error.to_string());
            }
        }
        answer.unwrap_or_else(|error: wasmtime_wasi::p2::FsError| match error.downcast() {
            Ok(_) => CallResult::Refused,
            Err(trap) => CallResult::Trapped(trap.to_string()),
        })
    }

    fn view(&mut self) -> FilesView<'_> {
        FilesView {
            files: &mut self.files,
            table: &mut self.table,
        }
    }
}

/// The import `transpile` of the JavaScript guest.
pub struct TypeScript {
    runtime: Runtime,
    transpiler: Transpiler,
}

impl std::fmt::Debug for TypeScript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TypeScript").finish_non_exhaustive()
    }
}

impl TypeScript {
    /// The transpiler, compiled for this machine in the directory `cache`.
    pub fn new(cache: &Path) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().build()?;
        let transpiler = Transpiler::new(Cache::new(cache.to_owned()));
        runtime
            .block_on(transpiler.prepare())
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self {
            runtime,
            transpiler,
        })
    }

    /// Transpiles as for a guest. Returns the code and the lines that its mappings name, in the code and in the source,
    /// or an error message; and the fuel that is left. `None` if the error would end the guest.
    #[expect(
        clippy::type_complexity,
        reason = "a type of its own would be longer than this"
    )]
    pub fn transpile(
        &self,
        name: &str,
        source: &[u8],
        memory: u64,
        fuel: u64,
    ) -> Option<(Result<(String, Vec<(u32, u32)>), String>, u64)> {
        let left = Left { memory, fuel };
        let transpiled = self.transpiler.transpile(name, source, left);
        let (answer, fuel) = self.runtime.block_on(transpiled).ok()?;
        let answer = answer.map(|made| {
            let lines = made.mappings.iter();
            let lines = lines.map(|mapping| (mapping.line, mapping.original_line));
            (made.code, lines.collect())
        });
        Some((answer, fuel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    /// A guest with a writable directory that contains a protected one, and with a single file of another directory.
    fn guest(around: &Path) -> Guest {
        for directory in ["work/protected", "single"] {
            std::fs::create_dir_all(around.join(directory)).unwrap();
        }
        std::fs::write(around.join("single/granted"), "").unwrap();
        let mount = |folder: &str, only: Option<&str>| Mount {
            host: around.join(folder),
            guest: format!("/{folder}"),
            writable: true,
            only: only.map(str::to_owned),
        };
        let mounts = [mount("work", None), mount("single", Some("granted"))];
        Guest::new(&mounts, &[around.join("work/protected")], 1 << 20).unwrap()
    }

    #[test]
    fn a_handle_on_a_protected_directory_sets_no_times() {
        let around = tempfile::tempdir().unwrap();
        let around = around.path().canonicalize().unwrap();
        let mut guest = guest(&around);
        let open = Call::Open {
            at: 0,
            follow: false,
            path: "protected".into(),
            how: 0b10,
            flags: 0b1,
        };
        assert_eq!(guest.call(&open), CallResult::Done);
        let times = |folder: &str| -> SystemTime {
            let meta = std::fs::metadata(around.join(folder)).unwrap();
            meta.modified().unwrap()
        };
        let before = (times("work/protected"), times("single"));
        let here = |at| Call::SetTimesAt {
            at,
            follow: false,
            path: ".".into(),
        };
        let (work, single, protected) = (0, 1, 2);
        for refused in [
            here(protected),
            Call::SetTimes { fd: protected },
            here(single),
            Call::SetTimes { fd: single },
        ] {
            assert_eq!(guest.call(&refused), CallResult::Refused, "{refused:?}");
        }
        assert_eq!((times("work/protected"), times("single")), before);
        assert_eq!(guest.call(&here(work)), CallResult::Done);
    }
}
