"""Records the results of the reference validator for the documents in `front-matter/`, and how it prints skills.

    python3 -m venv venv && venv/bin/pip install skills-ref==0.1.1
    venv/bin/python tests/check/reference.py            # writes reference.json
    venv/bin/python tests/check/reference.py --print    # prints what it would write

A document `front-matter/NAME.md` is the SKILL.md of a skill in a folder NAME. Each rule that the reference
finds broken is recorded by our name for it, so that the tests can compare without it.
"""

import importlib.metadata
import json
import pathlib
import shutil
import sys
import tempfile

VERSION = "0.1.1"
# The exceptions that the reference itself raises on documents it does not expect.
CRASHES = (UnicodeError, AssertionError, AttributeError, TypeError, RecursionError)
HERE = pathlib.Path(__file__).resolve().parent

# The start of a message, or a part of it, and our name for its rule; the first match counts.
RULES = [
    ("Missing required file: SKILL.md", "skill-md-missing"),
    ("SKILL.md must start with", "front-matter-missing"),
    ("SKILL.md frontmatter not properly closed", "front-matter-unclosed"),
    ("SKILL.md frontmatter must be a YAML mapping", "front-matter-not-fields"),
    ("Found ugly disallowed JSONesque flow mapping", "yaml-flow"),
    ("Found disallowed tag tokens", "yaml-tag"),
    ("Found confusing disallowed anchor token", "yaml-anchor"),
    ("Duplicate key", "yaml-duplicate"),
    ("Found mapping with indentation inconsistent", "yaml-indentation"),
    ("Invalid YAML in frontmatter", "yaml-invalid"),
    ("Unexpected fields in frontmatter", "field-unknown"),
    ("Missing required field in frontmatter: name", "name-missing"),
    ("Field 'name' must be a non-empty string", "name-empty"),
    ("character limit", {"Skill name": "name-too-long", "Description": "description-too-long", "Compatibility": "compatibility-too-long"}),
    ("must be lowercase", "name-not-lower-case"),
    ("cannot start or end with a hyphen", "name-outer-hyphen"),
    ("cannot contain consecutive hyphens", "name-double-hyphen"),
    ("contains invalid characters", "name-characters"),
    ("must match skill name", "name-not-folder"),
    ("Missing required field in frontmatter: description", "description-missing"),
    ("Field 'description' must be a non-empty string", "description-empty"),
    ("Field 'compatibility' must be a string", "compatibility-not-text"),
]


def rule(message):
    for part, name in RULES:
        if part in message:
            if isinstance(name, str):
                return name
            return next(name for start, name in name.items() if message.startswith(start))
    raise SystemExit(f"no rule for: {message}")


def validate(folder):
    """The rules that the reference finds broken; `crash` where it fails itself."""
    from skills_ref import validate

    try:
        return [rule(message) for message in validate(folder)]
    except CRASHES:
        return ["crash"]


def to_prompt(folders, around):
    """The block it prints, with the folder around the skills named by what it is; nothing where it prints none."""
    from skills_ref import SkillError, to_prompt

    try:
        # Its command prints a line end after the block.
        return to_prompt(folders).replace(str(around), "{root}") + "\n"
    except (SkillError, *CRASHES):
        return None


def record():
    if importlib.metadata.version("skills-ref") != VERSION:
        raise SystemExit(f"this is about skills-ref {VERSION}")
    with tempfile.TemporaryDirectory() as around:
        around = pathlib.Path(around).resolve()
        rules, prompts = {}, {}
        for document in sorted((HERE / "front-matter").glob("*.md")):
            folder = around / document.stem
            folder.mkdir()
            shutil.copyfile(document, folder / "SKILL.md")
            rules[document.stem] = validate(folder)
            prompts[document.stem] = to_prompt([folder], around)
        examples = sorted((HERE / "../../skills").resolve().iterdir())
        for example in examples:
            shutil.copytree(example, around / "skills" / example.name)
        copies = sorted((around / "skills").iterdir())
        return {
            "version": VERSION,
            "rules": rules,
            "prompts": prompts,
            "examples": to_prompt(copies, around),
        }


def main():
    text = json.dumps(record(), indent=1, ensure_ascii=True) + "\n"
    if "--print" in sys.argv[1:]:
        sys.stdout.write(text)
    else:
        (HERE / "reference.json").write_text(text)


main()
