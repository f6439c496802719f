"""Names and kinds of policies."""

import pytest

import warmstart as ws
from warmstart.policy import parse_policies


def test_names_are_split_at_the_first_equals_sign_unless_the_whole_is_a_path(tmp_path):
    odd = tmp_path / "a=b.csv"
    odd.write_text("context,action\n")
    named = parse_policies(["mine=x=y.csv", str(odd), "logging", "constant:a=b"])
    assert [(policy.name, policy.source) for policy in named] == [
        ("mine", "x=y.csv"),
        ("a=b", str(odd)),
        ("logging", "logging"),
        ("constant:a=b", "constant:a=b"),
    ]


def test_keywords_win_over_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logging").write_text("")
    assert parse_policies("logging")[0].keyword == "logging"
    assert parse_policies("./logging")[0].keyword is None


def test_a_column_is_named_like_a_constant():
    named = parse_policies(["column:shadow", "mine=column:shadow"])
    assert [(policy.name, policy.column) for policy in named] == [("column:shadow", "shadow"), ("mine", "shadow")]
    assert all(policy.is_decisions and policy.keyword is None for policy in named)


def test_code_is_named_after_itself():
    def by_page(contexts):
        return contexts

    class Model:
        def predict(self, contexts):
            return contexts

    named = parse_policies([by_page, Model(), Model().predict, lambda contexts: contexts][:2])
    assert [policy.name for policy in named] == ["by_page", "Model"]
    assert [policy.name for policy in parse_policies(["logging", lambda contexts: contexts])] == ["logging", "policy_1"]
    with pytest.raises(ws.UsageError, match=r"2 policies are called 'Model'.*in Python \{name: policy\}"):
        parse_policies([Model(), Model().predict])


def test_a_bare_word_is_told_what_it_could_be():
    with pytest.raises(ws.SourceError, match=r"no file 'shadow', and no such policy.*column:shadow.*constant:shadow"):
        parse_policies("shadow")


def test_two_policies_of_one_name_are_refused():
    with pytest.raises(ws.UsageError, match="2 policies are called 'uniform'"):
        parse_policies(["uniform", "uniform"])
