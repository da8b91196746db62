//! The settings of a run: flags over environment over project over user over defaults. Pure, except for reading the two
//! settings files.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use converse_config::{
    Code, ContextPlan, Diagnostic, EnsemblePlan, Finding, LimitsPlan, Location, Permission, PresetPlan, Rule,
    Scope, SettingsPlan, SourceMap, TimeoutsPlan, load_settings, unfit_views, unused_rules,
};
use converse_engine::{CompactionPolicy, Limits, RetryPolicy, Timeouts};
use converse_provider::Controls;

use crate::answer::ReplySchema;
use crate::approvals;
use crate::cassette::CassetteMode;
use crate::catalogue::Catalogue;
use crate::context::RunContext;
use crate::failure::{Failure, Kind};
use crate::model::fallback::{Fallbacks, fallbacks, require_price};
use crate::model::{self, Model};
use crate::options::{RuleOptions, TurnOptions};
use crate::trust::{HOW, Steering};
use crate::world::World;
use converse_text::wording::counted;

/// The settings files, merged, and what was found wrong in them.
#[derive(Debug)]
pub struct Files {
    pub plan: SettingsPlan,
    /// What each file says of it.
    pub parts: FileParts,
    sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
    notes: Vec<String>,
}

/// The settings of each file.
#[derive(Debug, Clone, Default)]
pub struct FileParts {
    pub user: SettingsPlan,
    /// Without what needs trust, if the project is not trusted.
    pub project: SettingsPlan,
}

/// The settings of a project, beside its `ensembles/`.
pub const PROJECT_FILE: &str = "converse.toml";
/// The settings of the user, in the configuration directory.
const USER_FILE: &str = "config.toml";
const LEADS_OUT: &str = "a symbolic link points outside the project";

/// Returns false if even the existence cannot be checked: the home belongs to another user, or is not a directory. An
/// existing file that cannot be read is different, because it may contain rules.
pub(crate) fn can_be_looked_for(path: &Path) -> bool {
    let error = std::fs::symlink_metadata(path).err().map(|error| error.kind());
    !matches!(error, Some(ErrorKind::PermissionDenied | ErrorKind::NotADirectory))
}

/// Returns why the existence of a file is unknown. The file may contain rules, so the run does not continue without it.
fn hidden(path: &Path) -> Option<String> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => None,
        Err(error) if error.kind() != ErrorKind::NotFound => Some(format!("cannot be looked for: {error}")),
        Err(_) => {
            // Its directory, and what that is in.
            let link = path.ancestors().skip(1).take(2).find(|dir| dir.is_symlink() && !dir.exists())?;
            Some(format!("cannot be looked for: {} is a dangling link", link.display()))
        }
    }
}

/// Returns whether the home is not a directory, or belongs to another user and is not accessible, so that it has no
/// files of this user.
fn is_anothers(home: &Path) -> bool {
    let own = |home: &Metadata| home.is_dir() && home.uid() == rustix::process::geteuid().as_raw();
    !can_be_looked_for(&home.join(".")) && !std::fs::metadata(home).is_ok_and(|home| own(&home))
}

fn unread(sources: &mut SourceMap, shown: &str, scope: Scope, code: Code, why: &str) -> Diagnostic {
    let id = sources.add(shown, scope, "");
    Diagnostic::error(code, Location::File(id), why)
}

/// What is a project's is a link to somewhere else: an error message could show its reader any file of the machine.
pub fn leads_out(path: &Path, project: &Path) -> bool {
    path.is_symlink() && path.canonicalize().map_or(true, |target| !target.starts_with(project))
}

/// Returns the path of the settings of the user.
pub fn user_file(world: &World) -> Option<PathBuf> {
    world.config_dir().map(|dir| dir.join(USER_FILE))
}

impl FileParts {
    /// Returns merged settings without what the project says that needs trust.
    pub fn without_trust(&self, merged: SettingsPlan) -> SettingsPlan {
        let SettingsPlan { model, system, presets, .. } = self.user.clone();
        SettingsPlan { model, system, presets, ..merged }
    }

    /// Returns the path, for messages, of each file that says something here and is missing or empty in `files`. `scopes`
    /// are those to look at.
    pub fn emptied(&self, files: &Files, scopes: &[Scope], world: &World) -> Vec<String> {
        let nothing = format!("{:?}", SettingsPlan::default());
        let is_emptied = |scope: &&Scope| {
            let before = if **scope == Scope::User { &self.user } else { &self.project };
            format!("{before:?}") != nothing && !files.has_text(**scope)
        };
        let user =
            || user_file(world).map_or_else(|| USER_FILE.to_owned(), |path| path.display().to_string());
        let shown = |scope: &Scope| if *scope == Scope::User { user() } else { PROJECT_FILE.to_owned() };
        scopes.iter().filter(is_emptied).map(shown).collect()
    }
}

/// Returns a project's settings that are not trusted, with what was trusted `before`. What restricts counts from both.
fn keeping(untrusted: SettingsPlan, before: &SettingsPlan) -> SettingsPlan {
    let is_missing = |rule: &&Rule| {
        let text = format!("{rule:?}");
        untrusted.rules.iter().all(|other| format!("{other:?}") != text)
    };
    let rules: Vec<Rule> = before.rules.iter().filter(is_missing).cloned().collect();
    let SettingsPlan { model, system, presets, .. } = before.clone();
    let mut kept = SettingsPlan { model, system, presets, ..untrusted };
    kept.bounds = kept.bounds.bounded_by(before.bounds);
    kept.rules.extend(rules);
    kept
}

impl Files {
    pub fn read(world: &World) -> Self {
        Self::read_keeping(world, None)
    }

    /// The same for a program that goes on with what the project's settings said when they were trusted, if that is given.
    pub fn read_keeping(world: &World, trusted: Option<&SettingsPlan>) -> Self {
        let mut sources = SourceMap::new();
        let (mut diagnostics, mut notes) = (Vec::new(), Vec::new());
        let mut read = |path: &Path, shown: &str, scope| {
            if let Some(why) = hidden(path) {
                if scope == Scope::User && world.config_home().is_some_and(is_anothers) {
                    notes.push(format!("warning: `{shown}` cannot be looked for; going on without it"));
                    return SettingsPlan::default();
                }
                diagnostics.push(unread(&mut sources, shown, scope, Code::Unreadable, &why));
                return SettingsPlan::default();
            }
            if scope == Scope::Project && leads_out(path, &world.cwd) {
                diagnostics.push(unread(&mut sources, shown, scope, Code::OutsideRoot, LEADS_OUT));
                return SettingsPlan::default();
            }
            let checked = load_settings(&mut sources, path, shown, scope);
            diagnostics.extend(checked.diagnostics);
            checked.value.unwrap_or_default()
        };
        let user = user_file(world)
            .map(|path| read(&path, &path.display().to_string(), Scope::User))
            .unwrap_or_default();
        let mut project = read(&world.cwd.join(PROJECT_FILE), PROJECT_FILE, Scope::Project);
        if let Some(trusted) = trusted {
            let is_of_project =
                |diagnostic: &Diagnostic| sources.scope(diagnostic.place.source()) == Scope::Project;
            let is_broken = diagnostics.iter().any(|one| one.is_error() && is_of_project(one));
            project = if is_broken { trusted.clone() } else { keeping(project, trusted) };
            diagnostics.retain(|one| !is_of_project(one));
        } else if let Some(steering) = Steering::of(&project, &sources)
            && !Catalogue::find(world, &[]).trusts(&steering)
        {
            notes.push(format!(
                "warning: these keys of `{PROJECT_FILE}` are not trusted and have no effect: {}; {HOW}",
                steering.keys()
            ));
            project = project.without_steering();
        }
        let parts = FileParts { user: user.clone(), project: project.clone() };
        let mut plan = user.under(project);
        diagnostics.extend(model::unlike(&plan));
        let (answered, unsound) = approvals::rules(world);
        plan.rules.extend(answered);
        notes.extend(unsound);
        Self { plan, parts, sources, diagnostics, notes }
    }

    /// Returns the settings of one project alone, without those of the user. `shown` is the path for messages.
    pub fn of_project(project: &Path, shown: &str) -> Self {
        let (path, scope) = (project.join(PROJECT_FILE), Scope::Project);
        let mut sources = SourceMap::new();
        let unread = match hidden(&path) {
            Some(why) => Some(unread(&mut sources, shown, scope, Code::Unreadable, &why)),
            None if leads_out(&path, project) => {
                Some(unread(&mut sources, shown, scope, Code::OutsideRoot, LEADS_OUT))
            }
            None => None,
        };
        if let Some(unread) = unread {
            let plan = SettingsPlan::default();
            let (parts, diagnostics) = (FileParts::default(), vec![unread]);
            return Self { plan, parts, sources, diagnostics, notes: Vec::new() };
        }
        let checked = load_settings(&mut sources, &path, shown, scope);
        let plan = SettingsPlan::default().under(checked.value.unwrap_or_default());
        let mut diagnostics = checked.diagnostics;
        diagnostics.extend(model::unlike(&plan));
        Self { plan, parts: FileParts::default(), sources, diagnostics, notes: Vec::new() }
    }

    /// Returns whether the settings file of this scope exists and has more than white space.
    pub fn has_text(&self, scope: Scope) -> bool {
        let of_scope = self.sources.iter().filter(|(id, _)| self.sources.scope(*id) == scope);
        of_scope.into_iter().any(|(id, _)| !self.sources.text(id).trim().is_empty())
    }

    /// Rules in them that never decide anything, and views without a tool or with an argument that does not exist, each
    /// as a finding and a picture; nothing while they have errors.
    pub fn unused(&self, plans: &[EnsemblePlan]) -> Vec<(Finding, String)> {
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            return Vec::new();
        }
        let told = |one: &Diagnostic| (one.finding(&self.sources), one.render(&self.sources));
        let (rules, views) = (unused_rules(&self.plan.rules, plans), unfit_views(&self.plan.views, plans));
        rules.iter().chain(&views).map(told).collect()
    }

    /// All that was found in them, each as a finding and a picture.
    pub fn findings(&self) -> Vec<(Finding, String)> {
        let told = |one: &Diagnostic| (one.finding(&self.sources), one.render(&self.sources));
        self.diagnostics.iter().map(told).collect()
    }

    /// The settings of a run that calls tools, and its rules. Warns, and teaches the redactor the keys of providers.
    pub fn for_tools(
        options: &RuleOptions,
        context: &RunContext,
        world: &World,
    ) -> Result<(SettingsPlan, Vec<Rule>), Failure> {
        Self::read(world).with_rules(options, context, world)
    }

    /// The same for files that are read.
    pub fn with_rules(
        self,
        options: &RuleOptions,
        context: &RunContext,
        world: &World,
    ) -> Result<(SettingsPlan, Vec<Rule>), Failure> {
        let (files, warnings) = self.checked()?;
        context.warn_all(warnings);
        context.redactor.learn(model::keys(&files, world)?);
        let rules = rules(options, &files)?;
        Ok((files, rules))
    }

    /// Returns the settings, or stops the run at an error: a part of the rules is not what the user wrote.
    pub fn checked(self) -> Result<(SettingsPlan, Vec<String>), Failure> {
        let pictures = |wanted: bool| {
            let chosen = self.diagnostics.iter().filter(move |diagnostic| diagnostic.is_error() == wanted);
            chosen.map(|diagnostic| diagnostic.render(&self.sources)).collect::<Vec<_>>()
        };
        let errors = pictures(true);
        if errors.is_empty() {
            let warnings = [self.notes.clone(), pictures(false)].concat();
            return Ok((self.plan, warnings));
        }
        let message = format!("the settings have {}\n{}", counted(errors.len(), "error"), errors.join("\n"));
        Err(Failure::new(Kind::Configuration, "settings", message.trim_end()))
    }
}

/// Everything that one `ask` needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    pub model: Model,
    pub fallbacks: Fallbacks,
    pub system: Option<String>,
    /// The instructions of files. They are not kept in the conversation: the next run may have others, or none.
    pub instructions: Option<String>,
    /// The list of skills, for models that can read them.
    pub skills: Option<String>,
    pub controls: Controls,
    /// What the answer must be.
    pub answer: Option<ReplySchema>,
    pub limits: Limits,
    pub timeouts: Timeouts,
    pub connect_timeout: Duration,
    pub retry: RetryPolicy,
    pub compaction: CompactionPolicy,
    /// Those of the files, of the command line and of the preset.
    pub rules: Vec<Rule>,
    /// The name of the preset that applies.
    pub preset: Option<String>,
    /// `None`: all that are enabled.
    pub ensembles: Option<Vec<String>>,
    pub ephemeral: bool,
    pub audit: bool,
    pub cassette: CassetteMode,
}

impl Settings {
    /// `session_model` is the last model of a continued session, which comes between environment and files. `compared`
    /// is the model of a comparison that this is for.
    pub fn resolve(
        args: &TurnOptions,
        schema: Option<&Path>,
        compared: Option<&str>,
        files: &SettingsPlan,
        session_model: Option<&str>,
        world: &World,
    ) -> Result<Self, Failure> {
        let preset = args.preset.as_deref().map(|name| preset(files, name)).transpose()?.unwrap_or_default();
        let named = compared
            .or(args.model.first().map(String::as_str))
            .or(preset.model.as_deref())
            .or(world.var("CONVERSE_MODEL"));
        let named = named.or(session_model).or(args.cassette.model()).or(files.model.as_deref());
        let system = match args.system.as_deref() {
            Some(text) => Some(system_text(text, world)?),
            None => preset.system.clone().or_else(|| files.system.clone()),
        };
        let ensembles = match args.ensemble.as_slice() {
            [] => preset.ensembles.clone(),
            named => Some(named.to_vec()),
        };
        let answer = schema.map(|path| ReplySchema::read(path, world)).transpose()?;
        let model = model::choose(named, files, world)?;
        let limits = limits(args, files);
        require_price(&model, limits.cost)?;
        let compaction =
            if model.is_understudy() { CompactionPolicy::NONE } else { compaction(&files.context) };
        let instead = fallback(args, compared.is_some(), &preset, files)?;
        let fallbacks = fallbacks(instead, &model, limits.cost, &args.cassette, files, world)?;
        args.cassette.names([&model].into_iter().chain(&fallbacks.models));
        let mut settings = Self {
            fallbacks,
            model,
            system,
            instructions: args.instructions.text(),
            skills: args.instructions.list_of_skills(),
            controls: controls(args, &preset, files),
            answer: None,
            limits,
            timeouts: timeouts(&files.timeouts),
            connect_timeout: files.timeouts.connect.unwrap_or(Duration::from_secs(10)),
            retry: args.cassette.without_waits(retry(&files.timeouts)),
            compaction,
            rules: rules(&args.rules, files)?.into_iter().chain(preset.rules).collect(),
            preset: args.preset.clone(),
            ensembles: if args.no_tools { Some(Vec::new()) } else { ensembles },
            ephemeral: args.ephemeral || files.ephemeral.unwrap_or(false),
            audit: files.audit.unwrap_or(true),
            cassette: args.cassette.clone(),
        };
        answer.map_or(Ok(()), |wanted| settings.expect_answer(wanted))?;
        Ok(settings)
    }
}

impl Settings {
    /// Sets the schema of the answer.
    ///
    /// # Errors
    ///
    /// The understudy answers with the results of tools.
    pub fn expect_answer(&mut self, wanted: ReplySchema) -> Result<(), Failure> {
        if self.model.is_understudy() {
            let message =
                "`--schema` needs a language model; the understudy answers with the results of tools";
            return Err(model::with_a_model(Failure::usage("schema-understudy", message)));
        }
        self.controls.answer = Some(wanted.format());
        self.answer = Some(wanted);
        Ok(())
    }
}

/// Returns the fallback models. A comparison has none.
fn fallback<'a>(
    args: &'a TurnOptions,
    compared: bool,
    preset: &'a PresetPlan,
    files: &'a SettingsPlan,
) -> Result<&'a [String], Failure> {
    match (compared, args.fallback.as_slice()) {
        (true, []) => Ok(&[]),
        (true, _) => {
            Err(Failure::usage("usage", "a comparison has no fallbacks: use `--fallback` with a single `-m`"))
        }
        (false, []) => Ok(preset.fallback.as_ref().or(files.fallback.as_ref()).map_or(&[], Vec::as_slice)),
        (false, named) => Ok(named),
    }
}

fn preset(files: &SettingsPlan, name: &str) -> Result<PresetPlan, Failure> {
    files.presets.get(name).cloned().ok_or_else(|| {
        let names = files.presets.keys().map(String::as_str);
        Failure::usage("unknown-preset", format!("there is no preset `{name}`")).did_you_mean(
            name,
            names,
            "presets are tables `[presets.NAME]` of a settings file",
        )
    })
}

/// `@FILE` is the file's text.
fn system_text(text: &str, world: &World) -> Result<String, Failure> {
    const MOST: u64 = 1024 * 1024;
    let Some(file) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let path = world.cwd.join(file);
    let failed = |reason: String| Failure::usage("system-file", format!("`{file}` cannot be used: {reason}"));
    let metadata = std::fs::metadata(&path).map_err(|error| failed(error.to_string()))?;
    if !metadata.is_file() || metadata.len() > MOST {
        return Err(failed("expected a text file of at most 1 MiB".to_owned()));
    }
    std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))
}

/// What models think is wanted, and shown.
pub fn shows_reasoning(args: &TurnOptions, files: &SettingsPlan) -> bool {
    args.show_reasoning || files.show_reasoning.unwrap_or(false)
}

/// Whether the instructions of files are sent to models.
pub fn takes_instructions(args: &TurnOptions, files: &SettingsPlan) -> bool {
    !args.no_instructions && files.instructions.unwrap_or(true)
}

fn controls(args: &TurnOptions, preset: &PresetPlan, files: &SettingsPlan) -> Controls {
    Controls {
        stream: !args.no_stream,
        temperature: args.temperature.or(preset.temperature),
        max_output_tokens: args.max_output_tokens.or(preset.max_output_tokens),
        show_reasoning: shows_reasoning(args, files),
        effort: args.effort,
        ..Controls::default()
    }
}

/// Flags win over files; a project's bounds win over everything.
pub fn limits(args: &TurnOptions, files: &SettingsPlan) -> Limits {
    let default = Limits::default();
    let deadline = args.deadline.map(Duration::from_secs_f64);
    let wanted = LimitsPlan {
        max_iterations: args.max_iterations.or(files.limits.max_iterations).or(Some(default.iterations)),
        max_invocations: args.max_invocations.or(files.limits.max_invocations).or(Some(default.invocations)),
        deadline: deadline.or(files.limits.deadline),
        max_cost: args.max_cost.or(files.limits.max_cost),
    };
    let bounded = wanted.bounded_by(files.bounds);
    Limits {
        iterations: bounded.max_iterations.unwrap_or(default.iterations),
        invocations: bounded.max_invocations.unwrap_or(default.invocations),
        deadline: bounded.deadline,
        cost: bounded.max_cost,
    }
}

fn timeouts(files: &TimeoutsPlan) -> Timeouts {
    let default = Timeouts::default();
    Timeouts {
        first_byte: files.first_byte.unwrap_or(default.first_byte),
        stream_idle: files.stream_idle.unwrap_or(default.stream_idle),
        stream_content: files.stream_content.unwrap_or(default.stream_content),
    }
}

fn retry(files: &TimeoutsPlan) -> RetryPolicy {
    let default = RetryPolicy::default();
    RetryPolicy {
        retries: files.max_retries.unwrap_or(default.retries),
        first: files.retry_first.unwrap_or(default.first),
        cap: files.retry_cap.unwrap_or(default.cap),
        total: files.retry_total.unwrap_or(default.total),
        ..default
    }
}

fn compaction(files: &ContextPlan) -> CompactionPolicy {
    let default = CompactionPolicy::default();
    CompactionPolicy {
        compact: files.compact.unwrap_or(default.compact),
        compact_at: files.compact_at.unwrap_or(default.compact_at),
        lazy_tools: files.lazy_tools.unwrap_or(default.lazy_tools),
    }
}

/// The rules of the files and of the flags; the strictest that matches wins.
pub fn rules(tools: &RuleOptions, files: &SettingsPlan) -> Result<Vec<Rule>, Failure> {
    let mut rules = files.rules.clone();
    for (patterns, permission, flag) in [
        (&tools.allow, Permission::Allow, "--allow"),
        (&tools.ask, Permission::Ask, "--ask"),
        (&tools.deny, Permission::Deny, "--deny"),
    ] {
        for pattern in patterns {
            let rule = Rule::new(pattern.as_str(), permission, flag);
            let rule = rule.map_err(|error| Failure::usage("bad-pattern", format!("{flag}: {error}")))?;
            rules.push(rule.for_this_run());
        }
    }
    Ok(rules)
}
