"""Turns each comparison of the decision model in turn, and sees whether the transcripts notice.

    python3 model_mutants.py [--allowed COUNT] PATH...

A comparison that can be turned without a difference is one that no history reaches, so that the
same fault in the gateway would not be found. Exits with 1 if there are more than COUNT (0) that are
not named here: a few hundred histories reach all. Where the model asks whether there is a counter,
a further mutant takes every key for one that counts, which only the requests of phones show.
"""

import argparse
import ast
import os
import sys

import decision_model
import decision_stores

NEGATED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
           ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
           ast.IsNot: ast.Is}
# Off by one.
SHIFTED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
# Whether there is a counter, as if every key counted.
COUNTING = {ast.Is: False, ast.IsNot: True}

# Why a turned comparison decides the same; by the mutant's own text.
EQUIVALENT = {
    "counter < self.highest": "a counter that comes again leaves the highest as it is",
    "self.rising >= self.settled": "they are equal only where nothing rises",
    "floor.settled < floor.raised": "what the registry has it may be given again",
    "clock < until": "a mark goes a minute after its challenge has ended, by the same clock",
}


class Turn(ast.NodeTransformer):
    """Replaces the operator of one comparison."""

    def __init__(self, target, operator):
        self.target = target
        self.operator = operator
        self.count = -1
        self.text = None
        self.line = 0

    def visit_Compare(self, node):
        self.generic_visit(node)
        self.count += 1
        if self.count == self.target and type(node.ops[0]) in self.operator:
            self.line = node.lineno
            new = self.operator[type(node.ops[0])]
            if isinstance(new, bool):
                if ast.unparse(node.left).endswith("counter"):
                    self.text = f"{ast.unparse(node)}, for every key"
                    return ast.Constant(new)
                return node
            node.ops[0] = new()
            self.text = ast.unparse(node)
        return node


def trees():
    """The parts of the model, by the names of their files, in the order in which they need one
    another. What reads transcripts is no part of it."""
    for part in (decision_stores, decision_model):
        with open(part.__file__, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        end = next((number for number, node in enumerate(tree.body)
                    if isinstance(node, ast.FunctionDef) and node.name == "differences"), None)
        tree.body = [node for node in tree.body[:end]
                     if not isinstance(node, ast.ImportFrom) or node.module != "decision_stores"]
        yield os.path.basename(part.__file__), tree


def mutants():
    """Yields file, line, text and module of each."""
    counts = {name: sum(isinstance(node, ast.Compare) for node in ast.walk(tree))
              for name, tree in trees()}
    for mutated, count in counts.items():
        for operator in (NEGATED, SHIFTED, COUNTING):
            for target in range(count):
                turn = Turn(target, operator)
                module = {"__name__": "mutant"}
                for name, tree in trees():
                    tree = turn.visit(tree) if name == mutated else tree
                    code = compile(ast.fix_missing_locations(tree), "mutant", "exec")
                    exec(code, module)  # pylint: disable=exec-used
                if turn.text is not None:
                    yield mutated, turn.line, turn.text, module


def is_found(module, transcripts):
    """Whether a transcript tells the mutant from the gateway; a crash tells it, too."""
    for lines in transcripts:
        try:
            for _, told, decided in module["replay"](lines):
                if told != decided:
                    return True
        except (KeyError, AttributeError, TypeError):
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--allowed", type=int, default=0)
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    transcripts = []
    for path in decision_model.transcripts(options.paths):
        with open(path, encoding="utf-8") as file:
            transcripts.append(file.readlines())
    found, survivors = 0, 0
    for name, line, text, module in mutants():
        if is_found(module, transcripts):
            found += 1
        elif text in EQUIVALENT:
            print(f"equivalent: {text}: {EQUIVALENT[text]}")
        else:
            survivors += 1
            print(f"{name}:{line}: nobody notices: {text}")
    print(f"{found} mutants found, {survivors} not")
    return 1 if survivors > options.allowed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
