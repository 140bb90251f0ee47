"""The text of the view that merges a base with its deltas."""

from __future__ import annotations

from lakemerge.engine.merge_on_read.overlay_view import overlay_text


def test_the_newest_row_of_each_key_takes_the_place_of_the_bases() -> None:
    assert overlay_text("s", "t", ["id", "order", "p"], ["id", "p"]) == (
        "select b.* from `s`.`t__base` b "
        "left join (select `id`,`p` from `s`.`t__deltas` where `lakemerge_txn` in ('{deltas}') group by `id`,`p`) k "
        "on b.`id` = k.`id` and b.`p` = k.`p` "
        "where k.`id` is null "
        "union all select `id`,`order`,`p` from (select s.*, row_number() over "
        "(partition by `id`,`p` order by `_lakemerge_order` desc) as `_lakemerge_newest` "
        "from `s`.`t__deltas` s where `lakemerge_txn` in ('{deltas}')) d "
        "where `_lakemerge_newest` = 1 and not `_lakemerge_deleted`"
    )


def test_names_are_quoted() -> None:
    assert "`a``b`" in overlay_text("s", "t", ["a`b"], ["a`b"])


def test_two_thousand_columns_fit_a_metastore_on_derby() -> None:
    assert (
        len(overlay_text("schema", "table", [f"column_{n:04}" for n in range(2000)], ["column_0000"]))
        < 32_700
    )
