"""The component's entry: what happens at build time, in order, and the one function the host calls."""

import sys

# Only what the build was given: never a package that happens to be installed on the machine.
sys.path[:] = [path for path in sys.path if path in ("/python", "/world", "/bundled", "/0")]

# Extension modules, which only a directory of the build can give.
import _skillrun_hashes
import _skillrun_immortal
import _skillrun_sqlite
import _skillrun_start

from _skillrun import stdlib

stdlib.embed("/python", "_skillrun", "/0/_skillrun")
sys.path[:] = [stdlib.HOME, "/world", "/bundled"]

# The functions of `os` first, before other modules look at what there is.
from _skillrun import files, system

files.install()
system.install()

from _skillrun import databases, denials, missing, network, processes

missing.install()
network.install()
processes.install()
stdlib.after_import["sqlite3"] = databases.adjust

from _skillrun import warm

warm.imports()
system.name_platform()
processes.add_to_os()

from _skillrun import clock, environment, eventloop, frames, immortal, script, streams, threads, zone

zone.embed("/0/tzdata")
clock.install()
eventloop.install()
frames.install()
threads.install()
streams.install()
environment.check()
immortal.make()
warm.rehearse()
warm.clean()

import wit_world

denials.report = wit_world.denied
system.leave = wit_world.exit

class WitWorld(wit_world.WitWorld):
    """The world `python`."""

    def run(self, path, source, args, cwd):
        return script.run(path, source, args, cwd)

    run.__code__ = run.__code__.replace(co_filename=stdlib.INTERNAL)


script.remember()
environment.install()
immortal.make()
immortal.fill_holes()
