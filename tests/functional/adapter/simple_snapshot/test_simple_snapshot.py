"""dbt's suites "simple_snapshot" and those of snapshots in "basic", on ORC.

Tables lie as they do by default, open rows apart from closed ones. The suites compare all columns but those whose
names begin with ``dbt_``, so the partition column is given such a name. The slow ring runs the suites that
change most once more with the plain layout, which has no column that dbt does not know.
"""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic import test_snapshot_check_cols, test_snapshot_timestamp
from dbt.tests.adapter.simple_snapshot import (
    new_record_check_mode,
    new_record_dbt_valid_to_current,
    new_record_timestamp_mode,
    test_ephemeral_snapshot_hard_deletes,
    test_snapshot,
    test_various_configs,
)
from dbt.tests.util import generate_update_clause, relation_from_name, run_sql_with_adapter

from functional.adapter.hive_dml import HiveProject


class OnHive:
    """The suites' own SQL on Hive tables, and the default layout."""

    layout: dict[str, Any] = {"+history_partition": "dbt_closed_in"}  # noqa: RUF012
    own_config: dict[str, Any] = {}  # noqa: RUF012

    @pytest.fixture(scope="class")
    def project(self, project: Any) -> HiveProject:
        return HiveProject(project)

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"snapshots": {**self.layout, **self.own_config}, "seeds": {"quote_columns": False}}


class Plain(OnHive):
    layout = {"+history_layout": "plain"}  # noqa: RUF012


class WithUpdates(OnHive):
    """Suites that update rows by the adapter and not by the project."""

    @pytest.fixture(autouse=True)
    def update_on_hive(self, project: HiveProject, monkeypatch: pytest.MonkeyPatch) -> None:
        def update_rows(adapter: Any, config: dict[str, Any]) -> None:
            relation = relation_from_name(adapter, config["name"])
            value = generate_update_clause(adapter, config["clause"])
            project.run_sql(f"update {relation} set {config['dst_col']} = {value} where {config['where']}")

        for module in (test_snapshot_check_cols, test_snapshot_timestamp):
            monkeypatch.setattr(module, "update_rows", update_rows)


@pytest.mark.slow
class TestBasicCheckCols(WithUpdates, test_snapshot_check_cols.BaseSnapshotCheckCols):
    pass


@pytest.mark.slow
class TestBasicTimestamp(WithUpdates, test_snapshot_timestamp.BaseSnapshotTimestamp):
    pass


@pytest.mark.fast("test_updates_are_captured_by_snapshot")
class TestSimpleSnapshot(OnHive, test_snapshot.BaseSimpleSnapshot):
    def test_revives_are_captured_by_snapshot(self, project: Any) -> None:
        """The suite's test is content with a history without the rows that came back."""
        super().test_revives_are_captured_by_snapshot(project)
        current = self.get_snapshot_records("id", "dbt_valid_to is null")
        assert sorted(row[0] for row in current) == list(range(1, 19))


@pytest.mark.slow
class TestCheck(OnHive, test_snapshot.BaseSnapshotCheck):
    pass


class SeedOfTheSchema(OnHive):
    """Snapshots of a seed table that is named by its schema alone: there are no databases."""

    snapshot_sql = test_various_configs.snapshot_actual_sql

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"snapshot.sql": self.snapshot_sql.replace("{{target.database}}.", "")}


@pytest.mark.slow
class TestColumnNames(SeedOfTheSchema, test_various_configs.BaseSnapshotColumnNames):
    pass


@pytest.mark.slow
class TestColumnNamesFromDbtProject(
    SeedOfTheSchema, test_various_configs.BaseSnapshotColumnNamesFromDbtProject
):
    own_config = {  # noqa: RUF012
        "test": {
            "+snapshot_meta_column_names": {
                "dbt_valid_to": "test_valid_to",
                "dbt_valid_from": "test_valid_from",
                "dbt_scd_id": "test_scd_id",
                "dbt_updated_at": "test_updated_at",
            }
        }
    }


@pytest.mark.slow
class TestInvalidColumnNames(SeedOfTheSchema, test_various_configs.BaseSnapshotInvalidColumnNames):
    own_config = TestColumnNamesFromDbtProject.own_config


@pytest.mark.slow
class TestDbtValidToCurrent(SeedOfTheSchema, test_various_configs.BaseSnapshotDbtValidToCurrent):
    @pytest.fixture(autouse=True)
    def in_order_of_insertion(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The suite counts rows in the order that they were inserted in, which a table does not keep."""

        def ordered(adapter: Any, sql: str, fetch: str) -> Any:
            selected, table = sql.split(" from ")
            version = "row_number() over (partition by id order by test_valid_from) as version"
            numbered = f"{selected} from (select *, {version} from {table}) order by version, id"
            return run_sql_with_adapter(adapter, numbered, fetch)

        monkeypatch.setattr(test_various_configs, "run_sql_with_adapter", ordered)


@pytest.mark.slow
class TestMultiUniqueKey(OnHive, test_various_configs.BaseSnapshotMultiUniqueKey):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            # the model has the name of the table that it reads
            "seed.sql": "{{ config(alias='seed_model') }} select * from {{ target.schema }}.seed",
            "snapshots.yml": test_various_configs.snapshots_multi_key_yml.replace(
                "ref('seed')", "source('raw', 'seed')"
            )
            + "\nsources:\n  - name: raw\n    schema: '{{ target.schema }}'\n    tables: [{name: seed}]\n",
            "ref_snapshot.sql": test_various_configs.ref_snapshot_sql,
        }


@pytest.mark.slow
class TestNewRecordTimestampMode(
    SeedOfTheSchema, new_record_timestamp_mode.BaseSnapshotNewRecordTimestampMode
):
    pass


@pytest.mark.slow
class TestNewRecordCheckMode(SeedOfTheSchema, new_record_check_mode.BaseSnapshotNewRecordCheckMode):
    pass


@pytest.mark.slow
class TestNewRecordDbtValidToCurrent(
    SeedOfTheSchema, new_record_dbt_valid_to_current.BaseSnapshotNewRecordDbtValidToCurrent
):
    snapshot_sql = new_record_dbt_valid_to_current._snapshot_actual_sql


@pytest.mark.slow
class TestEphemeralHardDeletes(OnHive, test_ephemeral_snapshot_hard_deletes.BaseSnapshotEphemeralHardDeletes):
    pass


@pytest.mark.slow
class TestNewColumnTimestampStrategy(
    OnHive, test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnTimestampStrategy
):
    pass


@pytest.mark.slow
class TestNewColumnSpecificCheckCols(
    OnHive, test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnSpecificCheckCols
):
    pass


@pytest.mark.slow
class TestNewColumnWithDeletes(OnHive, test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnWithDeletes):
    pass


@pytest.mark.slow
class TestBasicCheckColsPlain(Plain, TestBasicCheckCols):
    pass


@pytest.mark.slow
class TestSimpleSnapshotPlain(Plain, TestSimpleSnapshot):
    pass


@pytest.mark.slow
class TestDbtValidToCurrentPlain(Plain, TestDbtValidToCurrent):
    pass


@pytest.mark.slow
class TestMultiUniqueKeyPlain(Plain, TestMultiUniqueKey):
    pass


@pytest.mark.slow
class TestNewRecordTimestampModePlain(Plain, TestNewRecordTimestampMode):
    pass


@pytest.mark.slow
class TestNewColumnWithDeletesPlain(Plain, TestNewColumnWithDeletes):
    pass
