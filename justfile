# Each recipe is one command that also works without just.

# Format, lints and unit tests of the crates that changed since main: minutes.
check:
    cargo xtask check

# All tests: the command of the README.
test:
    cargo test --workspace --locked

# What must pass before a change lands: below an hour on two cores, from nothing.
gate:
    .ci/run

# The gate with every external suite.
gate-all:
    .ci/run --all
