import gc
import json
import sys
import weakref


class Own:
    def __del__(self):
        print("deleted")


def loaded():
    return {name for name in sys.modules if name.partition(".")[0] == "json"}


print(sys._is_immortal(json), sys._is_immortal(json.JSONDecoder), sys._is_immortal(json.loads.__code__))
own = Own()
print(sys._is_immortal(own), sys._is_immortal(Own), sys._is_immortal(sys.stdout), sys.getrefcount(json) > 1 << 28)
weakref.finalize(own, print, "finalized")
own = None

# The first one is that of the snapshot, which stays; the others are the script's, and end.
ended = []
for number in range(4):
    weakref.finalize(json.JSONDecoder, ended.append, number)
    for name in loaded():
        del sys.modules[name]
    import json
    gc.collect()
print(ended)
gc.unfreeze()
gc.collect()
print(json.loads("[1]"), len(gc.get_objects()) > 0)
