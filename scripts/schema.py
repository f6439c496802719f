"""Write the JSON Schema of results from their dataclasses: python scripts/schema.py"""

from __future__ import annotations

import json
from pathlib import Path

from warmstart.results.schema import result_schema

SCHEMA = Path(__file__).parents[1] / "docs" / "schema" / "result.schema.json"


def text() -> str:
    """Return the schema as it is stored."""
    return json.dumps(result_schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA.parent.mkdir(exist_ok=True)
    SCHEMA.write_text(text(), encoding="utf-8")
