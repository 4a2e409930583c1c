# limits: processes=16 memory=256
import threading, resource

limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
if os.getuid() == 0 or not 0 < limit <= 100:
    sys.exit(99)
gate = threading.Event()
threads = []
try:
    for number in range(1000):
        thread = threading.Thread(target=gate.wait, daemon=True)
        thread.start()
        threads.append(thread)
    print("no limit")
except RuntimeError as error:
    print(f"threads: {len(threads)}, then {error}")
gate.set()
for thread in threads:
    thread.join()
print("over")
