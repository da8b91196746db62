"""Drives the decoders with libFuzzer: `cargo fuzz`, installed into `target/tools`, on the stable compiler.

It begins with what is kept in `crates/provider/tests/fuzz/corpus` and with the bodies of the provider's own corpus.
With `--keep`, what it found is reduced to the least that reaches as much, and kept.
"""

import argparse
import os
import shutil

import kit

VERSION = "0.13.2"
TARGETS = {
    "anthropic": "anthropic-messages",
    "chat": "openai-chat",
    "responses": "openai-responses",
    "gemini": "gemini",
    "ollama": "ollama",
    "prompted": "openai-chat",
}
# Files of a target in the repository.
KEPT = 120
# Longer inputs find little more and cost much.
LIMITS = ["-timeout=10", "-rss_limit_mb=512", "-max_len=2048"]


def installed():
    tools = kit.ROOT / "target/tools"
    if not (tools / "bin/cargo-fuzz").is_file():
        what = [
            "install",
            "cargo-fuzz",
            "--version",
            VERSION,
            "--locked",
            "--root",
            tools,
            "--target-dir",
            tools / "build",
        ]
        kit.done([os.environ.get("CARGO", "cargo"), *what], 1800)
    return tools / "bin/cargo-fuzz"


def keep(found, kept):
    """Keeps a spread of what was found, small and large: all of it would be thousands of files."""
    shutil.rmtree(kept)
    kept.mkdir()
    files = sorted(found.iterdir(), key=lambda file: (file.stat().st_size, file.name))
    for file in files[:: max(1, -(-len(files) // KEPT))]:
        shutil.copy(file, kept)


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask fuzz")
    parser.add_argument("--runs", type=int, default=10_000_000, help="inputs for each target")
    parser.add_argument("--only", action="append", choices=TARGETS)
    parser.add_argument("--keep", action="store_true", help="write what was found into the corpus")
    options = parser.parse_args()
    cargo_fuzz = installed()
    for target in options.only or TARGETS:
        kept = kit.ROOT / "crates/provider/tests/fuzz/corpus" / target
        found = kit.ROOT / "target/fuzz/corpus" / target
        for directory in (kept, found):
            directory.mkdir(parents=True, exist_ok=True)
        # The bodies of the corpus, each under the heads that it may have.
        for body in (kit.ROOT / "crates/provider/tests/corpus" / TARGETS[target]).glob("*/body.bin"):
            for head in (0, 4):
                (found / f"{body.parent.name}-{head}").write_bytes(bytes([head, 16, 7, 0]) + body.read_bytes())

        def fuzz(what, directories, more):
            place = ["--fuzz-dir", "xtask/fuzz", "--target-dir", "target/fuzz", "-s", "none"]
            kit.shown([cargo_fuzz, what, *place, target, *directories, "--", *more])

        fuzz("run", [found, kept], [*LIMITS, f"-runs={options.runs}", "-print_final_stats=1"])
        if options.keep:
            fuzz("cmin", [found], LIMITS)
            keep(found, kept)
    return True


if __name__ == "__main__":
    kit.main(suite)
