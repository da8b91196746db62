//! Resolves a path link by link, without opening files. Outside the project it only checks whether the path leads back.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

/// The limit of the kernel.
const MAX_LINKS: usize = 40;

/// The result. All paths are below the project's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lead {
    /// Links of the project on the way, each with its target as written.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    pub(super) end: End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    File(PathBuf),
    Directory(PathBuf),
    /// The project's root itself.
    Root,
    /// The path does not exist but may be created.
    Missing(PathBuf),
    /// Outside the project, or a pipe, socket or device.
    Other,
}

/// `root` is canonical.
pub(super) fn lead(path: &Path, root: &Path) -> Lead {
    let mut links = Vec::new();
    let end = end(path, root, &mut links);
    Lead { links, end }
}

fn end(path: &Path, root: &Path, links: &mut Vec<(PathBuf, PathBuf)>) -> End {
    let Some(mut rest) = below(path, root) else { return End::Other };
    let mut here = PathBuf::new();
    let mut hops = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            if here.pop() {
                continue;
            }
            hops += 1;
            let outside = root.join("..").join(rest.iter().collect::<PathBuf>());
            match below(&outside, root).filter(|_| hops <= MAX_LINKS) {
                Some(back) => rest = back,
                None => return End::Other,
            }
            continue;
        }
        here.push(part);
        let metadata = match fs::symlink_metadata(root.join(&here)) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return missing(here, &rest),
            Err(_) => return End::Other,
        };
        if metadata.is_symlink() {
            hops += 1;
            let target = fs::read_link(root.join(&here)).ok().filter(|_| hops <= MAX_LINKS);
            let Some(target) = target else { return End::Other };
            links.push((here.clone(), target.clone()));
            here.pop();
            let onward = root.join(&here).join(target).join(rest.iter().collect::<PathBuf>());
            match below(&onward, root) {
                Some(onward) => (here, rest) = (PathBuf::new(), onward),
                None => return End::Other,
            }
        } else if metadata.is_file() && rest.is_empty() {
            return End::File(here);
        } else if !metadata.is_dir() {
            return End::Other;
        }
    }
    if here.as_os_str().is_empty() { End::Root } else { End::Directory(here) }
}

/// Returns the rest of a path below the root; a path that enters the project from outside by its canonical form.
fn below(path: &Path, root: &Path) -> Option<VecDeque<OsString>> {
    let parts = |path: &Path| {
        let named = path.components().filter(|part| !matches!(part, Component::CurDir));
        named.map(|part| part.as_os_str().to_owned()).collect()
    };
    if let Ok(rest) = path.strip_prefix(root)
        && rest.components().next() != Some(Component::ParentDir)
    {
        return Some(parts(rest));
    }
    path.canonicalize().ok()?.strip_prefix(root).ok().map(parts)
}

fn missing(here: PathBuf, rest: &VecDeque<OsString>) -> End {
    let rest = rest.iter().take_while(|part| *part != "..");
    End::Missing(rest.fold(here, |here, part| here.join(part)))
}

/// The kernel reads no more of the line (`BINPRM_BUF_SIZE`, linux 6.12).
const MAX_LINE: u64 = 256;

/// Returns the words after `#!`, or nothing if the file is not a script or cannot be read. `path` is a regular file.
pub(super) fn interpreter(path: &Path) -> Vec<String> {
    let mut line = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_LINE).read_to_end(&mut line));
    let Some(rest) = read.ok().and_then(|_| line.strip_prefix(b"#!")) else { return Vec::new() };
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line).split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_is_told_and_none_is_followed_out() {
        let outside = tempfile::tempdir().unwrap();
        let outside = outside.path().canonicalize().unwrap();
        fs::write(outside.join("theirs.py"), "x").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("tools")).unwrap();
        fs::write(root.join("tools/server.py"), "x").unwrap();
        for (target, link) in [
            (outside.join("theirs.py"), root.join("out.py")),
            (outside.clone(), root.join("away")),
            (root.join("tools/server.py"), outside.join("back.py")),
            (PathBuf::from("tools/server.py"), root.join("in.py")),
            (PathBuf::from("in.py"), root.join("twice.py")),
            (PathBuf::from("gone.py"), root.join("dangling.py")),
            (PathBuf::from("loop.py"), root.join("loop.py")),
            (PathBuf::from("/dev/null"), root.join("device")),
        ] {
            symlink(target, link).unwrap();
        }
        let file = || End::File("tools/server.py".into());
        let back = outside.join("back.py").display().to_string();
        let again = format!("../{}/tools/server.py", root.file_name().unwrap().display());
        for (path, links, end) in [
            ("tools/server.py", &[][..], file()),
            ("./tools/../tools/./server.py", &[], file()),
            (&again, &[], file()),
            (&back, &[], file()),
            ("in.py", &["in.py"], file()),
            ("twice.py", &["twice.py", "in.py"], file()),
            ("tools", &[], End::Directory("tools".into())),
            (".", &[], End::Root),
            ("tools/..", &[], End::Root),
            ("tools/new/x.py", &[], End::Missing("tools/new/x.py".into())),
            ("dangling.py", &["dangling.py"], End::Missing("gone.py".into())),
            ("out.py", &["out.py"], End::Other),
            ("away/theirs.py", &["away"], End::Other),
            ("device", &["device"], End::Other),
            ("tools/server.py/x", &[], End::Other),
            ("/etc/passwd", &[], End::Other),
            ("..", &[], End::Other),
        ] {
            let lead = lead(&root.join(path), &root);
            let names: Vec<String> = lead.links.iter().map(|(link, _)| link.display().to_string()).collect();
            assert_eq!(
                (names, lead.end),
                (links.iter().map(|name| (*name).to_owned()).collect(), end),
                "{path}"
            );
        }
        assert_eq!(lead(&root.join("loop.py"), &root).end, End::Other);
        assert_eq!(lead(&root.join("in.py"), &root).links[0].1, PathBuf::from("tools/server.py"));
    }
}
