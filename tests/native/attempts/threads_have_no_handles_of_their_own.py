# limits: processes=64 memory=512 files=128 time=30
# x86_64 only
# A thread with a table of handles of its own could hide what it has open, behind a first thread that has exited. The locks of
# a process that shares its table would outlive it.
import multiprocessing, subprocess, threading

VM, FS, FILES, SIGHAND, VFORK, THREAD, SYSVSEM = 0x100, 0x200, 0x400, 0x800, 0x4000, 0x10000, 0x40000


def started(flags):
    """Starts a process. Should one of these be a thread, it would use the stack of this one."""
    process = call(56, flags, 0, 0, 0, 0)
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
    return "started"


attempt("a thread without the handles of its process", lambda: call(56, VM | FS | SIGHAND | THREAD | SYSVSEM, 0, 0, 0, 0))
attempt("a process with the handles of another", lambda: started(FILES | signal.SIGCHLD))
attempt("the same, as by vfork", lambda: started(FILES | VFORK | signal.SIGCHLD))
attempt("unshare the handles", lambda: call(272, FILES))
attempt("unshare them as they are closed", lambda: call(436, 200, 300, 2))
attempt("the same, on exec", lambda: call(436, 200, 300, 6))

# The twin: whatever starts threads and processes.
attempt("a process", lambda: started(signal.SIGCHLD))
attempt("close handles", lambda: call(436, 200, 300, 0))
attempt("close them on exec", lambda: call(436, 200, 300, 4))
said = []
threads = [threading.Thread(target=said.append, args=[number]) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("threads:", sorted(said))

# A process that is spawned would import this file.
del sys.modules["__main__"].__file__
for way in ["fork", "spawn", "forkserver"]:
    try:
        context = multiprocessing.get_context(way)
        own, child_end = context.Pipe()
        process = context.Process(target=child_end.send, args=[way])
        process.start()
        print(f"multiprocessing by {way}:", own.recv() == way, flush=True)
        process.join()
    except OSError as error:
        # A fork server needs a socket with a name.
        print(f"multiprocessing by {way}:", called(error.errno), flush=True)
print("a process with closed handles:", subprocess.run(["true"], close_fds=True).returncode)
print("posix_spawn:", os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1])
OTHERS = {
    "/usr/bin/node": ["-e", "const w = require('worker_threads'); new w.Worker('process.exit(7)', { eval: true }).on('exit', code => process.exit(code))"],
    "/usr/bin/ruby": ["-e", "exit Thread.new { Thread.new { 7 }.value }.value"],
    "/usr/bin/perl": ["-e", "use Config; exit 7 if !$Config{usethreads}; require threads; exit threads->create(sub { 7 })->join"],
}
for program, arguments in OTHERS.items():
    if os.path.exists(program):
        code = subprocess.run([program, *arguments]).returncode
        assert code == 7, (program, code)
