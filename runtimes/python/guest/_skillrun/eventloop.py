"""asyncio without sockets: the loop waits for time alone.

The loop's selector and its wake-up pipe are built from sockets. Nothing but a timer can wake a loop in
here, so the selector sleeps until the next one. If no timer is left and every task waits, the script would wait forever; it
gets a `RuntimeError` instead.
"""

import asyncio
import selectors
import time
from asyncio import base_events, selector_events, unix_events

_WAITS_FOR_EVER = "the event loop would wait forever: every task waits, no timer is set, and nothing outside can wake it in this sandbox"


class Timer(selectors._BaseSelectorImpl):
    """A selector that is only ever woken by the time."""

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError(_WAITS_FOR_EVER)
        if timeout > 0:
            time.sleep(timeout)
        return []


def install():
    loop = selector_events.BaseSelectorEventLoop
    original = loop.__init__

    def __init__(self, selector=None):
        original(self, Timer() if selector is None else selector)

    loop.__init__ = __init__
    loop._make_self_pipe = loop._close_self_pipe = loop._write_to_self = lambda self: None

    async def no_pipe(self, protocol_factory, pipe):
        raise NotImplementedError("pipes cannot be watched by the event loop in this sandbox; read sys.stdin instead")

    loop.connect_read_pipe = loop.connect_write_pipe = no_pipe

    async def shutdown_default_executor(self, timeout=None):
        # It never has threads to wait for, and waiting would take a thread itself.
        self._executor_shutdown_called = True
        if self._default_executor is not None:
            self._default_executor.shutdown(wait=False)

    base_events.BaseEventLoop.shutdown_default_executor = shutdown_default_executor

    # No signal ever arrives, so there is nothing to do for a handler but to accept it.
    unix = unix_events._UnixSelectorEventLoop
    unix.add_signal_handler = lambda self, signal, callback, *args: None
    unix.remove_signal_handler = lambda self, signal: False
