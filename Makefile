# The front door. Meson does the work; see CONTRIBUTING.md for its commands.
#
#   make                  build into B (build)
#   make demo             build, then measure a small build; CMD='…' measures that instead
#   make test             every test, with and without sanitizers
#   make golden-update    write the expected output of the golden tests anew
#   make bench            a table of ratios; N=100 for one size of tree, ONLY=floor for one part
#   make fuzz             every fuzz target for SECONDS (20)
#   make check-style      clang-format and clang-tidy
#   make install          below DESTDIR and PREFIX (/usr/local)
#   make clean            remove the build directories

B = build
PREFIX = /usr/local
DESTDIR =
SECONDS = 20

export CMD

all: $(B)/build.ninja
	@ninja -C $(B)

$(B)/build.ninja:
	@meson setup --prefix=$(PREFIX) $(B)

demo: bootstrap-build
	@$(MAKE) --no-print-directory all
	@tools/demo $(B)/toll

test: bootstrap
	@tools/run-tests $(B)

golden-update: all
	@TOLL=$(abspath $(B))/toll TOLL_BUILD=$(abspath $(B)) \
		/usr/bin/python3 -B -m pytest -q -p no:cacheprovider --rootdir . --update tests/golden

bench: bootstrap
	@$(MAKE) --no-print-directory all
	@TOLL=$(B)/toll TOLL_BUILD=$(B) BENCH_N='$(N)' BENCH_ONLY='$(ONLY)' BENCH_ROUNDS='$(ROUNDS)' \
		/usr/bin/python3 -B tests/bench/bench.py

fuzz: bootstrap
	@test -f $(B)-fuzz/build.ninja || CC=clang meson setup -Dfuzz=true \
		-Db_sanitize=address,undefined -Db_lundef=false $(B)-fuzz
	@ninja -C $(B)-fuzz
	@tools/fuzz $(B)-fuzz $(SECONDS)

check-style: bootstrap
	@$(MAKE) --no-print-directory all
	@tools/check-style $(B)

install: all
	@meson configure -Dprefix=$(PREFIX) $(B)
	@DESTDIR=$(DESTDIR) meson install -C $(B)

clean:
	rm -rf $(B) $(B)-asan $(B)-fuzz

bootstrap:
	@tools/bootstrap

bootstrap-build:
	@tools/bootstrap --build-only

.PHONY: all demo test golden-update bench fuzz check-style install clean bootstrap bootstrap-build
