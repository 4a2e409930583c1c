"""Lists the public interface of the libraries, one item per line, so that every change of it is visible in review.

Usage: api.py            compares the interface with the api.txt of each library, and fails if one differs
       api.py --write    writes these files

The interface is what rustdoc documents: no hidden items. An item has its members at its shortest public path; at every
other path is one line `pub use`. A type of another crate has the path where it is declared, unless it is in the prelude.
"""
import difflib
import json
import os
import subprocess
import sys
from pathlib import Path

# The version of the JSON that rustdoc 1.95 writes. Another version may have other fields: read what changed in the crate
# `rustdoc-types` before you change this number.
FORMAT_VERSION = 57
# The libraries, and where their listings are.
LISTED = {
    "skillrun": "host/core",
    "skillrun_skill": "host/skill",
    "skillrun_check": "host/check",
    "skillrun_confine": "host/confine",
}
# Crates without a listing. What a library re-exports from them is listed there with its members.
INTERNAL = ["skillrun_supervisor", "skillrun_runtimes"]
# Public names in the root of `skillrun`. More than this are no longer one page that a reader can survey.
MAX_ROOT_NAMES = 45
# Nearly every type derives these; they would be half of the lines.
UNLISTED_DERIVES = {"Clone", "Copy", "Debug", "Default", "Eq", "Hash", "PartialEq", "StructuralPartialEq"}
PRELUDE = {
    "core::clone::Clone", "core::cmp::Ord", "core::cmp::PartialOrd", "core::convert::AsRef", "core::convert::From",
    "core::convert::Into", "core::default::Default", "core::iter::traits::collect::IntoIterator",
    "core::iter::traits::double_ended::DoubleEndedIterator", "core::iter::traits::exact_size::ExactSizeIterator",
    "core::iter::traits::iterator::Iterator", "core::marker::Copy", "core::marker::Send", "core::marker::Sized",
    "core::marker::Sync", "core::ops::drop::Drop", "core::ops::function::Fn", "core::ops::function::FnMut",
    "core::ops::function::FnOnce", "core::option::Option", "core::result::Result", "alloc::boxed::Box",
    "alloc::string::String", "alloc::vec::Vec",
}
ROOT = Path(__file__).resolve().parents[1]


def document():
    """Writes the documentation of the workspace as JSON, and returns its directory."""
    metadata = subprocess.check_output("cargo metadata --locked --no-deps --format-version 1".split(), cwd=ROOT)
    directory = Path(json.loads(metadata)["target_directory"], "doc")
    # Another clone may share the target directory. A file of it must not be taken for one of this clone.
    for name in [*LISTED, *INTERNAL]:
        (directory / f"{name}.json").unlink(missing_ok=True)
    # Hidden items are included, and left out again below: a public item may be declared in a hidden module, and rustdoc
    # drops it with the module. All crates are documented at once, because dependencies then have the same features as
    # in every other build and are not built again.
    flags = "-Z unstable-options --output-format json --document-hidden-items"
    environment = {**os.environ, "RUSTDOC": str(ROOT / ".ci/rustdoc"), "RUSTDOCFLAGS": flags}
    if subprocess.run("cargo doc --release --locked --no-deps --lib --quiet".split(), cwd=ROOT, env=environment).returncode:
        sys.exit("error: cannot document the workspace")
    return directory


def kind(item):
    return next(iter(item["inner"]))


def inner(item):
    return next(iter(item["inner"].values()))


def is_hidden(item):
    return {"other": "#[doc(hidden)]"} in item["attrs"]


class Crate:
    """One crate: its items and their public paths."""

    def __init__(self, file):
        crate = json.loads(file.read_text())
        version = crate["format_version"]
        if version != FORMAT_VERSION:
            sys.exit(f"error: rustdoc wrote format {version} of its JSON, and .ci/api.py knows only {FORMAT_VERSION}\n"
                     "hint: after an update of the toolchain, adapt .ci/api.py and FORMAT_VERSION in it")
        self.index, self.paths = crate["index"], crate["paths"]
        root = self.item(crate["root"])
        self.name = root["name"]
        # By the id of an item, its public paths. Items of other crates have an id here, but are not in the index.
        self.public = {}
        self.modules = {self.name}
        self.walk(root, self.name)
        for paths in self.public.values():
            paths.sort(key=lambda path: (path.count("::"), path))

    def item(self, id):
        return self.index.get(str(id))

    def visible(self, ids):
        """The items that are public and documented. Variants and members of a trait are as public as what they are in."""
        items = (self.item(id) for id in ids if id is not None)
        return [item for item in items if item and item["visibility"] in ("public", "default") and not is_hidden(item)]

    def walk(self, module, path):
        for item in self.visible(inner(module)["items"]):
            id, name = item["id"], item["name"]
            if kind(item) == "impl":
                continue
            if kind(item) == "use":
                use = inner(item)
                if use["is_glob"] or use["id"] is None:
                    sys.exit(f"error: .ci/api.py cannot list `pub use {use['source']}` in {path}: name the items instead")
                id, name = use["id"], use["name"]
                item = self.item(id)
            at = f"{path}::{name}"
            paths = self.public.setdefault(id, [])
            if at not in paths:
                paths.append(at)
            # The contents of a module are listed where it is first found.
            if item and kind(item) == "module" and len(paths) == 1:
                self.walk(item, at)

    def canonical(self, id):
        """Where an item is declared; this is the same in the JSON of every crate."""
        return "::".join(self.paths[str(id)]["path"]) if str(id) in self.paths else None


class Listing:
    """The lines of one library. `crates` are all crates, by name."""

    def __init__(self, library, crates):
        self.lines = set()
        self.library = library
        # By the path where an item is declared, the path that is shown.
        self.names = {crate.canonical(id): paths[0] for crate in crates.values() for id, paths in crate.public.items()
                      if crate.item(id)}
        own = {library.canonical(id): paths[0] for id, paths in library.public.items()}
        internal = {crates[name].canonical(id): (crates[name], id) for name in INTERNAL for id in crates[name].public}
        sources = dict(self.names)
        self.names.update((declared, path.partition("::")[2]) for declared, path in own.items())

        self.add(library.name, f"pub mod {library.name}")
        for id, (path, *others) in library.public.items():
            for other in others:
                self.add(other, f"pub use {other} from {path}")
            declared = library.canonical(id)
            if library.item(id):
                self.describe(library, id, path)
            else:
                self.add(path, f"pub use {path} from {sources.get(declared, declared)}")
                if declared in internal:
                    self.describe(*internal[declared], path)
        for item in library.index.values():
            # An implementation for a type of another crate, such as `impl From<Own> for String`.
            is_ours = kind(item) == "impl" and item["crate_id"] == 0 and inner(item)["trait"] and not is_hidden(item)
            if is_ours and own_type(library, inner(item)["for"]) is None:
                self.implementation(Writer(library, self.names), item, library.name)

    def add(self, path, line):
        self.lines.add((path, line))

    def text(self):
        # An item comes before its implementations.
        in_order = sorted(self.lines, key=lambda entry: (entry[0], entry[1].startswith("impl"), entry[1]))
        return "".join(f"{line}\n" for _, line in in_order)

    def describe(self, crate, id, path):
        """Adds the lines of an item of `crate` that is public at `path`."""
        item, write = crate.item(id), Writer(crate, self.names)
        what, value = kind(item), inner(item)
        prefix = "#[non_exhaustive] " if "non_exhaustive" in item["attrs"] else ""
        if what == "module":
            self.add(path, f"pub mod {path}")
        elif what == "struct":
            fields = self.fields(crate, write, value["kind"], path)
            self.add(path, f"{prefix}pub struct {path}{write.generics(value)}{fields}{write.where(value)}")
        elif what == "enum":
            self.add(path, f"{prefix}pub enum {path}{write.generics(value)}{write.where(value)}")
            for variant in crate.visible(value["variants"]):
                prefix = "#[non_exhaustive] " if "non_exhaustive" in variant["attrs"] else ""
                at = f"{path}::{variant['name']}"
                self.add(at, f"{prefix}pub {at}{self.fields(crate, write, inner(variant)['kind'])}")
        elif what == "trait":
            bounds = f": {write.bounds(value['bounds'])}" if value["bounds"] else ""
            unsafe = "unsafe " if value["is_unsafe"] else ""
            self.add(path, f"pub {unsafe}trait {path}{write.generics(value)}{bounds}{write.where(value)}")
            for member in crate.visible(value["items"]):
                self.member(write, member, path)
        elif what == "type_alias":
            self.add(path, f"pub type {path}{write.generics(value)} = {write.type(value['type'])}")
        elif what in ("function", "constant", "static"):
            self.member(write, item, path.rpartition("::")[0])
        else:
            sys.exit(f"error: .ci/api.py cannot list {path}: it does not know `{what}`")
        for implementation in crate.visible(value.get("impls", [])) if what != "trait" else []:
            # Rustdoc also gives `impl From<A> for B` to A.
            if inner(implementation)["trait"] and own_type(crate, inner(implementation)["for"]) == id:
                self.implementation(write, implementation, path)
            elif not inner(implementation)["trait"]:
                owner = path + write.generics(inner(implementation))
                for member in crate.visible(inner(implementation)["items"]):
                    if member["visibility"] == "public":
                        self.member(write, member, owner, write.where(inner(implementation)))

    def fields(self, crate, write, shape, path=None):
        """The fields of a struct or a variant. With a path, each named one is a line of its own."""
        if shape in ("unit", "plain"):
            return ""
        if "tuple" in shape:
            shown = [crate.item(id) if id is not None else None for id in shape["tuple"]]
            return f"({', '.join(write.type(inner(field)) if field and not is_hidden(field) else '_' for field in shown)})"
        shape = shape.get("plain") or shape.get("struct")
        visible = crate.visible(shape["fields"])
        fields = [(field["name"], write.type(inner(field))) for field in visible]
        complete = len(visible) == len(shape["fields"]) and not shape["has_stripped_fields"]
        if path is None:
            rest = [] if complete else [".."]
            return f" {{ {', '.join([f'{name}: {type}' for name, type in fields] + rest)} }}"
        for name, type in fields:
            self.add(f"{path}::{name}", f"pub {path}::{name}: {type}")
        return "" if complete else " { .. }"

    def member(self, write, item, owner, where=""):
        """Adds a function, a constant or an associated item. `(provided)` is what an implementation of a trait may omit."""
        what, value, path = kind(item), inner(item), f"{owner}::{item['name']}"
        in_trait = item["visibility"] == "default"
        if what == "function":
            provided = " (provided)" if in_trait and value["has_body"] else ""
            self.add(path, f"pub {write.function(value, path)}{where}{provided}")
        elif what in ("constant", "assoc_const", "static"):
            provided = " (provided)" if in_trait and value["value"] is not None else ""
            self.add(path, f"pub {'static' if what == 'static' else 'const'} {path}: {write.type(value['type'])}{provided}")
        elif what == "assoc_type":
            bounds = f": {write.bounds(value['bounds'])}" if value["bounds"] else ""
            self.add(path, f"pub type {path}{write.generics(value)}{bounds}{write.where(value)}")
        else:
            sys.exit(f"error: .ci/api.py cannot list {path}: it does not know `{what}`")

    def implementation(self, write, item, path):
        value = inner(item)
        trait = value["trait"]
        name, is_derived = trait["path"].rpartition("::")[2], "automatically_derived" in item["attrs"]
        if value["is_synthetic"] or value["blanket_impl"] or is_derived and name in UNLISTED_DERIVES:
            return
        if write.crate.item(trait["id"]) and trait["id"] not in write.crate.public:
            return
        types = [member for member in map(write.crate.item, value["items"]) if member and kind(member) == "assoc_type"]
        types = "; ".join(f"type {member['name']} = {write.type(inner(member)['type'])}" for member in types)
        types = f" {{ {types} }}" if types else ""
        negation = "!" if value["is_negative"] else ""
        self.add(path, f"impl{write.generics(value)} {negation}{write.path(trait)} for {write.type(value['for'])}"
                       f"{write.where(value)}{types}")


def own_type(crate, type):
    """The id of a type, or of what it borrows, if it is declared in the crate."""
    while "borrowed_ref" in type:
        type = type["borrowed_ref"]["type"]
    id = type.get("resolved_path", {}).get("id")
    return id if crate.item(id) else None


class Writer:
    """Writes the types in the JSON of a crate as Rust does. An unknown kind of type is a KeyError."""

    def __init__(self, crate, names):
        self.crate, self.names = crate, names

    def path(self, path):
        declared = self.crate.canonical(path["id"])
        if declared is None:
            name = path["path"]
        elif declared in self.names:
            name = self.names[declared]
        elif declared in PRELUDE:
            name = declared.rpartition("::")[2]
        else:
            root, separator, rest = declared.partition("::")
            name = ("std" if root in ("core", "alloc") else root) + separator + rest
        return name + self.arguments(path["args"])

    def arguments(self, arguments):
        if not arguments:
            return ""
        if "parenthesized" in arguments:
            arguments = arguments["parenthesized"]
            return f"({', '.join(map(self.type, arguments['inputs']))}){self.output(arguments['output'])}"
        arguments = arguments["angle_bracketed"]
        written = [self.argument(argument) for argument in arguments["args"]]
        for constraint in arguments["constraints"]:
            name, binding = constraint["name"] + self.arguments(constraint["args"]), constraint["binding"]
            if "equality" in binding:
                written.append(f"{name} = {self.term(binding['equality'])}")
            else:
                written.append(f"{name}: {self.bounds(binding['constraint'])}")
        return f"<{', '.join(written)}>" if written else ""

    def argument(self, argument):
        if argument == "infer":
            return "_"
        return argument["lifetime"] if "lifetime" in argument else self.term(argument)

    def term(self, term):
        return self.type(term["type"]) if "type" in term else (term.get("const") or term["constant"])["expr"]

    def output(self, type):
        return f" -> {self.type(type)}" if type else ""

    def bounds(self, bounds):
        return " + ".join(map(self.bound, bounds))

    def bound(self, bound):
        if "outlives" in bound:
            return bound["outlives"]
        if "use" in bound:
            return f"use<{', '.join(next(iter(argument.values())) for argument in bound['use'])}>"
        bound = bound["trait_bound"]
        modifier = {"none": "", "maybe": "?", "maybe_const": "~const "}[bound["modifier"]]
        return modifier + self.quantified(bound["generic_params"]) + self.path(bound["trait"])

    def quantified(self, parameters):
        return f"for<{', '.join(map(self.parameter, parameters))}> " if parameters else ""

    def parameter(self, parameter):
        name, value = parameter["name"], parameter["kind"]
        if "lifetime" in value:
            outlives = value["lifetime"]["outlives"]
            return name + (f": {' + '.join(outlives)}" if outlives else "")
        if "const" in value:
            return f"const {name}: {self.type(value['const']['type'])}"
        bounds, default = value["type"]["bounds"], value["type"]["default"]
        return name + (f": {self.bounds(bounds)}" if bounds else "") + (f" = {self.type(default)}" if default else "")

    def generics(self, value):
        # A synthetic parameter is an `impl Trait` in an argument.
        written = [self.parameter(parameter) for parameter in value["generics"]["params"]
                   if not parameter["kind"].get("type", {}).get("is_synthetic")]
        return f"<{', '.join(written)}>" if written else ""

    def where(self, value):
        written = []
        for predicate in value["generics"]["where_predicates"]:
            if "bound_predicate" in predicate:
                predicate = predicate["bound_predicate"]
                written.append(f"{self.quantified(predicate['generic_params'])}{self.type(predicate['type'])}: "
                               f"{self.bounds(predicate['bounds'])}")
            elif "lifetime_predicate" in predicate:
                predicate = predicate["lifetime_predicate"]
                written.append(f"{predicate['lifetime']}: {' + '.join(predicate['outlives'])}")
            else:
                predicate = predicate["eq_predicate"]
                written.append(f"{self.type(predicate['lhs'])} = {self.term(predicate['rhs'])}")
        return f" where {', '.join(written)}" if written else ""

    def header(self, header):
        abi = "" if header["abi"] == "Rust" else f"extern {json.dumps(header['abi'])} "
        words = [word for word in ("const", "async", "unsafe") if header[f"is_{word}"]]
        return "".join(f"{word} " for word in words) + abi

    def function(self, function, path):
        inputs = [self.receiver(type) if name == "self" else f"{name}: {self.type(type)}"
                  for name, type in function["sig"]["inputs"]]
        return (f"{self.header(function['header'])}fn {path}{self.generics(function)}({', '.join(inputs)})"
                f"{self.output(function['sig']['output'])}{self.where(function)}")

    def receiver(self, type):
        written = self.type(type)
        is_short = written == "Self" or "borrowed_ref" in type and type["borrowed_ref"]["type"] == {"generic": "Self"}
        return written[: -len("Self")] + "self" if is_short else f"self: {written}"

    def type(self, type):
        if type == "infer":
            return "_"
        (what, value), = type.items()
        if what == "resolved_path":
            return self.path(value)
        if what in ("generic", "primitive"):
            return "!" if value == "never" else value
        if what == "tuple":
            return f"({', '.join(map(self.type, value))}{',' if len(value) == 1 else ''})"
        if what == "slice":
            return f"[{self.type(value)}]"
        if what == "array":
            return f"[{self.type(value['type'])}; {value['len']}]"
        if what == "impl_trait":
            return f"impl {self.bounds(value)}"
        if what == "dyn_trait":
            traits = [self.quantified(one["generic_params"]) + self.path(one["trait"]) for one in value["traits"]]
            return f"dyn {' + '.join(traits + ([value['lifetime']] if value['lifetime'] else []))}"
        if what == "borrowed_ref":
            lifetime = f"{value['lifetime']} " if value["lifetime"] else ""
            return f"&{lifetime}{'mut ' if value['is_mutable'] else ''}{self.pointee(value['type'])}"
        if what == "raw_pointer":
            return f"*{'mut' if value['is_mutable'] else 'const'} {self.pointee(value['type'])}"
        if what == "function_pointer":
            inputs = ", ".join(self.type(type) for _, type in value["sig"]["inputs"])
            start = self.quantified(value["generic_params"]) + self.header(value["header"])
            return f"{start}fn({inputs}){self.output(value['sig']['output'])}"
        if what == "qualified_path":
            owner = self.type(value["self_type"])
            if value["trait"] and value["trait"]["path"]:
                owner = f"<{owner} as {self.path(value['trait'])}>"
            return f"{owner}::{value['name']}{self.arguments(value['args'])}"
        raise KeyError(what)

    def pointee(self, type):
        written = self.type(type)
        return f"({written})" if written.startswith(("dyn ", "impl ")) and " + " in written else written


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    directory = document()
    crates = {name: Crate(directory / f"{name}.json") for name in [*LISTED, *INTERNAL]}
    failed = False
    for name, folder in LISTED.items():
        listing, file = Listing(crates[name], crates).text(), ROOT / folder / "api.txt"
        if sys.argv[1:] == ["--write"]:
            file.write_text(listing)  # There is no difference then.
        committed = file.read_text() if file.exists() else ""
        shown = str(file.relative_to(ROOT))
        difference = difflib.unified_diff(committed.splitlines(), listing.splitlines(), shown, "the code", lineterm="", n=0)
        for line in difference:
            failed = True
            print(line)
        print(f"{shown}: {len(listing.splitlines())} lines")
    if failed:
        print("error: the public interface is not the committed one", file=sys.stderr)
        print("hint: run `just api`, and commit the change if it is intended", file=sys.stderr)

    names = sorted({path for paths in crates["skillrun"].public.values() for path in paths if path.count("::") == 1})
    print(f"skillrun: {len(names)} public names in the root, of at most {MAX_ROOT_NAMES}")
    if len(names) > MAX_ROOT_NAMES:
        failed = True
        print("error: the root of `skillrun` has too many public names:", *names, sep="\n", file=sys.stderr)
    sys.exit(failed)


main()
