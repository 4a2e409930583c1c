# Where core dumps go to a program (core_pattern), the kernel starts it as root and outside for each process that crashes. Only a
# limit of 1 keeps it from that.
import resource

print("core dump:", resource.getrlimit(resource.RLIMIT_CORE))
try:
    resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096))
except ValueError as error:
    print("a higher limit:", error)
print("a crash:", child(lambda: os.abort()))
