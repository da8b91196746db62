//! The shipped descriptors. They are ordinary files of the repository without privileges.

/// Returns the paths below `ensembles/` and their texts. Files directly there are ensembles; the others are invokers.
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    // A static has one address, by which `load` recognises these files.
    FILES
}

static FILES: &[(&str, &str)] = {
    macro_rules! files {
        ($($path:literal)*) => {
            &[$(($path, include_str!(concat!("../../../ensembles/", $path))),)*]
        };
    }
    files! {
        "code.toml"
        "code/invokers/javascript.toml"
        "code/invokers/python.toml"
        "code/invokers/shell.toml"
        "essentials.toml"
        "essentials/invokers/calculator.toml"
        "essentials/invokers/current_datetime.toml"
        "git.toml"
        "git/invokers/blame.toml"
        "git/invokers/branches.toml"
        "git/invokers/diff.toml"
        "git/invokers/log.toml"
        "git/invokers/show.toml"
        "git/invokers/status.toml"
        "io.toml"
        "io/invokers/edit_file.toml"
        "io/invokers/list_directory.toml"
        "io/invokers/read_file.toml"
        "io/invokers/search_files.toml"
        "io/invokers/write_file.toml"
        "shell.toml"
        "shell/invokers/run.toml"
        "web.toml"
        "web/invokers/fetch.toml"
        "web/invokers/web_search.toml"
    }
};
