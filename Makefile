# The front door. Meson does the work; see CONTRIBUTING.md for its commands.
#
#   make                  build the command, the library and the Python package into B (build)
#   make everything       … and the tests
#   make demo             build, then measure a small build; CMD='…' measures that instead
#   make check            unit, golden, fuzz corpora, documents: two minutes; installs nothing
#   make test             every test, with and without sanitizers
#   make golden-update    write the expected output of the golden tests anew
#   make docs-update      write anew what the documents show of the command and of toll.h
#   make picture          draw the pictures of README.md anew, from what toll prints and a report
#   make abi-update       store the ABI of the library anew (after a change of toll.h)
#   make test-fresh       make demo and make test in a bare Debian, as root and as a user; WHO=root for one
#   make bench            a table of ratios; N=100 for one size of tree, ONLY=floor for one part;
#                         PEERS=DIR compares with other monitors that are installed there
#   make wheel            the Python package, as dist/toll-VERSION-….whl
#   make fuzz             every fuzz target for SECONDS (20)
#   make check-style      clang-format and clang-tidy
#   make install          below DESTDIR and PREFIX (/usr/local)
#   make uninstall        remove what the last make install put there
#   make clean            remove the build directories
#   make help             this list

B = build
PREFIX = /usr/local
DESTDIR =
SECONDS = 20

export CMD

all: configured
	@ninja -C $(B) product

everything: configured
	@ninja -C $(B)

configured:
	@tools/configure $(B) --prefix=$(PREFIX)

demo: bootstrap-build
	@$(MAKE) --no-print-directory configured
	@ninja -C $(B) toll
	@tools/demo $(B)/toll

check:
	@for tool in cc meson ninja python3; do \
		command -v $$tool >/dev/null && continue; \
		echo "make check: $$tool is not installed; make demo installs what the build needs" >&2; \
		exit 1; \
	done
	@tools/run-tests --check $(B)

# Without root, or without the network, packages may be missing: what needs them is skipped.
test: bootstrap-build
	@tools/bootstrap || echo 'make test: tests that need one of these packages are skipped' >&2
	@tools/run-tests $(B)

test-fresh:
	@tools/test-fresh $(WHO)

golden-update: everything
	@TOLL=$(abspath $(B))/toll TOLL_BUILD=$(abspath $(B)) \
		/usr/bin/python3 -B -m pytest -q -p no:cacheprovider --rootdir . --update tests/golden

docs-update: everything
	@tools/refresh-docs $(B)

picture: everything
	@tools/terminal-picture -b $(B)
	@tools/report-picture -b $(B)

abi-update: everything
	@tools/abi --update $(B)

bench: bootstrap
	@$(MAKE) --no-print-directory everything
	@TOLL=$(B)/toll TOLL_BUILD=$(B) BENCH_N='$(N)' BENCH_ONLY='$(ONLY)' BENCH_ROUNDS='$(ROUNDS)' \
		PEERS='$(PEERS)' \
		/usr/bin/python3 -B tests/bench/bench.py

wheel: bootstrap-wheel
	@$(MAKE) --no-print-directory all
	@/usr/bin/python3 -B python/build_wheel.py $(B) dist

fuzz: bootstrap
	@tools/fuzz $(B)-fuzz --setup --seconds $(SECONDS)

check-style: bootstrap
	@$(MAKE) --no-print-directory everything
	@tools/check-style $(B)

install: may-install configured
	@meson configure -Dprefix=$(PREFIX) $(B)
	@ninja -C $(B) product
	@DESTDIR=$(DESTDIR) meson install --no-rebuild -C $(B)

# The nearest directory that is there must be writable.
may-install:
	@for part in bin include lib share; do \
		directory='$(DESTDIR)$(PREFIX)'/$$part; \
		while [ ! -e "$$directory" ]; do directory=$$(dirname "$$directory"); done; \
		[ -w "$$directory" ] && continue; \
		echo "make install: no permission to write to $$directory;" \
			"use sudo make install, or PREFIX=DIRECTORY for a place of your own" >&2; \
		exit 1; \
	done

INSTALLED = $(B)/meson-logs/install-log.txt

uninstall:
	@test -f $(INSTALLED) || { \
		echo 'make uninstall: nothing was installed from $(B)' >&2; exit 1; }
	@case '$(origin PREFIX) $(origin DESTDIR)' in *command*) \
		grep -q '^$(DESTDIR)$(PREFIX)/' $(INSTALLED) || { \
			echo 'make uninstall: the last make install did not go below $(DESTDIR)$(PREFIX):' \
				"$$(grep -v '^#' $(INSTALLED) | head -n 1)" >&2; \
			exit 1; };; \
	esac
	@grep -v '^#' $(INSTALLED) | while IFS= read -r file; do \
		if [ -d "$$file" ] && [ ! -L "$$file" ]; then \
			rmdir "$$file" 2>/dev/null || true; \
		else \
			rm -f "$$file" 2>/dev/null || { \
				echo "make uninstall: no permission to remove $$file; use sudo make uninstall" >&2; \
				exit 1; }; \
		fi; \
	done

help:
	@sed -n 's/^#   //p' Makefile

clean:
	rm -rf $(B) $(B)-asan $(B)-tsan $(B)-fuzz dist

bootstrap:
	@tools/bootstrap

bootstrap-build:
	@tools/bootstrap --build-only

bootstrap-wheel:
	@tools/bootstrap --wheel

.PHONY: all everything configured demo check test test-fresh golden-update docs-update picture abi-update bench \
	wheel fuzz check-style install may-install uninstall clean help bootstrap bootstrap-build bootstrap-wheel
