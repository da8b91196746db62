//! `converse ensembles check`: every problem of every descriptor; with `--connect` those of the servers as well, with
//! `--provider` what providers reject. One list of findings, written in one of five formats.

mod gather;
mod met;
mod providers;

use std::path::PathBuf;

use crate::args::{CheckArgs, ReportFormat};
use converse_host::catalogue::Catalogue;
use converse_host::failure::{Failure, Kind};
use converse_host::wording::counted;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::findings::{self, Report};
use converse_terminal::render::output::{write_json, write_stdout};

use gather::Gathered;

pub(super) struct Check<'a> {
    pub(super) args: &'a CheckArgs,
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
}

impl Check<'_> {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let args = self.args;
        let directories: Vec<PathBuf> = [args.directories.as_slice(), &args.places.ensembles].concat();
        let catalogue = Catalogue::check(self.world, &directories, args.require_env);
        self.console.warn_all(catalogue.notes());
        let gathered = gather::gather(self, &catalogue)?;
        self.write(&gathered)?;
        if gathered.has_errors() {
            return Err(Failure::new(
                Kind::Configuration,
                "ensembles",
                "there are errors in ensembles or settings",
            ));
        }
        catalogue.stop_for_untrusted()?;
        if args.locked {
            catalogue.stop_for_skipped("compared with its lockfile")?;
        }
        match gathered.unconnected() {
            0 => Ok(()),
            failed => {
                let message = format!("{} could not be connected", counted(failed, "ensemble"));
                Err(Failure::new(Kind::Ensemble, "ensemble", message))
            }
        }
    }

    /// Only `text` is for people: beside the others the summary goes to stderr.
    fn write(&self, gathered: &Gathered) -> Result<(), Failure> {
        let findings: Vec<_> = gathered.told.iter().map(|told| &told.finding).collect();
        let report = Report { findings: &findings, files: &gathered.files, directory: &self.world.cwd };
        let format = if self.args.json { ReportFormat::Json } else { self.args.format };
        match format {
            ReportFormat::Text => return Ok(write_stdout(&gathered.text(self.console.style.colour))?),
            ReportFormat::Json => write_json(&findings::json(&report))?,
            ReportFormat::Sarif => write_json(&findings::sarif(&report))?,
            ReportFormat::Junit => write_stdout(&findings::junit(&report))?,
            ReportFormat::Github => write_stdout(&findings::github(&report))?,
        }
        self.console.note(&gathered.summary());
        Ok(())
    }
}
