# Commands that only continuous integration and maintainers run; the Makefile includes them.

.PHONY: nbval quarter compare package recheck bench peers tools study stand-in screenshot lock coverage mutants faults

##@ Maintaining

quarter: build/html/index.html $(DEVELOPMENT) ## run a quarter of the tests that only make test-all runs (QUARTER=0, 1, 2 or 3)
	@$(PY) -m pytest -n 2 --dist worksteal -m full --quarter "$(QUARTER)"

nbval: $(DEVELOPMENT) ## run the notebooks again in plain kernels, and compare their outputs with the committed ones
	@$(ALIKE) $(PY) -m pytest -n 2 --dist loadfile -o filterwarnings=default -p no:cacheprovider \
	  -p nbval -p tests.notebooks.with_history --nbval --nbval-current-env --nbval-sanitize-with tests/notebooks/nbval-sanitize.cfg $(NOTEBOOKS)

# Longest first, every second one, so that the halves take about as long.
ifneq ($(filter-out 0 1,$(HALF)),)
$(error HALF must be 0 or 1, got $(HALF))
endif
PART = $(if $(HALF),$(shell printf '%s\n' $(EXECUTED) | awk 'NR % 2 == $(HALF)'),$(EXECUTED))
compare: export PYTHONPATH := $(CURDIR)/tests/notebooks/noting:$(CURDIR)
compare: $(PART) $(DEVELOPMENT) ## compare the outputs of make book with the committed outputs and pictures, and make the synthetic samples again (HALF=0 or 1)
	@$(PY) -m pytest -n 2 -p no:cacheprovider tests/notebooks/test_outputs.py tests/notebooks/test_stand_in.py tests/book/test_content_key.py \
	  -k "outputs or bit_for_bit or function_that_ran"

package: $(DEVELOPMENT) ## build the package, and test it with the lowest versions it declares; needs a package index
	@$(PY) -m tests.house.package

recheck: $(DEVELOPMENT) ## compute some cells of the kept results again on the real data (SEED=20261122 chooses them)
	@case "$(SEED)" in ""|*[!0-9]*) echo "Say which cells: make recheck SEED=number" >&2; exit 2;; esac
	@$(PY) -m tests.recheck $(SEED)

bench: $(DEVELOPMENT) ## run the benchmarks, one line of JSON each (CASE=name RECORDS=100000000 PEERS=yes)
	@$(PY) -m tests.benchmarks $(CASE)

peers: $(DEVELOPMENT) ## run AIM and other programs on public tables for hours, and keep the result of each seed (PEERS=yes FOR="fair" SEEDS=5 MBI=folder MARGNET=folder)
	@$(PY) -m tests.benchmarks.aim_peers
	@$(PY) -m tests.benchmarks.aim_fits
	@$(ALIKE) $(PY) -m tests.benchmarks.aim_classifiers

tools: $(READY) ## do one task with this program and four other tools, for an hour, and keep the results (TABLE=wages.csv RUNS=1)
	@$(PY) -m tests.benchmarks.own_tools --table "$(TABLE)" --runs "$(or $(RUNS),1)"

study: $(READY) ## run a study on the real data, with arithmetic alike on all machines (STUDY="aim_comparison --output results --jobs 2")
	@$(ALIKE) $(PY) -m notebooks.studies.$(STUDY)

stand-in: $(READY) ## make the embedded synthetic samples again from the real data
	@$(ALIKE) $(PY) -m notebooks.studies.stand_in

screenshot: build/html/index.html $(DEVELOPMENT) ## retake the picture in the README
	@$(PY) -m tests.browser.screenshot index.html book/_static/screenshot.png --at "#a-finding-from-each-document" --width 900 --height 330

# Each lock takes the versions of the one before it.
LOCK = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command 'make lock'

lock: $(READY) ## pin requirements*.in, and those of the benchmarks' peers, with hashes in their locks
	@$(LOCK) requirements.in -o requirements.lock
	@$(LOCK) requirements-classroom.in -c requirements.lock -o requirements-classroom.lock
	@$(LOCK) requirements-development.in -c requirements-classroom.lock -o requirements-development.lock
	@for peer in $(basename $(wildcard tests/benchmarks/peers/*.in)); do $(LOCK) $$peer.in -o $$peer.lock || exit 1; done

# Tools of their own, in an environment that uv lays over ours for this one call.
LAYERED = $(PY) -m uv run --quiet --no-project --python $(PY)

coverage: $(DEVELOPMENT) ## list the lines of lib that the tests do not reach (an hour; TESTS="tests/lib/accounting" for some tests)
	@mkdir -p build; export COVERAGE_FILE=build/coverage; \
	$(LAYERED) --with coverage==7.13.0 python -m coverage run --source=lib -m pytest -q $(or $(TESTS),tests --ignore=tests/browser) && \
	$(LAYERED) --with coverage==7.13.0 python -m coverage report --skip-covered --show-missing

mutants: $(DEVELOPMENT) ## change a module in small ways, and list the changes that no test notices (MODULE=adaptive_iterative SAMPLE=50)
	@$(LAYERED) --with cosmic-ray==8.7.0 python -m tests.house.mutants $(or $(MODULE),adaptive_iterative) --sample $(or $(SAMPLE),50)

faults: $(DEVELOPMENT) ## plant known bugs in lib, and list the verdicts that change: those whose code has changed since (ONLY=kiri2019 for some)
	@$(ALIKE) $(PY) -m tests.house.planted_faults --only "$(ONLY)"
