import os
print("secret:", os.environ.get("SKILLRUN_TEST_SECRET"))
