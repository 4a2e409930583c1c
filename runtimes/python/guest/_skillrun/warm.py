"""What is done ahead of time so that a run need not: imports, specialised bytecode, full caches.

None of it may be visible to a script: no output, no file, no handler, no random state, no warning
already shown.
"""

import importlib
import io
import os
import random
import sys

# What scripts of skills import, the most frequent first, as far as it exists here. An import from the
# snapshot costs nothing; its price is the size of the snapshot.
_IMPORTS = """
sys json argparse typing pathlib os datetime re time dataclasses subprocess urllib.parse urllib.request urllib.error
collections collections.abc shutil math tempfile logging hashlib csv enum random base64 asyncio io
xml.etree.ElementTree xml.dom.minidom xml.sax.saxutils zipfile threading uuid html html.parser sqlite3 importlib.util
importlib.metadata importlib.resources difflib statistics concurrent.futures concurrent.futures.thread gzip socket
email email.message email.mime.text email.mime.multipart email.utils email.parser email.policy http.client http.cookies platform
secrets struct zoneinfo decimal fractions hmac tomllib unicodedata tarfile zlib string textwrap itertools functools
operator contextlib copy glob fnmatch traceback inspect ast tokenize linecache configparser codecs heapq bisect warnings
pprint locale calendar getpass shlex signal queue types abc numbers keyword runpy pickle mimetypes
stringprep encodings.ascii encodings.latin_1 encodings.idna encodings.utf_8_sig encodings.cp1252 encodings.utf_16 annotationlib
array binascii cmath select errno ipaddress optparse _strptime _colorize reprlib graphlib netrc contextvars weakref
multiprocessing gettext quopri plistlib colorsys stat pkgutil cProfile timeit sched
""".split()

# A little of what most scripts do; run often enough for the interpreter to specialise itself.
_SCRIPT = b'''
import sys, os, json, re, argparse, pathlib, datetime, collections
from dataclasses import dataclass, field
from pathlib import Path

@dataclass
class Item:
    name: str
    values: list = field(default_factory=list)

def main(argv):
    parser = argparse.ArgumentParser(description="x")
    parser.add_argument("path", nargs="?", default="a")
    parser.add_argument("--count", type=int, default=1, help="n")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    items = [Item(str(i), [i]) for i in range(3)]
    data = {i.name: i.values for i in items}
    text = json.dumps(data, indent=2, ensure_ascii=False, sort_keys=True)
    assert json.loads(text) == data
    print("hello", len(argv), f"{options.count:03d} {1.5:.2f}")
    print(text)
    words = collections.Counter(re.findall(r"\\w+", text))
    for word, count in sorted(words.items()):
        print(word, count, file=sys.stderr)
    Path("a") / "b.txt"
    try:
        raise ValueError("x")
    except ValueError as error:
        str(error)
    "x".encode().decode("utf-8", errors="replace").split(",")

if __name__ == "__main__":
    main(["x", "--count", "2"])
'''


def imports():
    for name in _IMPORTS:
        importlib.import_module(name)


def rehearse():
    """Runs the script above with streams that lead nowhere."""
    from . import environment, script
    kept = sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.path, sys.modules["__main__"]
    sys.argv = ["x"]
    script.remember()
    for _ in range(24):
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.BytesIO()), encoding="utf-8")
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.BytesIO()), encoding="utf-8", line_buffering=True)
        environment.install()
        os.environ["TZ"] = "UTC"
        random.seed()
        script._begin("/0/_skillrun/x.py", ["a"], "/0")
        script._main_module("/x.py")
        code = script._end(script._execute(_SCRIPT, "/x.py", sys.modules["__main__"].__dict__))
        if code:
            raise RuntimeError(sys.stderr.buffer.raw.getvalue().decode())
    sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.path, sys.modules["__main__"] = kept


def clean():
    """Removes the traces of all that: the script must find a fresh interpreter."""
    import _skillrun_sqlite, linecache, tempfile, uuid
    linecache.clearcache()
    for module in list(sys.modules.values()):
        getattr(module, "__dict__", {}).pop("__warningregistry__", None)
    tempfile.tempdir = None
    tempfile._name_sequence = None
    uuid._node = uuid._last_timestamp = None
    _skillrun_sqlite.forget_seed()
    os.environ.clear()
    sys.path_importer_cache.clear()
