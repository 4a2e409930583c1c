"""Prints a line, then sleeps."""

import time

print("ready", flush=True)
time.sleep(300)
