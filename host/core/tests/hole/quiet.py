"""The run of another tenant: it waits while the attacks happen, and then shows that it has what it had."""
import sys

kept = list(range(1000))
with open("own", "w") as file:
    file.write("own")
print("ready", flush=True)
print("told to", sys.stdin.readline().strip(), sum(kept), open("own").read())
