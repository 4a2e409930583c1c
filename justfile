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

# Rewrite the expected output of the folder tests
bless:
    UPDATE=1 cargo test --release -p skillrun-cli --test outside

# Measure against python3, interleaved in one run
bench *names:
    cargo bench -p skillrun-cli {{ if names == "" { "" } else { "--bench " + names } }}

# Format, lint, document
check:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets -- -D warnings

# What must hold before a change lands
ci:
    .ci/run

# Fuzz one target of tests/fuzz/targets
fuzz target seconds="600":
    tests/fuzz/run {{ target }} {{ seconds }}

# Fuzz every target, one after the other, for so many seconds each
fuzz-all seconds="600":
    tests/fuzz/run all {{ seconds }}

# Run every script of a folder of malicious skills contained, and fail if one gets anything
attack corpus report="attack.jsonl":
    cargo build --release -p skillrun-cli --bin skillrun
    cargo run --release -p skillrun-cli --example attack -- {{ corpus }} {{ report }}
