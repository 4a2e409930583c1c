import threading, asyncio
from concurrent.futures import ThreadPoolExecutor

def attempt(name, action):
    try:
        print(name, action())
    except Exception as error:
        print(name, type(error).__name__, error)

attempt("Thread", threading.Thread(target=print).start)
attempt("Timer", threading.Timer(0, print).start)
def pool():
    with ThreadPoolExecutor(2) as executor:
        return list(executor.map(str, [1]))
attempt("ThreadPoolExecutor", pool)
attempt("to_thread", lambda: asyncio.run(asyncio.to_thread(print)))
print(threading.current_thread().name, threading.active_count(), threading.Lock().acquire())
