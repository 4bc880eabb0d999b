# Everything below works on a fresh clone: each target first makes .venv, with what it needs in the
# versions of requirements.lock, and does nothing about it when it is current.
#
#   make run    execute the whole course, solved, and print the score sheet
#   make test   the first case of each kind of all that proves the course (tests/README.md)
#   make seconds  measure which tests are slow: make test leaves those to make prove
#   make prove  all of it that has changed since it was last proved, two at a time; PART=3/8 takes an
#               eighth, ONLY=WORD what has WORD in its name
#   make proved whether all of it holds for these sources; a release needs that
#   make lab    JupyterLab at the first lesson
#   make build  regenerate both notebooks of every lesson from solutions/*.py
#   make site   the reading site, into build/site (fetches Pyodide and MathJax once, with npm)
#   make bench  cost and speed, side by side
#   make bench-diagnosis  who names the cause of each broken run (an hour; PART=10 ends a part after 10
#               minutes, and the next one goes on); writes docs/diagnosis.md
#               TOOL=COMMAND scores any other tool instead, on our runs and on outside ones
#   make yardstick  which tool says what, from kept answers; writes docs/yardstick.md
#   make bench-explain  what `course explain` names from their logs; writes docs/what_logs_tell.md
#   make lora-reach  which weights LoRA reaches in each model of Transformers; writes docs/lora_reach.md
#   make incidents  every broken run, its twin and its fix over three seeds; writes docs/incidents.md
#   make failures  what shows each failure, and what is missing; writes docs/failures.md (trains nothing)
#   make oncall  every ticket of the exam, its fix and its non-fixes over three seeds; writes docs/oncall.md
#   make eras   every failure in the versions of their day, and in today's (needs the package index)
#   make stacks the instruments beside other versions of the libraries; writes docs/stacks.md (needs the
#               package index; ONLY=t451 takes one)
#   make lock   write requirements.lock anew from what is installed

PYTHON ?= python3
BIN := .venv/bin
# What lessons and commands need; -site and -test add those extras of pyproject.toml.
INSTALLED := .venv/.installed

# One thread, before torch is imported: on a busy 2-core machine more are slower.
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# Hundreds of processes import the course: compiled modules are kept, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test seconds lab build site bench bench-diagnosis bench-explain yardstick lora-reach incidents failures oncall eras stacks lock prove proved
.DELETE_ON_ERROR:

run: $(INSTALLED)
	$(BIN)/course run --solutions --jobs 2

PYTEST := $(BIN)/python -m tests.prove.nothing_left $(BIN)/pytest --numprocesses 2 \
  --no-loadscope-reorder
ROOMS := tests course_utils

test: $(INSTALLED)-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) --nbval --nbval-cell-timeout=300 --nbval-sanitize-with=tests/nbval.cfg \
	  solutions/*.ipynb $(ROOMS)

seconds: $(INSTALLED)-test
	$(PYTEST) --measure all $(or $(ONLY),$(ROOMS))
	$(PYTEST) --measure rest $(or $(ONLY),$(ROOMS))

prove: $(INSTALLED)-test
	$(BIN)/python -m tests.prove $(if $(PART),--part $(PART)) $(ONLY)

proved: $(INSTALLED)-test
	$(BIN)/python -m tests.prove --check

lab: $(INSTALLED)
	$(BIN)/course lab

build: $(INSTALLED)
	$(BIN)/course build

site: $(INSTALLED)-site
	$(BIN)/python docs/site

bench: $(INSTALLED)-test
	$(BIN)/python -m benchmarks

bench-diagnosis: $(INSTALLED)-test
	$(BIN)/python -m benchmarks.diagnostics.diagnosis $(if $(TOOL),--tool "$(TOOL)",--write $(if $(PART),--minutes $(PART)))

yardstick: $(INSTALLED)-test
	$(BIN)/python -m benchmarks.diagnostics.yardstick --write

bench-explain: $(INSTALLED)-test
	$(BIN)/python -m benchmarks.explain.incident_logs --write

lora-reach: $(INSTALLED)-test
	$(BIN)/python -m benchmarks.diagnostics.lora_reach --write

incidents: $(INSTALLED)-test
	$(BIN)/python -m benchmarks.incidents.proofs --write

failures: $(INSTALLED)-test
	$(BIN)/python -m benchmarks.incidents.failures --write

oncall: $(INSTALLED)-test
	$(BIN)/python -m course_utils.oncall.spread
	$(BIN)/python -m benchmarks.oncall.proofs --write

eras: $(INSTALLED)
	$(BIN)/course era --all

stacks: $(INSTALLED)-test
	$(BIN)/python -m tests.stacks --write $(ONLY)

lock: $(INSTALLED)-test
	$(BIN)/python -m pip freeze --exclude-editable \
	  | grep -vE '^(nvidia-|triton==|cuda-)' | sed 's/+cpu$$//' > requirements.lock

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v < (3, 14) or sys.exit( \
	  "This course needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is %d.%d: run make PYTHON=python3.12, say." % v)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --constraint requirements.lock --editable '.[lab]'
	@# pip compiles in one process, and the packages' own tests, too. Code for a newer Python fails.
	$(BIN)/python -m compileall -qq -j 0 -x 'site-packages/.*/tests/' "$(CURDIR)/.venv/lib" || true
	@touch $@

$(INSTALLED)-%: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint requirements.lock 'brokenruns[$*]'
	@touch $@
