import time, datetime
start = time.perf_counter(), time.monotonic(), time.process_time(), time.thread_time()
print([0 <= t < 5 for t in start[2:]], all(t >= 0 for t in start))
time.sleep(0.01)
print(time.perf_counter() - start[0] >= 0.01, time.monotonic() > start[1], time.process_time() >= start[2], time.process_time_ns() > 0)
print(datetime.datetime.now(datetime.timezone.utc).year >= 2025, time.time() > 1.7e9, time.gmtime(0)[:6], time.strftime("%Z"))
print(datetime.datetime.strptime("2024-02-29 10:00 +0200", "%Y-%m-%d %H:%M %z").isoformat(), datetime.datetime(2024, 2, 29).strftime("%d %B %Y %j %U %A"))
