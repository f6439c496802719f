"""Write the page of all codes from their registry: python scripts/codes.py"""

from __future__ import annotations

from pathlib import Path

from warmstart.core import CODES, FAMILIES

PAGE = Path(__file__).parents[1] / "docs" / "codes.md"
TOP = """# Codes

Every remark, assumption and error has a code: one for each kind, whatever the place it comes from. Programs can look
for it (`notes[].code`, `assumptions[].code` and `withheld` in the JSON, `error.code` in Python, in brackets behind an
error of the command line); people can ask what it means:

```
warmstart explain WS104
```

or `ws.explain("WS104")`. This page is written from the same registry, by `python scripts/codes.py`.
"""


def text() -> str:
    """Return the page as it is stored."""
    parts = [TOP]
    for start, family in FAMILIES.items():
        own = [one for one in CODES.values() if one.code.startswith(start)]
        rows = [f"| [{one.code}](#{one.code.lower()}) | {one.title} |" for one in own]
        parts.append("\n".join([f"## {start}xx: {family}\n", "| code | title |", "|---|---|", *rows, ""]))
        for one in own:
            body = f"**{one.title}.** {one.meaning}\n\n*Why it matters.* {one.why}\n\n*What to do.* {one.remedy}\n"
            parts.append(f"### {one.code}\n\n{body}")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
