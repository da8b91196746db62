//! The user's browser, opened without a shell and with nothing but an address.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use converse_process::INHERITED;

use converse_host::confined;
use converse_host::world::World;

/// What a browser needs of the environment beside what every child gets. No key of ours is in it.
const OF_DESKTOPS: [&str; 14] = [
    "BROWSER",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "DISPLAY",
    "KDE_FULL_SESSION",
    "KDE_SESSION_VERSION",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

#[derive(Debug)]
pub struct Browser {
    /// `None` if there is no display for a browser.
    program: Option<PathBuf>,
    environment: Vec<(String, String)>,
}

impl Browser {
    pub fn of(world: &World) -> Self {
        let is_far = ["SSH_CONNECTION", "SSH_TTY"].into_iter().any(|name| world.var(name).is_some());
        let is_mac = cfg!(target_os = "macos");
        let has_screen =
            is_mac || ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| world.var(name).is_some());
        let program = if is_mac { "open" } else { "xdg-open" };
        let program = (has_screen && !is_far).then(|| confined::program(world, program)).flatten();
        let names = INHERITED.iter().chain(&OF_DESKTOPS);
        let environment =
            names.filter_map(|name| Some(((*name).to_owned(), world.var(name)?.to_owned()))).collect();
        Self { program, environment }
    }

    /// Was it started? Whether it shows anything is not known.
    pub fn open(&self, url: &str) -> bool {
        let Some(program) = self.program.as_ref().filter(|_| may_be_opened(url)) else { return false };
        let mut command = Command::new(program);
        command.arg(url).env_clear().envs(self.environment.iter().cloned()).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C here is not meant for the browser.
        let Ok(mut child) = command.process_group(0).spawn() else { return false };
        std::thread::spawn(move || {
            let _ = child.wait();
        });
        true
    }
}

/// Only what a browser loads from a server, and nothing that could be taken for an option or for more than one word.
pub(super) fn may_be_opened(url: &str) -> bool {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    is_web && url.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are_opened() {
        for (url, opened) in [
            ("https://as.example/authorize?a=b&c=%24(x)", true),
            ("http://127.0.0.1:3000/", true),
            ("javascript:alert(1)", false),
            ("file:///etc/passwd", false),
            ("-x", false),
            ("--help", false),
            ("$(touch x)", false),
            ("https://as.example/ -x", false),
            ("https://as.example/\n", false),
            ("https://as.example/\u{202e}", false),
            ("HTTPS://as.example/", false),
            ("", false),
        ] {
            assert_eq!(may_be_opened(url), opened, "{url:?}");
        }
    }
}
