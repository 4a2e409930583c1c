//! The interpreters for scripts and the TypeScript transpiler, compiled to WASI and embedded in this library.
//!
//! The build script makes each [`Guest`] from packages that are pinned by hash, so a machine that
//! only runs skills needs neither Python nor a network. The bytes are stored compressed: they
//! are read once, when the host compiles them for its machine, and a third of the size is
//! worth the fraction of a second this takes.
//!
//! This crate knows nothing about engines, policies or skills, and it must stay that way: it never runs a
//! guest, and it returns bytes only together with the [`digest`](Guest::digest), the key of the cache of
//! compiled code.

use std::io;

mod python {
    include!(concat!(env!("OUT_DIR"), "/python.rs"));
}

mod javascript {
    include!(concat!(env!("OUT_DIR"), "/javascript.rs"));
}

mod typescript {
    include!(concat!(env!("OUT_DIR"), "/typescript.rs"));
}

/// An interpreter, or the TypeScript transpiler, as a WASI component, embedded compressed.
#[derive(Clone, Copy, Debug)]
pub struct Guest {
    name: &'static str,
    version: &'static str,
    digest: &'static str,
    component: Compressed,
    image: Compressed,
}

/// Compressed bytes, kept out of the `Debug` output of a [`Guest`]: there are millions of them.
#[derive(Clone, Copy)]
struct Compressed {
    bytes: &'static [u8],
    /// The size of what they contain.
    size: usize,
}

impl std::fmt::Debug for Compressed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

/// CPython and those modules of its standard library that work without native libraries; the world it implements is `python/wit/world.wit`.
pub fn python() -> Guest {
    Guest {
        name: "python",
        version: python::VERSION,
        digest: python::DIGEST,
        component: Compressed {
            bytes: python::COMPONENT,
            size: python::COMPONENT_SIZE,
        },
        image: Compressed {
            bytes: python::IMAGE,
            size: python::IMAGE_SIZE,
        },
    }
}

/// QuickJS-ng with a layer of Node's modules; the world it implements is `javascript/wit/world.wit`.
pub fn javascript() -> Guest {
    Guest {
        name: "javascript",
        version: javascript::VERSION,
        digest: javascript::DIGEST,
        component: Compressed {
            bytes: javascript::COMPONENT,
            size: javascript::COMPONENT_SIZE,
        },
        image: Compressed {
            bytes: javascript::IMAGE,
            size: javascript::IMAGE_SIZE,
        },
    }
}

/// The transpiler from TypeScript to JavaScript; the world it implements is `typescript/wit/world.wit`.
pub fn typescript() -> Guest {
    Guest {
        name: "typescript",
        version: typescript::VERSION,
        digest: typescript::DIGEST,
        component: Compressed {
            bytes: typescript::COMPONENT,
            size: typescript::COMPONENT_SIZE,
        },
        image: Compressed {
            bytes: typescript::IMAGE,
            size: typescript::IMAGE_SIZE,
        },
    }
}

/// The third-party packages in the guests, with the texts of their licences.
pub fn third_party_licenses() -> io::Result<String> {
    let compressed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/licenses.zst"));
    let text = zstd::stream::decode_all(compressed)?;
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

impl Guest {
    /// The name of the guest, `python`, `javascript` or `typescript`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The version of the interpreter, such as `3.14.0`.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// The SHA-256 of the component and its image, in hexadecimal.
    pub fn digest(&self) -> &'static str {
        self.digest
    }

    /// The component, decompressed: a WebAssembly component in binary form. It has no data: its memory must start with
    /// the [`image`](Guest::image).
    ///
    /// This allocates tens of megabytes: exactly the size that the build recorded, never more.
    pub fn component(&self) -> io::Result<Vec<u8>> {
        self.decompress(self.component)
    }

    /// The memory of the component before its first instruction, decompressed. Zeros follow it. Its size is a multiple of 64
    /// KiB.
    ///
    /// This allocates tens of megabytes, too.
    pub fn image(&self) -> io::Result<Vec<u8>> {
        self.decompress(self.image)
    }

    /// The size of the image in bytes.
    pub fn image_size(&self) -> usize {
        self.image.size
    }

    fn decompress(&self, Compressed { bytes, size }: Compressed) -> io::Result<Vec<u8>> {
        let decompressed = zstd::bulk::decompress(bytes, size)?;
        if decompressed.len() != size {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the embedded guest `{}` is damaged", self.name),
            ));
        }
        Ok(decompressed)
    }
}

// A build script cannot have tests, so they run here.
#[cfg(test)]
#[path = "../build/patch.rs"]
mod patch;

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_embedded_components_have_their_recorded_digests() {
        for guest in [python(), javascript(), typescript()] {
            let component = guest.component().expect("decompresses");
            let image = guest.image().expect("decompresses");
            let digest = Sha256::new().chain_update(component).chain_update(&image);
            let digest: String = digest
                .finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(digest, guest.digest());
            assert_eq!(image.len(), guest.image_size());
            assert!(image.len().is_multiple_of(64 << 10));
        }
    }

    #[test]
    fn the_guests_are_components_and_not_core_modules() {
        for guest in [python(), javascript(), typescript()] {
            let component = guest.component().expect("decompresses");
            assert_eq!(component[..8], *b"\0asm\x0d\0\x01\0");
        }
    }

    /// The packages of a guest that are missing in the list of licences.
    fn unlisted(packages: impl Iterator<Item = String>) -> Vec<String> {
        let listed = third_party_licenses().expect("decompresses");
        let is_listed = |package: &String| listed.contains(&format!("{package} ("));
        packages.filter(|package| !is_listed(package)).collect()
    }

    /// `name version` of each package in a Cargo lock file that comes from a registry.
    fn crates(lock: &str) -> impl Iterator<Item = String> {
        lock.split("[[package]]").skip(1).filter_map(|package| {
            let value = |key: &str| {
                let rest = package.split_once(&format!("\n{key} = \""))?.1;
                Some(rest.split_once('"')?.0.to_owned())
            };
            value("source")?;
            Some(format!("{} {}", value("name")?, value("version")?))
        })
    }

    #[test]
    fn every_package_in_a_guest_is_in_the_list_of_licences() {
        const REMEDY: &str = "run runtimes/licenses/collect";
        let crates_of_oxc = crates(include_str!("../typescript/Cargo.lock"));
        assert_eq!(unlisted(crates_of_oxc), [""; 0], "{REMEDY}");

        let sources = crates(include_str!("../sources/Cargo.lock"))
            .filter(|package| package.contains("libquickjs") || package.contains("libsqlite"));
        assert_eq!(unlisted(sources), [""; 0], "{REMEDY}");

        let lock = include_str!("../javascript/package-lock.json");
        let lock: serde_json::Value = serde_json::from_str(lock).expect("is JSON");
        let packages = lock["packages"].as_object().expect("is an object").iter();
        let of_node = packages
            .filter(|(path, entry)| !path.is_empty() && entry["dev"] != true)
            .map(|(path, entry)| {
                let name = path.rsplit("node_modules/").next().unwrap_or(path);
                format!("{name} {}", entry["version"].as_str().unwrap_or_default())
            });
        assert_eq!(unlisted(of_node), [""; 0], "{REMEDY}");

        let wheels = include_str!("../requirements.txt").lines();
        let wheels = wheels
            .filter(|line| line.starts_with("componentize-py") || line.starts_with("tzdata"))
            .filter_map(|line| line.strip_suffix(" \\"))
            .map(|line| line.replace("==", " "));
        assert_eq!(unlisted(wheels), [""; 0], "{REMEDY}");
    }

    #[test]
    fn printing_a_guest_prints_no_bytes_of_it() {
        for guest in [python(), javascript(), typescript()] {
            assert!(format!("{guest:?}").len() < 300);
        }
    }
}
