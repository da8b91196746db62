//! Pictures of the program for the documentation: the real binary at a terminal, a provider that follows a script, and
//! what the screen shows, written as SVG. The same program draws the same pictures: what differs from run to run is
//! replaced by what never does.

mod answers;
mod mask;
mod picture;
mod scenes;
mod svg;
mod terminal;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::Result;
use crate::built;

/// Of one picture, in bytes: documentation is read by people who wait for it.
const MOST: usize = 60 * 1024;

pub(crate) fn run(options: &[&str]) -> Result<ExitCode> {
    let (mut binary, mut check, mut only) = (None, false, Vec::new());
    let mut words = options.iter();
    while let Some(word) = words.next() {
        match *word {
            "--check" => check = true,
            "--binary" => binary = Some(PathBuf::from(words.next().ok_or("--binary needs a path")?)),
            "--only" => only.push(*words.next().ok_or("--only needs a name")?),
            other => return Err(format!("what is {other}?").into()),
        }
    }
    let binary = match binary {
        Some(binary) => std::fs::canonicalize(binary)?,
        None => built::program(&["--release", "--locked"])?,
    };
    let images = built::root().join("docs/images");
    std::fs::create_dir_all(&images)?;
    let mut stale = 0;
    for scene in scenes::ALL.iter().filter(|scene| only.is_empty() || only.contains(&scene.name)) {
        let picture = scene.take(&binary).map_err(|why| format!("{}: {why}", scene.name))?;
        let svg = svg::written(&mask::masked(picture), scene.title);
        if svg.len() > MOST {
            return Err(format!("{}: {} bytes are too many", scene.name, svg.len()).into());
        }
        let path = images.join(format!("{}.svg", scene.name));
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let word = match (known == svg, check) {
            (true, _) => "as it was",
            (false, true) => "DIFFERS",
            (false, false) => "written",
        };
        stale += usize::from(check && known != svg);
        if !check {
            std::fs::write(&path, &svg)?;
        }
        println!("docs/images/{}.svg  {} bytes  {word}", scene.name, svg.len());
    }
    Ok(if stale == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
