# Every command a developer needs. None of them is needed to build or to test.

# Show the commands
default:
    @just --list

# Build everything, the interpreters included
build:
    cargo build --release

# Run all tests
test:
    cargo test --release

# Rewrite the expected output of the folder tests and of the pages of the documentation
bless:
    UPDATE=1 cargo test --release --test outside --test docs

# Rewrite the listings of the public interface: api.txt of each library
api:
    python3 .ci/api.py --write

# Build the book into target/book
docs:
    "$(.ci/tool mdbook)" build

# Record the terminal session of the README: docs/demo.svg
demo:
    cargo build --release
    python3 .ci/demo.py "${CARGO_TARGET_DIR:-target}/release/skillrun" docs/demo.svg

# Measure against native interpreters and other sandboxes, interleaved in one run
bench *names:
    cargo bench -p skillrun-cli {{ if names == "" { "" } else { "--bench " + replace(names, " ", " --bench ") } }}

# Check format and lints
check:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets -- -D warnings

# Everything that must pass before a change lands
ci:
    .ci/run

# Kill worker processes at random under load for this many seconds, and fail if a run is lost, doubled or hangs
kill-workers seconds="60":
    KILL_WORKERS_SECONDS={{ seconds }} cargo test --release --test outside -- --exact workers_that_are_killed_at_random_lose_and_double_no_run

# Fuzz one target of tests/fuzz/targets
fuzz target seconds="600":
    tests/fuzz/run {{ target }} {{ seconds }}

# Fuzz every target, one after the other, for this many seconds each
fuzz-all seconds="600":
    tests/fuzz/run all {{ seconds }}

# Run every script of a folder of malicious skills in the sandbox, and fail if one gets through
attack corpus report="attack.jsonl":
    cargo build --release -p skillrun-cli --bin skillrun
    cargo run --release -p skillrun-cli --example attack -- {{ corpus }} {{ report }}
