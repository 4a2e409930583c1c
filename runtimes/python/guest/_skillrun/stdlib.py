"""The standard library, held in memory instead of in a directory.

A run has no directory with the standard library: mounting one would cost a host call for every
import and a file tree beside the component. So the build compiles each module, keeps the
code and the source, and serves both for the path a Linux system has them at. That path is an
ordinary entry of `sys.path`, so the order of imports is the usual one: a module next to the
script comes before the library's.
"""

import sys
import os
import marshal
import zlib

# The import machinery that is part of the interpreter: importing `importlib` itself would load it, and all
# it needs, from the directory of the build.
import _frozen_importlib as _bootstrap
from _frozen_importlib import ModuleSpec

HOME = "/usr/lib/python3.14"
VERSION = (3, 14, 0)

# Frames of functions that carry this file name are left out of tracebacks and warnings by the
# interpreter itself, as it does for its own import machinery.
INTERNAL = "<frozen importlib._bootstrap_external>"

# Nothing a script could use: tests, windows, terminals, installers, build leftovers.
_LEFT_OUT = {
    "__pycache__", "_sysconfigdata__wasi_wasm32-wasi.py", "config-3.14-wasm32-wasi", "ensurepip", "idlelib", "lib2to3", "pydoc_data",
    "site-packages", "test", "tests", "tkinter", "turtle.py", "turtledemo", "venv",
}
# These need a C part which is not there. Left out, `missing` can say so in one sentence instead of
# a traceback through the library.
_WITHOUT_C_PART = {"bz2.py", "ctypes", "curses", "lzma.py", "ssl.py"}

# `json/decoder` -> (is a package, compiled code, compressed source)
_modules = {}


class Loader:
    """Loads one module of the library; shared by all of them."""

    def __repr__(self):
        return "<standard library>"

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        code = marshal.loads(_modules[_key(module.__spec__.origin)][1])
        _bootstrap._call_with_frames_removed(exec, code, module.__dict__)
        adjust = after_import.get(module.__spec__.name)
        if adjust is not None:
            adjust(module)

    def get_code(self, name):
        return marshal.loads(self._entry(name)[1])

    def get_source(self, name):
        return zlib.decompress(self._entry(name)[2]).decode()

    def get_filename(self, name):
        return _path(_key_of_name(name))

    def is_package(self, name):
        return self._entry(name)[0]

    def get_data(self, path):
        entry = _modules.get(_key(path))
        if entry is None:
            raise FileNotFoundError(path)
        return zlib.decompress(entry[2])

    def _entry(self, name):
        entry = _modules.get(_key_of_name(name))
        if entry is None:
            raise ImportError(f"no module {name!r} in the standard library", name=name)
        return entry


class Finder:
    """Finds the modules of one directory of the library."""

    def __init__(self, directory):
        self.directory = directory
        self._prefix = directory[len(HOME) + 1:]
        if self._prefix:
            self._prefix += "/"

    def find_spec(self, name, target=None):
        key = self._prefix + name.rpartition(".")[2]
        entry = _modules.get(key)
        if entry is None:
            return None
        path = _path(key)
        spec = ModuleSpec(name, LOADER, origin=path, is_package=entry[0])
        spec.has_location = True
        if entry[0]:
            spec.submodule_search_locations.append(f"{HOME}/{key}")
        return spec

    def iter_modules(self, prefix=""):
        for key, entry in sorted(_modules.items()):
            directory, _, name = key.rpartition("/")
            if directory == self._prefix[:-1]:
                yield prefix + name, entry[0]

    def invalidate_caches(self):
        pass


LOADER = Loader()

# Module name -> function called with the module as soon as it is imported: what has to be
# different in a sandbox, without paying for modules a script does not use.
after_import = {}


def embed(root, package, package_root):
    """Takes in the library at `root` and our own `package`, and serves both from now on."""
    if sys.version_info[:3] != VERSION:
        raise RuntimeError(f"the interpreter is {sys.version_info[:3]}, and `HOME`, `VERSION` and build.rs name {VERSION}")
    _walk(root, "", _LEFT_OUT | _WITHOUT_C_PART)
    _walk(package_root, package + "/", {"__pycache__"})
    for method in (Loader.exec_module, Finder.find_spec, _path_hook):
        method.__code__ = method.__code__.replace(co_filename=INTERNAL)
    sys.path_hooks.insert(0, _path_hook)
    sys.modules[package].__path__ = [f"{HOME}/{package}"]
    sys.path_importer_cache.clear()
    # What the interpreter loaded before us has its file names from the build.
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        for old in ("/python/lib/python3.14", root):
            if file.startswith(old + "/"):
                module.__file__ = HOME + file[len(old):]
                break
        if "/" in (getattr(module, "__cached__", None) or ""):
            module.__cached__ = None
    encodings = sys.modules["encodings"]
    encodings.__path__ = [f"{HOME}/encodings"]
    for name in ("encodings", "encodings.aliases", "encodings.utf_8"):
        module = sys.modules[name]
        module.__spec__ = Finder(os.path.dirname(encodings.__file__) if "." in name else HOME).find_spec(name)
        module.__loader__ = LOADER


def _walk(directory, prefix, left_out):
    for name in sorted(os.listdir(directory)):
        path = f"{directory}/{name}"
        if name in left_out:
            continue
        if os.path.isdir(path):
            if os.path.exists(path + "/__init__.py"):
                _walk(path, f"{prefix}{name}/", {"__pycache__", "test", "tests"})
        elif name.endswith(".py"):
            stem = name[:-3]
            package = stem == "__init__"
            key = prefix[:-1] if package else prefix + stem
            with open(path, "rb") as file:
                source = file.read()
            _modules[key] = (package, None, zlib.compress(source, 9))
            code = compile(source, _path(key), "exec", dont_inherit=True)
            _modules[key] = (package, marshal.dumps(code), _modules[key][2])


def _path_hook(path):
    if path == HOME or path.startswith(HOME + "/"):
        return Finder(path)
    raise ImportError("not in the standard library", path=path)


def _path(key):
    return f"{HOME}/{key}/__init__.py" if _modules[key][0] else f"{HOME}/{key}.py"


def _key(path):
    key = path[len(HOME) + 1:].removesuffix(".py")
    return key.removesuffix("/__init__")


def _key_of_name(name):
    return name.replace(".", "/")
