# limits: memory=64 processes=32 time=20
# x86_64 only
# The first thread of a process shows its memory, until it has exited.
import threading, time


def hold():
    time.sleep(0.2)
    held = bytearray(b"x") * (32 << 20)
    time.sleep(1000)


print("32 MiB in each of 8 processes", flush=True)
for number in range(8):
    if os.fork() == 0:
        threading.Thread(target=hold).start()
        call(60, 0)  # exit, of this thread only
status = os.wait()[1]
os.kill(os.getpid(), os.WTERMSIG(status))
