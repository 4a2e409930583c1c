import runpy, importlib, sys, pkgutil
result = runpy.run_path("/skill/scripts/other.py", run_name="__main__")
print(result["VALUE"])
module = importlib.import_module("other")
print(module.VALUE, importlib.reload(module) is module)
exec(compile("print('compiled', __name__)", "x", "exec"))
print(eval("1 + 1"), [m.name for m in pkgutil.iter_modules(["/skill/scripts"])])
runpy.run_module("__hello__", run_name="__main__")
from importlib import resources, metadata
print(resources.files("package").joinpath("data.txt").read_text(), "decoder" in [m.name for m in pkgutil.iter_modules(__import__("json").__path__)])
