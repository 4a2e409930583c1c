import os
print(os.environ.get('SKILLRUN_TEST_SECRET'))
