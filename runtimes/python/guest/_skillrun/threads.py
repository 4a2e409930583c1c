"""Threads cannot be started here, and the error says so."""

import _thread
import threading

MESSAGE = "can't start new thread: this sandbox has no threads yet"


def install():
    _thread.start_new_thread = _thread.start_new = _thread.start_joinable_thread = _refuse
    threading._start_new_thread = threading._start_joinable_thread = _refuse


def _refuse(*args, **options):
    raise RuntimeError(MESSAGE)
