//! The descriptors in the binary. They are ordinary files of the repository and get no privileges by being here.

/// Path below `ensembles/`, and text. Files directly there are ensembles, the others are their sources.
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    macro_rules! files {
        ($($path:literal)*) => {
            &[$(($path, include_str!(concat!("../../../ensembles/", $path))),)*]
        };
    }
    files! {
        "essentials.toml"
        "essentials/invokers/calculator.toml"
        "essentials/invokers/current_datetime.toml"
        "io.toml"
        "io/invokers/list_directory.toml"
        "io/invokers/read_file.toml"
        "io/invokers/write_file.toml"
    }
}
