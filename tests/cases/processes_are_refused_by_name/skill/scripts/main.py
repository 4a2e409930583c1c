import subprocess, os, multiprocessing, shutil, asyncio, sys
from concurrent.futures import ProcessPoolExecutor

def attempt(name, action):
    try:
        print(name, action())
    except Exception as error:
        print(name, type(error).__name__, error)

attempt("run", lambda: subprocess.run(["git", "status"], capture_output=True))
attempt("shell", lambda: subprocess.run("ls -l", shell=True))
attempt("check_output", lambda: subprocess.check_output([sys.executable, "-V"]))
attempt("popen", lambda: os.popen("date").read())
attempt("system", lambda: os.system("clear"))
attempt("fork", os.fork)
attempt("execvp", lambda: os.execvp("ls", ["ls"]))
attempt("Process", multiprocessing.Process(target=print).start)
attempt("Pool", lambda: multiprocessing.Pool(2))
attempt("ProcessPoolExecutor", lambda: ProcessPoolExecutor(2).submit(print))
async def child():
    await asyncio.create_subprocess_exec("ls")
attempt("asyncio", lambda: asyncio.run(child()))
print(shutil.which("git"))
