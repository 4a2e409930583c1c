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
