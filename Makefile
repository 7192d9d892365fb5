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
FLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
FLAGS_fuzz    := -O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
VERSION := 0.1.0
CFLAGS  ?=
ALL_CFLAGS := $(STD) $(WARN) $(FLAGS_$(MODE)) -fPIC -fvisibility=hidden -Isrc -Iinclude -DSL_VERSION='"$(VERSION)"' $(CFLAGS)
LIBS    := -lzstd -lsnappy -llz4 -ldeflate -lbrotlidec -lxxhash -ljansson -lz -lpthread -lm
LDFLAGS ?=
ALL_LDFLAGS := $(filter -fsanitize=%,$(FLAGS_$(MODE))) $(LDFLAGS)

LIB_FOLDERS := $(filter-out cli,$(FOLDERS))
LIB_SRC := $(foreach f,$(LIB_FOLDERS),$(wildcard src/$(f)/*.c))
CLI_SRC := $(wildcard src/cli/*.c)
LIB_OBJ := $(LIB_SRC:src/%.c=$(BUILD)/obj/%.o)
CLI_OBJ := $(CLI_SRC:src/%.c=$(BUILD)/obj/%.o)
LIB_A   := $(BUILD)/libsluice.a
# Unit, golden and model tests are one program a file: tests/KIND/NAME_test.c; TESTS=name,... narrows.
TEST_KINDS := unit golden model crash race fuzz
TEST_SRC := $(foreach k,$(TEST_KINDS),$(wildcard tests/$(k)/*_test.c))
TEST_BIN := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)

.PHONY: all lib clean
all: lib $(BUILD)/sluice
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
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(CLI_OBJ) $(LIB_A) $(LIBS)
$(BUILD)/tests/%: tests/%.c $(LIB_A)
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP -MF $@.d $< -o $@ $(ALL_LDFLAGS) $(LIB_A) -lcmocka $(LIBS)

# One test program: make run-unit/parquet_test
run-unit/%: $(BUILD)/tests/unit/%
	$<
run-golden/%: $(BUILD)/tests/golden/%
	$<

clean:
	rm -rf build
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_BIN:=.d)
