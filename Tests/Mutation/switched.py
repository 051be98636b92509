"""Writes all mutants of a line into it, each behind `chosenMutant == its number`, so that one build has them all.

A line stays one line, so that errors of the compiler and counts of coverage name the line of the tree. What a line is decides how its mutants
are written:

    a statement              if chosenMutant == 7 { changed } else { statement }
    a case with a body       case .some: if chosenMutant == 7 { changed } else { body }
    a one-line body          var name: Int { if chosenMutant == 7 { changed } else { body } }
    a declaration            let name = if chosenMutant == 7 { changed } else { value }
    a clause of a condition  if let first, (chosenMutant == 7 ? (changed) : (clause)) {
    a number elsewhere       limit: Int = (chosenMutant == 7 ? 17 : 16)

A mutant that fits none of these is left out.
"""
import re

TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
CONTINUED = re.compile(r"(?:[(\[,=?:]|&&|\|\||\?\?|[^.]\.\.<|[-+*/]|\breturn|\bin\b.*\{)$")
CONTINUING = re.compile(r"\s*(?:\.\w|&&|\|\||\?|:|[-+*/] |\?\?|[)\]])")
MODIFIERS = r"(?:(?:public|package|internal|fileprivate|private|static|final|override|nonisolated(?:\(unsafe\))?|lazy|mutating|convenience|required|weak|unowned|" \
            r"private\(set\)|public\(set\)|@\w+(?:\([^)]*\))?) )*"
NOT_A_STATEMENT = re.compile(r"(?:let|var|func|init|deinit|subscript|case|default|struct|class|actor|enum|extension|protocol|import|typealias|public|package|internal|"
                             r"fileprivate|private|static|final|override|mutating|lazy|weak|unowned|indirect|convenience|required|nonisolated|async let|defer|"
                             r"get|set|willSet|didSet|else|catch|where)\b|[}\])@#.]|&&|\|\||\?")
DECLARATION = re.compile(r"\s*" + MODIFIERS + r"(?:let|var) [^={]*= (?P<part>.+)$")
BODY = re.compile(r"\s*" + MODIFIERS + r"(?:func|init|var|subscript|get|set|deinit)\b.*?\{ (?P<part>.+) \}$")
DEFER = re.compile(r"\s*defer \{ (?P<part>.+) \}$")
CASE = re.compile(r"\s*(?:case [^:]*(?::[^:]*)?|default): (?P<part>[^{}]*(?:\{.*\}[^{}]*)*)$")
CONDITION = re.compile(r"\s*(?:\} else )?(?:\w+: )?(?:if|while|guard) (?P<part>.+?)(?: else)? \{(?:[^{}]*\})?$")


def blank(line):
    return TEXT.sub(lambda match: '"' + "_" * (len(match.group()) - 2) + '"', line)


def is_balanced(text):
    return all(text.count(a) == text.count(b) for a, b in ["()", "[]", "{}"])


def common(old, new, begin, end):
    """Returns what stands in `new` for the part of `old` from `begin` to `end`, or nil if they differ elsewhere."""
    tail = len(old) - end
    if new[:begin] == old[:begin] and new.endswith(old[end:]) and len(new) >= begin + tail:
        return new[begin:len(new) - tail]


def clauses(text):
    """The places of the clauses of a condition: between commas outside of brackets."""
    found, depth, begin = [], 0, 0
    for place, character in enumerate(blank(text)):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            found.append((begin, place))
            begin = place + 2
    return found + [(begin, len(text))]


class Line:
    """A line with its mutants. `text` is the switched one, `places` has the columns of each mutant in it."""

    def __init__(self, lines, number, mutants):
        self.text, self.places, self.left_out = lines[number - 1], {}, []
        old, before = lines[number - 1], next((line for line in reversed(lines[:number - 1]) if line.strip()), "")
        after = lines[number] if number < len(lines) else ""
        bare = blank(old)
        isWhole = not CONTINUED.search(blank(before).rstrip()) and not CONTINUING.match(after) and is_balanced(bare)
        indent = len(old) - len(old.lstrip())
        if isWhole and (match := DEFER.match(bare)):
            self.statements(old, mutants, *match.span("part"))
        elif is_balanced(bare) and (match := CASE.match(bare)) and not CONTINUING.match(after) and match["part"].strip():
            self.statements(old, mutants, *match.span("part"))
        elif isWhole and (match := BODY.match(bare)):
            self.statements(old, mutants, *match.span("part"))
        elif isWhole and (match := DECLARATION.match(bare)) and len(clauses(match["part"])) == 1:
            self.statements(old, mutants, *match.span("part"))
        elif isWhole and not NOT_A_STATEMENT.match(bare[indent:]) and not re.match(r"guard .*\b(?:let|var|case)\b", bare[indent:]):
            self.statements(old, mutants, indent, len(old))
        elif match := CONDITION.match(bare):
            self.condition(old, mutants, *match.span("part"))
        else:
            self.numbers(old, bare, mutants)

    def write(self, old, begin, end, parts, form, last):
        text = old[:begin]
        for mutant, part in parts:
            head, tail = form(mutant.number)
            text += head
            self.places[mutant] = (len(text) - len(head), len(text) + len(part))
            text += part + tail
        self.text = text + last(old[begin:end]) + old[end:]

    def fitting(self, old, mutants, begin, end):
        parts = [(mutant, common(old, mutant.new, begin, end) if mutant.new.strip() else "") for mutant in mutants]
        self.left_out += [mutant for mutant, part in parts if part is None]
        return [(mutant, part) for mutant, part in parts if part is not None]

    def statements(self, old, mutants, begin, end):
        if parts := self.fitting(old, mutants, begin, end):
            self.write(old, begin, end, parts, lambda number: (f"if chosenMutant == {number} {{ ", " } else "), lambda part: f"{{ {part} }}")

    def condition(self, old, mutants, begin, end):
        options = []
        for first, last in clauses(old[begin:end]):
            binding = re.match(r"(?:let|var) [^=]+ = ", old[begin + first:begin + last])
            options.append((begin + first + (binding.end() if binding else 0), begin + last))
        by_clause = {}
        for mutant in mutants:
            fits = [option for option in options if common(old, mutant.new, *option) is not None] if mutant.new.strip() else []
            if len(fits) == 1 and "case " not in old[fits[0][0]:fits[0][1]]:
                by_clause.setdefault(fits[0], []).append(mutant)
            else:
                self.left_out.append(mutant)
        # From the end, so that earlier columns stay.
        text = old
        for begin, end in sorted(by_clause, reverse=True):
            parts = [(mutant, common(old, mutant.new, begin, end)) for mutant in by_clause[begin, end]]
            earlier, before = self.places, len(text)
            self.places = {}
            self.write(text, begin, end, parts, lambda number: (f"(chosenMutant == {number} ? (", ") : "), lambda part: f"({part})" + ")" * len(parts))
            grown = len(self.text) - before
            self.places |= {mutant: (first + grown, last + grown) for mutant, (first, last) in earlier.items()}
            text = self.text

    def numbers(self, old, bare, mutants):
        for mutant in mutants:
            found = next((match for match in re.finditer(r"(?<![\w.\"$])\d[\d_]*(?![\w.xb])", bare)
                          if (part := common(old, mutant.new, *match.span())) and part.isdigit()), None)
            if self.places or not found or "case " in old:
                self.left_out.append(mutant)
            else:
                parts = [(mutant, common(old, mutant.new, *found.span()))]
                self.write(old, *found.span(), parts, lambda number: (f"(chosenMutant == {number} ? ", " : "), lambda part: part + ")")
