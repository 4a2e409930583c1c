"""SQLite on directories that cannot be written to.

This SQLite locks a database by a directory beside it, which a read-only directory refuses, even to a
reader. Nobody can write there, so nothing needs a lock: such a database is opened without.
"""

import os
import urllib.parse


def adjust(sqlite3):
    """Exchanges `connect`, in the package and in the module it comes from."""
    original = sqlite3.dbapi2.connect

    def connect(database, *args, **options):
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
