"""Names, errors, windows and files that every room shares. Imports no other room."""

from __future__ import annotations

from warmstart.core.door import Door as Door

# As in core/door.py: without typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from warmstart.core.arrays import *  # noqa: F403
    from warmstart.core.codes import *  # noqa: F403
    from warmstart.core.errors import *  # noqa: F403
    from warmstart.core.files import *  # noqa: F403
    from warmstart.core.memory import *  # noqa: F403
    from warmstart.core.names import *  # noqa: F403
    from warmstart.core.outcomes import *  # noqa: F403
    from warmstart.core.progress import *  # noqa: F403
    from warmstart.core.temporaries import *  # noqa: F403
    from warmstart.core.text import *  # noqa: F403
    from warmstart.core.version import __version__ as __version__
    from warmstart.core.window import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "door": "Door",
        "arrays": "list_array number_array text_array to_arrow to_numpy with_given_names without_minus_zero",
        "codes": "CODES Code FAMILIES",
        "errors": "ColumnError DataError DecisionError DeviceError EmptyWindowError EngineError LaterVersionError "
        "MalformedLineError MissingValueError OutputError PropensityRangeError RewardRangeError SavedFileError "
        "SettingsError SourceError UsageError WarmstartError WarmstartWarning check_seed no_such_column",
        "files": "CHECK_MARK SETTINGS_MARK check_no_input check_output mark_of write_output write_parquet write_table "
        "write_tables",
        "memory": "check_address_space check_memory is_exhausted peak_gigabytes",
        "names": "ACTION ACTION_ERROR BEFORE CONTEXT_ERROR Columns DAY DECIDED EPOCH EVENTS EVENT_ID EVENT_WEIGHT "
        "EXPECTED FOLD LEFT_OUT MICROSECONDS_PER_DAY MODEL_VALUE NOISE OWN_EPOCH PART PROBABILITY PROPENSITY REWARD "
        "ROW SHOWN SPREAD TIME WINDOW_NAMES WindowName",
        "outcomes": "Outcome",
        "progress": "Progress silent",
        "temporaries": "remove temporary_folder temporary_path",
        "text": "counted excerpt first_lines is_unicode more percent printable quoted shortened",
        "version": "__version__",
        "window": "Moment Window date_of iso microseconds minute span timestamp",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
