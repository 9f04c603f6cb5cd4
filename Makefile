# The Differential Privacy Reproduction Compendium: `make help` lists every command.
#
#   notebooks/*/*.ipynb --run.py--> build/executed/ --ledger.py--> build/claims.json, book/scorecard.md
#                                                  `--jupyter-book--> build/html/
#
# Every executed notebook is a target of its own, so nothing unchanged runs twice.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j2
endif
MAKEFLAGS += --no-print-directory

# One thread a process: two notebooks run side by side, and sums keep their order.
OMP_NUM_THREADS ?= 1
export OMP_NUM_THREADS
export PYTHONPATH := $(CURDIR)
export PYDEVD_DISABLE_FILE_VALIDATION := 1

# ---- the environment: .venv from the lock, or `make PYTHON=python …` for the active one

ifeq ($(origin PYTHON),command line)
PY := "$(PYTHON)"
ENVIRONMENT :=
READY := active-environment
else
PY := .venv/bin/python
ENVIRONMENT := .venv/installed
READY := .venv/installed
# Containers like to set this. Then every kernel would compile pandas, scipy and the rest again: three seconds each time.
unexport PYTHONDONTWRITEBYTECODE
endif

# The first Python that runs (a shim may exist and fail), is in range and can make a venv.
SUITS = import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON3 = $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
	"$$python" -c '$(SUITS)' >/dev/null 2>&1 && { echo "$$python"; break; }; done)

# `installed` is written last: a half-made environment is made again from nothing.
.venv/installed: requirements.lock pyproject.toml
	@test ! -L .venv || { echo ".venv is a link to another checkout's environment, which is not remade from here: use make PYTHON=.venv/bin/python" >&2; exit 2; }
	@python="$(PYTHON3)"; test -n "$$python" || { \
	  echo "No usable Python 3.11, 3.12 or 3.13 found (on Debian, the venv module is in python3-venv)." >&2; exit 1; }; \
	echo "environment: .venv with $$("$$python" --version)"; \
	"$$python" -m venv --clear .venv
	@awk '/^[^ #]/ {keep = /^uv==/} keep' requirements.lock > .venv/uv.txt
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.txt
	@.venv/bin/python -m uv pip sync --quiet --python .venv/bin/python --require-hashes requirements.lock
	@.venv/bin/python -m uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: active-environment
active-environment:
	@$(PY) tests/house/check_environment.py

# ---- the benchmarks' peers (`make bench PEERS=yes`), never needed to build or test
# Each in an environment of its own: mbi needs numpy 2, dpmm pins numpy 1.26.

ifeq ($(PEERS),yes)
bench: $(patsubst tests/benchmarks/%.lock,build/%/installed,$(wildcard tests/benchmarks/peers/*.lock))
peers: $(patsubst %,build/peers/%/installed,dpmm mbi statsmodels)
else ifneq ($(filter-out no,$(PEERS)),)
$(error PEERS must be yes or no, got $(PEERS))
endif

# `installed` is written last, and not where the lock leaves the peer out (dpmm ends with Python 3.11).
build/peers/%/installed: tests/benchmarks/peers/%.lock | $(READY)
	@echo "peer: $* in build/peers/$*"
	@$(PY) -m venv --clear --without-pip build/peers/$*
	@$(PY) -m uv pip sync --quiet --python build/peers/$*/bin/python --require-hashes $<
	@if build/peers/$*/bin/python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("$*") is None)'; \
	then touch $@; else echo "$* has no release for this Python and is left out." >&2; fi

# ---- the same digits everywhere

# AIM's choices hang on last digits, and those on the processor: notebooks compute as every x86-64 can.
ifeq ($(shell uname -m),x86_64)
ALIKE = env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Nehalem NUMBA_CPU_NAME=generic NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
endif

# ---- what the book is made of

NOTEBOOKS := $(sort $(filter-out notebooks/assignments/%,$(wildcard notebooks/*/*.ipynb)))
EXECUTED := $(NOTEBOOKS:notebooks/%=build/executed/%)
PAPERS := $(NOTEBOOKS:notebooks/%=build/papers/%)
PAGES := $(shell find book $(wildcard locale proofs) -type f -not -path 'book/notebooks/*' -not -path '*/__pycache__/*' -not -path book/scorecard.md | sort)

# The languages of the book, the first that of its sources. (Systems set LANGUAGE for themselves, so only the command line counts.)
EDITIONS := en ja
ifeq ($(origin LANGUAGE),command line)
ifneq ($(filter-out $(EDITIONS),$(LANGUAGE)),)
$(error LANGUAGE must be one of $(EDITIONS), got $(LANGUAGE))
endif
EDITIONS := en $(filter-out en,$(LANGUAGE))
PAPER_IN := $(filter-out en,$(LANGUAGE))
endif
PAPER := build/compendium$(PAPER_IN:%=.%).pdf

# What a notebook depends on is read from the code, each time: a key's file is as old as the last change of what it stands for.
# With `+`, so that `make -n` tells what would be run.
KEYS := $(patsubst build/%.ipynb,build/keys/%.key,$(EXECUTED) $(PAPERS)) build/keys/ledger.key build/keys/pages.key
.PHONY: keys
keys: export ALIKE := $(ALIKE)
keys: | $(READY)
	+@$(if $(ENVIRONMENT),test -e $(PY) || exit 0;) $(PY) notebooks/tools/keys.py build/keys $(NOTEBOOKS)
$(KEYS): keys
	+@:

# A list of names that changes only when a file came, went or was renamed.
.PHONY: FORCE
build/pages.list: NAMES = $(PAGES)
build/notebooks.list: NAMES = $(NOTEBOOKS)
build/editions.list: NAMES = $(EDITIONS)
# The commit that the figures' links name, and whether anything they show has been changed since.
FIGURES_OF = -- notebooks lib book/claims.yml book/figures book/kept book/ledger book/results
build/commit.list: NAMES = $(shell git log -1 --format=%H $(FIGURES_OF) 2>/dev/null; git status --porcelain $(FIGURES_OF) 2>/dev/null | sed 's/.*/changed/;q')
build/%.list: FORCE
	@mkdir -p build
	@printf '%s\n' $(NAMES) | cmp -s - $@ || printf '%s\n' $(NAMES) > $@

$(EXECUTED): build/executed/%.ipynb: build/keys/executed/%.key | $(READY)
	@$(ALIKE) $(PY) notebooks/tools/run.py notebooks/$*.ipynb -o $@

# `exec`: without a shell between them, a notebook's run sees that make was killed, and ends.
$(PAPERS): build/papers/%.ipynb: build/keys/papers/%.key | build/papers/record/plan $(READY)
	@exec $(ALIKE) $(PY) notebooks/tools/run.py notebooks/$*.ipynb -o $@ --full --record build/papers/record

# For the estimate of the time left: how many notebooks there are, and those that are older than their keys.
build/papers/record/plan: FORCE keys | $(READY)
	@mkdir -p $(@D)
	@{ echo $(words $(NOTEBOOKS)); for each in $(NOTEBOOKS:notebooks/%.ipynb=%); do \
	  test -f build/papers/$$each.ipynb && test -z "$$(find build/keys/papers/$$each.key -newer build/papers/$$each.ipynb)" \
	    || echo $$each; done; } > $@

# The ledger reads whatever lies under build/executed, so what lost its source goes first.
build/claims.json: $(EXECUTED) build/notebooks.list build/keys/ledger.key | $(READY)
	@find build/executed -type f -name '*.ipynb' 2>/dev/null | while read -r executed; do \
	  test -f "notebooks/$${executed#build/executed/}" || rm -f "$$executed"; done
	@$(PY) -m book.ledger gather

book/scorecard.md: build/claims.json
	@$(PY) -m book.ledger page

book/scorecard.md: $(wildcard book/results/claims.csv book/errata.md book/replies.yml CITATION.cff)

# Built from nothing in a scratch folder (Sphinx repeats no warning for a page that it kept),
# and swapped in when it stands: a failed build leaves the last good book where it is.
# The page is as old as the start of the build: an edit made meanwhile is built next time.
build/html/index.html: $(EXECUTED) $(PAGES) build/pages.list build/notebooks.list build/editions.list build/commit.list build/keys/pages.key book/scorecard.md _config.yml $(ENVIRONMENT) | $(READY)
	@rm -rf build/scratch && mkdir -p build/scratch && touch build/scratch/begun
	@ln -sfn ../build/executed book/notebooks
	@echo "building the HTML (details in build/html.log)"
	@$(PY) -m book.site.build html build/scratch $(EDITIONS) > build/html.log 2>&1 || { \
	  tr -d '\033' < build/html.log | sed 's/\[[0-9;]*m//g' | grep -E '(WARNING|ERROR|CRITICAL):' || tail -n 30 build/html.log; \
	  echo "The book was not built; the last good one, if any, is untouched." >&2; exit 1; }
	@$(PY) -m book.ledger downloads --output build/scratch/html
	@$(PY) -m book.site.downloads zip build/scratch/html
	@touch -r build/scratch/begun build/scratch/html/index.html
	@rm -rf build/html.old; test ! -d build/html || mv build/html build/html.old
	@mv build/scratch/html build/html
	@rm -rf build/html.old build/scratch

# ---- commands; the text after ## is what `make help` prints

.PHONY: help book pdf test test-all nbval compare style check package proofs recheck papers claims assignments grade document mine schema bench peers notebooks screenshot stand-in catalogues lock coverage mutants faults clean

book: build/html/index.html ## run what changed, build the book in English and Japanese (LANGUAGE=en for one), print where it is
	@echo "$(CURDIR)/build/html/index.html"

pdf: build/html/index.html ## the whole book as one PDF, printed by Chromium: build/compendium.pdf, and beside the pages (LANGUAGE=ja for the Japanese one)
	@$(PY) -m tests.browser.pdf $(PAPER) --language $(lastword en $(PAPER_IN))
	@$(PY) -m book.site.downloads pdf build/html$(PAPER_IN:%=/%) $(PAPER)
	@echo "$(CURDIR)/$(PAPER)"

test: build/html/index.html ## the tests of methods, verdicts, outputs and pages, and of everything else a representative part
	@$(PY) -m pytest -n 2 --dist worksteal -m "not full"

test-all: build/html/index.html ## every test, and the notebooks once more in plain kernels
	@status=0; \
	$(PY) -m pytest -n 2 --dist worksteal || status=1; \
	$(MAKE) nbval || status=1; \
	exit $$status

nbval: $(READY) ## run the notebooks once more, in plain kernels, and compare their outputs; what nbval does
	@$(ALIKE) $(PY) -m pytest -n 2 --dist loadfile -o filterwarnings=default -p no:cacheprovider \
	  -p nbval --nbval --nbval-current-env --nbval-sanitize-with tests/notebooks/nbval-sanitize.cfg $(NOTEBOOKS)

compare: $(EXECUTED) ## what `make book` has run beside the committed outputs, pictures too, and the stand-ins made again
	@$(PY) -m pytest -p no:cacheprovider tests/notebooks/test_outputs.py tests/notebooks/test_stand_in.py

style: $(READY) ## style, types and the order of rooms, in seconds; what pre-commit runs
	@$(PY) -m ruff check --quiet
	@$(PY) -m ruff format --check --quiet
	@$(PY) -m mypy --no-error-summary
	@mkdir -p build; $(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' > build/rooms.log \
	  || { cat build/rooms.log >&2; exit 1; }

check: style ## style, and a quick part of the tests that enters every room, in under a minute
	@$(PY) -m pytest -q -n 2 -m "not slow and not full" --ignore=tests/browser

package: $(READY) ## build the package in build/package, and run its tests with the lowest versions it declares; needs an index
	@$(PY) -m tests.house.package

proofs: $(READY) ## what Coq has checked: every theorem of proofs/ again, and what each one rests on; needs Coq
	@$(PY) -m proofs.check

recheck: $(READY) ## some cells of the kept results of studies on the real data again: SEED=20261122 says which
	@case "$(SEED)" in ""|*[!0-9]*) echo "Say which cells: make recheck SEED=number" >&2; exit 2;; esac
	@$(PY) -m tests.recheck $(SEED)

papers: $(PAPERS) ## the documents' own settings (notebooks/full.yml) on the real data; goes on where it was interrupted
	@$(PY) -m book.ledger full
	@$(PY) -m book.ledger package
	@$(PY) -m notebooks.tools.progress build/papers/record

claims: book/scorecard.md ## judge every claim: build/claims.json and the scorecard page
	@echo "$(CURDIR)/build/claims.json"

assignments: $(READY) ## student versions of the assignments, a zip each, in build/assignments (LANGUAGE=ja, VARIANT=name; or STUDENTS=names.txt SECRET=file)
	@$(PY) -m notebooks.assignments.make_assignments --variant "$(or $(VARIANT),default)" \
	  $(if $(filter command,$(origin LANGUAGE)),--language "$(LANGUAGE)") $(if $(STUDENTS),--students "$(STUDENTS)") $(if $(SECRET),--secret "$(SECRET)")

grade: $(READY) ## grade a class: SUBMISSIONS=folder, its VARIANT or VARIANTS=variants.csv (BANK=folder of tests, MARKS=by-hand.csv)
	@test -n "$(SUBMISSIONS)" || { echo "Say what to grade: make grade SUBMISSIONS=folder" >&2; exit 2; }
	@$(PY) -m notebooks.assignments.grade "$(SUBMISSIONS)" --variant "$(or $(VARIANT),default)" \
	  $(if $(VARIANTS),--variants "$(VARIANTS)") $(if $(BANK),--bank "$(BANK)") $(if $(MARKS),--marks "$(MARKS)")

# A title may hold a dollar sign, of which make is not to make anything.
document: override export KEY := $(value KEY)
document: override export TITLE := $(value TITLE)
document: override export AUTHORS := $(value AUTHORS)
document: $(READY) ## everything for one more document: KEY=smith2026, and TITLE="..." AUTHORS="Smith and Jones" if known
	@$(ALIKE) $(PY) -m notebooks.tools.new_document --title="$$TITLE" --authors="$$AUTHORS" -- "$$KEY"

# What may be said to both: handed on as it stands, whatever is in it.
mine schema: override export DATA := $(value DATA)
mine schema: override export SCHEMA := $(value SCHEMA)
mine schema: override export CODEBOOK := $(value CODEBOOK)
mine schema: override export OUTPUT := $(value OUTPUT)
mine schema: override export TABLE := $(value TABLE)
mine: $(READY) ## a private synthetic version of your own table, with a report: DATA=people.csv SCHEMA=schema.yml (EPSILON=1 OUTPUT=released)
	@test -n "$$DATA" && test -n "$$SCHEMA" || { echo "Say what to release: make mine DATA=people.csv SCHEMA=schema.yml" >&2; exit 2; }
	@$(PY) -m notebooks.tools.mine release --data="$$DATA" --schema="$$SCHEMA" --output="$${OUTPUT:-released}" --table="$$TABLE" \
	  --epsilon="$(EPSILON)" --delta="$(DELTA)" --neighbours="$(NEIGHBOURS)" --workload="$(WORKLOAD)" --records="$(RECORDS)" --within="$(WITHIN)"

schema: $(READY) ## a schema for `make mine`, proposed from a codebook, never from data: CODEBOOK=codebook.csv (OUTPUT=schema.yml)
	@test -n "$$CODEBOOK" || { echo "Say which codebook: make schema CODEBOOK=codebook.csv" >&2; exit 2; }
	@$(PY) -m notebooks.tools.mine schema --output="$${OUTPUT:-schema.yml}" -- "$$CODEBOOK"

bench: $(READY) ## the benchmarks, one line of JSON each (CASE=name for some, RECORDS=100000000 to count, PEERS=yes beside others' work)
	@$(PY) -m tests.benchmarks $(CASE)

peers: $(READY) ## AIM beside its peers over whole runs, hours; keeps each seed in book/results and goes on where it was interrupted (PEERS=yes FOR="fair" SEEDS=5 MBI=folder)
	@$(PY) -m tests.benchmarks.aim_peers
	@$(PY) -m tests.benchmarks.aim_fits

notebooks: $(EXECUTED) ## refresh the outputs of the committed notebooks, in place
	@$(PY) notebooks/tools/run.py --refresh $(NOTEBOOKS)

screenshot: build/html/index.html ## retake the picture in the README
	@$(PY) -m tests.browser.screenshot index.html book/_static/screenshot.png

stand-in: $(READY) ## make the embedded stand-ins in lib/data/stand_ins again, from the real files
	@$(PY) -m notebooks.studies.stand_in

catalogues: book/scorecard.md | $(READY) ## bring locale/, the messages of every page for translators, up to date with the pages
	@ln -sfn ../build/executed book/notebooks
	@rm -rf build/catalogues
	@$(PY) -m book.site.build catalogues build/catalogues
	@$(PY) -m notebooks.assignments.language

lock: $(READY) ## pin requirements.in, with hashes, in requirements.lock; likewise the benchmarks' peers
	@$(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --custom-compile-command 'make lock' requirements.in -o requirements.lock
	@for peer in $(basename $(wildcard tests/benchmarks/peers/*.in)); do \
	  $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --custom-compile-command 'make lock' $$peer.in -o $$peer.lock || exit 1; done

# Tools of their own, in an environment that uv lays over ours for this one call.
LAYERED = $(PY) -m uv run --quiet --no-project --python $(PY)

coverage: $(READY) ## which lines of lib the tests reach (an hour; TESTS="tests/lib/accounting/test_divergence.py ..." for some)
	@mkdir -p build; export COVERAGE_FILE=build/coverage; \
	$(LAYERED) --with coverage==7.13.0 python -m coverage run --source=lib -m pytest -q $(or $(TESTS),tests --ignore=tests/browser) && \
	$(LAYERED) --with coverage==7.13.0 python -m coverage report --skip-covered --show-missing

mutants: $(READY) ## would the tests notice a change? MODULE=adaptive_iterative SAMPLE=50 (divergence, conversions, bounds too)
	@$(LAYERED) --with cosmic-ray==8.7.0 python -m tests.house.mutants $(or $(MODULE),adaptive_iterative) --sample $(or $(SAMPLE),50)

faults: $(READY) ## would the verdicts notice? faults planted in lib, and the chapters judge again (an hour; ONLY=kiri2019 for some)
	@$(ALIKE) $(PY) -m tests.house.planted_faults --only "$(ONLY)"

clean: ## remove what was built (the environment in .venv stays)
	rm -rf build book/notebooks book/scorecard.md

help: ## this list
	@echo 'make COMMAND, or make PYTHON=python COMMAND to use the active environment:'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' Makefile
