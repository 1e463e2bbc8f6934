#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that no compiler checks. usage: check_house.py REPOSITORY CHECK...

Looks at the files that git tracks (all files where there is no git), prints one line per violation
and exits 1 if there was any.
"""
import re
import subprocess
import sys
from pathlib import Path

CODE = {".c", ".h", ".cu", ".S"}
SCRIPTS = {".sh", ".py", ".awk"}
FILE_LINES, FUNCTION_LINES = 500, 80
RECORDS = "collector/format/record.def"

# Who may include whose headers. A file belongs to the longest prefix that matches. For a list that
# has single headers, those are all that may be included from outside.
LAYERS = {
    "collector/format/": ["collector/format/"],
    "collector/base/": ["collector/base/"],
    "collector/machine/": ["collector/machine/", "collector/format/", "collector/base/"],
    "collector/": ["collector/"],
    # The thread that stands in for a collector process; its errors come as struct error.
    "shim/": ["shim/", "collector/format/", "collector/collector.h", "collector/base/error.h"],
    "viewer/": ["viewer/", "collector/format/", "collector/base/", "collector/trace_writer.h",
                "collector/text_store.h", "collector/machine/"],
    "samples/": ["samples/"],
}


def tracked(repository):
    try:
        listing = subprocess.run(["git", "-C", str(repository), "ls-files", "-z"], check=True,
                                 capture_output=True).stdout.decode()
        names = [n for n in listing.split("\0") if n]
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(repository)) for p in repository.rglob("*")
                 if p.is_file() and not str(p.relative_to(repository)).startswith(("build", "."))]
    return sorted(n for n in names if (repository / n).is_file())


def lines_of(repository, name):
    return (repository / name).read_text(encoding="utf-8", errors="replace").splitlines()


def is_code(name):
    return Path(name).suffix in CODE


def check_format(repository, names):
    """Code is as clang-format writes it."""
    sources = [n for n in names if Path(n).suffix in {".c", ".h", ".cu"}]
    if not sources:
        return
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *sources], cwd=repository,
                          capture_output=True, text=True)
    places = [l.split(":")[:2] for l in done.stderr.splitlines() if " error: " in l]
    for name in sorted({place[0] for place in places}):
        line = min(int(place[1]) for place in places if place[0] == name)
        yield f"{name}:{line}: not as clang-format writes it"


def check_file_sizes(repository, names):
    for name in names:
        if is_code(name) or Path(name).suffix in SCRIPTS | {".def"}:
            count = len(lines_of(repository, name))
            if count > FILE_LINES:
                yield f"{name}: {count} lines, {FILE_LINES} allowed"


def check_function_sizes(repository, names):
    """A function body is what stands between braces in the first column."""
    for name in filter(is_code, names):
        begin = None
        for number, line in enumerate(lines_of(repository, name), 1):
            if line == "{":
                begin = number
            elif line == "}" and begin is not None:
                if number - begin + 1 > FUNCTION_LINES:
                    yield (f"{name}:{begin}: function of {number - begin + 1} lines, "
                           f"{FUNCTION_LINES} allowed")
                begin = None


def check_unique_names(repository, names):
    seen = {}
    for name in filter(is_code, names):
        other = seen.setdefault(Path(name).name, name)
        if other != name:
            yield f"{name}: {other} has the same name"


def check_heads(repository, names):
    """SPDX line first; code then says in a comment what it is for."""
    for name in names:
        code = is_code(name) or Path(name).suffix == ".def"
        if not code and Path(name).suffix not in SCRIPTS and Path(name).name != "CMakeLists.txt":
            continue
        head = lines_of(repository, name)[:12]
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head[:2]):
            yield f"{name}:1: no SPDX line"
        elif code and not any("/*" in line for line in head[1:4]):
            yield f"{name}:2: no comment that says what the file is for"


def layer_of(name):
    return max((p for p in LAYERS if name.startswith(p)), key=len, default=None)


def check_include_directions(repository, names):
    homes = {}
    for name in names:
        homes.setdefault(Path(name).name, []).append(name)
    for name in names:
        layer = layer_of(name)
        if layer is None or not (is_code(name) or name.endswith(".def")):
            continue
        for number, line in enumerate(lines_of(repository, name), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            for home in homes.get(Path(match.group(1)).name, []):
                if not home.startswith(tuple(LAYERS[layer])):
                    yield f"{name}:{number}: {layer} must not include {home}"


def check_foreign_text(repository, names):
    """No paths of the machine it was written on, nothing copied from NVIDIA."""
    # Spelled in pieces, so that this file does not find itself.
    patterns = ["/wo" + "rk/(main|shared)", r"(?<![\w/.])/ro" + "ot/",
                "NVI" + "DIA CORPORATION.*rights", "Copyright.*NVI" + "DIA"]
    for name in names:
        if name == "LICENSE":
            continue
        for number, line in enumerate(lines_of(repository, name), 1):
            for pattern in patterns:
                if re.search(pattern, line):
                    yield f"{name}:{number}: has {pattern!r}"


def rows(repository, table, macro):
    """First arguments of a table's rows."""
    path = repository / table
    if not path.is_file():
        return []
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return re.findall(rf"^{macro}\(\s*(\w+)", text, flags=re.M)


def check_tables(repository, names):
    """A row has all that belongs to it, a file of a table's folder has its row."""
    files = set(names)
    texts = {n: (repository / n).read_text(errors="replace") for n in names
             if n.startswith("tests/") and Path(n).suffix in CODE | SCRIPTS}
    tests = "\n".join(texts.values())
    for rule in rows(repository, "viewer/rules/rules.def", "RULE"):
        if f"viewer/rules/{rule}.c" not in files:
            yield f"viewer/rules/rules.def: rule {rule} has no viewer/rules/{rule}.c"
        elif not any(rule in Path(n).name or f"rule_{rule}" in t for n, t in texts.items()):
            yield f"viewer/rules/rules.def: rule {rule} has no test"
        if "Wrong when: " not in (repository / f"viewer/rules/{rule}.c").read_text():
            yield f"viewer/rules/{rule}.c: its page does not say when it is wrong"
    for command in rows(repository, "viewer/commands/commands.def", "COMMAND"):
        command = command.replace("_", "-")
        if f"viewer/man/gputrace-{command}.md" not in files:
            yield f"viewer/commands/commands.def: {command} has no viewer/man/gputrace-{command}.md"
        if not re.search(rf"\b{command}\b", tests):
            yield f"viewer/commands/commands.def: {command} is in no test"
    yield from check_option_manual(repository)
    yield from check_command_manuals(repository)
    page = (repository / "viewer/man/gputrace-dump.md").read_text()
    for kind in re.findall(r"^RECORD\(\d+, (\w+), FIXED", (repository / RECORDS).read_text(), flags=re.M):
        if f"*{kind}*" not in page:
            yield f"viewer/man/gputrace-dump.md: --kind {kind} is not named"


def check_option_manual(repository):
    """Every setting of the shim is in its man page, with its words and its default."""
    table, manual = repository / "shim/options.def", repository / "viewer/man/libgputrace.md"
    if not table.is_file():
        return
    text = re.sub(r"/\*.*?\*/", "", table.read_text(), flags=re.S)
    page = manual.read_text() if manual.is_file() else ""
    for kind, variable, default in re.findall(
            r'^OPTION_(\w+)\(\w+,\s*"(\w+)",\s*("[^"]*"|\w+)', text, flags=re.M):
        entry = re.search(rf"^\*\*{variable}\*\*=.*\n((?:.+\n)*)", page, flags=re.M)
        default = default.strip('"')
        if not entry:
            yield f"shim/options.def: {variable} is not in {manual.name}"
        elif default != "NULL" and not re.search(
                rf'Default: "?{re.escape(default)}"?[. ]', " ".join(entry.group(1).split()) + " "):
            yield f"{manual.name}: {variable} does not have the default {default}"


def check_command_manuals(repository):
    """Command line, --help and man page of a command know the same options."""
    overview = (repository / "viewer/man/gputrace.md").read_text()
    for command in rows(repository, "viewer/commands/commands.def", "COMMAND"):
        source = f"viewer/commands/cmd_{command}.c"
        manual = f"viewer/man/gputrace-{command.replace('_', '-')}.md"
        if not (repository / source).is_file() or not (repository / manual).is_file():
            continue  # check_tables says so
        text, page = (repository / source).read_text(), (repository / manual).read_text()
        taken = set(re.findall(r'\{"([a-z-]+)", \w+_argument', text)) | set(
            re.findall(r'strcmp\(argv\[\w+\], "--([a-z-]+)"', text))
        taken -= {"help", "color"}
        # A usage may be broken over several literals.
        usage = re.search(r'usage\[\] =\s+(.*?);\n', text, flags=re.S).group(1)
        helped = set(re.findall(r"--([a-z]+(?:-[a-z]+)*)", re.sub(r'"\s*"', "", usage)))
        page = page.replace("\\--", "--")
        parts = re.split(r"^# (.*)\n", page, flags=re.M)
        parts = dict(zip(parts[1::2], parts[2::2]))
        synopsis = set(re.findall(r"\*\*--([a-z-]+)", parts["SYNOPSIS"]))
        short = set(re.findall(r"\*\*-([a-zA-Z])\b", parts["SYNOPSIS"]))
        lines = [l for l in parts.get("OPTIONS", "").splitlines() if l.startswith("**-")]
        described = set(re.findall(r"\*\*--([a-z-]+)", " ".join(lines)))
        for line in lines:
            names = re.search(r"\*\*-([a-zA-Z])\*\*[^,]*, \*\*--([a-z-]+)", line)
            if names and names.group(1) in short:
                synopsis.add(names.group(2))
        for option in sorted(taken | described | synopsis):
            for where, known in (("the command", taken), (f"the usage in {source}", helped),
                                 (f"SYNOPSIS of {manual}", synopsis),
                                 (f"OPTIONS of {manual}", described)):
                if option not in known:
                    yield f"{manual}: --{option} is unknown to {where}"
        if f"**{command.replace('_', '-')}**\n" not in overview:
            yield f"viewer/man/gputrace.md: {command} is not listed"


def check_cases(repository, names):
    """Every case of tests/cases.tsv has the test that is said to show it, and that test runs."""
    files = set(names)
    for number, line in enumerate(lines_of(repository, "tests/cases.tsv"), 1):
        if line.startswith("#"):
            continue
        where, columns = f"tests/cases.tsv:{number}", line.split("\t")
        if len(columns) != 4 or not all(columns):
            yield f"{where}: wants case, file, test and what it shows"
            continue
        case, name, test, _ = columns
        text = (repository / name).read_text() if name in files else ""
        runs = rf"cmocka_unit_test\({test}\)" if name.endswith(".c") else rf"\b{test}\b"
        if name not in files:
            yield f"{where}: {case}: there is no {name}"
        elif not re.search(runs, text):
            yield f"{where}: {case}: {name} has no {test}"


def check_scripts(repository, names):
    """Shell scripts parse, and what is run directly may be run."""
    for name in names:
        lines = lines_of(repository, name)
        if not lines or not re.match(r"#!.*\bbash\b|#!.*\bpython3\b", lines[0]):
            continue
        if not (repository / name).stat().st_mode & 0o100:
            yield f"{name}: not executable"
        if "bash" in lines[0]:
            done = subprocess.run(["bash", "-n", str(repository / name)], capture_output=True,
                                  text=True)
            if done.returncode:
                yield done.stderr.strip()


CHECKS = {name[6:]: value for name, value in list(globals().items()) if name.startswith("check_")}


def main():
    repository = Path(sys.argv[1])
    names = tracked(repository)
    bad = 0
    for check in sys.argv[2:]:
        for violation in CHECKS[check](repository, names):
            print(violation)
            bad += 1
    print(f"{len(names)} files looked at, {bad} violations")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
