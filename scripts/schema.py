"""Write the JSON Schemas of results and of warmstart.toml from their dataclasses: python scripts/schema.py"""

from __future__ import annotations

import json
from pathlib import Path

from warmstart.pipeline import config_schema
from warmstart.results.schema import result_schema

FOLDER = Path(__file__).parents[1] / "docs" / "schema"
SCHEMA, CONFIG = FOLDER / "result.schema.json", FOLDER / "warmstart.schema.json"


def text() -> str:
    """Return the schema of results as it is stored."""
    return json.dumps(result_schema(), indent=2) + "\n"


def config_text() -> str:
    """Return the schema of settings files as it is stored."""
    return json.dumps(config_schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA.parent.mkdir(exist_ok=True)
    SCHEMA.write_text(text(), encoding="utf-8")
    CONFIG.write_text(config_text(), encoding="utf-8")
