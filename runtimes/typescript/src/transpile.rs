//! Transpiles one source from TypeScript to JavaScript.

use crate::{diagnostic, helpers};
use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{HelperLoaderMode, TransformOptions, Transformer};
use std::path::Path;

/// JavaScript, and its source map.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Transpiled {
    /// The JavaScript.
    pub code: String,
    /// In the order of the code.
    pub mappings: Vec<Mapping>,
}

/// A position in the code and its origin. Lines and columns count from 0, columns in UTF-16
/// units. The layout is that of the record in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Mapping {
    /// The line in the code.
    pub line: u32,
    /// The column in the code.
    pub column: u32,
    /// The line in the source.
    pub original_line: u32,
    /// The column in the source.
    pub original_column: u32,
}

/// JavaScript for the TypeScript `source` of the file `name`, or an error message with its location.
///
/// Types are removed; enums, namespaces, parameter properties, `import x = require()` and decorators (as
/// TypeScript has them under `experimentalDecorators`) become JavaScript. Imports that are only used
/// as types are removed, as TypeScript does by default. Everything else is unchanged.
pub fn transpile(name: &str, source: &[u8]) -> Result<Transpiled, String> {
    let source = std::str::from_utf8(source)
        .map_err(|error| diagnostic::not_utf8(name, source, error.valid_up_to()))?;
    // JavaScript engines skip the mark; oxc would count it as a column.
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, kind(name))
        .with_options(ParseOptions {
            // Only the loader knows whether a file is a CommonJS module, where `return` is allowed.
            allow_return_outside_function: !name.ends_with(".mts"),
            ..ParseOptions::default()
        })
        .parse();
    diagnostic::check(name, source, &parsed.diagnostics)?;
    let mut program = parsed.program;

    let checked = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .with_enum_eval(true)
        .build(&program);
    diagnostic::check(name, source, &checked.diagnostics)?;
    let scoping = checked.semantic.into_scoping();

    let mut options = TransformOptions::default();
    options.decorator.legacy = true;
    options.helper_loader.mode = HelperLoaderMode::External;
    let transformed = Transformer::new(&allocator, Path::new(name), &options)
        .build_with_scoping(scoping, &mut program);
    diagnostic::check(name, source, &transformed.diagnostics)?;

    let written = Codegen::new()
        .with_options(CodegenOptions {
            source_map_path: Some(name.into()),
            // Nobody reads the output, and indentation makes deep nesting quadratic in size.
            indent_width: 0,
            ..CodegenOptions::default()
        })
        .build(&program);
    let tokens = written.map.iter().flat_map(|map| map.get_tokens());
    let mappings = tokens
        .map(|token| Mapping {
            line: token.get_dst_line(),
            column: token.get_dst_col(),
            original_line: token.get_src_line(),
            original_column: token.get_src_col(),
        })
        .collect();
    let transpiled = Transpiled {
        code: written.code,
        mappings,
    };
    Ok(helpers::define(transpiled))
}

/// The kind of file by its extension. If the extension does not decide, its content does.
fn kind(name: &str) -> SourceType {
    let kind = SourceType::ts();
    match name.rsplit_once('.') {
        Some((_, "mts")) => kind,
        Some((_, "cts")) => kind.with_commonjs(true),
        _ => kind.with_unambiguous(true),
    }
}
