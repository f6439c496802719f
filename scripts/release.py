"""Build what a release consists of, and try it: python scripts/release.py (make release). Publishing is by hand.

Into dist/ go the sdist, the wheel that was built from it, requirements with hashes, a bill of materials (CycloneDX),
the licences of all that is installed or embedded in pages, and the hashes of these files. The wheel is installed by its
hashes, and the sdist as it is, in clean environments of every Python from 3.11 that is at hand, and used there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
LEAST, MOST = 11, 16
BILL = "cyclonedx-bom==7.5.0"
LICENSES = "pip-licenses==5.5.5"
# What vl-convert bundles into pages, and under which licence; packages without a version follow those that have one.
EMBEDDED = (
    ("BSD-3-Clause", "vega vega-lite vega-embed vega-themes vega-tooltip vega-interpreter vega-schema-url-parser"),
    (
        "ISC",
        (
            "d3-array d3-color d3-delaunay d3-dispatch d3-dsv d3-force d3-format d3-geo d3-geo-projection d3-hierarchy "
            "d3-interpolate d3-path d3-quadtree d3-scale d3-scale-chromatic d3-shape d3-time d3-time-format d3-timer "
            "delaunator internmap semver topojson-client"
        ),
    ),
    ("MIT", "fast-json-patch json-stringify-pretty-compact"),
    ("Unlicense", "robust-predicates"),
)
# What is done with every installation: the sums are known.
LOG = "page,ad,click\n" + "p,a,1\np,b,0\nq,a,1\nq,b,0\n" * 200
TRIALS = (
    ("--version",),
    ("init", "log.csv", "--yes"),
    ("evaluate", "--policy", "best=constant:a", "--html", "page.html"),
    ("check", "--policy", "best=constant:a", "--verdict", "better", "--evidence", "certified"),
    ("check", "--policy", "best=constant:a", "--min-events", "800", "--junit", "check.xml"),
)
# The demo, which takes a minute, is run with the first Python.
DEMO = ("demo", "--scale", "small")
VALIDATE = (
    "import sys; from cyclonedx.schema import SchemaVersion; "
    "from cyclonedx.validation.json import JsonStrictValidator; "
    "wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()); "
    "sys.exit(str(wrong) if wrong else 0)"
)


def main() -> None:
    """Build, describe and try a release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="try one Python, and leave out the demo")
    quick = parser.parse_args().quick
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text():
        sys.exit(f"CHANGELOG.md has no section [{version}].")
    changed = run("git", "status", "--porcelain", cwd=ROOT)
    if changed and not quick:
        sys.exit(f"Commit first, so that the release is that of a commit:\n{changed}")
    shutil.rmtree(DIST, ignore_errors=True)
    wheel, sdist = build(version)
    requirements = DIST / f"warmstart-{version}-requirements.txt"
    requirements.write_text(hashed([wheel, sdist], version))
    pythons = interpreters()
    say(f"Pythons at hand: {', '.join(map(str, pythons.values()))}")
    for number, python in enumerate(list(pythons.values())[: 1 if quick else None]):
        with tempfile.TemporaryDirectory() as folder:
            own = environment(python, Path(folder, "wheel"), "--require-hashes", "-r", str(requirements))
            use(own, Path(folder, "use"), TRIALS if quick or number else (*TRIALS, DEMO))
            if not (DIST / "THIRD-PARTY-LICENSES.md").exists():
                describe(own, version)
            if not quick:
                plain = environment(python, Path(folder, "sdist"), str(sdist), "-c", "requirements/core.txt")
                use(plain, Path(folder, "use-sdist"), TRIALS[:3])
        say(f"{python}: works")
    files = sorted(path for path in DIST.iterdir() if path.is_file() and path.name != ".gitignore")
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in files)
    (DIST / "SHA256SUMS").write_text(sums)
    say(sums.rstrip())


def build(version: str) -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel, with the time of the commit, so that others get the same bytes."""
    epoch = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    uv("build", "--quiet", "--out-dir", str(DIST), str(ROOT), SOURCE_DATE_EPOCH=epoch)
    return next(DIST.glob(f"warmstart-{version}-*.whl")), DIST / f"warmstart-{version}.tar.gz"


def hashed(built: list[Path], version: str) -> str:
    """Return the pinned dependencies, and warmstart itself, with the hashes of their files."""
    words = ("--quiet", "--python-version", f"3.{LEAST}", "--generate-hashes")
    silent = ("--no-emit-index-url", "--no-annotate", "--no-header")
    pins = uv("pip", "compile", *words, *silent, str(ROOT / "requirements" / "core.txt"))
    own = " \\\n".join([f"warmstart=={version}", *(f"    --hash=sha256:{digest(path)}" for path in built)])
    return f"{pins.rstrip()}\n{own}\n"


def interpreters() -> dict[int, Path]:
    """Return a Python of every minor version that is at hand: on the path, of pyenv, or of uv."""
    places = [Path(found) for minor in range(LEAST, MOST) if (found := shutil.which(f"python3.{minor}"))]
    places += sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob("3.*/bin/python"))
    places += sorted(Path(uv("python", "dir").strip()).glob("*/bin/python3"))
    code = "import sys; print(sys.version_info.minor, sys.executable)"
    pythons: dict[int, Path] = {}
    for place in places:
        answer = subprocess.run([str(place), "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
        if answer.returncode == 0:
            minor, executable = answer.stdout.split(maxsplit=1)
            if int(minor) >= LEAST:
                pythons.setdefault(int(minor), Path(executable.strip()))
    return dict(sorted(pythons.items()))


def environment(python: Path, folder: Path, *install: str) -> Path:
    """Make a clean environment with something installed; return its Python."""
    uv("venv", "--quiet", "--python", str(python), str(folder))
    own = folder / "bin" / "python"
    uv("pip", "install", "--quiet", "--python", str(own), "--find-links", str(DIST), *install)
    return own


def use(python: Path, folder: Path, trials: tuple[tuple[str, ...], ...]) -> None:
    """Use an installation from a folder of its own."""
    folder.mkdir()
    (folder / "log.csv").write_text(LOG)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for words in trials:
        run(str(python.parent / "warmstart"), *words, cwd=folder, env=clean)
    if "vegaEmbed" not in (folder / "page.html").read_text(encoding="utf-8"):
        sys.exit("The page has no charts.")


def describe(python: Path, version: str) -> None:
    """Write the bill of materials and the licences of an installation, and of the JavaScript in its pages."""
    bill, scripts = DIST / f"warmstart-{version}.cdx.json", embedded(python)
    words = ("environment", "--output-reproducible", "--of", "JSON", "--sv", "1.6", "--pyproject", "pyproject.toml")
    uv("tool", "run", "--quiet", "--from", BILL, "cyclonedx-py", *words, "-o", str(bill), str(python))
    known = json.loads(bill.read_text())
    known["components"] += [component(*one) for one in scripts]
    bill.write_text(json.dumps(known, indent=2) + "\n")
    uv("run", "--quiet", "--no-project", "--with", BILL, "python", "-c", VALIDATE, str(bill))
    listed = ("--format=markdown", "--order=license", "--ignore-packages", "warmstart", f"--python={python}")
    table = uv("tool", "run", "--quiet", "--from", LICENSES, "pip-licenses", *listed)
    rows = "".join(f"| {name} | {known or 'as bundled'} | {licence} |\n" for name, known, licence in scripts)
    (DIST / "THIRD-PARTY-LICENSES.md").write_text(
        f"# What warmstart {version} installs\n\n{table}\n"
        "# JavaScript in its pages\n\nBundled at run time by vl-convert-python, and embedded in pages (`--html`).\n\n"
        f"| Name | Version | License |\n|---|---|---|\n{rows}"
    )


def embedded(python: Path) -> list[tuple[str, str | None, str]]:
    """Return the JavaScript packages in a page: name, version where vl-convert tells it, licence."""
    code = (
        "import json, vl_convert as v; print(json.dumps({'vega': v.get_vega_version(), 'vega-lite': "
        "v.get_vegalite_versions()[-1], 'vega-embed': v.get_vega_embed_version(), 'vega-themes': "
        "v.get_vega_themes_version()}))"
    )
    versions = json.loads(run(str(python), "-c", code, cwd=ROOT))
    return [(name, versions.get(name), licence) for licence, names in EMBEDDED for name in names.split()]


def component(name: str, version: str | None, licence: str) -> dict[str, Any]:
    """Return a JavaScript package as a bill of materials has it."""
    address = f"pkg:npm/{name}" + (f"@{version}" if version else "")
    one = {"type": "library", "bom-ref": address, "name": name, "purl": address}
    return one | ({"version": version} if version else {}) | {"licenses": [{"license": {"id": licence}}]}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def uv(*words: str, **environment: str) -> str:
    """Run uv in the project's folder; return what it printed."""
    return run(sys.executable, "-m", "uv", *words, cwd=ROOT, env={**os.environ, **environment})


def run(*words: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command; return what it printed, or end with what it said."""
    ran = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if ran.returncode != 0:
        sys.exit(f"{' '.join(words)}\nended with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}")
    return ran.stdout


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
