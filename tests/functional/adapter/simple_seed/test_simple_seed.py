"""dbt's suite "simple_seed"."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds, test_seed
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride
from dbt.tests.util import run_dbt

COLUMNS = "seed_id, first_name, email, ip_address, birthday"
ROWS = seeds.seeds__expected_sql.partition("VALUES")[2].strip().rstrip(";")
EXPECTED_SQL = f"""
create table {{schema}}.seed_expected stored as orc as
select
    cast(seed_id as bigint) as seed_id,
    first_name,
    email,
    ip_address,
    cast(birthday as timestamp) as birthday
from values {ROWS} as rows ({COLUMNS})
"""

TEXTS_CSV = """id,text
1,it's
2,"a ""quote"" and a \\ backslash; a semicolon"
3,
4,None
"""


class Expected:
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        project.run_sql(EXPECTED_SQL.format(schema=project.test_schema))


@pytest.mark.fast("test_simple_seed")
class TestBasicSeed(Expected, test_seed.BaseBasicSeedTests):
    def test_simple_seed_full_refresh_flag(self, project: Any) -> None:
        """A full refresh publishes the seed anew; models that read it stay, as they do everywhere in Hive."""
        self._build_relations_for_test(project)
        self._check_relation_end_state(
            run_result=run_dbt(["seed", "--full-refresh"]), project=project, exists=True
        )


@pytest.mark.slow
class TestSeedConfigFullRefreshOn(Expected, test_seed.BaseSeedConfigFullRefreshOn):
    def test_simple_seed_full_refresh_config(self, project: Any) -> None:
        self._build_relations_for_test(project)
        self._check_relation_end_state(run_result=run_dbt(["seed"]), project=project, exists=True)


@pytest.mark.slow
class TestSeedConfigFullRefreshOff(Expected, test_seed.BaseSeedConfigFullRefreshOff):
    pass


@pytest.mark.slow
class TestSeedCustomSchema(Expected, test_seed.BaseSeedCustomSchema):
    pass


@pytest.mark.slow
class TestSeedWithUniqueDelimiter(Expected, test_seed.BaseSeedWithUniqueDelimiter):
    pass


@pytest.mark.slow
class TestSeedWithWrongDelimiter(Expected, test_seed.BaseSeedWithWrongDelimiter):
    def test_seed_with_wrong_delimiter(self, project: Any) -> None:
        """Such a file has one column, whose name has the other delimiters in it."""
        results = run_dbt(["seed"], expect_pass=False)
        assert "seed_id|first_name" in results.results[0].message


@pytest.mark.slow
class TestSeedWithEmptyDelimiter(Expected, test_seed.BaseSeedWithEmptyDelimiter):
    pass


@pytest.mark.slow
class TestSimpleSeedEnabledViaConfig(test_seed.BaseSimpleSeedEnabledViaConfig):
    pass


@pytest.mark.slow
class TestSeedParsing(Expected, test_seed.BaseSeedParsing):
    pass


@pytest.mark.slow
class TestSimpleSeedWithBom(Expected, test_seed.BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        project.run_sql(EXPECTED_SQL.format(schema=project.test_schema))
        source = Path(test_seed.__file__).with_name("seed_bom.csv")
        shutil.copyfile(source, Path(project.project_root, "seeds", "seed_bom.csv"))


@pytest.mark.slow
class TestSeedSpecificFormats(test_seed.BaseSeedSpecificFormats):
    @pytest.fixture(scope="class")
    def test_data_dir(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("data") / "seeds"

    @pytest.fixture(scope="class")
    def seeds(self, test_data_dir: Path) -> dict[str, str]:
        # Hive has no dots in names: such a seed needs an alias
        big_seed = self._make_big_seed(test_data_dir).read_text()
        return {"big_seed.csv": big_seed, "seed_unicode.csv": seeds.seed__unicode_csv}

    def test_simple_seed(self, project: Any) -> None:
        assert len(run_dbt(["seed"])) == 2
        schema = project.test_schema
        assert project.run_sql(f"select count(*) from {schema}.big_seed", fetch="one")[0] == 20000
        assert project.run_sql(f"select count(*) from {schema}.seed_unicode", fetch="one")[0] > 0


class TestEmptySeed(test_seed.BaseTestEmptySeed):
    pass


@pytest.mark.slow
class TestSimpleSeedColumnOverride(BaseSimpleSeedColumnOverride):
    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        return {
            "seed_id_str": "string",
            "looks_like_a_bool": "string",
            "looks_like_a_date": "string",
        }

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        schema = fixtures.properties__schema_yml
        for foreign, ours in (
            ("type: text", "type: string"),
            ("type: integer", "type: bigint"),
            ("timestamp without time zone", "timestamp"),
        ):
            schema = schema.replace(foreign, ours)
        return {"schema.yml": schema}


class TestSeedTexts:
    """Quotes, backslashes and nulls reach the table as they are: no official test looks at them."""

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"texts.csv": TEXTS_CSV}

    def test_values(self, project: Any) -> None:
        run_dbt(["seed"])
        rows = project.run_sql(f"select text from {project.test_schema}.texts order by id", fetch="all")
        assert [row[0] for row in rows] == [
            "it's",
            'a "quote" and a \\ backslash; a semicolon',
            None,
            "None",
        ]
