"""Sleeps longer than any limit in use."""

import time

time.sleep(60)
