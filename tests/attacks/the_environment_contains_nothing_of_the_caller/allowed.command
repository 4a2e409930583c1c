run --virtual-paths --env SKILLRUN_TEST_SECRET --env MORE=more {skill} main.py
