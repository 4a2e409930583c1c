import multiprocessing, os, subprocess, sys, threading

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except Exception as error:
        print(f"{what}: {type(error).__name__}: {error}")

if sys.argv[1:] == ["start"]:
    attempt("subprocess", lambda: subprocess.run(["/bin/true"]))
    attempt("a shell", lambda: subprocess.check_output("id", shell=True))
    attempt("system", lambda: os.system("id"))
    attempt("popen", lambda: os.popen("id").read())
    attempt("fork", lambda: os.fork())
    attempt("exec", lambda: os.execv("/bin/true", ["true"]))
    attempt("kill", lambda: os.kill(1, 9))
    attempt("process", lambda: multiprocessing.Process(target=print).start())
    attempt("pool", lambda: multiprocessing.Pool(2))
    attempt("thread", lambda: threading.Thread(target=print).start())
else:
    attempt("own id", lambda: os.getpid() > 0)
    attempt("processors", lambda: os.cpu_count())
