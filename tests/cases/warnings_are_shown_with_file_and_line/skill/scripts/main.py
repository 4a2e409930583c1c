import warnings

def old():
    warnings.warn("use new()", DeprecationWarning, stacklevel=2)

warnings.warn("careful")
old()
warnings.warn("not shown", PendingDeprecationWarning)
warnings.warn("at the caller of the script", UserWarning, stacklevel=2)
import helper
