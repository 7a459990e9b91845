# The front door. Every target sets up what it needs first; `make help` lists them.
.PHONY: help demo test test-java test-spark test-kernels test-metal test-guard test-hour test-kills test-long lint bench docs static build install uninstall package setup
CARGO ?= cargo
# Where cargo builds: CARGO_TARGET_DIR and cargo's configuration have their say.
TARGET = $(shell $(if $(CARGO_TARGET_DIR),CARGO_TARGET_DIR="$(CARGO_TARGET_DIR)") scripts/target-dir)
BINARY ?= $(TARGET)/release/pagewise
PREFIX ?= /usr/local
# Each is run, also after one that is over its bound.
BENCHES = overhead analyze recording jitter stacks top diagnose page hugepages lab

# For each of the parsers (cargo run --bin hostile targets), as many at a time as there are CPUs: on two, two hours in all.
FUZZ_SECONDS ?= 450

help:
	@echo "make demo       set up, build; find, and prove a THP policy on a Java program and on real Hadoop TeraSort"
	@echo "make test       every test, or those that NAME=… matches; lists what it skipped and why"
	@echo "make test-java  of those, what is written in Java"
	@echo "make test-spark the Spark plugin on every Spark and JDK it is for (a quarter of an hour); results go to bench/results/spark/"
	@echo "make test-kernels what works on which kernel, tried in virtual machines; the result goes to bench/long/ and docs/reference/kernels.md"
	@echo "make test-metal a trial that boots its host, on a virtual machine with GRUB and systemd of its own; the result goes to bench/long/"
	@echo "make test-guard the guard of groups, generations and nodes, tried in virtual machines; the result goes to bench/long/ and docs/reference/guard-guests.md"
	@echo "make test-hour  an hour of the guard beside a stream, MINUTES=60; the result goes to bench/long/"
	@echo "make test-kills a trial of three kernels under fifty kills; the result goes to bench/long/"
	@echo "make test-long  the full counts (hours); results go to bench/long/"
	@echo "make lint       formatting, clippy with warnings denied"
	@echo "make bench      Pagewise's own cost, beside other tools'; results go to bench/results/"
	@echo "make docs       what is generated: docs/reference/, packaging/completions/"
	@echo "make static     a static binary: $(TARGET)/x86_64-unknown-linux-gnu/release/pagewise"
	@echo "make build      the program alone: $(TARGET)/release/pagewise"
	@echo "make install    the program that was built, its manual, completions, units and guides under PREFIX=/usr/local; make uninstall"
	@echo "make package    a Debian package and an RPM of it in $(TARGET)/package"

setup:
	@scripts/setup demo

build:
	@scripts/setup build
	$(CARGO) build --release --locked -p pagewise
	@scripts/split-symbols "$(TARGET)/release/pagewise"

demo: setup
	@$(MAKE) --no-print-directory build
	@scripts/demo "$(TARGET)/release/pagewise"

# Nothing is built here: who installs is often root, who has no cargo and should leave nothing in the build's folder.
install:
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install "$(BINARY)"

uninstall:
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install --remove

package: build
	@scripts/setup package
	@scripts/package "$(TARGET)"

test:
	@scripts/setup test
	@scripts/test $(NAME)

test-java:
	@scripts/setup test
	@scripts/test-java $(NAME)

test-spark:
	@scripts/setup test
	@scripts/test-spark

test-kernels:
	@scripts/setup lab
	@PAGEWISE_KERNELS="$(or $(KERNELS),all)" PAGEWISE_RECORD_DIR="$(CURDIR)/bench/long" \
		$(CARGO) test --locked -p pagewise --test integration -- --nocapture every_kernel_of_the_table_is_tried
	@PAGEWISE_BLESS=1 $(CARGO) test --locked -p pagewise --test integration -- the_page_of_kernels_in_the_reference

test-metal:
	@scripts/setup lab
	@PAGEWISE_METAL=1 PAGEWISE_RECORD_DIR="$(CURDIR)/bench/long" \
		$(CARGO) test --locked -p pagewise --test integration -- --nocapture a_trial_boots_its_host_by_itself

test-guard: build
	@scripts/setup lab
	@PAGEWISE_GUARD_GUESTS="$(or $(MACHINE),all)" PAGEWISE_BINARY="$(abspath $(BINARY))" PAGEWISE_RECORD_DIR="$(CURDIR)/bench/long" \
		$(CARGO) test --locked -p pagewise --test integration -- --nocapture the_guard_is_tried_in_guests
	@PAGEWISE_BLESS=1 $(CARGO) test --locked -p pagewise --test integration -- the_page_of_guards_in_guests

test-hour: build
	@PAGEWISE_GUARD_MINUTES="$(or $(MINUTES),60)" PAGEWISE_BINARY="$(abspath $(BINARY))" PAGEWISE_RECORD_DIR="$(CURDIR)/bench/long" \
		$(CARGO) test --locked -p pagewise --test alone -- --nocapture a_guard_that_runs_for_long

test-kills:
	@scripts/setup lab
	@PAGEWISE_LAB_KILLS=1 PAGEWISE_RECORD_DIR="$(CURDIR)/bench/long" \
		$(CARGO) test --locked -p pagewise --test integration -- --nocapture a_trial_of_three_kernels_survives_fifty_kills

test-long:
	@scripts/setup test
	@PAGEWISE_LONG=1 PAGEWISE_RECORD_DIR="$(CURDIR)/bench/long" scripts/test
	@$(MAKE) --no-print-directory package
	@scripts/test-package "$(TARGET)"
	@scripts/fuzz $(FUZZ_SECONDS)

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

bench: build
	@scripts/setup bench
	@status=0; for bench in $(BENCHES); do \
		$(CARGO) bench --locked -p pagewise --bench $$bench || status=1; \
	done; exit $$status

docs:
	PAGEWISE_BLESS=1 $(CARGO) test --workspace --locked reference

static:
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --locked -p pagewise \
		--target x86_64-unknown-linux-gnu
	@scripts/split-symbols "$(TARGET)/x86_64-unknown-linux-gnu/release/pagewise"
	"$(TARGET)/x86_64-unknown-linux-gnu/release/pagewise" doctor --no-walk-cost
