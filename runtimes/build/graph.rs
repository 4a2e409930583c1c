//! The core modules of a component and how they are linked to each other.

use anyhow::{Context as _, Result, bail, ensure};
use std::collections::HashMap;
use std::ops::Range;
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ExternalKind, FuncType, FunctionBody,
    Instance, KnownCustom, Name, Operator, Parser, Payload, TypeRef,
};

/// Functions of a library whose names have this prefix are replaced by the functions of the same name that another
/// library exports. So the interpreter gets another SQLite than the one it was linked with.
const REPLACED: &str = "sqlite3_";
/// The object file that is replaced is the last of its library. It starts at the first function with this prefix.
const OBJECT: &str = "sqlite3";
/// A function that a library exports with this prefix takes the place of the one whose name follows.
const INSTEAD_OF: &str = "instead_of_";

/// Functions and their replacements, each as an instance and an index among its defined functions.
type Replaced = HashMap<(usize, u32), (usize, u32)>;

/// The index spaces of a core module from which other modules can import.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Space {
    Func,
    Table,
    Memory,
    Global,
}

impl Space {
    fn of(kind: ExternalKind) -> Result<Self> {
        Ok(match kind {
            ExternalKind::Func | ExternalKind::FuncExact => Self::Func,
            ExternalKind::Table => Self::Table,
            ExternalKind::Memory => Self::Memory,
            ExternalKind::Global => Self::Global,
            kind => bail!("a core module exports a {kind:?}"),
        })
    }
}

/// The origin of an item in one of the component's core index spaces.
#[derive(Clone)]
pub(crate) enum Origin {
    /// An export of a core instance.
    Export(usize, String),
    /// The canonical ABI: an import of the component.
    Lowered,
}

/// A core instance of the component.
pub(crate) enum CoreInstance<'a> {
    /// A module, with the instances that satisfy its imports.
    Module(Box<CoreModule<'a>>, HashMap<String, usize>),
    /// A bundle of exports of other instances.
    Bundle(HashMap<String, Origin>),
    /// wit-component's helpers for calls that need memory. Encoding the merged module makes new ones.
    Shim,
}

/// The core instances of a component, and what it exports of them.
pub(crate) struct Graph<'a> {
    instances: Vec<CoreInstance<'a>>,
    /// What each slot of a shim calls.
    slots: HashMap<String, Origin>,
    replaced: Replaced,
    /// Functions of an instance that nothing calls any more. The first one is kept as a stand-in for all of them
    /// in tables.
    dropped: HashMap<usize, Range<u32>>,
    /// What the merged module has to export, by name.
    pub(crate) exports: Vec<(String, Space, Origin)>,
}

/// A core module, read once.
pub(crate) struct CoreModule<'a> {
    pub(crate) types: Vec<wasmparser::RecGroup>,
    pub(crate) imports: Vec<wasmparser::Import<'a>>,
    pub(crate) functions: Vec<u32>,
    pub(crate) tables: Vec<wasmparser::Table<'a>>,
    pub(crate) memories: Vec<wasmparser::MemoryType>,
    pub(crate) globals: Vec<wasmparser::Global<'a>>,
    pub(crate) exports: HashMap<&'a str, (Space, u32)>,
    pub(crate) start: Option<u32>,
    pub(crate) elements: Vec<wasmparser::Element<'a>>,
    pub(crate) code: Vec<FunctionBody<'a>>,
    pub(crate) data: Vec<wasmparser::Data<'a>>,
    /// Function names from the name section.
    names: Vec<(u32, &'a str)>,
}

impl<'a> CoreModule<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut library = Self {
            types: vec![],
            imports: vec![],
            functions: vec![],
            tables: vec![],
            memories: vec![],
            globals: vec![],
            exports: HashMap::new(),
            start: None,
            elements: vec![],
            code: vec![],
            data: vec![],
            names: vec![],
        };
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::TypeSection(section) => library.types = all(section)?,
                Payload::ImportSection(section) => {
                    library.imports = section.into_imports().collect::<Result<_, _>>()?;
                }
                Payload::FunctionSection(section) => library.functions = all(section)?,
                Payload::TableSection(section) => library.tables = all(section)?,
                Payload::MemorySection(section) => library.memories = all(section)?,
                Payload::GlobalSection(section) => library.globals = all(section)?,
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        library
                            .exports
                            .insert(export.name, (Space::of(export.kind)?, export.index));
                    }
                }
                Payload::StartSection { func, .. } => library.start = Some(func),
                Payload::ElementSection(section) => library.elements = all(section)?,
                Payload::CodeSectionEntry(body) => library.code.push(body),
                Payload::DataSection(section) => library.data = all(section)?,
                Payload::TagSection(_) => bail!("a core module defines exceptions"),
                Payload::CustomSection(section) => {
                    if let KnownCustom::Name(names) = section.as_known() {
                        library.read_names(names)?;
                    }
                }
                _ => {}
            }
        }
        Ok(library)
    }

    fn read_names(&mut self, sections: wasmparser::NameSectionReader<'a>) -> Result<()> {
        for names in sections {
            if let Name::Function(names) = names? {
                for name in names {
                    let name = name?;
                    self.names.push((name.index, name.name));
                }
            }
        }
        Ok(())
    }

    /// The type of a function that the library defines itself.
    pub(crate) fn function_type(&self, defined: u32) -> Result<&FuncType> {
        let ty = *self
            .functions
            .get(defined as usize)
            .context("no such function")?;
        let mut types = self.types.iter().flat_map(|group| group.types());
        let ty = types.nth(ty as usize).context("no such type")?;
        Ok(ty.unwrap_func())
    }

    /// How many entries of a space are imported; they come before the defined ones.
    pub(crate) fn imported(&self, space: Space) -> u32 {
        let count = self
            .imports
            .iter()
            .filter(|i| space_of(&i.ty) == Some(space));
        u32::try_from(count.count()).unwrap_or(u32::MAX)
    }

    fn import(&self, space: Space, index: u32) -> Option<&wasmparser::Import<'a>> {
        let mut of_space = self
            .imports
            .iter()
            .filter(|i| space_of(&i.ty) == Some(space));
        of_space.nth(index as usize)
    }

    pub(crate) fn defined(&self, space: Space) -> usize {
        match space {
            Space::Func => self.functions.len(),
            Space::Table => self.tables.len(),
            Space::Memory => self.memories.len(),
            Space::Global => self.globals.len(),
        }
    }
}

fn all<'a, T: wasmparser::FromReader<'a>>(
    section: wasmparser::SectionLimited<'a, T>,
) -> Result<Vec<T>> {
    Ok(section.into_iter().collect::<Result<_, _>>()?)
}

fn space_of(ty: &TypeRef) -> Option<Space> {
    match ty {
        TypeRef::Func(_) | TypeRef::FuncExact(_) => Some(Space::Func),
        TypeRef::Table(_) => Some(Space::Table),
        TypeRef::Memory(_) => Some(Space::Memory),
        TypeRef::Global(_) => Some(Space::Global),
        TypeRef::Tag(_) => None,
    }
}

impl<'a> Graph<'a> {
    pub(crate) fn read(component: &'a [u8]) -> Result<Self> {
        let mut modules = Vec::new();
        let mut raw = Vec::new();
        let mut spaces: HashMap<Space, Vec<Origin>> = HashMap::new();
        let mut lifts = Vec::new();
        let mut depth = 0usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload? {
                Payload::ModuleSection {
                    unchecked_range, ..
                } => {
                    if depth == 0 {
                        modules.push(&component[unchecked_range.start..unchecked_range.end]);
                    }
                    depth += 1;
                }
                Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::InstanceSection(section) if depth == 0 => raw.extend(all(section)?),
                Payload::ComponentAliasSection(section) if depth == 0 => {
                    for alias in section {
                        if let ComponentAlias::CoreInstanceExport {
                            kind,
                            instance_index,
                            name,
                        } = alias?
                        {
                            let origin = Origin::Export(instance_index as usize, name.to_owned());
                            spaces.entry(Space::of(kind)?).or_default().push(origin);
                        }
                    }
                }
                Payload::ComponentCanonicalSection(section) if depth == 0 => {
                    for function in section {
                        match function? {
                            CanonicalFunction::Lift {
                                core_func_index,
                                options,
                                ..
                            } => {
                                lifts.push((core_func_index, options));
                            }
                            _ => spaces.entry(Space::Func).or_default().push(Origin::Lowered),
                        }
                    }
                }
                _ => {}
            }
        }
        let origin = |space: Space, index: u32| -> Result<Origin> {
            let all = spaces.get(&space).map(Vec::as_slice).unwrap_or_default();
            let found = all.get(index as usize).cloned();
            found.with_context(|| format!("no core {space:?} {index}"))
        };

        let (mut instances, mut slots) = (Vec::new(), HashMap::new());
        for instance in raw {
            instances.push(match instance {
                Instance::FromExports(exports) => {
                    let mut bundle = HashMap::new();
                    for export in exports.iter() {
                        let from = origin(Space::of(export.kind)?, export.index)?;
                        bundle.insert(export.name.to_owned(), from);
                    }
                    CoreInstance::Bundle(bundle)
                }
                Instance::Instantiate { module_index, args } => {
                    let bytes = modules
                        .get(module_index as usize)
                        .context("no such module")?;
                    let library = CoreModule::read(bytes)?;
                    let args: HashMap<String, usize> = args
                        .iter()
                        .map(|a| (a.name.to_owned(), a.index as usize))
                        .collect();
                    match helper(&library) {
                        None => CoreInstance::Module(Box::new(library), args),
                        Some(Helper::Shim) => CoreInstance::Shim,
                        Some(Helper::Fixup) => {
                            let filled = args.get("").and_then(|&index| instances.get(index));
                            let Some(CoreInstance::Bundle(bundle)) = filled else {
                                bail!("the shim's slots are not filled from a bundle");
                            };
                            slots.extend(bundle.clone());
                            CoreInstance::Shim
                        }
                    }
                }
            });
        }

        let mut exports: Vec<(String, Space, Origin)> = Vec::new();
        let mut export = |name: Option<&str>, space, from: Origin| {
            let own = match &from {
                Origin::Export(_, name) => name.clone(),
                Origin::Lowered => return,
            };
            let name = name.map_or(own, str::to_owned);
            if !exports.iter().any(|(known, ..)| *known == name) {
                exports.push((name, space, from));
            }
        };
        for (function, options) in lifts {
            export(None, Space::Func, origin(Space::Func, function)?);
            for option in options.iter() {
                match option {
                    CanonicalOption::Memory(index) => {
                        export(
                            Some("memory"),
                            Space::Memory,
                            origin(Space::Memory, *index)?,
                        );
                    }
                    CanonicalOption::Realloc(index) => {
                        export(
                            Some("cabi_realloc"),
                            Space::Func,
                            origin(Space::Func, *index)?,
                        );
                    }
                    CanonicalOption::PostReturn(index) => {
                        export(None, Space::Func, origin(Space::Func, *index)?);
                    }
                    _ => {}
                }
            }
        }
        let mut graph = Self {
            instances,
            slots,
            replaced: HashMap::new(),
            dropped: HashMap::new(),
            exports,
        };
        graph.replaced = graph.replacements(|name| name.starts_with(REPLACED).then_some(name))?;
        graph.dropped = graph.dropped()?;
        let single = graph.replacements(|name| name.strip_prefix(INSTEAD_OF))?;
        graph.replaces_all(&single)?;
        graph.replaced.extend(single);
        Ok(graph)
    }

    /// Finds the functions to replace and their replacements. `instead_of` tells by the name of an exported function the name of
    /// the function that it replaces, if any.
    fn replacements(&self, instead_of: fn(&str) -> Option<&str>) -> Result<Replaced> {
        let mut offered = HashMap::new();
        for (instance, library) in self.libraries() {
            let imported = library.imported(Space::Func);
            for (name, &(space, index)) in &library.exports {
                if let Some(name) = instead_of(name)
                    && space == Space::Func
                    && index >= imported
                {
                    offered.insert(name, (instance, index - imported));
                }
            }
        }
        let mut replaced = HashMap::new();
        for (instance, library) in self.libraries() {
            let imported = library.imported(Space::Func);
            for &(index, name) in &library.names {
                let Some(&(other, defined)) = offered.get(name) else {
                    continue;
                };
                if other == instance || index < imported {
                    continue;
                }
                let (from, _) = self.library(other)?;
                ensure!(
                    library.function_type(index - imported)? == from.function_type(defined)?,
                    "`{name}` has another type than its replacement"
                );
                replaced.insert((instance, index - imported), (other, defined));
            }
        }
        ensure!(
            offered.is_empty() || !replaced.is_empty(),
            "no library has a function that is to be replaced"
        );
        Ok(replaced)
    }

    /// Checks that each function with the prefix [`INSTEAD_OF`] replaces another.
    fn replaces_all(&self, replaced: &Replaced) -> Result<()> {
        for (instance, library) in self.libraries() {
            let imported = library.imported(Space::Func);
            for (name, &(_, index)) in &library.exports {
                let Some(name) = name.strip_prefix(INSTEAD_OF) else {
                    continue;
                };
                let replaces = |own: u32| replaced.values().any(|&by| by == (instance, own));
                ensure!(
                    index.checked_sub(imported).is_none_or(replaces),
                    "no library has a function `{name}` to replace"
                );
            }
        }
        Ok(())
    }

    /// Finds the functions that are not needed any more, by [`OBJECT`]. That nothing calls them is checked when
    /// the calls are written.
    fn dropped(&self) -> Result<HashMap<usize, Range<u32>>> {
        let mut dropped = HashMap::new();
        for &(instance, _) in self.replaced.keys() {
            let (library, _) = self.library(instance)?;
            let imported = library.imported(Space::Func);
            let object = library
                .names
                .iter()
                .filter(|(index, name)| *index >= imported && name.starts_with(OBJECT))
                .map(|(index, _)| index - imported);
            let first = object.min().context("nothing was replaced")?;
            let exported = library.exports.values().any(|&(space, index)| {
                space == Space::Func && index >= imported && index - imported >= first
            });
            ensure!(
                !exported,
                "the replaced object is not the last of its library"
            );
            dropped.insert(instance, first..u32::try_from(library.functions.len())?);
        }
        for &(instance, defined) in self.replaced.keys() {
            ensure!(
                dropped[&instance].contains(&defined),
                "a replaced function is outside the replaced object"
            );
        }
        Ok(dropped)
    }

    /// Whether this function is the stand-in for the dropped ones.
    pub(crate) fn is_stand_in(&self, instance: usize, defined: u32) -> bool {
        self.dropped
            .get(&instance)
            .is_some_and(|dropped| dropped.start == defined)
    }

    /// The index of a function among those of its instance that are kept; `None` if it was dropped.
    pub(crate) fn kept_index(&self, instance: usize, defined: u32) -> Option<u32> {
        match self.dropped.get(&instance) {
            Some(dropped) if dropped.contains(&defined) => None,
            _ => Some(defined),
        }
    }

    /// The number of functions of an instance that are kept, including the stand-in.
    pub(crate) fn kept_functions(&self, instance: usize) -> Result<usize> {
        let (library, _) = self.library(instance)?;
        let dropped = self
            .dropped
            .get(&instance)
            .map_or(0, |range| range.len() - 1);
        Ok(library.functions.len() - dropped)
    }

    /// The index of the stand-in of an instance.
    pub(crate) fn stand_in(&self, instance: usize) -> Option<u32> {
        self.dropped.get(&instance).map(|dropped| dropped.start)
    }

    pub(crate) fn libraries(&self) -> impl Iterator<Item = (usize, &CoreModule<'a>)> {
        self.instances
            .iter()
            .enumerate()
            .filter_map(|(index, instance)| match instance {
                CoreInstance::Module(library, _) => Some((index, library.as_ref())),
                _ => None,
            })
    }

    pub(crate) fn library(
        &self,
        instance: usize,
    ) -> Result<(&CoreModule<'a>, &HashMap<String, usize>)> {
        match self.instances.get(instance) {
            Some(CoreInstance::Module(library, args)) => Ok((library, args)),
            _ => bail!("core instance {instance} is not a module"),
        }
    }

    /// The export that satisfies an import of an instance, or `None` for the component's own imports.
    pub(crate) fn satisfy(
        &self,
        instance: usize,
        import: &wasmparser::Import<'_>,
    ) -> Result<Option<(usize, String)>> {
        let (_, args) = self.library(instance)?;
        let from = args
            .get(import.module)
            .with_context(|| format!("no instance for `{}`", import.module))?;
        let origin = match &self.instances[*from] {
            CoreInstance::Bundle(bundle) => bundle
                .get(import.name)
                .cloned()
                .with_context(|| format!("no `{}` in `{}`", import.name, import.module))?,
            _ => Origin::Export(*from, import.name.to_owned()),
        };
        self.through_shim(origin)
    }

    pub(crate) fn through_shim(&self, origin: Origin) -> Result<Option<(usize, String)>> {
        match origin {
            Origin::Lowered => Ok(None),
            Origin::Export(instance, name) => match &self.instances[instance] {
                CoreInstance::Module(..) => Ok(Some((instance, name))),
                CoreInstance::Shim => match self.slots.get(&name) {
                    Some(origin) => self.through_shim(origin.clone()),
                    None => Ok(None),
                },
                CoreInstance::Bundle(bundle) => {
                    let origin = bundle.get(&name).cloned();
                    self.through_shim(origin.with_context(|| format!("no `{name}` in a bundle"))?)
                }
            },
        }
    }

    /// Follows imports to a definition: its instance and its index among the defined items.
    pub(crate) fn definition(
        &self,
        instance: usize,
        space: Space,
        index: u32,
    ) -> Result<Found<'_, 'a>> {
        let (library, _) = self.library(instance)?;
        let imported = library.imported(space);
        if index >= imported {
            let own = (instance, index - imported);
            let (instance, defined) = match space {
                Space::Func => *self.replaced.get(&own).unwrap_or(&own),
                _ => own,
            };
            return Ok(Found::Defined(instance, defined));
        }
        let import = library.import(space, index).context("no such import")?;
        match self.satisfy(instance, import)? {
            None => Ok(Found::Import(import)),
            Some((from, name)) => {
                let (exporter, _) = self.library(from)?;
                let &(found, index) = exporter
                    .exports
                    .get(name.as_str())
                    .with_context(|| format!("instance {from} does not export `{name}`"))?;
                ensure!(found == space, "`{name}` is a {found:?}, not a {space:?}");
                self.definition(from, space, index)
            }
        }
    }

    /// The value of a constant expression, if it consists of 32-bit integers.
    pub(crate) fn constant(
        &self,
        instance: usize,
        expression: &wasmparser::ConstExpr<'_>,
    ) -> Result<Option<i32>> {
        let mut stack: Vec<i32> = Vec::new();
        for operator in expression.get_operators_reader() {
            let mut binary = |apply: fn(i32, i32) -> i32| -> Result<()> {
                let (b, a) = (stack.pop().context("stack")?, stack.pop().context("stack")?);
                stack.push(apply(a, b));
                Ok(())
            };
            match operator? {
                Operator::I32Const { value } => stack.push(value),
                Operator::I32Add => binary(i32::wrapping_add)?,
                Operator::I32Sub => binary(i32::wrapping_sub)?,
                Operator::GlobalGet { global_index } => {
                    let Found::Defined(from, index) =
                        self.definition(instance, Space::Global, global_index)?
                    else {
                        return Ok(None);
                    };
                    let global = &self.library(from)?.0.globals[index as usize];
                    match self.constant(from, &global.init_expr)? {
                        Some(value) => stack.push(value),
                        None => return Ok(None),
                    }
                }
                Operator::End => {}
                _ => return Ok(None),
            }
        }
        Ok(stack.pop())
    }
}

/// What an index of a module refers to.
pub(crate) enum Found<'g, 'a> {
    /// Defined by an instance, at this index among its own items.
    Defined(usize, u32),
    /// An import of the component.
    Import(&'g wasmparser::Import<'a>),
}

enum Helper {
    Shim,
    Fixup,
}

/// Recognises the two modules that wit-component generates for calls that need memory: the shim exports a table
/// `$imports` and functions with numbers as names; the fixup fills that table.
fn helper(library: &CoreModule<'_>) -> Option<Helper> {
    if library.exports.contains_key("$imports") {
        return Some(Helper::Shim);
    }
    let fills = library
        .imports
        .iter()
        .any(|i| i.module.is_empty() && i.name == "$imports");
    fills.then_some(Helper::Fixup)
}
