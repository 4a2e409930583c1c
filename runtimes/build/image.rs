//! Takes the initial memory out of a component.
//!
//! A guest starts from a snapshot of tens of megabytes. As data segments, an engine would copy them at every start, or
//! map them by means of its own. Apart from the code, the host can map them as it wants.

use anyhow::{Result, ensure};
use wasm_encoder::reencode::{self, Error, Reencode, ReencodeComponent};
use wasm_encoder::{DataSection, MemorySection};
use wasmparser::{DataKind, Operator, Parser};

/// The image consists of whole pages of WebAssembly, which are whole pages on every machine.
const PAGE: usize = 64 << 10;

/// Splits a component into the same component without data segments, and the memory they describe.
pub(crate) fn split(component: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut split = Split::default();
    let mut rest = wasm_encoder::Component::new();
    split
        .parse_component(&mut rest, Parser::new(0), component)
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    ensure!(
        split.modules == 1,
        "{} modules have data, not one",
        split.modules
    );
    // The host gives the image to every memory that a guest defines (`host/memory/src/memories.rs`).
    ensure!(
        split.memories == 1,
        "{} memories are defined, not one",
        split.memories
    );
    let rest = rest.finish();
    wasmparser::validate(&rest)?;
    split
        .image
        .resize(split.image.len().next_multiple_of(PAGE), 0);
    Ok((rest, split.image))
}

#[derive(Default)]
struct Split {
    image: Vec<u8>,
    /// How many modules have data.
    modules: usize,
    /// How many memories all modules define.
    memories: u32,
}

impl Reencode for Split {
    type Error = anyhow::Error;

    fn parse_memory_section(
        &mut self,
        memories: &mut MemorySection,
        section: wasmparser::MemorySectionReader<'_>,
    ) -> Result<(), Error<Self::Error>> {
        self.memories += section.count();
        reencode::utils::parse_memory_section(self, memories, section)
    }

    fn parse_data_section(
        &mut self,
        _: &mut DataSection,
        section: wasmparser::DataSectionReader<'_>,
    ) -> Result<(), Error<Self::Error>> {
        self.modules += usize::from(section.count() > 0);
        for segment in section {
            let segment = segment?;
            let begin = offset(&segment.kind).map_err(Error::UserError)?;
            let end = begin + segment.data.len();
            if self.image.len() < end {
                self.image.resize(end, 0);
            }
            // In the order of the segments: a later one overwrites an earlier one.
            self.image[begin..end].copy_from_slice(segment.data);
        }
        Ok(())
    }

    fn data_count(&mut self, _: u32) -> Result<u32, Error<Self::Error>> {
        Ok(0)
    }
}

impl ReencodeComponent for Split {}

/// Where a segment is in the memory. A segment without a place there would be used later, and must not be removed.
fn offset(kind: &DataKind<'_>) -> Result<usize> {
    let DataKind::Active {
        memory_index: 0,
        offset_expr,
    } = kind
    else {
        anyhow::bail!("a data segment is not part of the initial memory");
    };
    match offset_expr.get_operators_reader().read()? {
        Operator::I32Const { value } => Ok(usize::try_from(value.cast_unsigned())?),
        other => anyhow::bail!("{other:?} is not a constant"),
    }
}
