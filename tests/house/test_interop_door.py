"""The room's door."""

import subprocess
import sys

import warmstart as ws
from warmstart import interop
from warmstart.interop import export_log, obp


def test_every_name_resolves_and_the_library_has_the_same():
    for name in interop.__all__:
        assert getattr(interop, name) is not None
    assert ws.export is interop.export is export_log.export
    assert ws.to_obp is interop.to_obp is obp.to_obp


def test_the_door_loads_nothing_heavy():
    code = "import warmstart.interop, sys; sys.exit(bool({'ibis', 'numpy', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
