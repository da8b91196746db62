//! The program and what it is compared with: built by cargo, and where they are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// Builds the program with the profile `dist`, with symbols. Returns where it is, and an archive of what the linker read.
pub(crate) fn with_inputs_of_link() -> Result<(PathBuf, PathBuf)> {
    let target = root().join("target/dist");
    std::fs::create_dir_all(&target)?;
    let inputs = target.join("inputs.tar");
    let reproduce = format!("link-arg=-Wl,--reproduce={}", inputs.display());
    let program = ["--profile", "dist", "--config", "profile.dist.strip='none'", "--locked"];
    let program =
        [&program[..], &["--package", "converse", "--bin", "converse", "--", "-C", &reproduce]].concat();
    let binary = executable(&cargo("rustc", &program)?, "converse")?;
    if inputs.is_file() {
        Ok((binary, inputs))
    } else {
        Err(format!("{} has gone: remove {}", inputs.display(), binary.display()).into())
    }
}

/// Returns the linker that Rust uses on x86-64 Linux.
pub(crate) fn linker() -> Result<PathBuf> {
    let rustc = Command::new("rustc").args(["--print", "target-libdir"]).output()?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&rustc.stdout).trim());
    let linker = libraries.with_file_name("bin").join("gcc-ld/ld.lld");
    if linker.is_file() { Ok(linker) } else { Err("rustc has no lld for this target".into()) }
}

/// Builds programs of a workspace of its own below `xtask/` for release, and returns where they are.
pub(crate) fn apart<const N: usize>(workspace: &str, names: [&str; N]) -> Result<[PathBuf; N]> {
    let (manifest, target) = (format!("xtask/{workspace}/Cargo.toml"), format!("target/{workspace}"));
    let mut options = vec!["--release", "--locked", "--manifest-path", &manifest, "--target-dir", &target];
    names.iter().for_each(|name| options.extend(["--bin", name]));
    let messages = build(&options)?;
    let built = names.iter().map(|name| executable(&messages, name)).collect::<Result<Vec<_>>>()?;
    built.try_into().map_err(|_| "cargo named other executables".into())
}

fn build(options: &[&str]) -> Result<String> {
    cargo("build", options)
}

fn cargo(subcommand: &str, options: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([subcommand, "--message-format=json"]).args(options);
    // What `cargo run` told us of ourselves; build scripts that look at it would run anew, and minutes of work with them.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_package(name)) {
        command.env_remove(name);
    }
    let output = command.current_dir(root()).stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`cargo {subcommand} {}` failed", options.join(" ")).into())
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
