"""The changes of a line that the tool makes."""
import re

from switched import Line, blank as blanked, is_balanced
from tree import ROOT

SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" && ", " || "),
         (" || ", " && ")]
EMPTY = [(r"Bool", None), (r".*\?", "nil"), (r"U?Int\d*", "0"), (r"Duration", ".zero"), (r"String", '""'), (r"Data", "Data()"),
         (r"\[.*:.*\]", "[:]"), (r"\[.*\]", "[]")]
SIGNATURE = re.compile(r"\b(?:func \S+.*->\s*(?P<function>[^{]+?)|var \w+\s*:\s*(?P<variable>[^={]+?))\s*(?:where .*)?\{")
# Words for people: nobody promised them.
WORDS = re.compile(r"\b(?:STDERR_FILENO|reason|description|debugDescription|warning|message|assert|precondition|print)\b|@available"
                   r"|^\s*(?:import|typealias|case let)\b")
LINUX = re.compile(r"os\(Linux\)|canImport\((?:FoundationNetworking|Glibc)\)|DEBUG")

CALL_OR_ASSIGNMENT = re.compile(r"(?:try |await |_ = )*[a-z_][\w.?!]*(?:\[[^\]]*\])?(?:\.\w+)*(?:\(.*\)|\(.*\) \{.*\}| [-+*|&]?= .+)$")
KEPT = re.compile(r"(?:return|throw|self\.init|super\.init|init|private|fileprivate|public|package|nonisolated)\b|self\.\w+ = ")


class Mutant:
    def __init__(self, file, line, operator, old, new):
        self.file, self.line, self.operator, self.old, self.new, self.number = file, line, operator, old, new, 0

    @property
    def key(self):
        return f"{self.file}:{self.line}\t{self.operator}\t{self.old.strip()} → {self.new.strip() or '(nothing)'}"

    @property
    def change(self):
        """The key without the number of the line, as `equivalent` lists it."""
        return str(self.file) + "\t" + self.key.split("\t", 1)[1]

    @property
    def room(self):
        parts = self.file.parts
        return parts[2] if parts[1] == "NessHTTP" and len(parts) > 3 else parts[1]


def code_lines(path):
    """Yields the number and text of each line that this system compiles and that is not only for people."""
    skipped, text = [], False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        bare = line.strip()
        if bare.startswith(("#if", "#elseif")):
            if bare.startswith("#elseif"):
                skipped.pop()
            skipped.append(bool(LINUX.search(bare)) == bool(re.match(r"#\w+ !", bare)))
        elif bare.startswith("#else") and skipped:
            skipped[-1] = not skipped[-1]
        elif bare.startswith("#endif") and skipped:
            skipped.pop()
        if line.count('"""') == 1:
            text = not text
        elif not (text or any(skipped) or not bare or bare.startswith(("//", "#", "@"))):
            yield number, line


def changes(line, returned):
    """Yields the operator and the new text of each change of a line."""
    blank = blanked(line)
    if WORDS.search(blank):
        return
    bare, indent = blank.strip(), line[:len(line) - len(line.lstrip())]
    isBalanced, isFixed = is_balanced(bare), False
    # A condition that binds nothing.
    if match := re.match(r"(?P<head>.*\b(?:if|while|guard) )(?P<condition>[^{]+?)(?P<tail> (?:else )?\{.*)$", blank):
        begin, end = match.span("condition")
        condition = line[begin:end]
        if not re.search(r"\b(?:let|var|case)\b|,|#available|^(?:true|false)$", blank[begin:end]) and blank[begin:end].count("(") == blank[begin:end].count(")"):
            isFixed = True
            yield "condition negated", f"{line[:begin]}!({condition}){line[end:]}"
            yield "condition true", f"{line[:begin]}true{line[end:]}"
            yield "condition false", f"{line[:begin]}false{line[end:]}"
    for old, new in SWAPS:
        for match in re.finditer(re.escape(old), blank):
            yield f"{old.strip()} for {new.strip()}", line[:match.start()] + new + line[match.end():]
    # Without what it guards, a fixed condition is the same.
    if re.match(r"guard [^{]*\belse \{.*\}$", bare) and not isFixed and not re.search(r"\b(?:let|var|case)\b", bare):
        yield "guard removed", indent
    if re.match(r"if [^{]*\{.*\}$", bare) and not isFixed:
        yield "if removed", indent
    if isBalanced and CALL_OR_ASSIGNMENT.match(bare) and not KEPT.match(bare):
        yield "statement removed", indent
    if re.match(r"defer \{.*\}$", bare):
        yield "defer removed", indent
    if match := re.match(r"\s*(?:return|case [^:]*: return) (?P<value>.+)$", blank):
        begin, end = match.span("value")
        if isBalanced and returned:
            yield from emptied(line, begin, end, returned)
    elif (match := SIGNATURE.search(blank)) and isBalanced and (body := re.search(r"\{ (?P<value>[^{}]+) \}$", blank)):
        begin, end = body.span("value")
        yield from emptied(line, begin, end, match.group("function") or match.group("variable"))
    for match in re.finditer(r"(?<![\w.\"$])(\d[\d_]*)(?![\w.xb])", blank):
        yield "number plus one", line[:match.start()] + str(int(match.group(1).replace("_", "")) + 1) + line[match.end():]
    for match in re.finditer(r", \w+: (?:\.?\w+(?:\.\w+)*|\"_*\")(?=\))", blank):
        if not re.search(r"\b(?:func|init|case)\b", blank):
            yield "argument left out", line[:match.start()] + line[match.end():]


def emptied(line, begin, end, kind):
    kind = kind.strip()
    for pattern, value in EMPTY:
        if re.fullmatch(pattern, kind):
            value = value or f"!({line[begin:end]})"
            if value != line[begin:end]:
                yield "value replaced", line[:begin] + value + line[end:]
            return


def mutants(path, only=None):
    """Returns the mutants of a file that can be switched."""
    found, returned, lines = [], None, path.read_text().splitlines()
    cases = re.compile(r"^\s*case [^:]*: (?P<body>[^{}]+)$")
    for number, line in code_lines(path):
        if match := SIGNATURE.search(line):
            returned = match.group("function") or match.group("variable")
        elif re.search(r"\b(?:func|init)\b.*\{$", line):
            returned = None
        if only is not None and number not in only:
            continue
        file = path.relative_to(ROOT)
        found += [Mutant(file, number, operator, line, new) for operator, new in changes(line, returned) if new != line]
        following = lines[number] if number < len(lines) else ""
        if (one := cases.match(line)) and (two := cases.match(following)) and one["body"] != two["body"] and not WORDS.search(line):
            if one["body"].count("(") == one["body"].count(")"):
                found.append(Mutant(file, number, "case of its neighbour", line, line[:one.start("body")] + two["body"]))
    by_line = {}
    for mutant in found:
        by_line.setdefault(mutant.line, []).append(mutant)
    left_out = {mutant for line, group in by_line.items() for mutant in Line(lines, line, group).left_out}
    return [mutant for mutant in found if mutant not in left_out]
