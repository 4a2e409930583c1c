"""Records the terminal session of the README: runs real commands and draws what they print as an SVG.

Usage: demo.py SKILLRUN_BINARY OUTPUT.svg
"""
import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

# The commands, typed in a home with the example skills and a file. They print no times, so that a test can compare the
# result.
SESSION = [
    "# Run a script of a skill. Standard input goes to the script.",
    "echo 'Hello, sandbox!' | skillrun run word-count count.py",
    "# The script sees its skill and nothing else.",
    "skillrun run word-count count.py -- ~/notes.md",
    "# Grant it one file, for one run.",
    "skillrun run word-count count.py --allow read:notes.md -- ~/notes.md",
    "# A refusal names the line that would allow it.",
    "skillrun run word-count count.py --runtime native -- ~/notes.md",
]
NOTES = "# Notes\n\nA skill is a folder.\nIts scripts run in a sandbox.\n"
COLUMNS, LINE, MARGIN, CHARACTER = 100, 20, 16, 8.4
COLOURS = {"comment": "#7d8590", "prompt": "#3fb950", "typed": "#e6edf3", "printed": "#b1bac4", "refused": "#ff7b72", "hint": "#d29922"}


def record(binary):
    """Yields the lines of the session, each with its kind. The home is shown as /home/ada; nothing else is changed."""
    # Not in /tmp, where a script has a directory of its own, so that nothing there is denied to it.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as root:
        home, bin = Path(root, "home"), Path(root, "bin")
        home.mkdir()
        bin.mkdir()
        (home / "notes.md").write_text(NOTES)
        (bin / "skillrun").symlink_to(binary)
        os.symlink(Path(__file__).resolve().parents[1] / "skills", home / "skills")
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        environment = {"HOME": str(home), "PATH": f"{bin}:/usr/bin:/bin", "XDG_CACHE_HOME": cache}
        # The interpreters are compiled before the session, as `skillrun runtimes prepare` advises.
        subprocess.run([binary, "runtimes", "prepare"], env=environment, check=True, capture_output=True)
        for command in SESSION:
            if command.startswith("#"):
                yield "comment", command
                continue
            yield "typed", command
            ended = subprocess.run(["sh", "-c", command], cwd=home, env=environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            for line in ended.stdout.replace(str(home), "/home/ada").splitlines():
                yield next((kind for kind in ("refused", "hint") if line.startswith(kind)), "printed"), line
            yield "printed", ""


def wrapped(lines):
    """Lines of at most COLUMNS characters, as a terminal wraps them."""
    for kind, line in lines:
        width = COLUMNS - 2 if kind == "typed" else COLUMNS
        for start in range(0, max(len(line), 1), width):
            yield kind if start == 0 or kind != "typed" else "continued", line[start : start + width]


def svg(lines):
    while lines and not lines[-1][1]:
        lines.pop()
    width = 2 * MARGIN + COLUMNS * CHARACTER
    height = 2 * MARGIN + 24 + len(lines) * LINE
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
           'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">')
    yield "<title>A terminal session with skillrun</title>"
    yield f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#0d1117"/>'
    for index, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{MARGIN + 6 + 18 * index}" cy="{MARGIN}" r="5.5" fill="{colour}"/>'
    for index, (kind, line) in enumerate(lines):
        y = MARGIN + 24 + (index + 1) * LINE - 6
        text = f'<tspan fill="{COLOURS["prompt"]}">$ </tspan>{escape(line)}' if kind == "typed" else escape(line)
        colour = COLOURS.get(kind, COLOURS["typed"])
        yield f'<text x="{MARGIN}" y="{y}" fill="{colour}" xml:space="preserve">{text}</text>'
    yield "</svg>"


if __name__ == "__main__":
    binary, output = sys.argv[1:]
    lines = list(wrapped(record(str(Path(binary).resolve()))))
    Path(output).write_text("\n".join(svg(lines)) + "\n")
