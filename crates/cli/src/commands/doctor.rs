//! `converse doctor`: checks what a run needs, without running anything. The network is used only to check whether
//! providers answer and accept their keys; `--offline` skips that.

use serde_json::{Value, json};

use crate::args::DoctorArgs;
use converse_doctor::{Finding, Section, State, examine};
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::render::table::table;
use converse_text::wording::they_are;

pub(crate) fn run(args: &DoctorArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let sections = examine(world, &console.context.redactor, args.offline)?;
    let broken =
        sections.iter().flat_map(|section| &section.findings).filter(|f| f.state == State::Broken).count();
    match args.json {
        true => write_json(&as_json(&sections, broken == 0))?,
        false => write_stdout(&as_text(&sections))?,
    }
    match broken {
        0 => Ok(()),
        _ => Err(Failure::new(
            Kind::Configuration,
            "doctor",
            format!("{} broken here", they_are(broken, "thing")),
        )),
    }
}

fn as_text(sections: &[Section]) -> String {
    let rows = |section: &Section| {
        let row = |f: &Finding| vec![format!("  {}", f.state.label()), f.name.clone(), f.detail.clone()];
        table(&section.findings.iter().map(row).collect::<Vec<_>>())
    };
    let sections = sections.iter().map(|section| format!("{}\n{}", section.name, rows(section)));
    sections.collect::<Vec<_>>().join("\n")
}

fn as_json(sections: &[Section], sound: bool) -> Value {
    let finding = |f: &Finding| json!({ "name": f.name, "state": f.state.label(), "detail": f.detail });
    let section = |section: &Section| {
        let findings: Vec<Value> = section.findings.iter().map(finding).collect();
        json!({ "name": section.name, "findings": findings })
    };
    json!({ "sound": sound, "sections": sections.iter().map(section).collect::<Vec<_>>() })
}
