"""SQLite: which one it is, and databases in directories that cannot be written to.

The interpreter was linked with an SQLite that lacks full-text search. The build of the guest replaces that one by the
SQLite of `_skillrun_sqlite`. So `sqlite3` has to name the version of the latter, which also gets its local time from here.

SQLite here locks a database by a directory beside it, which a read-only directory refuses, even to a
reader. Nobody can write there, so nothing needs a lock: such a database is opened without.
"""

import os
import time
import urllib.parse

import _skillrun_sqlite

# The place of `uri` among the arguments of `connect` after the first one.
_URI = 6


def adjust(sqlite3):
    """Exchanges `connect` and the version, in the package and in the modules they come from."""
    import _sqlite3

    # Looked up at each call: `zone` exchanges the function.
    _skillrun_sqlite.set_clock(lambda second: time.localtime(second))
    version = _skillrun_sqlite.version
    for module in (_sqlite3, sqlite3.dbapi2, sqlite3):
        module.sqlite_version = version
    for module in (sqlite3.dbapi2, sqlite3):
        module.sqlite_version_info = tuple(int(part) for part in version.split("."))
    original = sqlite3.dbapi2.connect

    def connect(database, *args, **options):
        if len(args) > _URI:
            database, uri = _without_lock(database, args[_URI])
            args = (*args[:_URI], uri, *args[_URI + 1:])
        else:
            database, options["uri"] = _without_lock(database, options.get("uri", False))
        return original(database, *args, **options)

    connect.__doc__ = original.__doc__
    sqlite3.connect = sqlite3.dbapi2.connect = connect


def _without_lock(database, uri):
    if isinstance(database, (bytes, os.PathLike)):
        database = os.fsdecode(database)
    if not isinstance(database, str) or database in ("", ":memory:"):
        return database, uri
    path, options = database, ""
    if uri and database.startswith("file:"):
        path, _, options = database.removeprefix("file:").partition("?")
        path = urllib.parse.unquote(path.partition("#")[0])
        if path.startswith("//"):
            path = "/" + path[2:].partition("/")[2]
        if path in ("", ":memory:") or "mode=memory" in options:
            return database, uri
    directory = os.path.dirname(os.path.realpath(path))
    if os.access(directory, os.W_OK) or not os.path.exists(path):
        return database, uri
    options = "&".join(part for part in options.split("&") if part and not part.startswith(("mode=", "nolock=")))
    options = f"{options}&mode=ro&nolock=1" if options else "mode=ro&nolock=1"
    return f"file:{urllib.parse.quote(os.path.abspath(path))}?{options}", True
