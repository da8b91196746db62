//! Bundles and plugins, and archives that are not what they say.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};

use super::*;
use crate::{Reach, Server};

/// An entry of an archive: its path, its mode, its bytes, and whether it is deflated.
struct Entry<'e>(&'e str, u32, &'e [u8], bool);

fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let (mut bytes, mut central) = (Vec::new(), Vec::new());
    for Entry(path, mode, content, deflated) in entries {
        let mut sum = flate2::Crc::new();
        sum.update(content);
        let packed = if *deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        } else {
            content.to_vec()
        };
        let method = if *deflated { 8_u16 } else { 0 };
        let offset = u32::try_from(bytes.len()).unwrap();
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
        let middle = [
            &method.to_le_bytes()[..],
            &[0; 4],
            &sum.sum().to_le_bytes(),
            &length(&packed),
            &length(content),
            &u16::try_from(path.len()).unwrap().to_le_bytes(),
            &[0; 2],
        ]
        .concat();
        bytes.extend([&b"PK\x03\x04"[..], &[20, 0, 0, 0], &middle, path.as_bytes(), &packed].concat());
        let attributes = (mode << 16).to_le_bytes();
        let end = [&[0; 6][..], &attributes, &offset.to_le_bytes(), path.as_bytes()].concat();
        central.extend([&b"PK\x01\x02"[..], &[20, 3, 20, 0, 0, 0], &middle, &end].concat());
    }
    let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
    let (size, at) = (u32::try_from(central.len()).unwrap(), u32::try_from(bytes.len()).unwrap());
    let end = [&b"PK\x05\x06"[..], &[0; 4], &count, &count, &size.to_le_bytes(), &at.to_le_bytes(), &[0; 2]];
    [bytes, central, end.concat()].concat()
}

fn manifest() -> Value {
    json!({
        "manifest_version": "0.3", "name": "weather", "version": "1.0.0", "description": "Forecasts",
        "server": { "type": "node", "entry_point": "server/index.js", "mcp_config": {
            "command": "node", "args": ["${__dirname}/server/index.js", "${user_config.dirs}", "--units=${user_config.units}"],
            "env": { "API_KEY": "${user_config.api_key}", "CACHE": "${HOME}/x" },
            "platform_overrides": { "win32": { "command": "node.exe" }, "linux": { "env": { "L": "1" } } } } },
        "user_config": {
            "api_key": { "type": "string", "sensitive": true, "required": true, "default": "never" },
            "dirs": { "type": "directory", "multiple": true, "default": ["${HOME}/a", "/b"] },
            "units": { "type": "string", "default": "metric" } },
    })
}

fn of(manifest: &Value) -> Package {
    let text = manifest.to_string();
    let entries = [
        Entry("manifest.json", 0o100_644, text.as_bytes(), true),
        Entry("server/index.js", 0o100_755, b"x", false),
    ];
    Package::of_archive(&archive(&entries)).unwrap()
}

fn stdio(server: &Server) -> (Vec<&str>, Vec<(&str, &str)>, Option<&str>) {
    let Reach::Stdio { command, environment, cwd } = &server.reach else { panic!("{server:?}") };
    let environment = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    (command.iter().map(String::as_str).collect(), environment, cwd.as_deref())
}

#[test]
fn a_bundle_becomes_a_descriptor_that_pins_its_files() {
    let package = of(&manifest());
    assert!(package.directory().starts_with("weather-") && package.directory().len() == 8 + DIGEST);
    let digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    assert!(package.digests().ends_with(&format!("{digest}  server/index.js\n")), "{}", package.digests());
    assert!(package.files()[1].executable && !package.files()[0].executable);
    let directory = format!("/data/{}", package.directory());
    let found = package.read(&directory).unwrap();
    let (command, environment, cwd) = stdio(&found.servers[0]);
    let script = format!("{directory}/server/index.js");
    assert_eq!(command, ["node", &script, "${HOME}/a", "/b", "--units=${WEATHER_UNITS:-metric}"]);
    assert_eq!(environment, [("API_KEY", "env:WEATHER_API_KEY"), ("CACHE", "${HOME}/x"), ("L", "1")]);
    assert_eq!(cwd, Some(directory.as_str()));
    let toml = found.servers[0].toml();
    assert!(toml.contains("description = \"Forecasts\"") && !toml.contains("never"), "{toml}");
    // One byte more is another directory.
    let mut other = manifest();
    other["version"] = json!("1.0.1");
    assert_ne!(of(&other).directory(), package.directory());
}

#[test]
fn a_server_of_uv_and_a_program_of_the_bundle_start_in_it() {
    let mut uv = manifest();
    uv["server"] = json!({ "type": "uv", "entry_point": "src/server.py" });
    let found = of(&uv).read("/d/w").unwrap();
    assert_eq!(stdio(&found.servers[0]).0, ["uv", "run", "--directory", "/d/w", "src/server.py"]);
    let mut binary = manifest();
    binary["server"] = json!({ "type": "binary", "mcp_config": { "command": "server/run", "args": ["-v"] } });
    let found = of(&binary).read("/d/w").unwrap();
    assert_eq!(stdio(&found.servers[0]).0, ["/d/w/server/run", "-v"]);
    let message = crate::read(&manifest().to_string(), None).unwrap_err().to_string();
    assert!(message.contains("import the bundle itself"), "{message}");
}

#[test]
fn a_plugin_has_its_servers_in_a_file_or_in_its_manifest() {
    let file = |path: &str, text: &str| PackedFile {
        path: path.to_owned(),
        executable: false,
        bytes: text.as_bytes().to_vec(),
    };
    let servers = r#"{ "mcpServers": { "db": { "command": "${PLUGIN_ROOT}/servers/db",
        "args": ["--config", "${CLAUDE_PLUGIN_ROOT}/c.json"], "env": { "DB_URL": "${DB_URL}" } } } }"#;
    let inline = servers.replacen('{', r#"{ "name": "my-plugin", "#, 1);
    let named = r#"{ "name": "my-plugin", "mcpServers": "./conf/servers.json" }"#;
    for files in [
        vec![file(".mcp.json", servers), file(".claude-plugin/plugin.json", r#"{ "name": "my-plugin" }"#)],
        vec![file("mcp.json", servers), file("plugin.json", r#"{ "name": "my-plugin" }"#)],
        vec![file(".plugin/plugin.json", &inline)],
        vec![file(".plugin/plugin.json", named), file("conf/servers.json", servers)],
    ] {
        let package = Package::of_files(files).unwrap();
        assert!(package.directory().starts_with("my-plugin-"));
        let found = package.read("/d/p").unwrap();
        let (command, environment, _) = stdio(&found.servers[0]);
        assert_eq!(command, ["/d/p/servers/db", "--config", "/d/p/c.json"]);
        assert_eq!(environment, [("DB_URL", "env:DB_URL")]);
    }
    assert_eq!(Package::of_files(vec![file("readme", "x")]), Err(PackageError::Unknown));
}

#[test]
fn an_archive_cannot_lead_out_or_grow_without_end() {
    let of = |entries: &[Entry<'_>]| Package::of_archive(&archive(entries)).unwrap_err();
    for path in ["../x", "/etc/passwd", "a/../../x", "a\\..\\x", "c:/x", "a//b", "./x", "a\nb"] {
        assert_eq!(of(&[Entry(path, 0o100_644, b"x", false)]), PackageError::Path(path.to_owned()));
    }
    for mode in [0o120_777, 0o060_644, 0o010_644] {
        assert_eq!(of(&[Entry("a", mode, b"/etc/passwd", false)]), PackageError::Link("a".to_owned()));
    }
    let twice = [Entry("a", 0, b"1", false), Entry("A", 0, b"2", false)];
    assert_eq!(of(&twice), PackageError::Twice("a".to_owned()));
    // What it says about a size is not believed.
    let bomb = vec![0; 100_000];
    let entry = [Entry("manifest.json", 0, &bomb, true)];
    let whole = archive(&entry);
    let central = whole.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    for (at, value) in [(24, 10_u32), (24, 100_001), (16, 1), (20, 3), (42, 7)] {
        let mut damaged = whole.clone();
        damaged[central + at..central + at + 4].copy_from_slice(&value.to_le_bytes());
        let error = Package::of_archive(&damaged).unwrap_err();
        assert!(matches!(error, PackageError::Archive(_)), "{at} {error}");
    }
    let mut large = whole.clone();
    large[central + 24..central + 28].copy_from_slice(&0x2000_0000_u32.to_le_bytes());
    assert!(matches!(Package::of_archive(&large), Err(PackageError::TooLarge(_))));
    for cut in 0..whole.len() {
        assert!(Package::of_archive(&whole[..cut]).is_err(), "{cut}");
    }
}
