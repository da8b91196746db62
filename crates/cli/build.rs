//! Links the program at a fixed address where Linux and glibc are the target (docs/decisions/035-a-fixed-address.md).

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "cargo speaks with a build script this way"
)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let is_known = matches!(target("ARCH").as_str(), "x86_64" | "aarch64");
    if is_known && target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
