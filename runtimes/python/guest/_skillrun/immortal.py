"""Makes the objects of the snapshot immortal: the interpreter then does not count references to them.

A count is part of its object, so each use of an object would write to the page it is in, and the host copies every page that
a run wrote back for the next one. The snapshot keeps its objects for as long as it exists, so nothing is lost: what a script
removes from them would not have made its memory smaller than the snapshot.

Objects whose end can be observed stay mortal: a file flushes what it holds, and a generator runs its `finally` blocks.
"""

import _io
import gc
import types

import _skillrun_immortal

_MORTAL = _io._IOBase, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, types.FrameType
# What most scripts need at the same time.
_RESERVE = 1 << 20
# Arguments of one call. All at once would need a tuple and a list of megabytes, which would remain as holes in the snapshot.
_BATCH = 500


def make():
    """To be called before a rehearsal, so that the interpreter specialises its instructions for immortal objects, and after it.

    What exists is also put out of the collector's sight: a run then only looks at its own objects.
    """
    gc.collect()
    gc.disable()
    gc.unfreeze()
    tracked = gc.get_objects()
    for begin in range(0, len(tracked), _BATCH):
        batch = tracked[begin:begin + _BATCH]
        _spread(batch)
        # Objects that were immortal before may refer to others by now.
        _spread(gc.get_referents(*batch))
    del tracked, batch
    gc.freeze()
    gc.enable()


def _spread(objects):
    """Makes these objects immortal, and those that only they refer to: the collector does not know strings, numbers and code."""
    while objects:
        fresh = _skillrun_immortal.immortalize([thing for thing in objects if not issubclass(type(thing), _MORTAL)])
        objects = gc.get_referents(*fresh)
        for thing in fresh:
            if type(thing) is types.CodeType:
                objects += (
                    thing.co_consts, thing.co_names, thing.co_filename, thing.co_name, thing.co_qualname, thing.co_linetable,
                    thing.co_exceptiontable, *thing.co_varnames, *thing.co_cellvars, *thing.co_freevars,
                )


def fill_holes():
    """Lets a run allocate in one place. Called last before the snapshot.

    Free chunks are scattered over the whole memory, and each that is used or only merged with its neighbour is a page that the
    host has to copy back. So all are filled, except for one large chunk. Objects that the interpreter keeps for the next of their type
    are such chunks, too: a collection frees them.
    """
    gc.unfreeze()
    highest = max(map(id, gc.get_objects()))
    gc.freeze()
    gc.collect()
    while id(reserve := bytes(_RESERVE)) < highest:
        _skillrun_immortal.immortalize([reserve])
    end = id(reserve)
    for size in _sizes():
        # The header of an object of bytes is larger than the smallest chunk.
        while id(filling := bytes(size) if size else object()) < end:
            _skillrun_immortal.immortalize([filling])


def _sizes():
    """Sizes of objects for every hole, the largest first."""
    size = _RESERVE
    while size > 2048:
        yield size
        size -= size >> 5
    # Chunks have multiples of 16 bytes.
    yield from range(2048, 0, -8)
    yield 0
