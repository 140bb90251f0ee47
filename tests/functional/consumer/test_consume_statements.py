"""What consumers see of partitions that statements have written again, or removed."""

from __future__ import annotations

from typing import Any

from functional.consumer.test_consume import Project, run


class TestConsumeStatements(Project):
    def test_a_partition_that_a_statement_rewrote_is_seen_again_as_a_whole(self, project: Any) -> None:
        run("raw", day=1)
        run("merged")
        before = self.sql(project, "select country, newest from {}.merged order by 1")
        assert before == [("FI+ ?", 13), ("Åland Is/l%nds", 15)]
        project.run_sql(f"update {project.test_schema}.raw set id = id + 100 where id = 13")
        again = run("merged")
        # both rows of its partition, and nothing of the others
        assert self.sql(project, "select newest from {}.merged order by 1") == [(15,), (113,)]
        assert again.adapter_response["rows_affected"] == 1
        # a statement that changes no row, and one that takes partitions away, show nothing new
        project.run_sql(f"update {project.test_schema}.raw set id = 0 where id = 999")
        project.run_sql(f"delete from {project.test_schema}.raw where country = 'FI+ ?'")
        assert run("merged").adapter_response["version"] == 0
        assert self.sql(project, "select newest from {}.merged order by 1") == [(15,), (113,)]
