use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn plant(file: &Path, mode: u32) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, "#!/bin/sh\n").unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

/// A project with planted programs beside a system with good ones.
fn world() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let (project, system) = (root.join("project"), root.join("system"));
    plant(&project.join("npx"), 0o755);
    plant(&project.join("bin/npx"), 0o755);
    plant(&project.join("bin/own"), 0o755);
    plant(&project.join("plain"), 0o644);
    plant(&system.join("npx"), 0o755);
    plant(&system.join("plain"), 0o644);
    fs::create_dir(system.join("folder")).unwrap();
    symlink(project.join("bin"), root.join("disguise")).unwrap();
    symlink(system.join("npx"), root.join("link")).unwrap();
    plant(&root.join("late/plain"), 0o755);
    (directory, project, system)
}

#[test]
fn names_mean_files() {
    let (_directory, project, system) = world();
    let root = project.parent().unwrap();
    let (p, s, r) = (project.display(), system.display(), root.display());
    let npx = Ok(system.join("npx"));
    // Relative, and there wherever the test is run: above the root is the root.
    let up = "../".repeat(40);
    let not = |words: &'static str| Err(words);
    let cases = [
        ("npx", Some(format!(".:{s}")), npx.clone()),
        ("npx", Some(format!(":{s}")), npx.clone()),
        ("npx", Some(format!("bin:./bin:{s}::")), npx.clone()),
        ("npx", Some(format!("{p}/bin:{s}")), npx.clone()),
        ("npx", Some(format!("{p}:{s}")), npx.clone()),
        ("npx", Some(format!("{r}/disguise:{s}")), npx.clone()),
        ("npx", Some(format!("{s}/../project/bin:{s}")), npx),
        ("npx", Some(".:".to_owned()), not("in no directory of PATH")),
        ("npx", Some(String::new()), not("PATH is not set")),
        ("npx", None, not("PATH is not set")),
        ("plain", Some(format!("{up}{r}/late")), not("in no directory of PATH")),
        ("own", Some(format!("{p}/bin:{s}")), not("within the project")),
        ("nothing", Some(format!("{p}/bin:{s}:/not/there")), not("in no directory of PATH")),
        ("plain", Some(format!("{s}")), not("chmod +x")),
        ("plain", Some(format!("{s}:{r}/late")), Ok(root.join("late/plain"))),
        ("folder", Some(format!("{s}")), not("not a regular file")),
        ("..", Some(format!("{s}")), not("not a regular file")),
        ("", Some(format!("{s}")), not("empty")),
        ("a\0b", Some(format!("{s}")), not("in no directory of PATH")),
        ("./npx", Some(format!("{s}")), Ok(project.join("./npx"))),
        ("bin/own", None, Ok(project.join("bin/own"))),
        ("../link", None, Ok(project.join("../link"))),
        ("./plain", None, not("chmod +x")),
        ("./bin", None, not("not a regular file")),
        ("./nothing", None, not("does not exist")),
    ];
    for (name, path, expected) in cases {
        let found = find_program(name, path.as_deref(), &project, Some(&project));
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name:?} in {path:?}"),
            (Err(error), Err(words)) => {
                assert!(error.to_string().contains(words), "{name:?} in {path:?}: {error}")
            }
            (found, expected) => panic!("{name:?} in {path:?}: {found:?} is not {expected:?}"),
        }
    }
}

#[test]
fn without_a_project_all_absolute_entries_count() {
    let (_directory, project, system) = world();
    let path = format!(".:{}:{}", project.join("bin").display(), system.display());
    assert_eq!(find_program("npx", Some(&path), &project, None), Ok(project.join("bin/npx")));
    let absolute = system.join("npx");
    assert_eq!(find_program(absolute.to_str().unwrap(), None, &project, Some(&project)), Ok(absolute));
}
