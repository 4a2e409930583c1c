//! Turns a core module into a component with the world that its `wit` directory describes.

use crate::tools::{Failure, READY_MADE, Result};
use std::path::Path;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};

/// Encodes `module` as a component. `world` is the guest's name. Imports of WASI preview 1 become WASI 0.2.
pub(crate) fn encode(module: Vec<u8>, wit: &Path, world: &str) -> Result<Vec<u8>> {
    try_encode(module, wit, world).map_err(|error| Failure {
        what: format!("cannot turn the guest `{world}` into a component: {error:#}"),
        hints: vec![READY_MADE.into()],
    })
}

fn try_encode(mut module: Vec<u8>, wit: &Path, world: &str) -> anyhow::Result<Vec<u8>> {
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let encoding = wit_component::StringEncoding::UTF8;
    wit_component::embed_component_metadata(&mut module, &resolve, world, encoding)?;
    wit_component::ComponentEncoder::default()
        .module(&module)?
        .adapter(PREVIEW1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .validate(true)
        .encode()
}
