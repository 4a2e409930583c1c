import sys, os, platform, sysconfig, site
print(sys.platform, os.name, platform.system(), platform.machine(), platform.python_implementation(), sys.version_info[:2])
print(sys.executable, sys.prefix, sys.byteorder, os.sep, os.linesep == "\n", os.cpu_count() >= 1)
print(sysconfig.get_paths()["stdlib"], sysconfig.get_python_version(), bool(platform.platform()), platform.node() != "")
print(os.getpid() > 0, os.getuid() >= 0, os.getppid() >= 0, "json" in sys.stdlib_module_names, sys.flags.optimize)
