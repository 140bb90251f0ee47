"""Every test of dbt-tests-adapter is run, or named with the reason why not."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance import official, registry
from conformance.official import Kind


def missing() -> list[str]:
    return [case.name for case in official.cases() if case.kind is Kind.MISSING]


def test_every_official_test_is_run_or_has_a_reason() -> None:
    assert missing() == []


def test_a_class_that_nothing_runs_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    without = {key: why for key, why in registry.NOT_APPLICABLE.items() if key != "BaseInvalidGrants"}
    monkeypatch.setattr(official, "NOT_APPLICABLE", without)
    assert missing() == ["BaseInvalidGrants.test_invalid_grants"]


def test_a_test_that_ours_overrides_is_missing_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    without = {key: why for key, why in registry.REWRITTEN.items() if key != "BaseSeedWithWrongDelimiter"}
    monkeypatch.setattr(official, "REWRITTEN", without)
    assert missing() == ["BaseSeedWithWrongDelimiter.test_seed_with_wrong_delimiter"]


def test_the_registry_names_what_exists() -> None:
    known = official.official_classes()
    tests = {f"{name}.{test}" for name, item in known.items() for test in official.tests_of(item)}
    named = {
        *registry.ABSTRACT,
        *registry.NOT_APPLICABLE,
        *registry.REWRITTEN,
        *registry.AT_ONCE_ONLY,
    }
    assert named - tests - set(known) == set()
    assert registry.NOT_APPLICABLE.keys() & registry.REWRITTEN.keys() == set()
    assert all(len(reason) > 15 for reason in registry.NOT_APPLICABLE.values())


def test_what_is_not_applicable_is_not_run_by_any_class_of_ours() -> None:
    for item in official.our_classes():
        for base in official.answered_by(item):
            assert base.__name__ not in registry.NOT_APPLICABLE
            for test in official.tests_of(item):
                assert f"{base.__name__}.{test}" not in registry.NOT_APPLICABLE


def test_rewritten_tests_have_one_runner_which_exists() -> None:
    ours = official.our_classes()
    times = Counter(item.__name__ for item in ours)
    by_name = {item.__name__: item for item in ours}
    for name, (runner, _) in registry.REWRITTEN.items():
        class_name, _, test = runner.partition(".")
        assert times[class_name] == 1, name
        assert test in ("", *official.tests_of(by_name[class_name])), name


def test_dbt_runs_no_abstract_class_itself() -> None:
    known = official.official_classes()
    for name in registry.ABSTRACT:
        derived = {item.__name__ for item in known[name].__subclasses__() if official.is_official(item)}
        assert derived & known.keys(), name
        assert not any(item.startswith("Test") for item in derived), name
