"""A copy of the tree with the mutants in its code."""
import hashlib, pathlib, re, subprocess, sys

from switched import Line

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / ".build-mutation"
TREE = WORK / "tree"
CHOSEN = """import Foundation

/// The number of the mutant that runs.
public let chosenMutant = ProcessInfo.processInfo.environment["NESS_MUTANT"].flatMap { Int($0) } ?? 0
"""
# The text of each file that has mutants, as it is without them.
UNCHANGED = {}


def copy_tree():
    """Copies what git knows or would add, but for what is mutated, which it keeps in `UNCHANGED`. A file that is equal keeps its time, so that it
    is not compiled again. Returns a digest of the code and the tests."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names, digest = sorted({name for name in listed.splitlines() if (ROOT / name).is_file()}), hashlib.sha256()
    for path in [path for folder in ["Sources", "Tests"] for path in (TREE / folder).rglob("*") if path.is_file()]:
        if str(path.relative_to(TREE)) not in names and path.name != "ChosenMutant.swift":
            path.unlink()
    for name in names:
        text = (ROOT / name).read_bytes()
        if name.endswith(".swift") and name.startswith(("Sources/", "Tests/")):
            digest.update(text)
        if name.endswith(".swift") and name.startswith(("Sources/NessHTTP/", "Sources/NessPromise/")):
            UNCHANGED[pathlib.Path(name)] = text.decode()
        else:
            put(TREE / name, text)
    return digest.hexdigest()[:12]


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)


def build(todo):
    """Builds the tree with the mutants, and without those that do not compile, which it returns."""
    for folder in ["NessPromise", "NessHTTP/Support"]:
        put(TREE / "Sources" / folder / "ChosenMutant.swift", CHOSEN.encode())
    # Without debug information, and with LLVM's linker: a third of the time.
    options = ["--enable-code-coverage", "-Xswiftc", "-gnone", "-Xswiftc", "-suppress-warnings", "-Xlinker", "-fuse-ld=lld"]
    dropped = set()
    while True:
        written = switch([mutant for mutant in todo if mutant not in dropped])
        built = subprocess.run(["swift", "build", "--build-tests", *options], cwd=TREE, capture_output=True, text=True)
        if built.returncode == 0:
            return dropped
        before = len(dropped)
        errors = set(re.findall(r"^(/\S+\.swift):(\d+):(\d+): error: (.*)", built.stdout + built.stderr, re.M))
        # An unknown name is a consequence, if there is another error.
        consequences = {error for error in errors if re.match("cannot (?:find|infer)", error[3])}
        for group in [errors - consequences, consequences]:
            for file, line, column, message in sorted(group) if len(dropped) == before else []:
                name = pathlib.Path(file).relative_to(TREE)
                places = written.get((str(name), int(line)), {})
                own = {mutant for mutant, (first, last) in places.items() if first < int(column) <= last + 1} or set(places)
                dropped |= elsewhere(message, name, int(line), written) or own
        if len(dropped) == before:
            # A changed value can break a line that shares its type, in a closure.
            for file, line, _, _ in errors:
                near = [mutant for mutant in todo if mutant not in dropped and TREE / mutant.file == pathlib.Path(file)]
                dropped |= set(sorted(near, key=lambda mutant: (mutant.operator != "value replaced", abs(mutant.line - int(line))))[:1])
        print(f"# {len(dropped)} mutants do not compile", file=sys.stderr)
        if len(dropped) == before:
            sys.exit((built.stdout + built.stderr)[-5000:] + "the tree does not build")


def elsewhere(message, file, line, written):
    """Returns the mutants of an error that the compiler reports at another line of their function."""
    if not re.search("initializ|missing return", message):
        return set()
    lines = (TREE / file).read_text().split("\n")
    inside = [mutant for number in function(lines, line) for mutant in written.get((str(file), number), {})]
    if "initializ" in message:
        return {mutant for mutant in inside if mutant.operator == "statement removed" and re.match(r"\s*\w+ = ", mutant.old)}
    return {mutant for mutant in inside if mutant.operator == "case of its neighbour"} or set(inside)


def function(lines, line):
    """Returns the numbers of the lines of the function or closure around a line, or of the one that the line ends."""
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    first = line
    while first > 1:
        first -= 1
        text = lines[first - 1]
        outer = len(text) - len(text.lstrip())
        if (outer < indent or outer == indent and lines[line - 1].strip() == "}") and re.search(r"\{(?: .* in)?$", text) \
                and not re.match(r"\s*(?:\}|if|guard|for|while|switch|do)\b", text):
            break
    last = next((number for number in range(line, len(lines)) if lines[number - 1].startswith(" " * outer + "}")), line)
    return range(first, last + 1)


def switch(todo):
    """Writes the mutants into the tree. Returns their columns, by file and line."""
    by_file, written = {}, {}
    for mutant in todo:
        by_file.setdefault(mutant.file, {}).setdefault(mutant.line, []).append(mutant)
    for file, text in UNCHANGED.items():
        lines = text.split("\n")
        new = list(lines)
        for number, mutants in by_file.get(file, {}).items():
            line = Line(lines, number, mutants)
            new[number - 1], written[str(file), number] = line.text, line.places
        put(TREE / file, "\n".join(new).encode())
    return written
