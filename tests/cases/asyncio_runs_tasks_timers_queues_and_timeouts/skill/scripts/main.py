import asyncio

async def worker(name, queue, results):
    while True:
        item = await queue.get()
        if item is None:
            return
        await asyncio.sleep(0.001 * item)
        results.append((name, item))

async def main():
    queue, results = asyncio.Queue(), []
    for item in (3, 1, 2, None, None):
        queue.put_nowait(item)
    await asyncio.gather(worker("a", queue, results), worker("b", queue, results))
    print(sorted(item for _, item in results))
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(10)
    except TimeoutError:
        print("timed out")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(asyncio.sleep(0.001, n)) for n in range(3)]
    print([task.result() for task in tasks])
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(0.001, event.set)
    await event.wait()
    done, pending = await asyncio.wait([asyncio.create_task(asyncio.sleep(0.001)), asyncio.create_task(asyncio.sleep(5))], return_when=asyncio.FIRST_COMPLETED)
    print(len(done), len(pending))
    lock = asyncio.Lock()
    async with lock, asyncio.Semaphore(2):
        print("locked", lock.locked())
    return "result"

print(asyncio.run(main()))
