"""Says that it is there, then sleeps."""

import time

print("ready", flush=True)
time.sleep(25)
