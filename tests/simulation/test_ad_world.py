"""The ad month: what it writes, that it repeats itself, and that its truth is the truth."""

import hashlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

import warmstart as ws
from warmstart.simulation.streams import pair_hash, pair_normal

NUMBERS = {"events": 40_000, "n_contexts": 900, "n_actions": 300, "days": 12, "topics": 8, "vocabulary": 2_000}
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}


def month(folder, **numbers):
    return ws.simulate(folder / "month", **{**NUMBERS, **numbers})


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return month(tmp_path_factory.mktemp("world"), seed=3)


@pytest.fixture(scope="module")
def log(world):
    return pq.read_table(world.events_path)


def columns(log):
    days = (log["shown_at"].cast(pa.int64()).to_numpy() // 86_400_000_000).astype(int)
    return log["page"].to_numpy(), log["ad"].to_numpy(), log["click"].to_numpy(), days - days.min()


def digests(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_seed_writes_the_same_bytes_whatever_the_threads(tmp_path):
    options = {"random_share": 0.1, "reaction": 50.0, "drift": 0.2, "hidden": 0.3, "click_budget": 20.0}
    for name, threads in (("one", 1), ("two", 3)):
        (tmp_path / name).mkdir()
        month(tmp_path / name, threads=threads, seed=5, n_contexts=120_000, **options)
    one, two = (digests(tmp_path / name / "month") for name in ("one", "two"))
    assert one == two


def test_another_seed_writes_other_bytes(world, tmp_path):
    month(tmp_path, seed=4)
    assert digests(tmp_path / "month")["events.parquet"] != digests(world.events_path.parent)["events.parquet"]


def test_what_is_written(world, log):
    assert log.num_rows == NUMBERS["events"]
    pages, ads, clicks, days = columns(log)
    assert set(np.unique(clicks)) == {0, 1}
    assert (np.diff(log["shown_at"].cast(pa.int64()).to_numpy()) >= 0).all()
    assert set(days) == set(range(NUMBERS["days"]))
    assert pq.read_table(world.contexts_path)["page"].to_pylist() == list(range(NUMBERS["n_contexts"]))
    actions = pq.read_table(world.actions_path)
    assert actions["ad"].to_pylist() == list(range(NUMBERS["n_actions"]))
    assert pages.max() < NUMBERS["n_contexts"]
    assert ads.max() < NUMBERS["n_actions"]


def test_the_logger_is_deterministic_within_a_day_and_changes_from_day_to_day(world, log):
    pages, ads, _, days = columns(log)
    chosen = {}
    for page, ad, day in zip(pages.tolist(), ads.tolist(), days.tolist(), strict=True):
        chosen.setdefault((page, day), set()).add(ad)
    assert max(map(len, chosen.values())) == 1
    for (page, day), (ad,) in ((key, tuple(found)) for key, found in chosen.items()):
        assert ad == world.population.candidates[page, world.chosen[day, 0, page]]
    busiest = Counter(pages.tolist()).most_common(20)
    kinds = Counter(page for page, _ in {(page, ad) for (page, _), found in chosen.items() for ad in found})
    assert np.mean([kinds[page] for page, _ in busiest]) > 3


def test_ads_are_shown_only_while_they_are_live(world, log):
    _, ads, _, days = columns(log)
    assert (world.starts[ads] <= days).all()
    assert (days < world.stops[ads]).all()
    assert 0.2 < np.mean(world.starts > 0) < 0.8
    assert 0.2 < np.mean(world.stops < NUMBERS["days"]) < 0.95
    assert pq.read_schema(world.actions_path).names == ["ad", "words", "frequencies", "text"]


def test_without_churn_nothing_starts_or_stops(tmp_path):
    still = month(tmp_path, churn=False)
    assert (still.starts == 0).all()
    assert (still.stops == NUMBERS["days"]).all()


def test_clicks_come_with_the_probability_that_the_truth_says(world, log):
    """Sums of clicks by tenth of the predicted probability, against their mean and variance."""
    pages, ads, clicks, _ = columns(log)
    mu = world.population.click_probability(pages, ads.astype(np.int32)).astype(float)
    tenth = np.argsort(np.argsort(mu)) * 10 // len(mu)
    sums = [np.bincount(tenth, weights=values) for values in (clicks, mu, mu * (1 - mu))]
    statistic = ((sums[0] - sums[1]) ** 2 / sums[2]).sum()
    assert statistic < chi2.ppf(0.999, 10)
    assert 0.01 < clicks.mean() < 0.04


def test_the_value_of_a_policy_is_the_mean_over_events_of_what_it_would_earn(world, log):
    rng = np.random.default_rng(0)
    pages, ads = (
        np.arange(0, NUMBERS["n_contexts"], 2).repeat(2),
        rng.integers(NUMBERS["n_actions"], size=NUMBERS["n_contexts"]),
    )
    policy = pa.table({"page": pages, "ad": ads[: len(pages)], "probability": np.tile([0.7, 0.3], len(pages) // 2)})
    mu = world.population.click_probability(pages, policy["ad"].to_numpy().astype(np.int32))
    earned = np.zeros(NUMBERS["n_contexts"])
    np.add.at(earned, pages, policy["probability"].to_numpy() * mu)
    events = ws.read_events(log, **NAMES)
    _, late = events.split(fraction=0.6)
    shown, _, _, _ = columns(log)
    assert world.true_value(policy, events=events) == pytest.approx(earned[shown].mean(), rel=1e-6)
    after = shown[-len(late) :]
    assert ws.true_value(policy, world, events=late) == pytest.approx(earned[after].mean(), rel=1e-6)
    assert world.traffic.sum() == pytest.approx(1)
    assert world.true_value(policy) == pytest.approx(earned @ world.traffic, rel=1e-6)


def test_with_drift_the_value_on_a_window_counts_the_days_of_its_events(tmp_path):
    drifting = month(tmp_path, drift=0.8)
    log = pq.read_table(drifting.events_path)
    pages, _, _, days = columns(log)
    ads = np.full(NUMBERS["n_contexts"], 7, dtype=np.int32)
    policy = pa.table({"page": np.arange(NUMBERS["n_contexts"]), "ad": ads})
    mu = drifting.population.click_probability(np.arange(NUMBERS["n_contexts"]), ads)
    _, late = ws.read_events(log, **NAMES).split(fraction=0.6)
    factor = np.array([drifting.population.drift(np.array([7]), day)[0] for day in range(NUMBERS["days"])])
    expected = (mu[pages] * factor[days])[-len(late) :].mean()
    assert abs(expected / mu[pages][-len(late) :].mean() - 1) > 0.05
    assert drifting.true_value(policy, events=late) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("random_share", [0.0, 0.3])
def test_the_averaged_logging_policy_earns_what_logging_is_expected_to_earn(tmp_path, random_share):
    world = month(tmp_path, random_share=random_share, events=200_000)
    log = pq.read_table(world.events_path)
    pages, ads, _, _ = columns(log)
    _, late = ws.read_events(log, **NAMES).split(at="2026-10-07")
    table = world.logging_policy(events=late)
    assert np.allclose(np.bincount(table["page"].to_numpy(), weights=table["probability"].to_numpy())[pages[-9:]], 1)
    shown = world.population.click_probability(pages, ads.astype(np.int32))[-len(late) :].mean()
    assert world.true_value(table, events=late) == pytest.approx(shown, rel=0.01 if random_share else 1e-6)


def test_best_policies_are_the_best(world, log):
    events = ws.read_events(log, **NAMES)
    best = world.best_policy()
    chosen = dict(zip(best["page"].to_pylist(), best["ad"].to_pylist(), strict=True))
    for page in range(0, NUMBERS["n_contexts"], 37):
        ads = world.population.candidates[page]
        ads = ads[ads >= 0]
        mu = world.population.click_probability(np.full(len(ads), page), ads)
        assert chosen[page] == ads[mu.argmax()]
    cells = pa.table({"page": log["page"], "ad": log["ad"]}).group_by(["page", "ad"]).aggregate([])
    seen = world.best_policy(cells)
    assert seen.num_rows == len(set(log["page"].to_pylist()))
    daily = world.best_daily_policy(events=events)
    logged = world.logging_policy(events=events)
    values = [world.true_value(policy, events=events) for policy in (best, daily, logged)]
    assert values[0] > values[1] > values[2] * 1.2
    assert values[0] > world.true_value(seen, events=events) > values[2]


def test_the_daily_policys_table_says_what_was_live(world, log):
    """Recompute the shares of one page by hand, day by day."""
    events = ws.read_events(log, **NAMES)
    pages, _, _, days = columns(log)
    page = Counter(pages.tolist()).most_common(1)[0][0]
    ads = world.population.candidates[page]
    ads = ads[ads >= 0]
    mu = world.population.click_probability(np.full(len(ads), page), ads)
    shares = Counter()
    for day, n in Counter(days[pages == page].tolist()).items():
        live = (world.starts[ads] <= day) & (day < world.stops[ads])
        shares[int(ads[np.where(live, mu, -1).argmax()])] += n / (pages == page).sum()
    table = world.best_daily_policy(events=events)
    rows = table.filter(pa.compute.field("page") == page)
    assert dict(zip(rows["ad"].to_pylist(), rows["probability"].to_pylist(), strict=True)) == pytest.approx(
        dict(shares)
    )


def test_words_and_text_agree_and_tell_topics(world):
    rows = pq.read_table(world.actions_path).to_pylist()
    lengths = [len(row["words"]) for row in rows]
    assert 24 <= np.mean(lengths) <= 36
    for row in rows[:50]:
        assert Counter(row["text"].split()) == dict(zip(row["words"], row["frequencies"], strict=True))
    pages = pq.read_table(world.contexts_path).to_pylist()
    assert 40 <= np.mean([len(row["words"]) for row in pages]) <= 60
    topics = world.population.ad_topics[:, 0]
    sets = [set(row["words"]) for row in rows]
    same = [len(sets[i] & sets[j]) for i in range(60) for j in range(i) if topics[i] == topics[j]]
    other = [len(sets[i] & sets[j]) for i in range(60) for j in range(i) if topics[i] != topics[j]]
    assert np.mean(same) > 1.5 * np.mean(other)


def test_a_reacting_logger_follows_clicks_from_the_second_day_on(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    still, reacting = month(tmp_path / "a", churn=False), month(tmp_path / "b", churn=False, reaction=100.0)
    assert (still.chosen[0] == reacting.chosen[0]).all()
    assert (still.chosen[5] != reacting.chosen[5]).any()
    values = [w.true_value(w.logging_policy()) for w in (still, reacting)]
    assert values[1] > values[0]


def test_budgets_paid_by_click_stop_ads(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    still, limited = month(tmp_path / "a", churn=False), month(tmp_path / "b", churn=False, click_budget=3.0)
    assert (still.stops == NUMBERS["days"]).all()
    stopped = limited.stops < NUMBERS["days"]
    log = pq.read_table(limited.events_path)
    _, ads, clicks, _ = columns(log)
    by_ad = np.bincount(ads[clicks == 1], minlength=NUMBERS["n_actions"])
    assert stopped.sum() > 10
    assert by_ad[stopped].min() >= 2


def test_a_hidden_segment_makes_the_logger_look_better_than_its_table(tmp_path):
    world = month(tmp_path, hidden=0.8, events=200_000)
    assert world.chosen.shape[1] == 2
    log = pq.read_table(world.events_path)
    events = ws.read_events(log, **NAMES)
    earned = ws.evaluate("logging", events, tau=0.1)["logging"]
    assert earned.lower > world.true_value(world.logging_policy(events=events), events=events) * 1.1


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"events": 0}, "events must be"),
        ({"n_contexts": 1.5}, "n_contexts must be a whole number"),
        ({"random_share": 1.2}, "random_share must be"),
        ({"drift": float("nan")}, "drift must be"),
        ({"n_actions": 9}, "too few for 8 topics"),
        ({"events": 5}, "cannot fill 12 days"),
        ({"vocabulary": 10}, "words are too few"),
        ({"scale": "huge"}, "no scale 'huge'"),
        ({"clicks": 3}, "no setting 'clicks'"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_before_anything_is_written(tmp_path, numbers, message):
    with pytest.raises(ws.UsageError, match=message):
        month(tmp_path, **numbers)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["writing events", "writing pages"])
def test_an_interrupted_run_leaves_nothing(tmp_path, step):
    def interrupt(name, share=None, detail=""):
        if name == step and share >= 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        month(tmp_path, on_progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "month").mkdir()
    (tmp_path / "month" / "mine.txt").write_text("keep")
    with pytest.raises(ws.UsageError, match="already there"):
        month(tmp_path)
    assert (tmp_path / "month" / "mine.txt").read_text() == "keep"


def test_a_damaged_month_is_a_typed_error(tmp_path):
    with pytest.raises(ws.SourceError, match="no simulated month"):
        ws.AdWorld.open(tmp_path)
    world = month(tmp_path)
    (world.folder / "truth" / "quality.npy").write_bytes(b"\x80\x04.")
    with pytest.raises(ws.SourceError, match="no simulated month"):
        ws.AdWorld.open(world.folder)


def test_policies_that_do_not_fit_the_world(world, log):
    with pytest.raises(ws.UsageError, match="no column 'ad'"):
        world.true_value(pa.table({"page": [1]}))
    with pytest.raises(ws.UsageError, match="not in the world"):
        world.true_value(pa.table({"page": [1], "ad": [10**6]}))
    with pytest.raises(ws.UsageError, match="depends on a window"):
        ws.true_value("uniform", world)
    events = ws.read_events(log, context="ad", action="page", reward="click", time="shown_at")
    with pytest.raises(ws.UsageError, match="context 'page'"):
        world.true_value(world.best_policy(), events=events)


def test_a_named_policy_is_valued_on_its_window(world, log):
    early, late = ws.read_events(log, **NAMES).split(fraction=0.65)
    table = ws.policy_table("uniform", late, train=early)
    expected = world.true_value(table, events=late)
    assert ws.true_value("uniform", world, events=late, train=early) == pytest.approx(expected, rel=1e-12)


def test_pair_hashes_are_spread_and_pair_normals_are_nearly_normal():
    one, other = np.arange(300_000) % 1000, np.arange(300_000) // 1000
    bits = pair_hash(1, one, other)
    assert len(np.unique(bits)) == len(bits)
    ones = np.array([((bits >> np.uint64(i)) & np.uint64(1)).mean() for i in range(64)])
    assert np.abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(len(bits))
    normal = pair_normal(1, one, other)
    assert abs(normal.mean()) < 0.01
    assert abs(normal.std() - 1) < 0.01
