"""The words of a page, for readers who never heard of them."""

from warmstart.report.glossary import glossary


def test_the_glossary_has_the_words_of_the_field_and_of_the_log():
    bare, mine = glossary(), glossary({"context": ["page", "hour"], "action": "ad", "reward": "click"})
    text = " ".join(f"{term}: {meaning}" for term, meaning in bare)
    for word in ("off-policy evaluation", "behaviour policy", "importance weight", "overlap", "confidence interval"):
        assert word in text
    assert "{" not in text
    assert [term for term, _ in bare][1:4] == ["Context", "Action", "Reward"]
    assert [term for term, _ in mine][1] == "Context (here: page, hour)"
