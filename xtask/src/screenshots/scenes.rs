//! The scenes, and how each is played.

use std::path::Path;
use std::process::Command;

use super::answers::{Says, serve};
use super::picture::Picture;
use super::terminal::Terminal;
use crate::Result;

const USUAL: (u16, u16) = (88, 40);
const NARROW: (u16, u16) = (40, 44);
const MODEL: &str = "openai-chat/gpt-5";

pub(super) struct Scene {
    /// Of the file.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    size: (u16, u16),
    script: &'static [Says],
    play: fn(&mut Terminal, &Path) -> Result<()>,
}

const RAIN: &str = "Bergen, by a wide margin: it lies **between seven mountains**, and the wind from the sea has to climb them.\n\n| city | people | rain in a year | rainy days |\n| --- | ---: | ---: | ---: |\n| Oslo | 717 710 | 763 mm | 113 |\n| Bergen | 291 940 | 2 250 mm | 239 |\n\nTo see it for yourself:\n\n```python\nimport csv\n\nrain = {row[\"city\"]: int(row[\"mm\"]) for row in csv.DictReader(open(\"rain.csv\"))}\nprint(max(rain, key=rain.get))  # Bergen\n```\n\n1. Take a coat with a hood.\n2. Leave the umbrella: *the wind has it before you do*.\n";

const NARROW_RAIN: &str = "**Bergen**, by a wide margin.\n\n| city | rain in a year |\n| --- | ---: |\n| Oslo | 763 mm |\n| Bergen | 2 250 mm |\n\n- take a coat\n- leave the umbrella: *the wind has it before you do*\n\n```sh\nsort -k2 -n rain.txt | tail -1\n```\n";

const FORECASTS: &[(&str, &str)] = &[
    ("weather__forecast", "{\"city\":\"Oslo\",\"days\":3}"),
    ("weather__forecast", "{\"city\":\"Bergen\",\"days\":3}"),
    ("weather__forecast", "{\"city\":\"Tromsø\",\"days\":3}"),
];

/// One is always in its place.
const FORECAST: &[(&str, &str)] = &[("weather__forecast", "{\"city\":\"Bergen\",\"days\":3}")];

const WRITES: &[(&str, &str)] = &[(
    "io__write_file",
    "{\"path\":\"packing.md\",\"content\":\"# For Bergen\\n\\n- a coat with a hood\\n- boots\\n- a book\\n\"}",
)];

pub(super) const ALL: &[Scene] = &[
    Scene { name: "start", title: "converse", size: USUAL, script: &[], play: start },
    Scene { name: "answer", title: "converse", size: USUAL, script: &[Says::Text(RAIN)], play: answer },
    Scene {
        name: "tools",
        title: "converse",
        size: USUAL,
        script: &[Says::Calls(FORECASTS), Says::Text("Take a coat.")],
        play: tools,
    },
    Scene {
        name: "approval",
        title: "converse",
        size: USUAL,
        script: &[Says::Calls(WRITES)],
        play: approval,
    },
    Scene {
        name: "usage",
        title: "converse",
        size: USUAL,
        script: &[Says::Calls(FORECAST), Says::Text("In Bergen you always need one: take a coat.")],
        play: usage,
    },
    Scene {
        name: "sessions",
        title: "converse sessions list",
        size: (100, 20),
        script: &[Says::Text("Bergen."), Says::Text("Boots."), Says::Text("Seven.")],
        play: sessions,
    },
    Scene {
        name: "narrow",
        title: "converse",
        size: NARROW,
        script: &[Says::Text(NARROW_RAIN)],
        play: narrow,
    },
];

impl Scene {
    pub(super) fn take(&self, binary: &Path) -> Result<Picture> {
        let dir = tempfile::tempdir()?;
        for name in ["home", "work", "ensembles"] {
            std::fs::create_dir(dir.path().join(name))?;
        }
        std::fs::write(dir.path().join("ensembles/weather.toml"), WEATHER)?;
        let base = serve(self.script)?;
        let mut command = Command::new(if self.name == "sessions" { Path::new("bash") } else { binary });
        if self.name == "sessions" {
            command.args(["-c", SHELL, "bash"]).arg(binary);
        } else {
            command.args(["-m", MODEL, "--ensembles"]).arg(dir.path().join("ensembles"));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", dir.path().join("home"));
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("TZ", "UTC");
        command.env("OPENAI_BASE_URL", base).env("OPENAI_API_KEY", "none");
        command.current_dir(dir.path().join("work"));
        let mut terminal = Terminal::run(command, self.size)?;
        (self.play)(&mut terminal, &dir.path().join("work"))?;
        Ok(Picture::of(terminal.screen()))
    }
}

/// Answers when a file is there that says so: so a picture can be taken in between.
const WEATHER: &str = r#"
[ensemble]
name = "weather"
description = "Forecasts for cities"

[defaults]
permission = "allow"
parallel = true

[[invokers]]
name = "forecast"
description = "Says what the weather will be"
command = { argv = ["sh", "-c", "until [ -e \"$0\" ] || [ -e all ]; do sleep 0.05; done; echo \"rain, 4 to 9 °C\"", "{city}", "{days}"] }
arguments = { type = "object", properties = { city = { type = "string" }, days = { type = "integer" } }, required = ["city"] }
"#;

/// Says something three times, and then shows what there is.
const SHELL: &str = r#"
for words in "Where does it rain more?" "What do I pack for Bergen?" "How many mountains has it?"; do
  "$1" ask "$words" -m openai-chat/gpt-5 --no-tools </dev/null >/dev/null 2>&1
done
printf '$ converse sessions list\n'
exec "$1" sessions list
"#;

fn start(terminal: &mut Terminal, _: &Path) -> Result<()> {
    terminal.answers("/help")?;
    terminal.types("/re")?;
    terminal.until("what was typed", |screen| screen.contents().contains("❯ /re"))?;
    terminal.types("\t")?;
    terminal.until("a menu", |screen| {
        screen.contents().contains("/retry") && screen.contents().contains("/reasoning")
    })
}

fn asks(terminal: &mut Terminal, words: &str) -> Result<()> {
    terminal.answers("/help")?;
    terminal.types(words)?;
    terminal.until("what was typed", |screen| {
        screen.contents().replace('\n', "").contains(&words[words.len() - 6..])
    })?;
    terminal.types("\r")
}

fn answer(terminal: &mut Terminal, _: &Path) -> Result<()> {
    asks(terminal, "Where does it rain more, in Oslo or in Bergen?")?;
    terminal.answers("umbrella")
}

fn narrow(terminal: &mut Terminal, _: &Path) -> Result<()> {
    asks(terminal, "Where does it rain more?")?;
    terminal.answers("tail -1")
}

fn tools(terminal: &mut Terminal, work: &Path) -> Result<()> {
    asks(terminal, "Do I need a coat this week in Oslo, Bergen or Tromsø?")?;
    terminal.until("three lines", |screen| screen.contents().matches("weather.forecast").count() == 3)?;
    std::fs::write(work.join("Bergen"), "")?;
    terminal.until("one that is done", |screen| screen.contents().contains("°C"))
}

fn approval(terminal: &mut Terminal, _: &Path) -> Result<()> {
    asks(terminal, "Write me a packing list for Bergen.")?;
    terminal.until("a question", |screen| screen.contents().contains("for the rest of this run:"))
}

fn usage(terminal: &mut Terminal, work: &Path) -> Result<()> {
    std::fs::write(work.join("all"), "")?;
    asks(terminal, "Do I need a coat in Bergen?")?;
    terminal.answers("take a coat.")?;
    terminal.types("/usage\r")?;
    terminal.answers("all together")
}

fn sessions(terminal: &mut Terminal, _: &Path) -> Result<()> {
    terminal.ends()?;
    // The prompt of the shell would be there.
    terminal.hides_cursor();
    Ok(())
}
