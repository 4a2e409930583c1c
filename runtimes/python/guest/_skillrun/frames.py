"""Keeps our own frames out of tracebacks and stack listings.

Every printed traceback passes through two generators of the module `traceback`: the default hook
for uncaught exceptions, `traceback.print_exc` and `logging.exception` alike. Filtering there is
enough and leaves the exceptions themselves untouched.
"""

import sys
import traceback


def install():
    walk_tb = traceback.walk_tb
    walk_positions = traceback._walk_tb_with_full_positions

    def walk_tb_of_script(tb):
        return (item for item in walk_tb(tb) if not ours(item[0]))

    def walk_positions_of_script(tb):
        return (item for item in walk_positions(tb) if not ours(item[0]))

    def walk_stack_of_script(f):
        if f is None:
            f = sys._getframe(1)
            while f is not None and f.f_globals.get("__name__") == "traceback":
                f = f.f_back
        while f is not None:
            if not ours(f):
                yield f, f.f_lineno
            f = f.f_back

    traceback.walk_tb = walk_tb_of_script
    traceback._walk_tb_with_full_positions = walk_positions_of_script
    traceback.walk_stack = walk_stack_of_script


def ours(frame):
    return frame.f_globals.get("__package__") == __package__


def without_ours(tb):
    """The traceback as the script's own frames made it."""
    while tb is not None and ours(tb.tb_frame):
        tb = tb.tb_next
    return tb
