//! [`Catalogue`]: the ensembles of a run: found, parsed, checked against the user's trust and resolved, with their
//! notices.

mod places;
mod project;
mod protected;

use std::path::{Path, PathBuf};

use converse_config::{
    BrokenEnsemble, BuiltinSpec, Code, Diagnostic, EnsembleDescriptor, EnsemblePlan, Finding, LoadedFiles,
    ResolveInput, Root, Scope, SourceMap, load, load_for_question, resolve, shipped,
};
use converse_ensemble::{Builtin, NoEdits, builtins, edited_project};

use crate::failure::{Failure, Kind};
use crate::lockfiles::Lockfiles;
use crate::settings::{can_be_looked_for, leads_out};
use crate::trust::{Declaration, HOW, Standing, Steering};
use crate::world::World;
use converse_text::wording::{counted, they_are};

use project::Project;

/// The ensembles in this binary.
pub(crate) fn all_builtins() -> Vec<&'static Builtin> {
    #[cfg(feature = "test-fakes")]
    return builtins().iter().chain(converse_testkit::fakes::FAKES).collect();
    #[cfg(not(feature = "test-fakes"))]
    builtins().iter().collect()
}

/// All ensembles found.
#[derive(Debug)]
pub struct Catalogue {
    pub plans: Vec<EnsemblePlan>,
    broken: Vec<BrokenEnsemble>,
    diagnostics: Vec<Diagnostic>,
    project: Project,
    /// The source texts, for positions in them.
    descriptors: Vec<EnsembleDescriptor>,
    sources: SourceMap,
    protected: Vec<PathBuf>,
    roots: Vec<Root>,
    project_trusted: bool,
    standing: Option<Standing>,
    /// What the project's settings say to models, and whether the user has trusted that too.
    steering: Option<Steering>,
    instructions_trusted: bool,
    settings_trusted: bool,
    /// Notices about the project as a whole.
    notes: Vec<String>,
}

/// How thoroughly descriptors are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rigour {
    /// As a run needs it.
    Run,
    Check {
        /// Whether an unset variable is an error.
        require_env: bool,
    },
}

/// Whether the project's ensembles are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// According to the user's trust.
    AsTheyStand,
    /// As if the project were trusted, to show the effect.
    AsIfTrusted,
}

impl Catalogue {
    /// Reads explicit directories, the project's `ensembles/`, the user's, and the built-in ones.
    pub fn find(world: &World, explicit: &[PathBuf]) -> Self {
        let roots = roots(world, explicit);
        Self::of(load(&roots, shipped()), roots, world, Rigour::Run, Judged::AsTheyStand)
    }

    /// Like [`Catalogue::find`], for a run that asks a question and uses only these ensembles: other built-in ones may be
    /// missing, and no built-in one has tests.
    pub fn find_for_question(world: &World, explicit: &[PathBuf], named: Option<&[String]>) -> Self {
        let roots = roots(world, explicit);
        let loaded = load_for_question(&roots, shipped(), named);
        Self::of(loaded, roots, world, Rigour::Run, Judged::AsTheyStand)
    }

    /// Returns what would apply if the project were trusted. Nothing of it may run.
    pub fn as_if_trusted(world: &World) -> Self {
        let roots = roots(world, &[]);
        Self::of(load(&roots, shipped()), roots, world, Rigour::Run, Judged::AsIfTrusted)
    }

    /// Returns what would apply without the project.
    pub fn without_project(world: &World) -> Self {
        let mut roots = roots(world, &[]);
        roots.retain(|root| root.scope != Scope::Project);
        Self::of(load(&roots, shipped()), roots, world, Rigour::Run, Judged::AsTheyStand)
    }

    /// Returns the built-in ensembles only.
    pub fn shipped(world: &World) -> Self {
        Self::of(load(&[], shipped()), Vec::new(), world, Rigour::Run, Judged::AsTheyStand)
    }

    /// For `check`: compiles every schema. Explicit directories replace the others.
    pub fn check(world: &World, directories: &[PathBuf], require_env: bool) -> Self {
        let rigour = Rigour::Check { require_env };
        let (roots, shipped) = match directories {
            [] => (roots(world, &[]), shipped()),
            _ => (directories.iter().map(|dir| root(Scope::Explicit, world, dir)).collect(), &[][..]),
        };
        Self::of(load(&roots, shipped), roots, world, rigour, Judged::AsTheyStand)
    }

    fn of(loaded: LoadedFiles, roots: Vec<Root>, world: &World, rigour: Rigour, judged: Judged) -> Self {
        let builtins = all_builtins();
        let specs: Vec<BuiltinSpec<'_>> = builtins
            .iter()
            .map(|builtin| BuiltinSpec { name: builtin.name, effects: builtin.effects })
            .collect();
        let environment = world.environment();
        let given = ResolveInput {
            builtins: &specs,
            environment: &environment,
            project_trusted: false,
            compile_schemas: rigour != Rigour::Run,
            require_env: rigour == Rigour::Check { require_env: true },
        };
        let in_project = roots.iter().any(|root| root.scope == Scope::Project);
        let steering = in_project.then(|| Steering::read(world)).flatten();
        let (project, mut named) = project::project(&loaded, &given, steering.as_ref(), world);
        let standing = match judged {
            Judged::AsTheyStand => project::standing(&project, world),
            Judged::AsIfTrusted => Some(Standing::Trusted),
        };
        let project_trusted = standing == Some(Standing::Trusted);
        let (settings_trusted, instructions_trusted) = match &project {
            Ok(Some(declaration)) if steering.is_some() && judged == Judged::AsTheyStand => {
                declaration.trusts_steering(world)
            }
            _ => (project_trusted, project_trusted),
        };
        let given = ResolveInput { project_trusted, ..given };
        let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
        let mut diagnostics = loaded.diagnostics;
        diagnostics.extend(resolved.diagnostics);
        diagnostics.retain(|diagnostic| !is_copy_of_shipped(diagnostic, &loaded.sources));
        // In reading order: file by file, from the top.
        diagnostics.sort_by_cached_key(|diagnostic| {
            let finding = diagnostic.finding(&loaded.sources);
            (finding.file, finding.line, finding.column)
        });
        let notes = notes(standing.as_ref(), &diagnostics);
        let (mut plans, broken) = (resolved.plans, resolved.broken);
        for plan in plans.iter_mut().filter(|plan| plan.origin.scope == Scope::Project) {
            plan.named_files = named.remove(&plan.name).unwrap_or_default();
        }
        let protected = protected::protected(&roots, &plans, &environment, world);
        let (sources, descriptors) = (loaded.sources, loaded.descriptors);
        Self {
            plans,
            broken,
            diagnostics,
            project,
            descriptors,
            sources,
            protected,
            roots,
            project_trusted,
            standing,
            settings_trusted,
            instructions_trusted,
            steering,
            notes,
        }
    }

    /// Returns whether the user has trusted these settings of the project, and all that it declares beside them.
    pub(crate) fn trusts(&self, steering: &Steering) -> bool {
        self.settings_trusted && self.steering.as_ref().is_some_and(|own| own.settings == steering.settings)
    }

    /// Returns whether the user trusts what the project declares; `None` if it declares nothing.
    pub fn standing(&self) -> Option<&Standing> {
        self.standing.as_ref()
    }

    /// Returns the directory in which the mode `accept-edits` has an effect, if there is one.
    pub fn edited_project(&self, world: &World) -> Result<PathBuf, NoEdits> {
        let home = world.home().map(|home| home.canonicalize().unwrap_or(home));
        edited_project(
            &world.cwd,
            home.as_deref(),
            self.project_trusted || !self.has_more_than_instructions(),
        )
    }

    /// Returns whether the project has ensembles, or settings that need trust. Instructions that are not trusted are not read.
    fn has_more_than_instructions(&self) -> bool {
        self.sources.iter().any(|(_, source)| source.scope == Scope::Project)
            || self.steering.as_ref().is_some_and(|steering| steering.settings.is_some())
    }

    /// Returns the directories that were searched.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.dir.as_path())
    }

    /// Returns what the project's settings say to models.
    pub fn steering(&self) -> Option<&Steering> {
        self.steering.as_ref()
    }

    /// Returns whether the user has trusted the instructions of the project; the rest may be trusted without.
    pub fn trusts_instructions(&self) -> bool {
        self.instructions_trusted
    }

    /// Returns files and directories that no tool may write to while these ensembles are in use.
    pub fn protected(&self) -> &[PathBuf] {
        &self.protected
    }

    /// Returns the lockfiles of all directories searched, read now.
    pub fn lockfiles(&self) -> Lockfiles {
        Lockfiles::read(&self.roots, self.project_trusted)
    }

    /// Returns whether a descriptor with this name exists, even if it failed to load.
    pub fn contains(&self, name: &str) -> bool {
        self.plans.iter().any(|plan| plan.name.as_str() == name)
            || self.broken.iter().any(|broken| broken.name.as_deref() == Some(name))
    }

    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    pub fn findings(&self) -> Vec<Finding> {
        self.diagnostics.iter().map(|diagnostic| diagnostic.finding(&self.sources)).collect()
    }

    /// Returns the findings without those in a project that is not trusted.
    pub fn findings_in_use(&self) -> Vec<Finding> {
        let is_used = |diagnostic: &&Diagnostic| {
            self.project_trusted || self.sources.scope(diagnostic.place.source()) != Scope::Project
        };
        self.diagnostics.iter().filter(is_used).map(|diagnostic| diagnostic.finding(&self.sources)).collect()
    }

    /// Returns everything declared, including ensembles with errors. For display only.
    pub fn declared(&self) -> impl Iterator<Item = &EnsemblePlan> {
        self.plans.iter().chain(self.broken.iter().filter_map(|broken| broken.rest.as_ref()))
    }

    /// Returns what the project's files declare, if there are any.
    pub fn declaration(&self) -> Result<Option<Declaration>, Failure> {
        let unread = |why: &String| Failure::new(Kind::Configuration, "untrusted", why.as_str());
        self.project.clone().map_err(|why| unread(&why))
    }

    /// Returns the notices about the project.
    pub fn notes(&self) -> Vec<String> {
        self.notes.iter().map(|note| format!("warning: {note}")).collect()
    }

    /// For a run that takes no instructions: says nothing about a project that has nothing else.
    pub fn leave_out_instructions(&mut self) {
        if !self.has_more_than_instructions() {
            self.notes.clear();
        }
    }

    /// Returns whether something of the project is inactive until the project is trusted, in a run that takes instructions or
    /// not.
    pub fn holds_back(&self, takes_instructions: bool) -> bool {
        let instructs = |steering: &Steering| takes_instructions && !steering.instructions.is_empty();
        self.plans.iter().any(is_inert)
            || self.steering.as_ref().is_some_and(|steering| {
                (steering.settings.is_some() && !self.settings_trusted)
                    || (instructs(steering) && !self.instructions_trusted)
            })
    }

    /// Returns the ensembles to use: the named ones, or all that are enabled. Errors in the user's own or an explicit
    /// directory end the run. Errors in a project are only reported, unless the ensemble is named.
    pub fn select(&self, named: Option<&[String]>) -> Result<Vec<&EnsemblePlan>, Failure> {
        self.stop_for_own_errors()?;
        let Some(named) = named else {
            return Ok(self.plans.iter().filter(|plan| plan.enabled && !is_inert(plan)).collect());
        };
        named.iter().map(|name| self.named(name)).collect()
    }

    /// Returns an ensemble to show it, also one that may not start or contact anything.
    pub fn displayed(&self, name: &str) -> Result<&EnsemblePlan, Failure> {
        let inert = self.plans.iter().find(|plan| plan.name.as_str() == name && is_inert(plan));
        inert.map_or_else(|| self.named(name), Ok)
    }

    pub fn named(&self, name: &str) -> Result<&EnsemblePlan, Failure> {
        let plan = self.plans.iter().find(|plan| plan.name.as_str() == name);
        let broken = self.broken.iter().find(|broken| broken.name.as_deref() == Some(name));
        // A broken ensemble of the project must not block others.
        if let Some(broken) = broken.filter(|broken| plan.is_none() || broken.scope != Scope::Project) {
            let concerns = |diagnostic: &Diagnostic| diagnostic.place.source() == broken.source;
            let excess =
                |diagnostic: &Diagnostic| diagnostic.code == Code::UntrustedExcess && concerns(diagnostic);
            if self.diagnostics.iter().any(excess) {
                return Err(
                    self.untrusted(format!("the ensemble `{name}` of {} is not trusted", broken.file))
                );
            }
            return Err(self.invalid(concerns));
        }
        if let Some(plan) = plan {
            if is_inert(plan) {
                let message = format!("the ensemble `{name}` of {} is not trusted", plan.origin);
                return Err(self.untrusted(message));
            }
            return Ok(plan);
        }
        // The ensemble may be in a directory that cannot be read.
        let unread = |diagnostic: &Diagnostic| diagnostic.code == Code::Unreadable;
        if self.diagnostics.iter().any(unread) {
            return Err(self.invalid(unread));
        }
        let files = shipped().iter().filter_map(|(path, _)| path.strip_suffix(".toml"));
        // Built-in ones may be missing in `plans`.
        let built_in = files.filter(|name| !name.contains('/'));
        let names = self.plans.iter().map(|plan| plan.name.as_str()).chain(built_in);
        Err(Failure::usage("unknown-ensemble", format!("there is no ensemble `{name}`")).did_you_mean(
            name,
            names,
            "`converse ensembles list` shows the ensembles",
        ))
    }

    /// Fails if ensembles are skipped because the project is not trusted. `what` was not done with them.
    pub fn stop_for_skipped(&self, what: &str) -> Result<(), Failure> {
        // The project may contain copies of the built-in descriptors, which do not count.
        let is_own = |text: &str| shipped().iter().all(|(_, shipped)| *shipped != text);
        let of_project = |scope, text: &str| scope == Scope::Project && is_own(text);
        let some = self.sources.iter().any(|(_, source)| of_project(source.scope, &source.text));
        if self.project_trusted || !some {
            return Ok(());
        }
        let failure =
            self.untrusted(format!("this project is not trusted, so its ensembles were not {what}"));
        Err(if self.notes.is_empty() { failure.hint(HOW) } else { failure })
    }

    /// Errors in files that the user wrote or named end a run; errors of a project do not.
    pub fn stop_for_own_errors(&self) -> Result<(), Failure> {
        let own = |diagnostic: &Diagnostic| self.sources.scope(diagnostic.place.source()) != Scope::Project;
        if self.diagnostics.iter().any(|diagnostic| diagnostic.is_error() && own(diagnostic)) {
            return Err(self.invalid(own));
        }
        Ok(())
    }

    /// For checks that start servers: an ensemble that must not be started counts as broken.
    pub fn stop_for_untrusted(&self) -> Result<(), Failure> {
        let held_back = |diagnostic: &&Diagnostic| {
            matches!(diagnostic.code, Code::UntrustedConnection | Code::UntrustedExcess)
        };
        match self.diagnostics.iter().filter(held_back).count() {
            0 => Ok(()),
            count => {
                Err(self.untrusted(format!("{} not trusted in this project", they_are(count, "ensemble"))))
            }
        }
    }

    /// A project with errors in its declarations is not trusted; they must be fixed first.
    pub fn stop_for_errors_of_the_project(&self) -> Result<(), Failure> {
        let of_project =
            |diagnostic: &Diagnostic| self.sources.scope(diagnostic.place.source()) == Scope::Project;
        if self.diagnostics.iter().any(|diagnostic| diagnostic.is_error() && of_project(diagnostic)) {
            return Err(self.invalid(of_project));
        }
        Ok(())
    }

    fn untrusted(&self, message: String) -> Failure {
        let failure = Failure::new(Kind::Configuration, "untrusted", message);
        self.notes.iter().fold(failure, |failure, note| failure.hint(note.as_str()))
    }

    fn invalid(&self, concerns: impl Fn(&Diagnostic) -> bool) -> Failure {
        let errors =
            self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error() && concerns(diagnostic));
        let pictures: Vec<String> = errors.map(|diagnostic| diagnostic.render(&self.sources)).collect();
        let message = format!("{} in ensembles\n{}", counted(pictures.len(), "error"), pictures.join("\n"));
        Failure::new(Kind::Configuration, "ensembles", message.trim_end())
            .hint("`converse ensembles check` reports every problem")
    }
}

/// Returns whether an ensemble would start or contact something and is not trusted.
pub fn is_inert(plan: &EnsemblePlan) -> bool {
    plan.reaches_out() && !plan.trusted
}

/// Says nothing about a project that was never trusted and loses nothing by it.
fn notes(standing: Option<&Standing>, diagnostics: &[Diagnostic]) -> Vec<String> {
    use Code::{
        UntrustedConfiguration, UntrustedConnection, UntrustedExcess, UntrustedPermission, UntrustedShadow,
    };
    let held_back = |diagnostic: &Diagnostic| {
        let codes = [
            UntrustedConfiguration,
            UntrustedConnection,
            UntrustedExcess,
            UntrustedPermission,
            UntrustedShadow,
        ];
        codes.contains(&diagnostic.code)
    };
    let mut notes: Vec<String> = standing.and_then(Standing::warning).into_iter().collect();
    if standing == Some(&Standing::Unknown) && diagnostics.iter().any(held_back) {
        notes.push(format!("this project is not trusted; {HOW}"));
    }
    notes
}

/// A project with the built-in descriptors themselves (such as the repository of converse) overrides nothing.
fn is_copy_of_shipped(diagnostic: &Diagnostic, sources: &SourceMap) -> bool {
    let source = diagnostic.place.source();
    let copy = || shipped().iter().any(|(_, text)| *text == sources.text(source));
    let held_back = matches!(
        diagnostic.code,
        Code::UntrustedShadow | Code::UntrustedConfiguration | Code::UntrustedConnection
    );
    held_back && copy()
}

/// Returns explicit directories, the project's and the user's, nearest first.
fn roots(world: &World, explicit: &[PathBuf]) -> Vec<Root> {
    let mut roots: Vec<Root> = explicit.iter().map(|dir| root(Scope::Explicit, world, dir)).collect();
    let project = world.cwd.join("ensembles");
    // A link out of the project could show its reader other files.
    let own = !leads_out(&project, &world.cwd);
    if own && !explicit.iter().any(|dir| same(&world.cwd.join(dir), &project)) {
        roots.push(Root { scope: Scope::Project, dir: project, shown: "ensembles".to_owned() });
    }
    let user = world.config_dir().map(|dir| dir.join("ensembles")).filter(|dir| can_be_looked_for(dir));
    roots.extend(user.map(|dir| root(Scope::User, world, &dir)));
    roots
}

fn root(scope: Scope, world: &World, dir: &Path) -> Root {
    Root { scope, dir: world.cwd.join(dir), shown: dir.display().to_string() }
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
