//! Why a lockfile is refused.

/// It is refused as a whole: half a lockfile would let through what the other half was there to stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    #[error("it has more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("it is of version {0}, which a later converse has written; update converse")]
    Newer(u64),
    /// Not JSON, an unknown key, a key that is given twice, a value of the wrong type.
    #[error("it cannot be read: {0}")]
    Malformed(String),
    #[error(
        "line {0} is the mark of a merge; take one side whole (`git checkout --ours` or `--theirs`, with the name of the \
         file), then run `converse ensembles lock`"
    )]
    Merged(usize),
    /// The definition or the digest was edited, or the file is damaged.
    #[error("the sha256 of `{ensemble}.{tool}` is not that of its definition")]
    Mismatch { ensemble: String, tool: String },
}
