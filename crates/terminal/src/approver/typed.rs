//! The line that says which texts may vary: `path=src/** content=*`, or the numbers of proposals.

use converse_config::{ArgumentPattern, ArgumentPatterns};
use serde_json::{Map, Value};

use super::answers::numbers;

/// What the line says of these arguments; else why it says nothing, in words.
pub(super) fn varying(
    line: &str,
    arguments: &Map<String, Value>,
    proposals: &[(String, ArgumentPattern)],
) -> Result<ArgumentPatterns, String> {
    let line = line.trim();
    if let Some(places) = numbers(line, proposals.len()) {
        return Ok(places.iter().filter_map(|at| proposals.get(*at)).cloned().collect());
    }
    let mut all = ArgumentPatterns::new();
    for (name, pattern) in pairs(line, arguments)? {
        match arguments.get(name) {
            Some(Value::String(_)) => {}
            Some(_) => return Err(format!("`{name}` is not a string: only strings can have a pattern")),
            None => return Err(format!("there is no argument `{name}` in this call")),
        }
        let vary = ArgumentPattern::new(name, pattern).map_err(|why| format!("{name}: {why}"))?;
        if all.insert(name.to_owned(), vary).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(all)
}

/// A word that begins with the name of an argument and `=` begins a pair; what follows belongs to it.
fn pairs<'l>(line: &'l str, arguments: &Map<String, Value>) -> Result<Vec<(&'l str, &'l str)>, String> {
    let (mut starts, mut at) = (Vec::new(), 0);
    for word in line.split(' ') {
        match word.split_once('=') {
            Some((name, _)) if at == 0 || arguments.contains_key(name) => starts.push((at, name)),
            None if at == 0 => return Err("write NAME=PATTERN for each text that may vary".to_owned()),
            _ => {}
        }
        at += word.len() + 1;
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([line.len()]);
    let pair = |((start, name), end): (&(usize, &'l str), usize)| {
        let pattern = line.get(start + name.len() + 1..end).unwrap_or_default();
        (*name, pattern.trim_matches(' '))
    };
    Ok(starts.iter().zip(ends).map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_is_pairs_or_numbers() {
        let arguments = json!({ "path": "src/a", "command": "git status", "n": 1, "a-b": "x" });
        let arguments = arguments.as_object().unwrap();
        let proposals = [("path", "src/**"), ("command", "git status *")];
        let proposals =
            proposals.map(|(name, text)| (name.to_owned(), ArgumentPattern::new(name, text).unwrap()));
        for (line, expected) in [
            ("path=src/*", Ok("path=src/*")),
            (" path=src/* \n", Ok("path=src/*")),
            ("command=git status *", Ok("command=git status *")),
            ("command=git status * path=src/*", Ok("command=git status *,path=src/*")),
            ("path=src/*  command=git status *", Ok("command=git status *,path=src/*")),
            ("command=FOO=1 make * a-b=x*", Ok("a-b=x*,command=FOO=1 make *")),
            ("command=dd of=* if=x", Ok("command=dd of=* if=x")),
            ("1", Ok("path=src/**")),
            ("1,2", Ok("command=git status *,path=src/**")),
            ("2 1", Ok("command=git status *,path=src/**")),
            ("3", Err("write NAME=PATTERN")),
            ("src/*", Err("write NAME=PATTERN")),
            ("1 path=src/*", Err("write NAME=PATTERN")),
            ("=x*", Err("no argument ``")),
            ("other=x*", Err("no argument `other`")),
            ("n=*", Err("`n` is not a string")),
            ("path=a* path=b*", Err("given twice")),
            ("path=*", Err("path: `*` alone would match any path")),
            ("path=", Err("path: the pattern does not contain `*`")),
            ("command=git*", Err("must be written out")),
        ] {
            let read = varying(line, arguments, &proposals);
            let shown = read.map(|all| {
                all.iter().map(|(name, vary)| format!("{name}={}", vary.text())).collect::<Vec<_>>().join(",")
            });
            match (shown, expected) {
                (Ok(shown), Ok(expected)) => assert_eq!(shown, expected, "{line}"),
                (Err(error), Err(why)) => assert!(error.contains(why), "{line}: {error}"),
                (shown, expected) => panic!("{line}: {shown:?}, not {expected:?}"),
            }
        }
    }
}
