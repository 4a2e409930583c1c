import os
print(sorted(os.environ)[0], 'SKILLRUN_TEST_SECRET' in os.environ)
