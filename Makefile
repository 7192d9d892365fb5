# sluice: build, test, install. `make help` lists what there is.
BUILD   ?= build/$(MODE)
MODE    ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
# V=1 shows the commands.
Q := $(if $(V),,@)
PREFIX  ?= /usr/local
# Lower layers first. A folder may include only folders to its left (tools/check_layers holds it to that).
FOLDERS ?= base storage column keys parquet avro log table merge slice write query service api cli

STD     := -std=c11 -D_POSIX_C_SOURCE=200809L
WARN    := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wwrite-strings
# gcc guesses wrong about out-pointers that a failed call leaves alone; valgrind and ASan look for the real thing.
WARN    += -Wno-maybe-uninitialized -Wno-unknown-warning-option
FLAGS_release := -O2 -g -DNDEBUG
FLAGS_debug   := -O1 -g
# Instrumented code leads gcc's analysis of strings astray; the release build has these warnings on.
NO_GUESSES    := -Wno-restrict -Wno-format-truncation -Wno-stringop-overflow
FLAGS_asan    := $(NO_GUESSES) -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan    := $(NO_GUESSES) -O1 -g -fsanitize=thread -fno-omit-frame-pointer
FLAGS_fuzz    := $(NO_GUESSES) -O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
VERSION := 0.1.0
comma := ,
space := $(subst ,, )
CFLAGS  ?=
ALL_CFLAGS := $(STD) $(WARN) $(FLAGS_$(MODE)) -fPIC -fvisibility=hidden -Isrc -Iinclude -DSL_VERSION='"$(VERSION)"' $(CFLAGS)
LIBS    := -lzstd -lsnappy -llz4 -ldeflate -lbrotlidec -lxxhash -ljansson -lz -lpthread -lm
LDFLAGS ?=
ALL_LDFLAGS := $(filter -fsanitize=%,$(FLAGS_$(MODE))) $(LDFLAGS)
# The command has inside what comes as an archive: to load ten shared libraries takes a millisecond, a sixth of a lookup.
archive   = $(wildcard $(shell $(CC) -print-file-name=lib$(1).a))
inside    = $(foreach l,$(1),$(or $(call archive,$(l)),-l$(l)))
SNAPPY    = $(if $(call archive,stdc++),$(call inside,snappy stdc++) -static-libgcc,-lsnappy)
CLI_LIBS  = $(call inside,zstd lz4 deflate brotlidec brotlicommon xxhash jansson z) $(SNAPPY) -lpthread -lm

LIB_FOLDERS := $(filter-out cli,$(FOLDERS))
LIB_SRC := $(foreach f,$(LIB_FOLDERS),$(wildcard src/$(f)/*.c))
CLI_SRC := $(wildcard src/cli/*.c)
LIB_OBJ := $(LIB_SRC:src/%.c=$(BUILD)/obj/%.o)
CLI_OBJ := $(CLI_SRC:src/%.c=$(BUILD)/obj/%.o)
LIB_A   := $(BUILD)/libsluice.a
# Tests are one program a file: tests/KIND/NAME_test.c, fuzzing harnesses tests/fuzz/NAME_fuzz.c; tools/run_tests.sh runs them.
TEST_KINDS := unit golden model crash race fuzz
TEST_SRC := $(foreach k,$(TEST_KINDS),$(wildcard tests/$(k)/*_test.c))
TEST_BIN := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)

.PHONY: all lib clean demo test check check-long interop bench install format layers symbols fuzz help
all: lib $(BUILD)/sluice ## library and command, MODE=release|debug|asan|tsan (default release)
lib: $(LIB_A) $(BUILD)/libsluice.so

$(BUILD)/obj/%.o: src/%.c
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
$(LIB_A): $(LIB_OBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(BUILD)/libsluice.so: $(LIB_OBJ)
	$(Q)$(CC) -shared -Wl,-soname,libsluice.so.0 -Wl,--no-undefined $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(BUILD)/sluice: $(CLI_OBJ) $(LIB_A)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(CLI_OBJ) $(LIB_A) $(CLI_LIBS)
$(BUILD)/tests/%: tests/%.c $(LIB_A)
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP -MF $@.d $< -o $@ $(ALL_LDFLAGS) $(LIB_A) -lcmocka $(LIBS)
# A fuzzing harness with the plain driver, so that every test run tries it; `make fuzz` has libFuzzer drive it.
$(BUILD)/tests/fuzz/%_fuzz: tests/fuzz/%_fuzz.c tests/fuzz/standalone.c $(LIB_A)
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests $< $(if $(filter fuzz,$(MODE)),-DSL_FUZZER -fsanitize=fuzzer,tests/fuzz/standalone.c) -o $@ $(ALL_LDFLAGS) $(LIB_A) $(LIBS)
$(BUILD)/bench/%: bench/%.c $(LIB_A)
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP -MF $@.d $< -o $@ $(ALL_LDFLAGS) $(LIB_A) $(LIBS)

# Libraries to preload into the command.
$(BUILD)/bench/%.so: bench/%.c
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -fvisibility=default -shared $< -o $@

.PRECIOUS: $(BUILD)/tests/%

# One test program: make run-unit/parquet_test
define run_rule
run-$(1)/%: $$(BUILD)/tests/$(1)/%
	$$<
endef
$(foreach kind,$(TEST_KINDS),$(eval $(call run_rule,$(kind))))

# ---- what a newcomer types; tools/setup.sh installs what is missing ----

demo: ## real flights through an LSM table and a copy-on-write table
	@tools/setup.sh demo
	@$(MAKE) --no-print-directory -j2 MODE=release BUILD=build/release all
	@SLUICE=build/release/sluice demo/flights.sh

# What takes longest begins first, beside all others.
QUICK_TESTS := crash,model,race,cli,unit,golden,fuzz
# Sanitizers look at everything short; threads at the tests that have some.
ASAN_TESTS := unit,golden,model,fuzz
TSAN_TESTS := $(subst $(space),$(comma),$(strip $(patsubst tests/%.c,%,$(shell grep -lE 'sl_pool_new|pthread_create|sluice.threads' tests/unit/*.c tests/model/*.c tests/race/*.c 2>/dev/null))))
RUN_TESTS  := tools/run_tests.sh

test: ## every test: release, ASan and UBSan, TSan, and against Spark, hudi-rs, DuckDB and pyarrow (about 20 minutes)
	@tools/setup.sh test
	@$(MAKE) --no-print-directory layers
	@$(MAKE) --no-print-directory -j2 MODE=release BUILD=build/release all
	@$(MAKE) --no-print-directory MODE=release BUILD=build/release symbols
	@$(RUN_TESTS) release:$(QUICK_TESTS) asan:$(ASAN_TESTS) tsan:$(TSAN_TESTS) release:interop

check: ## the quick ones, no peers: layers, symbols, unit, golden, short model, crash, race, fuzz and command tests
	@tools/setup.sh check
	@$(MAKE) --no-print-directory layers
	@$(MAKE) --no-print-directory -j2 MODE=release BUILD=build/release all
	@$(MAKE) --no-print-directory MODE=release BUILD=build/release symbols
	@SL_TEST_QUICK=1 $(RUN_TESTS) release:$(QUICK_TESTS)

check-long: ## random tests with many more rounds, sanitized; Parquet files beyond 4 GiB (5 GB of disk, 3 GB of memory)
	@tools/setup.sh check
	@SL_TEST_LONG=1 ROUNDS=$${ROUNDS:-20000} TEST_TIMEOUT=7200 $(RUN_TESTS) asan:model,crash,fuzz release:race,unit/parquet_limits_test,unit/parquet_select_test,cli/memory_test

interop: ## only the tests against the peers
	@tools/setup.sh test
	@$(RUN_TESTS) release:interop

fuzz: ## libFuzzer on one harness: make fuzz FUZZ=parquet RUNS=1000000
	@tools/setup.sh dev
	@tools/fuzz.sh $(or $(FUZZ),parquet) $(or $(RUNS),1000000)

BENCH_PROGRAMS := scan_bench hash_merge lookup_bench alloc_count.so
bench: ## sluice and its peers side by side in one run, with the limits; appends to bench/RESULTS.md (BENCH="--skew recent --rows 10000000")
	@tools/setup.sh test
	@bench/setup.sh
	@$(MAKE) --no-print-directory -j2 MODE=release BUILD=build/release all $(addprefix build/release/bench/,$(BENCH_PROGRAMS))
	@bench/run.sh $(BENCH)

# ---- checks ----

layers: ## no include may point to a higher layer
	@tools/check_layers
symbols: $(BUILD)/libsluice.so ## the shared library exports what its header declares, nothing else
	@tools/check_symbols $< include/sluice/sluice.h
format: ## clang-format over all C files
	clang-format -i $$(git ls-files '*.c' '*.h')

# ---- install ----

$(BUILD)/sluice.pc: sluice.pc.in Makefile
	@mkdir -p $(BUILD)
	@sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|' $< >$@
$(BUILD)/sluice.1: $(BUILD)/sluice
	@$< help --man >$@
install: all $(BUILD)/sluice.pc $(BUILD)/sluice.1 ## into $(DESTDIR)$(PREFIX): library, headers, sluice.pc, command, man page
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/sluice $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/sluice $(DESTDIR)$(PREFIX)/bin/sluice
	install -m 644 $(LIB_A) $(DESTDIR)$(PREFIX)/lib/libsluice.a
	install -m 755 $(BUILD)/libsluice.so $(DESTDIR)$(PREFIX)/lib/libsluice.so.$(VERSION)
	ln -sf libsluice.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libsluice.so.0
	ln -sf libsluice.so.0 $(DESTDIR)$(PREFIX)/lib/libsluice.so
	install -m 644 include/sluice/*.h $(DESTDIR)$(PREFIX)/include/sluice/
	install -m 644 $(BUILD)/sluice.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/sluice.pc
	install -m 644 $(BUILD)/sluice.1 $(DESTDIR)$(PREFIX)/share/man/man1/sluice.1

clean: ## removes what was built
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | sed 's/\$$(DESTDIR)\$$(PREFIX)/DESTDIR\/PREFIX/' | awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_BIN:=.d)
