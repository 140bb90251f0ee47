"""A release has one number: in its tag, in the package and in the changelog."""

from __future__ import annotations

from check_release import problems

MODULE = 'version = "0.2.0"\n'
CHANGELOG = "# Changelog\n\n## [0.2.0] \u2013 2026-12-01\n\n### Added\n"


def test_a_release_that_fits_has_no_problems() -> None:
    assert problems("v0.2.0", MODULE, CHANGELOG) == []


def test_another_tag_is_named() -> None:
    assert problems("v0.2.1", MODULE, CHANGELOG) == [
        "Expected the tag v0.2.0, as the package's version is 0.2.0; found v0.2.1."
    ]


def test_a_section_without_a_date_is_no_release() -> None:
    (problem,) = problems("v0.2.0", MODULE, CHANGELOG.replace("2026-12-01", "unreleased"))
    assert "dated section [0.2.0]" in problem


def test_another_versions_section_does_not_count() -> None:
    (problem,) = problems("v0.2.0", MODULE, CHANGELOG.replace("0.2.0", "0.2.0b1"))
    assert "dated section" in problem
