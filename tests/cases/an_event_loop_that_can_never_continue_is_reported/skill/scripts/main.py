import asyncio

async def main():
    print("waiting")
    await asyncio.Event().wait()

try:
    asyncio.run(main())
except RuntimeError as error:
    print("RuntimeError:", error)
