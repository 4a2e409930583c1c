//! Merges the core modules of a component into one.
//!
//! componentize-py links its guest as shared libraries: a dozen core modules that import each
//! other's functions, one memory and one table. Instantiating those costs an engine far more than
//! instantiating one module with the same code, because table offsets that come from imported
//! globals can only be applied at run time, and every call between libraries leaves its module.
//! Here the instances are linked by renumbering: imports that another instance satisfies
//! become plain indices, offsets become constants, names are dropped, and the result, which imports
//! only WASI, is encoded as a component again.
//!
//! Binaryen can merge as well, but it does not know components, nor what is replaced here. `wasm-encoder` does the
//! renumbering itself.

use crate::graph::{CoreModule, Found, Graph, Origin, Space};
use anyhow::{Context as _, Result, bail, ensure};
use std::collections::{HashMap, HashSet};
use wasm_encoder::reencode::Reencode;
use wasm_encoder::{
    CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, Elements, EntityType,
    ExportSection, Function, FunctionSection, GlobalSection, ImportSection, MemorySection, Module,
    StartSection, TableSection, TypeSection,
};
use wasmparser::{DataKind, ElementItems, ElementKind, FunctionBody, Operator, TypeRef, ValType};

/// Functions that recurse indirectly without using the stack in linear memory, which is the only one CPython can measure.
/// Each is wrapped so that it uses this many bytes of it; otherwise freeing objects nested a million deep would overflow
/// the engine's own stack and end the run.
const WRAPPED: [(&str, i32); 1] = [("_Py_Dealloc", 64)];

/// Merges all core modules of `component` into one.
pub(crate) fn merge(component: &[u8]) -> Result<Vec<u8>> {
    let module = one_module(&Graph::read(component)?)?;
    wasmparser::validate(&module).context("the merged module is not valid")?;
    Ok(module)
}

/// Makes a component like `component` of the module that was merged from it.
pub(crate) fn encode(mut module: Vec<u8>, component: &[u8]) -> Result<Vec<u8>> {
    let wit_component::DecodedWasm::Component(resolve, world) = wit_component::decode(component)?
    else {
        bail!("not a component");
    };
    let encoding = wit_component::StringEncoding::UTF8;
    wit_component::embed_component_metadata(&mut module, &resolve, world, encoding)?;
    wit_component::ComponentEncoder::default()
        .module(&module)?
        .validate(true)
        .encode()
}

fn one_module(graph: &Graph<'_>) -> Result<Vec<u8>> {
    let plan = Plan::new(graph)?;
    let live = Live::find(graph, &plan)?;
    let mut types = TypeSection::new();
    let mut functions = FunctionSection::new();
    let mut tables = TableSection::new();
    let mut memories = MemorySection::new();
    let mut globals = GlobalSection::new();
    let mut elements = ElementSection::new();
    let mut code = CodeSection::new();
    let mut data = DataSection::new();
    let mut segments = 0;
    let mut start = None;
    let mut wrapped = Vec::new();
    for (instance, library) in graph.libraries() {
        let mut numbers = Renumber {
            graph,
            plan: &plan,
            instance,
        };
        for group in &library.types {
            numbers
                .parse_recursive_type_group(types.ty(), group.clone())
                .map_err(to_anyhow)?;
        }
        for (index, ty) in (0..).zip(&library.functions) {
            if graph.kept_index(instance, index).is_some() || graph.is_stand_in(instance, index) {
                functions.function(numbers.type_index(*ty).map_err(to_anyhow)?);
            }
        }
        for table in &library.tables {
            numbers
                .parse_table(&mut tables, table.clone())
                .map_err(to_anyhow)?;
        }
        for memory in &library.memories {
            memories.memory(numbers.memory_type(*memory).map_err(to_anyhow)?);
        }
        for global in &library.globals {
            let mut ty = numbers.global_type(global.ty).map_err(to_anyhow)?;
            ty.mutable = live.written.contains(&globals.len());
            let value = numbers.fold(&global.init_expr)?;
            globals.global(ty, &value);
        }
        if let Some(function) = library.start {
            ensure!(start.is_none(), "two core modules have a start function");
            start = Some(numbers.function_index(function).map_err(to_anyhow)?);
        }
        for element in &library.elements {
            numbers.element(&mut elements, element)?;
        }
        for (index, body) in library.code.iter().enumerate() {
            let defined = u32::try_from(index)?;
            if graph.is_stand_in(instance, defined) {
                code.function(&unreachable());
            }
            let Some(kept) = graph.kept_index(instance, defined) else {
                continue;
            };
            if !live
                .functions
                .contains(&(plan.bases[&(instance, Space::Func)] + kept))
            {
                code.function(&unreachable());
                continue;
            }
            match stack_bytes(library, index) {
                None => numbers
                    .parse_function_body(&mut code, body.clone())
                    .map_err(to_anyhow)?,
                Some(bytes) => {
                    let original = plan.functions + u32::try_from(wrapped.len())?;
                    code.function(&numbers.stack_wrapper(index, original, bytes)?);
                    wrapped.push((instance, library.functions[index], body.clone()));
                }
            }
        }
        for segment in &library.data {
            segments += 1;
            match &segment.kind {
                DataKind::Passive => data.passive(segment.data.iter().copied()),
                DataKind::Active {
                    memory_index,
                    offset_expr,
                } => {
                    let memory = numbers.memory_index(*memory_index).map_err(to_anyhow)?;
                    let offset = numbers.fold(offset_expr)?;
                    data.active(memory, &offset, segment.data.iter().copied())
                }
            };
        }
    }

    for (instance, ty, body) in wrapped {
        let mut numbers = Renumber {
            graph,
            plan: &plan,
            instance,
        };
        functions.function(numbers.type_index(ty).map_err(to_anyhow)?);
        numbers
            .parse_function_body(&mut code, body)
            .map_err(to_anyhow)?;
    }

    let mut exports = ExportSection::new();
    for export in &graph.exports {
        let (name, space, _) = export;
        let kind = match space {
            Space::Func => wasm_encoder::ExportKind::Func,
            Space::Memory => wasm_encoder::ExportKind::Memory,
            space => bail!("the component needs a {space:?} `{name}`"),
        };
        exports.export(name, kind, exported(graph, &plan, export)?);
    }

    let mut module = Module::new();
    module
        .section(&types)
        .section(&plan.imports)
        .section(&functions)
        .section(&tables);
    module
        .section(&memories)
        .section(&globals)
        .section(&exports);
    if let Some(function_index) = start {
        module.section(&StartSection { function_index });
    }
    module
        .section(&elements)
        .section(&DataCountSection { count: segments });
    module.section(&code).section(&data);
    Ok(module.finish())
}

/// The body of a function that nothing calls.
fn unreachable() -> Function {
    let mut never = Function::new([]);
    never.instructions().unreachable().end();
    never
}

/// What a run of the merged module can use.
///
/// A shared library reaches its variables through globals with their addresses, which the linker of a component declares as
/// mutable, because functions that initialise the libraries set them. These have run before the snapshot, and nothing calls them
/// again. Without them such a global is a constant, and an engine compiles the address into the code instead of loading it at
/// every use.
struct Live {
    /// The functions that can be called.
    functions: HashSet<u32>,
    /// The globals that one of them writes.
    written: HashSet<u32>,
}

impl Live {
    fn find(graph: &Graph<'_>, plan: &Plan) -> Result<Self> {
        let mut functions: HashMap<u32, Uses> = HashMap::new();
        let mut reached = Vec::new();
        for (instance, library) in graph.libraries() {
            let mut numbers = Renumber {
                graph,
                plan,
                instance,
            };
            for (index, body) in (0..).zip(&library.code) {
                if let Some(kept) = graph.kept_index(instance, index) {
                    let uses = Uses::read(body, &mut numbers)?;
                    functions.insert(plan.bases[&(instance, Space::Func)] + kept, uses);
                }
            }
            for element in &library.elements {
                if let ElementItems::Functions(items) = element.items.clone() {
                    for function in items {
                        reached.push(numbers.in_table(function?)?);
                    }
                }
            }
            if let Some(function) = library.start {
                reached.push(numbers.function_index(function).map_err(to_anyhow)?);
            }
        }
        for export in &graph.exports {
            if export.1 == Space::Func {
                reached.push(exported(graph, plan, export)?);
            }
        }
        let mut live = Self {
            functions: HashSet::new(),
            written: HashSet::new(),
        };
        while let Some(function) = reached.pop() {
            if let Some(uses) = functions.remove(&function) {
                live.functions.insert(function);
                live.written.extend(uses.written);
                reached.extend(uses.functions);
            }
        }
        Ok(live)
    }
}

/// What the body of a function refers to, as indices of the merged module.
struct Uses {
    functions: Vec<u32>,
    written: Vec<u32>,
}

impl Uses {
    fn read(body: &FunctionBody<'_>, numbers: &mut Renumber<'_, '_>) -> Result<Self> {
        let (mut functions, mut written) = (Vec::new(), Vec::new());
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Call { function_index }
                | Operator::ReturnCall { function_index }
                | Operator::RefFunc { function_index } => {
                    functions.push(numbers.function_index(function_index).map_err(to_anyhow)?);
                }
                Operator::GlobalSet { global_index } => {
                    written.push(numbers.global_index(global_index).map_err(to_anyhow)?);
                }
                _ => {}
            }
        }
        Ok(Self { functions, written })
    }
}

/// The index in the merged module of an item that it exports.
fn exported(
    graph: &Graph<'_>,
    plan: &Plan,
    (name, space, origin): &(String, Space, Origin),
) -> Result<u32> {
    let (instance, export) = graph
        .through_shim(origin.clone())?
        .with_context(|| format!("`{name}` is an import"))?;
    let (library, _) = graph.library(instance)?;
    let (_, index) = *library
        .exports
        .get(export.as_str())
        .context("no such export")?;
    let numbers = Renumber {
        graph,
        plan,
        instance,
    };
    numbers.index(*space, index).map_err(to_anyhow)
}

/// The bytes of stack that a defined function is made to use, if it is one of [`WRAPPED`].
fn stack_bytes(library: &CoreModule<'_>, index: usize) -> Option<i32> {
    let index = library.imported(Space::Func) + u32::try_from(index).ok()?;
    let named = |name: &str| library.exports.get(name) == Some(&(Space::Func, index));
    WRAPPED
        .iter()
        .find(|(name, _)| named(name))
        .map(|(_, bytes)| *bytes)
}

/// Where the items of each instance's index spaces start in the merged module.
struct Plan {
    imports: ImportSection,
    /// Numbers of the component's imports, by module and name.
    imported: HashMap<(String, String), u32>,
    /// The number of functions, imported and defined.
    functions: u32,
    types: HashMap<usize, u32>,
    bases: HashMap<(usize, Space), u32>,
    elements: HashMap<usize, u32>,
    data: HashMap<usize, u32>,
}

impl Plan {
    fn new(graph: &Graph<'_>) -> Result<Self> {
        let mut plan = Self {
            imports: ImportSection::new(),
            imported: HashMap::new(),
            functions: 0,
            types: HashMap::new(),
            bases: HashMap::new(),
            elements: HashMap::new(),
            data: HashMap::new(),
        };
        let (mut types, mut elements, mut data) = (0, 0, 0);
        for (instance, library) in graph.libraries() {
            plan.types.insert(instance, types);
            plan.elements.insert(instance, elements);
            plan.data.insert(instance, data);
            types += u32::try_from(
                library
                    .types
                    .iter()
                    .map(|group| group.types().len())
                    .sum::<usize>(),
            )?;
            elements += u32::try_from(library.elements.len())?;
            data += u32::try_from(library.data.len())?;
        }
        for (instance, library) in graph.libraries() {
            for import in &library.imports {
                if graph.satisfy(instance, import)?.is_some() {
                    continue;
                }
                let TypeRef::Func(ty) = import.ty else {
                    bail!("`{}` of `{}` is not a function", import.name, import.module);
                };
                let key = (import.module.to_owned(), import.name.to_owned());
                if !plan.imported.contains_key(&key) {
                    let ty = EntityType::Function(plan.types[&instance] + ty);
                    plan.imports.import(import.module, import.name, ty);
                    plan.imported
                        .insert(key, u32::try_from(plan.imported.len())?);
                }
            }
        }
        for space in [Space::Func, Space::Table, Space::Memory, Space::Global] {
            let mut next = if space == Space::Func {
                u32::try_from(plan.imported.len())?
            } else {
                0
            };
            for (instance, library) in graph.libraries() {
                plan.bases.insert((instance, space), next);
                let defined = match space {
                    Space::Func => graph.kept_functions(instance)?,
                    _ => library.defined(space),
                };
                next += u32::try_from(defined)?;
            }
            if space == Space::Func {
                plan.functions = next;
            }
        }
        Ok(plan)
    }
}

/// Rewrites the indices of one instance's module to those of the merged one.
struct Renumber<'g, 'a> {
    graph: &'g Graph<'a>,
    plan: &'g Plan,
    instance: usize,
}

type Failed = wasm_encoder::reencode::Error<anyhow::Error>;

fn to_anyhow(error: Failed) -> anyhow::Error {
    match error {
        wasm_encoder::reencode::Error::UserError(error) => error,
        other => anyhow::anyhow!("{other}"),
    }
}

impl Renumber<'_, '_> {
    fn index(&self, space: Space, index: u32) -> Result<u32, Failed> {
        let found = self.graph.definition(self.instance, space, index);
        match found.map_err(Failed::UserError)? {
            Found::Defined(instance, index) if space == Space::Func => {
                let kept = self.graph.kept_index(instance, index).ok_or_else(|| {
                    Failed::UserError(anyhow::anyhow!(
                        "function {index} is called but was dropped"
                    ))
                })?;
                Ok(self.plan.bases[&(instance, space)] + kept)
            }
            Found::Defined(instance, index) => Ok(self.plan.bases[&(instance, space)] + index),
            Found::Import(import) => {
                Ok(self.plan.imported[&(import.module.to_owned(), import.name.to_owned())])
            }
        }
    }

    /// A constant expression, folded into a constant if possible.
    fn fold(&mut self, expression: &wasmparser::ConstExpr<'_>) -> Result<ConstExpr> {
        match self.graph.constant(self.instance, expression)? {
            Some(value) => Ok(ConstExpr::i32_const(value)),
            None => self.const_expr(expression.clone()).map_err(to_anyhow),
        }
    }

    /// A function that reserves `bytes` of the stack in linear memory and calls the function at `original`.
    fn stack_wrapper(&mut self, index: usize, original: u32, bytes: i32) -> Result<Function> {
        let (library, _) = self.graph.library(self.instance)?;
        let ty = library.function_type(u32::try_from(index)?)?;
        ensure!(
            ty.params() == [ValType::I32] && ty.results().is_empty(),
            "a wrapped function has another type: {ty}"
        );
        let globals = library
            .imports
            .iter()
            .filter(|import| matches!(import.ty, TypeRef::Global(_)));
        let stack = globals
            .map(|import| import.name)
            .position(|name| name == "__stack_pointer");
        let stack = u32::try_from(stack.context("a library does not import the stack pointer")?)?;
        let stack = self.global_index(stack).map_err(to_anyhow)?;

        let mut function = Function::new([]);
        function
            .instructions()
            .global_get(stack)
            .i32_const(bytes)
            .i32_sub()
            .global_set(stack)
            .local_get(0)
            .call(original)
            .global_get(stack)
            .i32_const(bytes)
            .i32_add()
            .global_set(stack)
            .end();
        Ok(function)
    }

    /// The index of a function in a table. Only data that nothing reads refers to a dropped one, so the stand-in
    /// takes its slot.
    fn in_table(&mut self, function: u32) -> Result<u32> {
        let found = self
            .graph
            .definition(self.instance, Space::Func, function)?;
        if let Found::Defined(instance, index) = found
            && self.graph.kept_index(instance, index).is_none()
            && let Some(stand_in) = self.graph.stand_in(instance)
        {
            return Ok(self.plan.bases[&(instance, Space::Func)] + stand_in);
        }
        self.function_index(function).map_err(to_anyhow)
    }

    fn element(
        &mut self,
        section: &mut ElementSection,
        element: &wasmparser::Element<'_>,
    ) -> Result<()> {
        let ElementItems::Functions(functions) = element.items.clone() else {
            bail!("a table is filled with expressions");
        };
        let functions = functions
            .into_iter()
            .map(|function| self.in_table(function?))
            .collect::<Result<Vec<u32>>>()?;
        let items = Elements::Functions(functions.into());
        match &element.kind {
            ElementKind::Passive => section.passive(items),
            ElementKind::Declared => section.declared(items),
            ElementKind::Active {
                table_index,
                offset_expr,
            } => {
                let table = self
                    .table_index(table_index.unwrap_or(0))
                    .map_err(to_anyhow)?;
                let offset = self.fold(offset_expr)?;
                section.active(Some(table), &offset, items)
            }
        };
        Ok(())
    }
}

impl Reencode for Renumber<'_, '_> {
    type Error = anyhow::Error;

    fn type_index(&mut self, ty: u32) -> Result<u32, Failed> {
        Ok(self.plan.types[&self.instance] + ty)
    }

    fn function_index(&mut self, index: u32) -> Result<u32, Failed> {
        self.index(Space::Func, index)
    }

    fn table_index(&mut self, index: u32) -> Result<u32, Failed> {
        self.index(Space::Table, index)
    }

    fn memory_index(&mut self, index: u32) -> Result<u32, Failed> {
        self.index(Space::Memory, index)
    }

    fn global_index(&mut self, index: u32) -> Result<u32, Failed> {
        self.index(Space::Global, index)
    }

    fn element_index(&mut self, index: u32) -> Result<u32, Failed> {
        Ok(self.plan.elements[&self.instance] + index)
    }

    fn data_index(&mut self, index: u32) -> Result<u32, Failed> {
        Ok(self.plan.data[&self.instance] + index)
    }
}
