# For those who like make: every target is one line over dev.py, which needs nothing but Python.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench crash simulate soak screenshots clean
PYTHON ?= python3

help:      ## show this list
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+): *## */  \1\t/' | expand -t 14
setup:     ## prepare .venv with all development tools
	@$(PYTHON) dev.py setup
demo:      ## see mainstay work
	@$(PYTHON) dev.py demo
test:      ## lint, types, layers, then all tests
	@$(PYTHON) dev.py test
check:     ## lint, types and layers only
	@$(PYTHON) dev.py check
format:    ## format the code and mend what the linter can mend
	@$(PYTHON) dev.py format
bench:     ## measure, beside the raw engine and the peers
	@$(PYTHON) dev.py bench
crash:     ## kill and pause processes at random, then audit every job
	@$(PYTHON) dev.py crash
simulate:  ## run seeded simulations on a virtual clock
	@$(PYTHON) dev.py simulate
soak:      ## let real processes work for 30 minutes, and see whether anything grows
	@$(PYTHON) dev.py soak
screenshots: ## take the pictures of the dashboard that the docs show
	@$(PYTHON) dev.py screenshots
clean:     ## remove .venv, caches and build output
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
