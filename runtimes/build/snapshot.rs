//! A core module as it is after its initialisation has run.
//!
//! What a C program changes is its memory: it returns from initialisation with the stack pointer
//! where it began, and it has no other mutable global. So the memory, written down by whoever ran it,
//! takes the place of the data segments. The Wizer library does the same for more kinds of modules, but
//! it brings an engine into the build.

use anyhow::{Context as _, Result, ensure};
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{ConstExpr, DataSection, ExportSection, MemorySection, MemoryType};
use wasmparser::{Operator, Parser, Payload};

const PAGE: usize = 64 << 10;
/// A run of zeros at least this long is left out between two segments.
const GAP: usize = 4 << 10;
/// More segments than this an engine may refuse.
const MOST_SEGMENTS: usize = 10_000;

/// Gives `module` the `memory` it has after initialisation, and takes away the exports that initialise.
pub(crate) fn snapshot(
    module: &[u8],
    mut memory: Vec<u8>,
    initialisers: &[&str],
) -> Result<Vec<u8>> {
    ensure!(
        memory.len().is_multiple_of(PAGE),
        "a memory consists of whole pages"
    );
    check(module)?;
    // Below where the stack begins lies what calls that ended left there.
    let stack = stack_begin(module)?;
    ensure!(
        stack <= data_begin(module)?,
        "the stack is not below the data"
    );
    memory
        .get_mut(..stack)
        .context("the stack is outside of the memory")?
        .fill(0);

    let segments = segments(&memory);
    ensure!(
        segments.len() <= MOST_SEGMENTS,
        "the memory falls into {} parts",
        segments.len()
    );
    let mut rewritten = wasm_encoder::Module::new();
    let mut rewrite = Rewrite {
        memory: &memory,
        segments,
        initialisers,
    };
    rewrite
        .parse_core_module(&mut rewritten, Parser::new(0), module)
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let rewritten = rewritten.finish();
    wasmparser::validate(&rewritten).context("the module with the snapshot is not valid")?;
    Ok(rewritten)
}

/// Checks that nothing but memory can differ after initialisation.
fn check(module: &[u8]) -> Result<()> {
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::GlobalSection(section) => {
                let mutable = section
                    .into_iter()
                    .filter(|global| global.as_ref().is_ok_and(|global| global.ty.mutable));
                ensure!(
                    mutable.count() == 1,
                    "not just the stack pointer can change"
                );
            }
            Payload::StartSection { .. } => anyhow::bail!("the module starts by itself"),
            Payload::CodeSectionEntry(body) => {
                for operator in body.get_operators_reader()? {
                    ensure!(
                        !matches!(
                            operator?,
                            Operator::MemoryInit { .. }
                                | Operator::DataDrop { .. }
                                | Operator::TableSet { .. }
                                | Operator::TableGrow { .. }
                                | Operator::TableFill { .. }
                                | Operator::TableCopy { .. }
                                | Operator::TableInit { .. }
                        ),
                        "the module changes tables or uses its data later"
                    );
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Where the stack begins: the first value of the one mutable global.
fn stack_begin(module: &[u8]) -> Result<usize> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::GlobalSection(section) = payload? {
            for global in section {
                let global = global?;
                if global.ty.mutable {
                    return constant(&global.init_expr);
                }
            }
        }
    }
    anyhow::bail!("the module has no stack pointer")
}

/// Where the first data segment lies.
fn data_begin(module: &[u8]) -> Result<usize> {
    let mut first = usize::MAX;
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::DataSection(section) = payload? {
            for segment in section {
                if let wasmparser::DataKind::Active { offset_expr, .. } = segment?.kind {
                    first = first.min(constant(&offset_expr)?);
                }
            }
        }
    }
    Ok(first)
}

fn constant(expression: &wasmparser::ConstExpr<'_>) -> Result<usize> {
    match expression.get_operators_reader().read()? {
        Operator::I32Const { value } => Ok(usize::try_from(value)?),
        other => anyhow::bail!("{other:?} is not a constant"),
    }
}

/// The parts of a memory that are not zero.
fn segments(memory: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut segments: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, block) in memory.chunks(GAP).enumerate() {
        let begin = index * GAP;
        let Some(last) = block.iter().rposition(|&byte| byte != 0) else {
            continue;
        };
        match segments.last_mut() {
            Some(open) if begin - open.end < GAP => open.end = begin + last + 1,
            _ => segments.push(begin..begin + last + 1),
        }
    }
    segments
}

struct Rewrite<'a> {
    memory: &'a [u8],
    segments: Vec<std::ops::Range<usize>>,
    initialisers: &'a [&'a str],
}

impl Reencode for Rewrite<'_> {
    type Error = std::convert::Infallible;

    fn parse_memory_section(
        &mut self,
        memories: &mut MemorySection,
        section: wasmparser::MemorySectionReader<'_>,
    ) -> Result<(), Error> {
        for memory in section {
            let memory = memory?;
            memories.memory(MemoryType {
                minimum: (self.memory.len() / PAGE) as u64,
                maximum: memory.maximum,
                memory64: memory.memory64,
                shared: memory.shared,
                page_size_log2: memory.page_size_log2,
            });
        }
        Ok(())
    }

    fn parse_export(
        &mut self,
        exports: &mut ExportSection,
        export: wasmparser::Export<'_>,
    ) -> Result<(), Error> {
        if self.initialisers.contains(&export.name) {
            return Ok(());
        }
        exports.export(
            export.name,
            self.export_kind(export.kind)?,
            self.external_index(export.kind, export.index)?,
        );
        Ok(())
    }

    fn parse_data_section(
        &mut self,
        data: &mut DataSection,
        _: wasmparser::DataSectionReader<'_>,
    ) -> Result<(), Error> {
        for segment in &self.segments {
            let offset = ConstExpr::i32_const(segment.start as i32);
            data.active(0, &offset, self.memory[segment.clone()].iter().copied());
        }
        Ok(())
    }

    fn data_count(&mut self, _: u32) -> Result<u32, Error> {
        Ok(self.segments.len() as u32)
    }
}
