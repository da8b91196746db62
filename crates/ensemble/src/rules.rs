//! The permission rules of a run. They are shared, so that an answer "always" counts from the next call on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use converse_canister::SeenData;
use converse_config::{Explanation, Judgement, Permission, Rule, Subject, judge_flow, private_file};
use parking_lot::{RwLock, RwLockReadGuard};
use serde_json::{Map, Value};

use crate::mode::ModeSwitch;
use crate::named_path::canonical;
use crate::tool::Tool;

#[derive(Debug, Clone, Default)]
pub struct Rules {
    list: Arc<RwLock<Vec<Rule>>>,
    interactive: bool,
    workspace: Option<Arc<str>>,
    home: Option<Arc<str>>,
    /// Directories that no tool opens, canonical.
    private: Arc<[PathBuf]>,
    /// Whether somebody has agreed to the home directory as a workspace.
    home_confirmed: Arc<AtomicBool>,
    mode: ModeSwitch,
}

/// Why the first call that reads asks in a home directory.
const HOME: &str = "the workspace is a home directory, or holds one";

impl Rules {
    /// Makes the rules of a run without a user to ask.
    pub fn new(list: Vec<Rule>) -> Self {
        Self { list: Arc::new(RwLock::new(list)), ..Self::default() }
    }

    /// Sets whether a person can be asked.
    #[must_use]
    pub fn interactive(self, interactive: bool) -> Self {
        Self { interactive, ..self }
    }

    pub(crate) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Sets the absolute directory to which relative paths in arguments refer.
    #[must_use]
    pub fn within(self, workspace: &str) -> Self {
        Self { workspace: Some(workspace.into()), ..self }
    }

    pub(crate) fn workspace(&self) -> Option<&Path> {
        self.workspace.as_deref().map(Path::new)
    }

    /// Sets the user's home, an absolute path: the meaning of `~/`.
    #[must_use]
    pub fn at_home(self, home: &str) -> Self {
        Self { home: Some(home.into()), ..self }
    }

    /// Sets directories that no tool opens: those of converse itself.
    #[must_use]
    pub fn closed(self, private: &[PathBuf]) -> Self {
        Self { private: private.iter().map(|directory| canonical(directory)).collect(), ..self }
    }

    /// Sets the mode of the run, which judges after the rules.
    #[must_use]
    pub fn in_mode(self, mode: ModeSwitch) -> Self {
        Self { mode, ..self }
    }

    pub(crate) fn mode(&self) -> &ModeSwitch {
        &self.mode
    }

    /// Returns whether no tool opens a canonical path.
    pub(crate) fn is_private(&self, path: &Path) -> bool {
        self.private.iter().any(|directory| path.starts_with(directory))
    }

    /// Returns the question that precedes the first call that nobody has allowed, below a root that is the home directory or
    /// holds it.
    pub(crate) fn unconfirmed_home(&self, judgement: &Judgement, root: &Path) -> Option<Judgement> {
        let is_unasked = judgement.permission == Permission::Allow && !judgement.by_rule;
        if !is_unasked || self.workspace() != Some(root) || self.home_confirmed.load(Ordering::Relaxed) {
            return None;
        }
        let home = self.home.as_deref().map(|home| canonical(Path::new(home)));
        let holds_home = root.parent().is_none() || home.is_some_and(|home| home.starts_with(root));
        let reason = "tools that read would see all of it; a yes counts for this run";
        holds_home.then(|| Judgement {
            permission: Permission::Ask,
            rule: HOME.to_owned(),
            reason: Some(reason.to_owned()),
            by_rule: false,
        })
    }

    /// Returns what a yes to the question sets.
    pub(crate) fn confirmed_by(&self, judgement: &Judgement) -> Option<Arc<AtomicBool>> {
        (judgement.rule == HOME).then(|| Arc::clone(&self.home_confirmed))
    }

    /// Returns a copy with those current rules that are wanted.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&Rule) -> bool) -> Self {
        let list = self.list().iter().filter(|rule| wanted(rule)).cloned().collect();
        Self { list: Arc::new(RwLock::new(list)), ..self.clone() }
    }

    /// Returns rules of the same workspace with another list, which is not shared.
    #[must_use]
    pub fn with_list(&self, list: Vec<Rule>) -> Self {
        Self { list: Arc::new(RwLock::new(list)), home_confirmed: Arc::default(), ..self.clone() }
    }

    /// Returns all current rules.
    pub fn all(&self) -> Vec<Rule> {
        self.list().clone()
    }

    /// Replaces the list, wherever these rules are shared.
    pub fn replace(&self, list: Vec<Rule>) {
        *self.list.write() = list;
    }

    /// Adds a rule, which counts from now on wherever these rules are shared.
    pub fn add(&self, rule: Rule) {
        self.list.write().push(rule);
    }

    /// Returns whether a tool can run: whether not each of its calls is denied, whatever the arguments are.
    pub(crate) fn can_run(&self) -> impl Fn(&Tool) -> bool + use<> {
        let barring = self.only(|rule| rule.permission == Permission::Deny && rule.is_unconditional());
        move |tool| barring.judge(tool, &Map::new()).permission != Permission::Deny
    }

    /// Judges a call, without regard to what a conversation has seen. The arguments must be checked, with defaults filled
    /// in.
    pub fn judge(&self, tool: &Tool, arguments: &Map<String, Value>) -> Judgement {
        let judgement = converse_config::judge(&self.list(), self.subject(tool, arguments));
        self.mode.judge(tool.policy.effects, None, judgement)
    }

    /// Returns the judgement of a call in a conversation that has seen this data: `judgement`, or a stricter one.
    pub(crate) fn judge_flow(&self, seen: &SeenData, tool: &Tool, judgement: Judgement) -> Judgement {
        let call = (tool.qualified.as_str(), tool.policy.effects, tool.remote);
        judge_flow(&self.list(), call, seen, &judgement).unwrap_or(judgement)
    }

    /// Returns whether a rule is about private files.
    pub(crate) fn has_private_files(&self) -> bool {
        self.list().iter().any(Rule::is_about_private_files)
    }

    /// Returns whether a rule says that a file is private. The path is absolute, or relative to the workspace.
    pub(crate) fn is_private_file(&self, path: &Path) -> bool {
        let path = self.workspace().and_then(|workspace| path.strip_prefix(workspace).ok()).unwrap_or(path);
        private_file(&self.list(), &path.to_string_lossy())
    }

    /// Returns the same decision with the part of each rule in it, and the current rules.
    pub fn explain(&self, tool: &Tool, arguments: &Map<String, Value>) -> (Explanation, Vec<Rule>) {
        let list = self.list();
        (converse_config::explain(&list, self.subject(tool, arguments)), list.clone())
    }

    pub(crate) fn list(&self) -> RwLockReadGuard<'_, Vec<Rule>> {
        self.list.read()
    }

    pub(crate) fn subject<'s>(&'s self, tool: &'s Tool, arguments: &'s Map<String, Value>) -> Subject<'s> {
        let (own, own_source) = &tool.own;
        Subject {
            tool: &tool.qualified,
            effects: tool.policy.effects,
            arguments,
            interactive: self.interactive,
            definition: Some(tool.digest()),
            connection: Some(tool.reached),
            local: tool.local,
            own: *own,
            own_source,
            trusted: tool.trusted,
            workspace: self.workspace.as_deref(),
            home: self.home.as_deref(),
        }
    }
}

/// The rules of a run and one call that was judged by them.
#[derive(Clone)]
pub(crate) struct CallRules(Arc<(Rules, Arc<Tool>, Map<String, Value>)>);

impl CallRules {
    pub(crate) fn new(rules: Rules, tool: Arc<Tool>, arguments: Map<String, Value>) -> Self {
        Self(Arc::new((rules, tool, arguments)))
    }

    /// Judges the call with one argument changed, by the rules as they are now.
    pub(crate) fn with(&self, argument: &str, value: Value) -> Judgement {
        let (rules, tool, arguments) = &*self.0;
        let mut arguments = arguments.clone();
        arguments.insert(argument.to_owned(), value);
        rules.judge(tool, &arguments)
    }
}

impl std::fmt::Debug for CallRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CallRules").field(&self.0.1.qualified).finish()
    }
}

impl From<Vec<Rule>> for Rules {
    fn from(list: Vec<Rule>) -> Self {
        Self::new(list)
    }
}
