//! Snapshots a core module after its initialisation has run.
//!
//! A C program changes only its memory: when initialisation returns, the stack pointer has its initial
//! value again, and there is no other mutable global. So the memory, which was dumped after initialisation,
//! replaces the data segments. The Wizer library does the same for more kinds of modules, but it brings
//! an engine into the build.

use anyhow::{Context as _, Result, ensure};
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{ConstExpr, DataSection, ExportSection, MemorySection, MemoryType};
use wasmparser::{Operator, Parser, Payload};

const PAGE: usize = 64 << 10;
/// Zeros that separate two segments; a shorter run is stored.
const GAP: usize = 4 << 10;
/// Data segments. Engines may refuse a module with more.
const MAX_SEGMENTS: usize = 10_000;

/// Replaces the data of `module` with the `memory` it has after initialisation, and removes the exports in
/// `initialisers`.
pub(crate) fn snapshot(
    module: &[u8],
    mut memory: Vec<u8>,
    initialisers: &[&str],
) -> Result<Vec<u8>> {
    ensure!(
        memory.len().is_multiple_of(PAGE),
        "the memory does not consist of whole pages"
    );
    check(module)?;
    // The memory below the start of the stack contains leftovers of calls that have returned.
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
        segments.len() <= MAX_SEGMENTS,
        "the memory has {} segments",
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
                    "the module must have exactly one mutable global, the stack pointer"
                );
            }
            Payload::StartSection { .. } => anyhow::bail!("the module has a start function"),
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

/// The start of the stack: the initial value of the only mutable global.
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

/// The offset of the first data segment.
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
