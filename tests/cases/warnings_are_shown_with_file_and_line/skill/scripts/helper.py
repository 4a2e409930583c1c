import warnings
warnings.warn("hidden in a module", DeprecationWarning)
