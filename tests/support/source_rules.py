"""Rules of the source tree, each a function that returns what breaks it, as 'path:line what' or 'path what'."""

import ast
import collections
import graphlib
import re
import textwrap

LONGEST_FILE, LONGEST_FUNCTION = 350, 60
# Tests of statements, data or documents rather than of a module.
NOT_MIRRORED = {"attack", "benchmarks", "claims", "differential", "statistical", "house", "data", "docs"} | {
    "properties",
    "support",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def parsed(root):
    """Every Python file below a folder: its path from there, and its syntax tree."""
    for path in sorted(root.rglob("*.py")):
        yield path.relative_to(root), ast.parse(path.read_text(encoding="utf-8"))


def docstring(node):
    """The statement that is a node's docstring, if it has one."""
    first = node.body[0] if isinstance(node, DOCUMENTED) and node.body else None
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return first if is_text else None


def unwritable_docstrings(root):
    """Docstrings that are not Unicode: Python 3.13 refuses to compile them."""
    texts = [(path, docstring(node)) for path, tree in parsed(root) for node in ast.walk(tree)]
    texts = [(path, text) for path, text in texts if text]
    lone = re.compile("[\\ud800-\\udfff]")
    return [f"{path}:{text.lineno}" for path, text in texts if lone.search(text.value.value)]


def long_files(root):
    counts = {path: len((root / path).read_text(encoding="utf-8").splitlines()) for path, _ in parsed(root)}
    return [f"{path} {count} lines" for path, count in counts.items() if count > LONGEST_FILE]


def function_length(node):
    """Lines of a function; of a public one, those after its signature and docstring."""
    if node.name.startswith("_"):
        return node.end_lineno - node.lineno + 1
    text = docstring(node)
    return node.end_lineno - (text.end_lineno if text else node.body[0].lineno - 1)


def long_functions(root):
    return [
        f"{path}:{node.lineno} {node.name} {function_length(node)} lines"
        for path, tree in parsed(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and function_length(node) > LONGEST_FUNCTION
    ]


def imported(tree):
    """Modules that a file imports, wherever in it, with the line; of tests also the names, which may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names = [f"{module}.{alias.name}" for alias in node.names] if module.startswith("tests") else [module]
            yield from ((node.lineno, name) for name in names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


def import_cycles(package):
    """Rooms whose modules import each other in a circle, functions included; what only types need is left out."""
    found = []
    for room in sorted(path for path in package.iterdir() if path.is_dir()):
        modules = {f"{package.name}.{room.name}.{path.stem}": path for path in room.glob("[!_]*.py")}
        trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in modules.items()}
        wanted = {name: {module for _, module in imported(without_types(tree))} for name, tree in trees.items()}
        try:
            graphlib.TopologicalSorter({name: some & modules.keys() for name, some in wanted.items()}).prepare()
        except graphlib.CycleError:
            found.append(room.name)
    return found


def without_types(tree):
    """A module without the blocks that only type checkers read."""
    of_types = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    for node in of_types:
        node.body = [ast.Pass()]
    return tree


def divided_elsewhere(package):
    """Divisions of events by those of their context outside of the one place for tables and the one for arrays."""
    places = {"events/cells.py", "reward/examples.py"}
    return [
        f"{path}:{node.lineno} n / context_n"
        for path, tree in parsed(package)
        if path.as_posix() not in places
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        if [getattr(side, "attr", None) for side in (node.left, node.right)] == ["n", "context_n"]
    ]


def repeated_share(root, size=6):
    """The share of windows of so many lines of code that stand somewhere else too; imports do not count."""
    counts = collections.Counter()
    for path, tree in parsed(root):
        lines = [line.strip() for line in (root / path).read_text(encoding="utf-8").splitlines()]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom) or (node := docstring(node)):
                lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
        code = [line for line in lines if line and not line.startswith("#")]
        counts.update("\n".join(code[i : i + size]) for i in range(len(code) - size + 1))
    return sum(n for n in counts.values() if n > 1) / max(counts.total(), 1)


def past_the_door(package):
    """Imports of another room's module: across rooms, names come from the room itself."""
    return [
        f"{path}:{line} {name}"
        for path, tree in parsed(package)
        for line, name in imported(tree)
        if name.startswith(".") or (name.startswith(f"{package.name}.") and is_inner(name, path.parts[0]))
    ]


def is_inner(name, room):
    _, other, *inner = name.split(".")
    return bool(inner) and other != room


def without_a_module(tests, package):
    """Test files whose name is that of no module or package in the same place of the source."""
    missing = []
    for path in sorted(tests.rglob("test_*.py")):
        place = path.relative_to(tests).parent
        if place.parts and place.parts[0] not in NOT_MIRRORED:
            module = package / place / path.stem.removeprefix("test_")
            if not (module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()):
                missing.append(str(path.relative_to(tests)))
    return missing


def imports_of_tests(tests):
    """Imports of a test module, also in programs that a test keeps as text."""
    found = []
    for path, tree in parsed(tests):
        programs = [(0, tree)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value:
                programs += [(node.lineno - 1, inner) for inner in program(node.value)]
        found += [
            f"{path}:{above + line} {name}"
            for above, inner in programs
            for line, name in imported(inner)
            if name.startswith("tests.") and ".test_" in name
        ]
    return found


def program(text):
    """The syntax tree of a text, if it is Python."""
    try:
        yield ast.parse(textwrap.dedent(text))
    except SyntaxError:
        return
