"""The join, one event at a time, in plain Python."""

from collections import Counter


class RefusedError(Exception):
    pass


def join(  # noqa: C901  every rule in one place, so that it can be read against the guide
    impressions, outcomes, *, window=None, until=None, keep_young=False, duplicates="first", repeated="last"
):
    """Impressions are (key, time, value), outcomes (key, time, reward); a key is None where a part of it is null.

    Returns a list of (value, reward, outcome time) and the counts.
    """
    counts = Counter()
    whole = [row for row in impressions if row[0] is not None and row[1] is not None]
    counts["impressions with nulls"] = len(impressions) - len(whole)
    came = [row for row in outcomes if None not in row]
    counts["outcomes with nulls"] = len(outcomes) - len(came)
    if window is not None and until is None:
        until = max(time for _, time, _ in came)

    def young(time):
        return window is not None and time + window > until

    belonging = {i: [] for i in range(len(whole))}
    for key, time, reward in came:
        of_key = [i for i, row in enumerate(whole) if row[0] == key]
        earlier = [i for i in of_key if whole[i][1] <= time]
        if not of_key:
            counts["never shown"] += 1
            continue
        if not earlier:
            counts["before"] += 1
            continue
        last = max(whole[i][1] for i in earlier)
        if window is not None and time - last >= window:
            counts["outside"] += 1
            continue
        if young(last) and not keep_young:
            counts["of too young"] += 1
            continue
        mine = [i for i in earlier if whole[i][1] == last]
        if len(mine) > 1 or (repeated == "error" and len(of_key) > 1):
            raise RefusedError
        belonging[mine[0]].append((time, reward))

    written = []
    for i, (_, time, value) in enumerate(whole):
        counts["too young"] += young(time)
        if young(time) and not keep_young:
            continue
        mine = belonging[i]
        if not mine:
            written.append((value, 0.0, None))
            continue
        if len(mine) > 1 and duplicates == "error":
            raise RefusedError
        first = min(when for when, _ in mine)
        worth = [reward for when, reward in mine if duplicates != "first" or when == first]
        written.append((value, sum(worth) if duplicates == "sum" else max(worth), first))
        counts["rewarded"] += 1
        counts["duplicates"] += len(mine) - 1
    return written, counts
