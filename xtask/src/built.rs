//! The program and what it is compared with: built by cargo, and where they are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// What the program is compared with, and the server that both talk to. Not part of the workspace.
#[derive(Debug)]
pub(crate) struct Yardsticks {
    pub(crate) floor: PathBuf,
    pub(crate) stub_mcp: PathBuf,
}

/// A load, and the server that counts what comes of it.
#[derive(Debug)]
pub(crate) struct Loaders {
    pub(crate) load: PathBuf,
    pub(crate) stub_http: PathBuf,
}

/// Builds the program with these options of `cargo build` and says where it is.
pub(crate) fn program(options: &[&str]) -> Result<PathBuf> {
    let messages = build(&[options, &["--package", "converse", "--bin", "converse"]].concat())?;
    executable(&messages, "converse")
}

/// Builds them for release, if they are not there yet.
pub(crate) fn yardsticks() -> Result<Yardsticks> {
    let messages = build(&[
        "--release",
        "--locked",
        "--manifest-path",
        "xtask/floor/Cargo.toml",
        "--target-dir",
        "target/floor",
    ])?;
    Ok(Yardsticks { floor: executable(&messages, "floor")?, stub_mcp: executable(&messages, "stub-mcp")? })
}

/// The same for a load and its server.
pub(crate) fn loaders() -> Result<Loaders> {
    let manifest = ["--manifest-path", "xtask/floor/Cargo.toml", "--target-dir", "target/floor"];
    let bins = ["--bin", "load", "--bin", "stub-http"];
    let messages = build(&[&["--release", "--locked"][..], &manifest, &bins].concat())?;
    Ok(Loaders { load: executable(&messages, "load")?, stub_http: executable(&messages, "stub-http")? })
}

/// Builds the benchmark of the decoders, if it is not there yet, and says where it is.
pub(crate) fn decode() -> Result<PathBuf> {
    let manifest = ["--manifest-path", "xtask/decode/Cargo.toml", "--target-dir", "target/decode"];
    executable(&build(&[&["--release", "--locked"][..], &manifest].concat())?, "decode")
}

/// The same for the one of long sessions.
pub(crate) fn sessions() -> Result<PathBuf> {
    let manifest = ["--manifest-path", "xtask/sessions/Cargo.toml", "--target-dir", "target/sessions"];
    executable(&build(&[&["--release", "--locked"][..], &manifest].concat())?, "sessions")
}

/// The same for the one against genai.
pub(crate) fn decode_genai() -> Result<PathBuf> {
    let manifest =
        ["--manifest-path", "xtask/decode-genai/Cargo.toml", "--target-dir", "target/decode-genai"];
    executable(&build(&[&["--release", "--locked"][..], &manifest].concat())?, "decode-genai")
}

fn build(options: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--message-format=json"]).args(options);
    // What `cargo run` told us of ourselves; build scripts that look at it would run anew, and minutes of work with them.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_package(name)) {
        command.env_remove(name);
    }
    let output = command.current_dir(root()).stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`cargo build {}` failed", options.join(" ")).into())
    }
}

fn is_of_a_package(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// The directory of the workspace.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// What cargo says it built: the target directory may be anywhere.
fn executable(messages: &str, name: &str) -> Result<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let built = messages.filter(|message| message["target"]["name"] == name);
    let executable =
        built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    executable.ok_or_else(|| format!("cargo named no executable `{name}`").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_the_one_cargo_names() {
        let messages = "not json\n\
            {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"serde\"},\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"converse\"},\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"converse\"},\"executable\":\"/t/release/converse\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages, "converse").unwrap(), PathBuf::from("/t/release/converse"));
        for (messages, name) in [("", "converse"), (messages, "serde"), (messages, "floor")] {
            assert!(executable(messages, name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_a_package_is_told_of_itself_is_not_passed_on() {
        for (name, ours) in [
            ("CARGO_PKG_NAME", true),
            ("CARGO_MANIFEST_DIR", true),
            ("CARGO_HOME", false),
            ("CARGO_TARGET_DIR", false),
            ("PATH", false),
        ] {
            assert_eq!(is_of_a_package(OsStr::new(name)), ours, "{name}");
        }
    }
}
