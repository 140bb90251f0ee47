.DEFAULT_GOAL := help
# A release of dbt-core other than that of constraints.txt, such as 1.11.16, in an environment of its own.
DBT ?=
# A release of Spark likewise, such as 3.5.9, or 3.5 for the newest of these.
SPARK ?=
VENV := .venv$(if $(DBT),-dbt-$(DBT))$(if $(SPARK),-spark-$(SPARK))
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
ARCHIVE := $(VENV)/.archive
# Three processes with a Spark each (some 2 GB): two do not fill two cores, for they wait for the disk and for processes
# that they start. `make test WORKERS=0` runs all in one.
WORKERS ?= 3
# In the order of the folders, which has the many short tests last: the longest ones have few tests, and would be left
# to one process at the end. A process that dies is not replaced: the next would run what it died of once more.
PYTEST = $(PY) -m pytest -n $(WORKERS) --max-worker-restart 0 --dist loadscope --no-loadscope-reorder $(PYTEST_ARGS)
PYTEST_ARGS ?=
# A part of `make test-all`, as 1/4.
PART ?= 1/1
# The tests whose coverage is measured.
RING ?= tests/unit
# Of each property test of the slow ring, or a multiple: EXAMPLES=60 for ten times as many.
EXAMPLES ?= 6
SEEDS ?= 5000
FIRST ?= 0
ADAPTER ?= lakemerge
# Mermaid's release in the site of docs-offline; without it, a reader's browser loads the newest 11 from unpkg.com.
MERMAID ?= 11.12.2
# Options of a soak, such as --minutes 10 --seed 7.
ARGS ?=
# Folders of dbt-tests-adapter; without them, all.
SUITE ?=
# A folder of clones of other people's dbt packages, and those of `make packages` to run; without them, all.
PACKAGES ?=
ONLY ?=

export DBT_PROFILES_DIR := profiles
export DBT_SEND_ANONYMOUS_USAGE_STATS := false

##@ Start here

.PHONY: help
help:  ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: env  ## Run the example pipeline over all its days
	@$(PY) scripts/run_example.py

.PHONY: run-real
run-real: env  ## Merge the releases of a public reference data set, one after another
	@$(PY) scripts/run_real.py

.PHONY: test
test: checks $(ARCHIVE)  ## Lint, check types and run the tests (but the slow ones)
	@echo "[test] unit, functional and packaging tests" >&2
	@$(PYTEST) -m "not slow" tests

##@ Environment

.PHONY: env
env: $(READY)  ## Create .venv, with Java if the machine has none; DBT=1.11.16 for another dbt-core, SPARK=3.5 for another Spark, here and in all other targets
	@$(PY) -m lakemerge.java > /dev/null 2>&1 || { \
		echo "[env] no usable Java on this machine: installing one as a wheel (35 MB)" >&2; \
		$(PY) -m pip install --quiet --constraint $(VENV)/constraints.txt --editable '.[dbt,java]' && \
		$(PY) -m lakemerge.java > /dev/null; }

$(READY): pyproject.toml constraints.txt scripts/create_environment.sh scripts/empty_wheel.py
	@DBT=$(DBT) SPARK=$(SPARK) scripts/create_environment.sh $(VENV)
	@touch $@

# Some thirty Javas with a Spark start in the tests, each with half the work from here on. Those that cannot be archived
# for start as they always do.
$(ARCHIVE): $(READY)
	@echo "[test] archiving Java's classes, once for this .venv" >&2
	@$(VENV)/bin/lakemerge archive-classes > /dev/null || echo "[test] there is no archive; the tests take longer" >&2
	@touch $@

.PHONY: clean
clean:  ## Delete what runs and tests leave behind (not .venv)
	@rm -rf .lakemerge build dist logs target spark-warehouse metastore_db derby.log
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@echo "[clean] done" >&2

##@ Parts of the tests

.PHONY: lint
lint: env  ## ruff and import-linter on Python, sqlfluff on models and macros
	@echo "[lint] ruff" >&2
	@$(VENV)/bin/ruff check
	@$(VENV)/bin/ruff format --check
	@echo "[lint] import-linter" >&2
	@$(VENV)/bin/lint-imports > $(VENV)/.imports 2>&1 || { cat $(VENV)/.imports >&2; exit 1; }
	@echo "[lint] sqlfluff" >&2
	@$(PY) scripts/lint_sql.py

.PHONY: types
types: env  ## mypy, strict
	@echo "[types] mypy" >&2
	@$(VENV)/bin/mypy

.PHONY: checks
checks: env  ## Lint and check types, both at the same time
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint types

.PHONY: unit
unit: env  ## Tests without Spark
	@$(PYTEST) -m "not slow" tests/unit

.PHONY: kernel
kernel: env  ## Tests of commits on a bare JVM: kills, lost replies, concurrent writers
	@$(PYTEST) -m "not slow" tests/kernel

.PHONY: test-cluster
test-cluster: env  ## What a cluster has, from released packages: HDFS, S3, Spark workers, YARN, PostgreSQL, MariaDB, Trino and Hive; PART=kernel-on-s3 for one
	@PYTEST="$(PY) -m pytest $(PYTEST_ARGS)" scripts/test_cluster.sh $(filter-out 1/1,$(PART))

.PHONY: simulate
simulate: env  ## Run the kernel under simulated schedules: make simulate SEEDS=100000, or FIRST=7 SEEDS=1 SHOW=--show; FIRST=40000000 for several tables; CUT as printed
	@PYTHONHASHSEED=0 PYTHONPATH=tests $(PY) -m simulation --first $(FIRST) --seeds $(SEEDS) $(SHOW) $(if $(CUT),--show --cut '$(CUT)')

.PHONY: mutants
mutants: env  ## How many seeds the simulator needs to find each known fault that is put back into the kernel
	@PYTHONHASHSEED=0 PYTHONPATH=tests $(PY) -m simulation.mutants

.PHONY: mutants-all
mutants-all: env  ## Leave out each `if` and `raise` of the code that commits, and print what neither seeds nor unit tests notice; takes an hour: ARGS="--sample 0.1", ARGS="--only kernel.protocol"
	@PYTHONHASHSEED=0 PYTHONPATH=tests:scripts $(PY) -m simulation.planting --reach units
	@PYTHONHASHSEED=0 PYTHONPATH=tests:scripts $(PY) -m simulation.planting --reach seeds
	@PYTHONHASHSEED=0 PYTHONPATH=tests:scripts $(PY) -m simulation.planting $(ARGS)

.PHONY: options
options: env  ## Write docs/options.md again, after a change of options or of what guides say of them
	@$(PY) scripts/write_options.py

.PHONY: flow-sql
flow-sql: env  ## Write the statements of docs/flow/sql again, after a change that is meant to change them
	@LAKEMERGE_WRITE_GOLDEN=1 $(PY) -m pytest tests/functional/golden

.PHONY: functional
functional: env  ## Tests on Spark and a metastore
	@$(PYTEST) -m "not slow" tests/functional

.PHONY: packaging
packaging: env  ## Tests of the built wheel
	@$(PYTEST) -m "not slow" tests/packaging

.PHONY: test-all
test-all: checks $(ARCHIVE)  ## Everything, the slow tests included; PART=1/4 for a quarter; EXAMPLES=60 for longer runs of the property tests
	@echo "[test] all tests, the slow ones included: part $(PART)" >&2
	@EXAMPLES=$(EXAMPLES) $(PYTEST) --compiled --durations=25 --part $(PART) tests

.PHONY: coverage
coverage: env  ## Which lines and branches the tests reach: RING=tests/unit, or others; a page in build/coverage
	@$(PYTEST) -m "not slow" --cov --cov-report=term --cov-report=html:build/coverage $(RING)

.PHONY: conformance
conformance: env  ## dbt's official suites, with figures; ADAPTER=spark runs them on dbt-spark, lakemerge-after-tests with publish: after_tests
	@PYTHONPATH=tests $(PY) -m conformance --adapter $(ADAPTER) --workers $(WORKERS) --suite $(SUITE)

.PHONY: packages
packages: env  ## Tests of other people's dbt packages, with figures; PACKAGES=<folder of clones>, or dbt deps fetches them; ADAPTER=spark
	@PYTHONPATH=tests $(PY) -m packages --adapter $(ADAPTER) $(if $(PACKAGES),--sources $(PACKAGES)) --only $(ONLY)

##@ Documents

.PHONY: docs
docs: env  ## Build the documents as a site in build/site
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "[docs] build/site; to read it: $(PY) -m http.server --directory build/site" >&2

.PHONY: docs-offline
docs-offline: build/mermaid.min.js docs  ## The same with Mermaid in it, for readers without internet (needs npm)

build/mermaid.min.js:
	@mkdir -p build
	@cd build && npm pack --silent mermaid@$(MERMAID) > /dev/null
	@tar -xzOf build/mermaid-$(MERMAID).tgz package/dist/mermaid.min.js > $@.part && mv $@.part $@

##@ Figures

.PHONY: bench-merge
bench-merge: env  ## CPU seconds of a merge against the least that any engine must do; ARGS=--cold after one round
	@$(PY) benchmarks/merge.py $(ARGS)

.PHONY: bench-peers
bench-peers: env  ## Merges beside Iceberg, Delta and INSERT OVERWRITE (needs Maven); WORKLOADS="small;20 partitions" for some
	@PYTHON=$(PY) scripts/install_peers.sh build/peers
	@PYTHONPATH=benchmarks build/peers/venv/bin/python -m peers --jars build/peers/jars --keep build/peers/results \
		--workloads "$(WORKLOADS)" --engines "$(ENGINES)" $(if $(REPORT),--report $(REPORT)) $(BENCH_ARGS)

.PHONY: bench-statements
bench-statements: env  ## DELETE, UPDATE and MERGE INTO beside Iceberg and Delta (needs Maven)
	@PYTHON=$(PY) scripts/install_peers.sh build/peers
	@PYTHONPATH=benchmarks build/peers/venv/bin/python -m peers.statements --jars build/peers/jars $(BENCH_ARGS)

.PHONY: bench-start
bench-start: env  ## CPU seconds of a whole dbt run of one small merge, beside dbt-spark's of a select 1
	@$(PY) benchmarks/start.py

.PHONY: bench-on-read
bench-on-read: env  ## CPU seconds of a merge on read, of reads by the number of deltas, and of compaction
	@$(PY) benchmarks/merge_on_read.py

.PHONY: bench-commit
bench-commit: env  ## Listings, bytes of manifests and CPU seconds of a commit, by the number of partitions; or ARGS="--tables 2,5"
	@$(PY) benchmarks/commit.py $(or $(ARGS),--java)

.PHONY: bench-vacuum
bench-vacuum: env  ## CPU seconds and memory of a vacuum, by the number of versions and of directories to delete
	@$(PY) benchmarks/vacuum.py

.PHONY: bench-versions
bench-versions: env  ## CPU seconds of reading a version beside its table, and of a feed of changes beside a full comparison
	@$(PY) benchmarks/versions.py $(ARGS)

.PHONY: bench-publish
bench-publish: env  ## CPU seconds of a build that is published after its tests, beside one that is published at once
	@$(PY) benchmarks/publish.py

.PHONY: bench-files
bench-files: env  ## Bytes and CPU seconds of an ingest to know its files, of 10,000 and of a million
	@$(PY) benchmarks/read_files.py

.PHONY: bench-history
bench-history: env  ## CPU seconds of a merge into a history, and into one ten times as long
	@$(PY) benchmarks/history.py

.PHONY: bench-snapshot
bench-snapshot: env  ## CPU seconds of a snapshot of a wide table against dbt's own SQL, and with ten times the history
	@$(PY) benchmarks/snapshot.py

.PHONY: bench-wide
bench-wide: env  ## CPU seconds of each capability for 100 to 2,000 columns
	@$(PY) benchmarks/wide.py

.PHONY: bench-sorted
bench-sorted: env  ## Files and bytes that selective reads open: as written, sorted, z-ordered
	@$(PY) benchmarks/sorted_reads.py

.PHONY: bench-age
bench-age: env  ## CPU seconds of plan, commit and read over 1,000 commits to one table; ARGS="--write-mode merge_on_read"
	@$(PY) benchmarks/age.py $(ARGS)

.PHONY: soak-ingest
soak-ingest: env  ## 200 small commits by 4 writers, some killed, while a consumer reads
	@PYTHONPATH=tests $(PY) -m kernel.soak_ingest $(ARGS)

.PHONY: soak-transfers
soak-transfers: env  ## Transfers between two tables by commits over both, some writers killed, while readers check the sum
	@PYTHONPATH=tests $(PY) -m kernel.soak_transfers $(ARGS)

.PHONY: soak-tables
soak-tables: env  ## Merges in both write modes, compactions, vacuums and reads at once, some killed
	@PYTHONPATH=tests $(PY) -m functional.concurrency.soak_tables $(ARGS)

.PHONY: bench-ingest
bench-ingest: env  ## CPU seconds of strict ingest against a plain Spark read and write
	@$(PY) benchmarks/ingest.py
