//! Environment variables that decide which code runs, for any command line.

const NAMES: [&str; 18] = [
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "JAVA_TOOL_OPTIONS",
    "LUA_INIT",
    "LUA_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// Prefixes for the dynamic loaders of Linux and macOS.
const BEGINNINGS: [&str; 2] = ["LD_", "DYLD_"];

/// Returns whether setting the variable selects programs or code.
pub(crate) fn decides_code(name: &str) -> bool {
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_decide_are_known() {
        for name in ["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "NODE_OPTIONS", "ENV", "BASH_ENV"] {
            assert!(decides_code(name), "{name}");
        }
        for name in ["TOKEN", "HOME", "XPATH", "PATHS", ""] {
            assert!(!decides_code(name), "{name}");
        }
    }
}
