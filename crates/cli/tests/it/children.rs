//! Programs of the person's own that the program starts: what they are handed.

use std::os::unix::fs::PermissionsExt as _;

use crate::body::text;
use crate::env::TestEnv;
use crate::provider::{KEY, Provider};
use crate::screen::Screen;

#[test]
fn neither_an_editor_nor_a_clipboard_is_handed_a_key() {
    let provider = Provider::chat([text("Yes.")]);
    let env =
        provider.env(TestEnv::new()).var("OWN_TOKEN", KEY).var("PGPASSWORD", KEY).var("PLAIN", "as it is");
    for (name, script) in [
        ("an-editor", "env > editor.env; echo 'is it so?' > \"$1\""),
        ("wl-copy", "env > wl-copy.env; cat > /dev/null"),
    ] {
        let program = env.write(&format!("home/programs/{name}"), &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", env.path("home/programs").display(), std::env::var("PATH").unwrap());
    let env = env.var("PATH", path).var("VISUAL", "an-editor").var("WAYLAND_DISPLAY", "wayland-9");
    let mut screen = Screen::run(&env, &["-m", provider.model(), "--no-tools"]);
    screen.says("/editor");
    screen.shows("Yes.");
    screen.says("/copy");
    screen.shows("by wl-copy");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
    for (file, known) in [("editor.env", "PLAIN=as it is\n"), ("wl-copy.env", "WAYLAND_DISPLAY=wayland-9\n")]
    {
        let handed = std::fs::read_to_string(env.path("work").join(file)).unwrap();
        assert!(handed.contains(known) && !handed.contains(KEY), "{file}: {handed}");
    }
}
