"""The feed generator repeats itself, contains every unkind case, and its oracle is right."""

from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from generate_feeds import (
    DELETE_PREFIX,
    INSERT_PREFIX,
    Change,
    FeedConfig,
    FeedFile,
    epoch,
    expected_master,
    feed_date,
    generate,
    stories,
    write,
)

SMALL = FeedConfig(products=400, days=5, changes_per_day=120)


@pytest.fixture(scope="module")
def files() -> list[FeedFile]:
    return generate(SMALL)


def change(product_id: str, ts: int, *, price: int = 1, is_delete: bool = False) -> Change:
    return Change(product_id, "camera", "canon", Decimal(price), 1, ts, is_delete)


def master_of(*batches: list[Change]) -> dict[str, Change]:
    files = [FeedFile(f"f{day}", day, tuple(rows)) for day, rows in enumerate(batches)]
    return expected_master(files, len(batches))


def test_same_config_gives_the_same_files() -> None:
    first = [(f.name, f.text()) for f in generate(SMALL)]
    assert first == [(f.name, f.text()) for f in generate(SMALL)]


def test_other_seed_gives_other_files() -> None:
    other = generate(FeedConfig(seed=1, products=400, days=5, changes_per_day=120))
    assert [f.text() for f in other] != [f.text() for f in generate(SMALL)]


def test_prefix_and_date_of_a_file_name_tell_what_it_holds(files: list[FeedFile]) -> None:
    for file in files:
        prefix, landed = file.name[: file.name.index("_") + 1], file.name.split("_")[1]
        assert prefix in (INSERT_PREFIX, DELETE_PREFIX)
        assert landed.startswith(str(feed_date(file.day)))
        assert {row.is_delete for row in file.changes} == {prefix == DELETE_PREFIX}


def test_no_product_has_two_different_changes_at_one_time(files: list[FeedFile]) -> None:
    seen: dict[tuple[str, int], set[Change]] = defaultdict(set)
    for file in files:
        for row in file.changes:
            seen[row.product_id, row.ts].add(row)
    assert [rows for rows in seen.values() if len(rows) > 1] == []


def test_default_feed_holds_every_unkind_case() -> None:
    files = generate(FeedConfig())
    rows = [(f.day, row) for f in files for row in f.changes]
    by_file = {f.name: f.changes for f in files}
    highest: dict[str, int] = {}
    deleted_at: dict[str, int] = {}
    cases: Counter[str] = Counter()
    category: dict[str, str | None] = {}
    for file in files:
        if file.day > 0:
            per_product = Counter({row.product_id: 0 for row in file.changes})
            for row in set(file.changes):
                per_product[row.product_id] += 1
            cases["several changes in a day"] += sum(n > 1 for n in per_product.values())
            cases["duplicate in a file"] += len(file.changes) - len(set(file.changes))
    for _, row in rows:
        known = highest.get(row.product_id)
        gone = deleted_at.get(row.product_id)
        if known is not None and row.ts < known:
            cases["late"] += 1
            if gone == known:
                cases["delete overtook it"] += 1
        elif row.is_delete:
            cases["delete of a product never seen"] += known is None
            deleted_at[row.product_id] = row.ts
        else:
            cases["re-insert"] += gone is not None
            deleted_at.pop(row.product_id, None)
            cases["moved"] += (
                row.product_id in category
                and row.category is not None
                and (category[row.product_id] != row.category)
            )
            category[row.product_id] = row.category
            for name in ("category", "brand", "price", "inventory"):
                cases[f"{name} is null"] += getattr(row, name) is None
        highest[row.product_id] = max(row.ts, known or 0)
    again = [name for name in by_file if "_again_" in name]
    cases["file delivered again"] = sum(
        by_file[name] == by_file[f"{name.split('_')[0]}_{name.split('_')[-1]}"] for name in again
    )
    assert [name for name, count in cases.items() if count == 0] == []
    assert len(rows) > 10_000


def test_story_products_end_as_their_labels_say() -> None:
    files = generate(SMALL)
    ids = {story.label: story.product_id for story in stories()}
    before, after = expected_master(files, 0), expected_master(files, 4)
    assert after[ids["updated"]].inventory == 58
    assert after[ids["updated thrice in a day"]].price == Decimal("139")
    assert after[ids["moved to another category"]].category == "e-reader"
    assert before[ids["moved to another category"]].category == "tablet"
    assert ids["deleted"] in before
    assert ids["deleted"] not in after
    assert after[ids["older row came late"]].price == Decimal("849")
    assert ids["deleted, then back"] not in expected_master(files, 1)
    assert after[ids["deleted, then back"]].price == Decimal("179.90")
    assert ids["delete came before insert"] not in after
    assert after[ids["new"]].ts == epoch(3, 11)


def test_oracle_keeps_the_highest_time_whatever_the_order() -> None:
    older, newer = change("A", 1, price=1), change("A", 2, price=2)
    assert master_of([newer], [older]) == master_of([older, newer]) == {"A": newer}


def test_oracle_lets_a_delete_beat_an_older_row_that_comes_later() -> None:
    delete = change("A", 5, is_delete=True)
    assert master_of([delete], [change("A", 4)]) == {}


def test_oracle_brings_back_a_product_inserted_after_its_delete() -> None:
    delete, back = change("A", 5, is_delete=True), change("A", 6)
    assert master_of([change("A", 4)], [delete], [back]) == {"A": back}


def test_oracle_does_not_look_past_the_day() -> None:
    files = [FeedFile("f0", 0, (change("A", 1),)), FeedFile("f1", 1, (change("B", 2),))]
    assert set(expected_master(files, 0)) == {"A"}


def test_writing_twice_writes_once(files: list[FeedFile], tmp_path: Path) -> None:
    assert len(write(files, tmp_path)) == len(files)
    assert write(files, tmp_path) == []
    assert {p.name for p in tmp_path.iterdir()} == {f.name for f in files}


def test_a_file_that_was_changed_is_written_again(files: list[FeedFile], tmp_path: Path) -> None:
    write(files, tmp_path)
    (tmp_path / files[0].name).write_text("broken", encoding="utf-8")
    assert write(files, tmp_path) == [tmp_path / files[0].name]


def test_missing_values_are_empty_fields() -> None:
    row = Change("A", None, "canon", None, 3, 7)
    assert FeedFile("f", 0, (row,)).text() == "A,,canon,,3,7\n"
