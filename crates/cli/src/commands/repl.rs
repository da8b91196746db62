//! `converse repl`.

pub(crate) use crate::repl::run;
