//! The clipboard of the desktop, by the programs that have it: text goes in, pictures come out.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use converse_host::attach::{MOST_BYTES, picture_type};
use converse_host::world::World;
use converse_process::{Child, Guardian, INHERITED, Spawn, find_program};
use converse_text::wording::bytes;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

/// Programs that write the clipboard, with their arguments and the variable without which one has no desktop.
const KEEPERS: [(&str, &[&str], &str); 3] = [
    ("wl-copy", &[], "WAYLAND_DISPLAY"),
    ("xclip", &["-selection", "clipboard"], "DISPLAY"),
    ("pbcopy", &[], ""),
];
/// Programs that read a picture from it. `wl-paste` is of wl-clipboard; the last two are of macOS, which always has `osascript`.
const READERS: [(&str, &[&str], &str); 5] = [
    ("wl-paste", &["--no-newline", "--type", "image/png"], "WAYLAND_DISPLAY"),
    ("xclip", &["-selection", "clipboard", "-t", "image/png", "-o"], "DISPLAY"),
    ("powershell.exe", &["-NoProfile", "-NonInteractive", "-Sta", "-Command", WINDOWS], "WSL_INTEROP"),
    ("pngpaste", &["-"], ""),
    ("osascript", &["-e", "get the clipboard as «class PNGf»"], ""),
];
/// Writes the picture of the clipboard of Windows as PNG to stdout.
const WINDOWS: &str = "Add-Type -AssemblyName System.Windows.Forms, System.Drawing; \
    $picture = [Windows.Forms.Clipboard]::GetImage(); if ($picture) { $png = New-Object IO.MemoryStream; \
    $picture.Save($png, [Drawing.Imaging.ImageFormat]::Png); $bytes = $png.ToArray(); \
    [Console]::OpenStandardOutput().Write($bytes, 0, $bytes.Length) }";
const DESKTOP: [&str; 5] = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "WSL_INTEROP"];
const KEEPER_TIME: Duration = Duration::from_secs(2);
/// How long each of those may take who give a picture; PowerShell takes two seconds to start.
const READER_TIME: Duration = Duration::from_secs(5);
/// Time between the steps of ending one.
const GRACE: Duration = Duration::from_millis(200);

/// Hands it to the first of those who takes it.
pub(super) fn keep(bytes: &[u8], world: &World) -> Option<&'static str> {
    KEEPERS
        .iter()
        .filter(|(_, _, variable)| is_here(variable, world))
        .find(|(name, words, _)| takes(name, words, bytes, world))
        .map(|(name, ..)| *name)
}

/// A program of the desktop; it gets nothing of ours but what it finds the desktop by.
fn takes(program: &str, words: &[&str], bytes: &[u8], world: &World) -> bool {
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(environment(world));
    let begun = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = begun else { return false };
    let written = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(bytes).is_ok());
    let until = Instant::now() + KEEPER_TIME;
    // It puts itself into the background when it has everything.
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return written && status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => return false,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}

fn is_here(variable: &str, world: &World) -> bool {
    variable.is_empty() || world.var(variable).is_some()
}

fn environment(world: &World) -> Vec<(String, String)> {
    let own = |name: &str| INHERITED.contains(&name) || DESKTOP.contains(&name);
    let own = world.env.iter().filter(|(name, _)| own(name));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Reads the picture of the clipboard by the first program that gives one. Not in the order of their answers: each is asked
/// only if none before it has a picture.
///
/// # Errors
///
/// A line for the user that says why there is none.
pub(super) async fn picture(world: &World, guardian: &Guardian) -> Result<Vec<u8>, String> {
    let installed = READERS.iter().filter(|(_, _, variable)| is_here(variable, world)).filter_map(|reader| {
        let program = find_program(reader.0, world.var("PATH"), &world.cwd, None).ok()?;
        Some((reader, program))
    });
    let mut why = None;
    for ((name, words, _), program) in installed {
        let arguments = words.iter().map(|word| (*word).to_owned()).collect();
        let spawn = Spawn {
            program,
            arguments,
            environment: environment(world),
            cwd: PathBuf::from("/"),
            stdin: false,
        };
        match spawn.start(guardian) {
            Ok(child) => match output(child).await {
                Ok(output) => match decoded(output) {
                    Some(picture) => return Ok(picture),
                    None => why = why.or(Some("there is no picture in the clipboard".to_owned())),
                },
                Err(problem) => why = Some(format!("no picture from the clipboard: `{name}` {problem}")),
            },
            Err(error) => why = Some(format!("no picture from the clipboard: {error}")),
        }
    }
    Err(why.unwrap_or_else(|| no_program(world)))
}

/// What it writes to its end.
async fn output(mut child: Child) -> Result<Vec<u8>, String> {
    let mut output = Vec::new();
    let pipe = child.stdout.take();
    let read = timeout(READER_TIME, async {
        let Some(pipe) = pipe else { return Ok(0) };
        pipe.take(MOST_BYTES as u64 + 1).read_to_end(&mut output).await
    });
    let read = read.await;
    child.end(GRACE).await;
    match read {
        Err(_) => Err(format!("did not answer within {} seconds", READER_TIME.as_secs())),
        Ok(Err(error)) => Err(format!("cannot be read: {error}")),
        Ok(Ok(_)) if output.len() > MOST_BYTES => Err(format!("gave more than {}", bytes(MOST_BYTES as u64))),
        Ok(Ok(_)) => Ok(output),
    }
}

/// A picture, as it is or as AppleScript shows data: `«data PNGf89504E47…»`.
fn decoded(output: Vec<u8>) -> Option<Vec<u8>> {
    if picture_type(&output).is_some() {
        return Some(output);
    }
    let text = std::str::from_utf8(&output).ok()?;
    let digits = text.trim().strip_prefix("«data PNGf")?.strip_suffix('»')?;
    let pairs = digits.as_bytes().chunks_exact(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<Vec<u8>>>()?;
    picture_type(&bytes).is_some().then_some(bytes)
}

/// Why nothing could be asked, with what to install.
fn no_program(world: &World) -> String {
    let hint = if is_here("WAYLAND_DISPLAY", world) {
        "install `wl-clipboard`"
    } else if is_here("DISPLAY", world) {
        "install `xclip`"
    } else {
        "there is no desktop here; drop a file, or use `/attach FILE`"
    };
    format!("no program can read a picture from the clipboard: {hint}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use converse_host::world::Input;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    fn guardian() -> Guardian {
        Guardian::new("/not/there".into(), Vec::new())
    }

    /// A desktop with these programs.
    fn world(directory: &std::path::Path, programs: &[(&str, &str)]) -> World {
        for (name, script) in programs {
            let path = directory.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:/usr/bin:/bin", directory.display());
        let env = [("PATH", path.as_str()), ("DISPLAY", ":7"), ("WAYLAND_DISPLAY", "w"), ("KEY", "secret")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        World {
            words: Vec::new(),
            env: env.into_iter().collect(),
            cwd: directory.to_owned(),
            config: None,
            data: None,
            database: None,
            stdin: Input::Nothing,
            stdout_tty: false,
            stderr_tty: false,
        }
    }

    const GIVES: &str = "printf '\\211PNG\\r\\n\\032\\n....'";

    #[tokio::test]
    async fn the_first_program_that_has_a_picture_gives_it() {
        for (programs, expected) in [
            (&[("wl-paste", GIVES)][..], Ok(PNG)),
            (&[("wl-paste", "exit 1"), ("xclip", GIVES)], Ok(PNG)),
            (&[("wl-paste", GIVES), ("xclip", "echo asked > \"$0\".asked")], Ok(PNG)),
            (
                &[(
                    "xclip",
                    "[ -z \"$KEY\" ] && [ \"$*\" = '-selection clipboard -t image/png -o' ] && exec printf '\\211PNG\\r\\n\\032\\n....'",
                )],
                Ok(PNG),
            ),
            (&[("wl-paste", "echo text"), ("xclip", "exit 1")], Err("there is no picture")),
            (&[("xclip", "head -c 30000000 /dev/zero")], Err("`xclip` gave more than")),
            (&[], Err("install `wl-clipboard`")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let found = picture(&world(dir.path(), programs), &guardian()).await;
            match expected {
                Ok(png) => assert_eq!(found.as_deref(), Ok(png), "{programs:?}"),
                Err(words) => assert!(found.as_ref().is_err_and(|why| why.contains(words)), "{found:?}"),
            }
            assert!(!dir.path().join("xclip.asked").exists(), "it was not needed");
        }
    }

    /// The clock is paused: it goes on at once where nothing else does.
    #[tokio::test(start_paused = true)]
    async fn a_program_that_does_not_answer_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let found = picture(&world(dir.path(), &[("xclip", "exec sleep 1000")]), &guardian()).await;
        assert!(
            found.as_ref().is_err_and(|why| why.contains("did not answer within 5 seconds")),
            "{found:?}"
        );
    }

    #[test]
    fn data_of_applescript_is_decoded() {
        for (output, picture) in [
            (&b"\xc2\xabdata PNGf89504E470D0A1A0A2E2E2E2E\xc2\xbb\n"[..], Some(PNG)),
            (PNG, Some(PNG)),
            ("«data PNGf8»".as_bytes(), None),
            ("«data PNGfzz504E470D0A1A0A»".as_bytes(), None),
            (b"text", None),
            (b"", None),
        ] {
            assert_eq!(decoded(output.to_vec()).as_deref(), picture);
        }
    }
}
