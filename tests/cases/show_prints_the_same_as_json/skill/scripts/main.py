"""Says hello.

And more."""
