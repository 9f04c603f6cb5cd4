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
CLASSROOM := active-classroom
DEVELOPMENT := active-classroom active-development
else
PY := .venv/bin/python
ENVIRONMENT := .venv/installed
READY := .venv/installed
CLASSROOM := .venv/classroom
DEVELOPMENT := .venv/development
# Containers like to set this. Then every kernel would compile pandas, scipy and the rest again: three seconds each time.
unexport PYTHONDONTWRITEBYTECODE
endif

# The first Python that runs (a shim may exist and fail), is in range and can make a venv.
SUITS = import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON3 = $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
	"$$python" -c '$(SUITS)' >/dev/null 2>&1 && { echo "$$python"; break; }; done)

# `installed` is written last: a half-made environment is made again from nothing. Of two that begin at once the second waits.
define INSTALL
if test .venv/installed -nt requirements.lock && test .venv/installed -nt pyproject.toml; then exit 0; fi
echo "environment: .venv with $$("$$BASE" --version)"
"$$BASE" -m venv --clear .venv
awk '/^[^ #]/ {keep = /^uv==/} keep' requirements.lock > .venv/uv.txt
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.txt
.venv/bin/python -m uv pip sync --quiet --python .venv/bin/python --require-hashes requirements.lock
.venv/bin/python -m uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
touch .venv/installed
endef
.venv/installed: export INSTALL := $(INSTALL)
.venv/installed: requirements.lock pyproject.toml
	@test ! -L .venv || { echo ".venv is a link to the environment of another checkout and is not rebuilt from here; use make PYTHON=.venv/bin/python" >&2; exit 2; }
	@export BASE="$(PYTHON3)"; test -n "$$BASE" || { \
	  echo "No usable Python 3.11, 3.12 or 3.13 found (on Debian, the venv module is in python3-venv)." >&2; exit 1; }; \
	mkdir -p build; "$$BASE" notebooks/tools/alone.py build/environment.lock sh -ec "$$INSTALL"

# Instructors and developers need more packages. Their locks give shared packages the reader's versions.
.venv/classroom .venv/development: .venv/%: requirements-%.lock .venv/installed
	@.venv/bin/python -m uv pip install --quiet --python .venv/bin/python --require-hashes -r $<
	@touch $@
.venv/development: .venv/classroom  # whose tests need it

.PHONY: active-environment active-classroom active-development
active-environment active-classroom active-development: active-%:
	@$(PY) tests/house/check_environment.py $*

# ---- the benchmarks' peers (`make bench PEERS=yes`), never needed to build or test
# Each in an environment of its own: mbi needs numpy 2, dpmm pins numpy 1.26.

ifeq ($(PEERS),yes)
bench: $(patsubst tests/benchmarks/%.lock,build/%/installed,$(wildcard tests/benchmarks/peers/*.lock))
peers: $(patsubst %,build/peers/%/installed,dpmm mbi statsmodels $(if $(MARGNET),opacus))
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

# AIM's choices hang on last digits, and those on the processor: notebooks compute as every x86-64 with FMA can.
ifeq ($(shell uname -m),x86_64)
ALIKE = env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Nehalem NUMBA_CPU_NAME=generic NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
endif

# ---- what the book is made of

NOTEBOOKS := $(sort $(filter-out notebooks/assignments/%,$(wildcard notebooks/*/*.ipynb)))
# Longest first, by the seconds of the full run, so that no long one is left for the end.
TIMED := $(shell cat book/results/papers.csv 2>/dev/null | sort -t, -k2,2nr | sed -n 's|^\([^,/]*/[^,/]*\),[0-9].*|notebooks/\1.ipynb|p')
ORDERED := $(filter $(NOTEBOOKS),$(TIMED)) $(filter-out $(TIMED),$(NOTEBOOKS))
EXECUTED := $(ORDERED:notebooks/%=build/executed/%)
PAPERS := $(ORDERED:notebooks/%=build/papers/%)

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

# What each thing that is made depends on is read from the code, each time, as a key. What was made keeps its key in build/made;
# keys.py makes a key's file older than what was made with it, and newer than what was made with another, whatever the clock says.
# With `+`, so that `make -n` tells what would be run.
KEYS := $(patsubst build/%.ipynb,build/keys/%.key,$(EXECUTED) $(PAPERS)) $(addprefix build/keys/,claims.key scorecard.key html.key)
# What is kept is what `keys` found for this make (`KEY.…`): another make may write other keys before this one ends.
MADE = $(<:build/keys/%=build/made/%)
KEEP = @mkdir -p $(dir $(MADE)) && printf %s $(KEY.$<) > $(MADE)
.PHONY: keys FORCE
keys: export ALIKE := $(ALIKE)
keys: | $(READY)
	+@$(if $(ENVIRONMENT),test -e $(PY) || exit 0;) $(PY) notebooks/tools/keys.py $(NOTEBOOKS) -- $(EDITIONS)
$(KEYS): keys
	+@:$(eval KEY.$@ := $(shell cat $@ 2>/dev/null))

$(EXECUTED): build/executed/%.ipynb: build/keys/executed/%.key | $(READY)
	@$(ALIKE) $(PY) notebooks/tools/run.py notebooks/$*.ipynb -o $@
	$(KEEP)

# `exec`: without a shell between them, a notebook's run sees that make was killed, and ends.
$(PAPERS): build/papers/%.ipynb: build/keys/papers/%.key | build/papers/record/plan $(READY)
	@exec $(ALIKE) $(PY) notebooks/tools/run.py notebooks/$*.ipynb -o $@ --full --record build/papers/record
	$(KEEP)

# For the estimate of the time left: how many notebooks there are, and those that have to run. `make claim` asks for a few.
PLANNED = $(or $(filter $(PAPERS),$(MAKECMDGOALS)),$(PAPERS))
build/papers/record/plan: FORCE keys | $(READY)
	@mkdir -p $(@D)
	@{ echo $(words $(PLANNED)); for each in $(PLANNED:build/papers/%.ipynb=%); do \
	  test -f build/made/papers/$$each.key || echo $$each; done; } > $@

# The ledger reads whatever lies under build/executed, so what lost its source goes first.
build/claims.json: build/keys/claims.key | $(EXECUTED) $(READY)
	@find build/executed -type f -name '*.ipynb' 2>/dev/null | while read -r executed; do \
	  test -f "notebooks/$${executed#build/executed/}" || rm -f "$$executed"; done
	@$(PY) -m book.ledger gather
	$(KEEP)

book/scorecard.md: build/keys/scorecard.key | build/claims.json
	@$(PY) -m book.ledger page
	$(KEEP)

# Built from nothing in a scratch folder (Sphinx repeats no warning for a page that it kept), and swapped in when it stands:
# a failed build leaves the last good book where it is. Of two that build at once the second waits, and finds it built.
define HTML
test "$$(cat build/made/html.key 2>/dev/null)" != "$$KEY" || exit 0
test -d build/html || test ! -d build/html.old || mv build/html.old build/html
rm -rf build/scratch build/html.old && mkdir -p build/scratch build/made
ln -sfn ../build/executed book/notebooks
echo "building the HTML (details in build/html.log)"
$(PY) -m book.site.build html build/scratch $(EDITIONS) > build/html.log 2>&1 || {
  tr -d '\033' < build/html.log | sed 's/\[[0-9;]*m//g' | grep -E '(WARNING|ERROR|CRITICAL):' || tail -n 30 build/html.log
  echo "The book was not built; the last good one, if any, is untouched." >&2; exit 1; }
$(PY) -m book.ledger downloads --output build/scratch/html
$(PY) -m book.site.downloads zip build/scratch/html
test ! -d build/html || mv build/html build/html.old
mv build/scratch/html build/html
printf %s "$$KEY" > build/made/html.key
rm -rf build/html.old build/scratch
endef
.PRECIOUS: build/html/index.html
build/html/index.html: export HTML := $(HTML)
build/html/index.html: build/keys/html.key | $(EXECUTED) book/scorecard.md $(READY)
	@KEY=$(KEY.$<) $(PY) notebooks/tools/alone.py build/html.lock sh -ec "$$HTML"

# ---- commands; `make help` prints the text after ## in groups

.PHONY: help book pdf clean test test-all papers claims proofs schema mine assignments grade check style notebooks claim catalogues document

help: ## list the commands
	@echo 'make COMMAND, or make PYTHON=python COMMAND in an environment that is active:'
	@awk -F ':.*## ' '/^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Reading

book: build/html/index.html ## run the notebooks whose code has changed, build the book, print where it is (LANGUAGE=en: English only)
	@echo "$(CURDIR)/build/html/index.html"

pdf: build/html/index.html $(DEVELOPMENT) ## print the book to build/compendium.pdf; needs Chromium with its driver (LANGUAGE=ja: in Japanese)
	@$(PY) -m tests.browser.pdf $(PAPER) --language $(lastword en $(PAPER_IN))
	@$(PY) -m book.site.downloads pdf build/html$(PAPER_IN:%=/%) $(PAPER)
	@echo "$(CURDIR)/$(PAPER)"

clean: ## remove what was built; the environment in .venv stays
	rm -rf build book/notebooks book/scorecard.md

##@ Running it again

test: build/html/index.html $(DEVELOPMENT) ## test the methods, verdicts, outputs and pages, and a representative part of everything else
	@$(PY) -m pytest -n 2 --dist worksteal -m "not full"

test-all: build/html/index.html $(DEVELOPMENT) ## run every test, the notebooks in plain kernels and on other Pythons, the proofs, the package
	@status=0; \
	$(PY) -m pytest -n 2 --dist worksteal || status=1; \
	for each in nbval proofs package; do $(MAKE) $$each || status=1; done; \
	PY=$(PY) .ci/digits || status=1; \
	exit $$status

papers: $(PAPERS) ## run the settings of the papers (notebooks/full.yml) on the real data; an interrupted run resumes
	@$(ALIKE) $(PY) -m book.ledger full
	@$(PY) -m book.ledger package
	@$(ALIKE) $(PY) -m notebooks.tools.progress build/papers/record

claims: book/scorecard.md ## judge every claim: build/claims.json and the scorecard
	@echo "$(CURDIR)/build/claims.json"

proofs: $(READY) ## check every theorem of proofs/ with Coq, and list what each theorem assumes
	@$(PY) -m proofs.check

##@ Your own table

# These values may contain any character, so make hands them on unread.
mine schema: override export DATA := $(value DATA)
mine schema: override export SCHEMA := $(value SCHEMA)
mine schema: override export CODEBOOK := $(value CODEBOOK)
mine schema: override export OUTPUT := $(value OUTPUT)
mine schema: override export TABLE := $(value TABLE)
mine schema: override export ACCOUNT := $(value ACCOUNT)

schema: $(READY) ## propose a schema from a codebook, never from data (CODEBOOK=codebook.csv OUTPUT=schema.yml)
	@test -n "$$CODEBOOK" || { echo "Say which codebook: make schema CODEBOOK=codebook.csv" >&2; exit 2; }
	@$(PY) -m notebooks.tools.mine schema --output="$${OUTPUT:-schema.yml}" -- "$$CODEBOOK"

mine: $(READY) ## release a private synthetic version of a table, with a report (DATA=people.csv SCHEMA=schema.yml EPSILON=1)
	@test -n "$$DATA" && test -n "$$SCHEMA" || { echo "Say what to release: make mine DATA=people.csv SCHEMA=schema.yml" >&2; exit 2; }
	@$(PY) -m notebooks.tools.mine release --data="$$DATA" --schema="$$SCHEMA" --output="$${OUTPUT:-released}" --table="$$TABLE" \
	  --epsilon="$(EPSILON)" --delta="$(DELTA)" --method="$(METHOD)" --neighbours="$(NEIGHBOURS)" --workload="$(WORKLOAD)" --records="$(RECORDS)" --within="$(WITHIN)" --account="$$ACCOUNT"

##@ Classroom

assignments: $(CLASSROOM) ## make a zip per assignment in build/assignments (LANGUAGE=ja VARIANT=name, or STUDENTS=names.txt SECRET=file; NBGRADER=yes for nbgrader)
	@$(PY) -m notebooks.assignments.make_assignments --variant "$(or $(VARIANT),default)" \
	  $(if $(filter command,$(origin LANGUAGE)),--language "$(LANGUAGE)") $(if $(STUDENTS),--students "$(STUDENTS)") $(if $(SECRET),--secret "$(SECRET)") $(if $(NBGRADER),--nbgrader)

grade: $(CLASSROOM) ## grade a class (SUBMISSIONS=folder VARIANT=name, or VARIANTS=variants.csv; ROSTER=names.txt BANK=folder MARKS=by-hand.csv DUE=due.csv ANONYMOUS=yes)
	@test -n "$(SUBMISSIONS)" || { echo "Say what to grade: make grade SUBMISSIONS=folder" >&2; exit 2; }
	@$(PY) -m notebooks.assignments.grade "$(SUBMISSIONS)" --variant "$(or $(VARIANT),default)" \
	  $(if $(VARIANTS),--variants "$(VARIANTS)") $(if $(ROSTER),--roster "$(ROSTER)") $(if $(BANK),--bank "$(BANK)") $(if $(MARKS),--marks "$(MARKS)") \
	  $(if $(DUE),--due "$(DUE)") $(if $(ANONYMOUS),--anonymous)

##@ Changing it

check: style ## check the style, and run the quick tests of every subpackage, in under a minute
	@$(PY) -m pytest -q -n 2 -m "not slow and not full" --ignore=tests/browser

style: $(DEVELOPMENT) ## check style, types and the order of imports in seconds; pre-commit runs it
	@$(PY) -m ruff check --quiet
	@$(PY) -m ruff format --check --quiet
	@$(PY) -m mypy --no-error-summary
	@mkdir -p build; $(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' > build/rooms.log \
	  || { cat build/rooms.log >&2; exit 1; }

notebooks: $(EXECUTED) ## write the outputs of the last run into the committed notebooks
	@$(PY) notebooks/tools/run.py --refresh $(NOTEBOOKS)

catalogues: book/scorecard.md | $(CLASSROOM) ## update locale/, the messages that translators work on
	@ln -sfn ../build/executed book/notebooks
	@rm -rf build/catalogues
	@$(PY) -m book.site.build catalogues build/catalogues
	@$(PY) -m notebooks.assignments.language

claim: override export ID := $(value ID)
claim: $(READY) ## judge one claim by its chapter, keep its verdict, refresh the chapter (ID=smith2026.table1.mean)
	@test -n "$$ID" || { echo "Say which claim: make claim ID=document.where.what" >&2; exit 2; }
	@run="$$($(PY) -m book.ledger chapters "$$ID")" && $(MAKE) $$run && $(PY) -m book.ledger claim "$$ID" $$run && \
	$(MAKE) $$(echo "$$run" | sed 's,build/papers/,build/executed/,g') && \
	$(PY) notebooks/tools/run.py --refresh $$(echo "$$run" | sed 's,build/[a-z]*/,notebooks/,g')

# A title may hold a dollar sign, of which make is not to make anything.
document: override export KEY := $(value KEY)
document: override export TITLE := $(value TITLE)
document: override export AUTHORS := $(value AUTHORS)
document: $(READY) ## scaffold a document: its claims, its pages, a chapter (KEY=smith2026 TITLE="..." AUTHORS="Smith and Jones")
	@$(ALIKE) $(PY) -m notebooks.tools.new_document --title="$$TITLE" --authors="$$AUTHORS" -- "$$KEY"

include scripts/maintaining.mk
