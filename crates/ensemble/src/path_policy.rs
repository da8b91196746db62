//! The decision about each file that a call reaches, by its canonical path.
//!
//! A call is judged twice: by its arguments as they are written ([`Rules::judge`]), and by the file that they name. Files
//! that are found while a call runs (a search, a listing) are judged one by one, by [`PathPolicy`]. Nobody can be asked
//! about those, so what would need an approval is left out.

use std::path::Path;
use std::sync::Arc;

use converse_config::{Effects, Judgement, Permission, Rule, restriction};
use serde_json::{Map, Value};

use crate::named_path::{NamedPath, PathUse, lexical};
use crate::path_class::{PathClass, class_of, class_of_content};
use crate::rules::Rules;
use crate::tool::Tool;

/// The argument of the built-in tools that names a file or directory.
pub(crate) const PATH: &str = "path";

/// The decision about a file that a running call reaches. The default allows everything: it is for calls that were not
/// judged.
#[derive(Clone, Default)]
pub struct PathPolicy {
    call: Option<Arc<CallPaths>>,
    /// Whether a file must have been found when the call was judged.
    only_named: bool,
}

struct CallPaths {
    tool: Arc<Tool>,
    arguments: Map<String, Value>,
    /// What the call was approved for.
    named: Option<NamedPath>,
    rules: Rules,
    /// Those that deny or ask, and do not apply to the call itself.
    further: Rules,
}

/// What a policy says of a file, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathVerdict {
    Allowed,
    Asks(String),
    Denied(String),
}

impl PathPolicy {
    /// Refuses a file that the arguments name, unless it was found when the call was judged.
    #[must_use]
    pub(crate) fn only_named(self) -> Self {
        Self { only_named: true, ..self }
    }

    /// Judges the file that the arguments name. It must be the one that was approved.
    pub(crate) fn judge_named(&self, path: &Path, root: &Path, used: PathUse) -> PathVerdict {
        let Some(call) = &self.call else { return PathVerdict::Allowed };
        match &call.named {
            Some(named) if named.path == path => PathVerdict::Allowed,
            Some(_) => PathVerdict::Denied("it leads elsewhere than when the call was judged".to_owned()),
            None if self.only_named => {
                PathVerdict::Denied("it could not be found when the call was judged".to_owned())
            }
            None => self.judge(path, root, used),
        }
    }

    /// Judges a file that the call finds. `path` and `root` are canonical.
    pub(crate) fn judge(&self, path: &Path, root: &Path, used: PathUse) -> PathVerdict {
        let Some(call) = &self.call else { return PathVerdict::Allowed };
        if call.is_named(path) {
            return PathVerdict::Allowed;
        }
        let by_rule = call.further.restriction(&call.tool, &call.arguments, call.argument(), path, root);
        let class = call.rules.class(path, used);
        call.verdict(by_rule, class, path, root)
    }

    /// Judges what is in a file that the call has found.
    pub(crate) fn judge_content(&self, path: &Path, root: &Path, content: &[u8]) -> PathVerdict {
        match &self.call {
            Some(call) if !call.is_named(path) => call.verdict(None, class_of_content(content), path, root),
            _ => PathVerdict::Allowed,
        }
    }
}

impl CallPaths {
    fn argument(&self) -> &str {
        self.named.as_ref().map_or(PATH, |named| &named.argument)
    }

    fn is_named(&self, path: &Path) -> bool {
        self.named.as_ref().is_some_and(|named| named.path == path)
    }

    fn verdict(
        &self,
        by_rule: Option<Judgement>,
        class: Option<PathClass>,
        path: &Path,
        root: &Path,
    ) -> PathVerdict {
        let permits = |class: &PathClass| {
            self.rules.permits(class, &self.tool, &self.arguments, self.argument(), path, root)
        };
        let class = class.filter(|class| !permits(class));
        let judged = [by_rule, class.map(PathClass::into_judgement)].into_iter().flatten();
        match judged.reduce(stricter) {
            Some(judgement) if judgement.permission == Permission::Deny => {
                PathVerdict::Denied(judgement.because())
            }
            Some(judgement) => PathVerdict::Asks(judgement.because()),
            None => PathVerdict::Allowed,
        }
    }
}

impl Rules {
    /// Judges a call, also by the file that its arguments name.
    pub(crate) fn judge_call(
        &self,
        tool: &Tool,
        arguments: &Map<String, Value>,
        named: Option<&NamedPath>,
    ) -> Judgement {
        let judgement = self.judge(tool, arguments);
        let Some(named) = named else { return judgement };
        let NamedPath { argument, path, root, .. } = named;
        let mut judged = Vec::new();
        // A rule that allows the text of a link does not allow the file behind it.
        let behind = named
            .is_linked()
            .then(|| self.judge(tool, &with_path(arguments, argument, &relative(path, root))));
        judged.extend(behind.filter(|behind| behind.permission > judgement.permission).map(|behind| {
            let reason = "its path leads over a link to a file that no rule allows".to_owned();
            Judgement { reason: behind.reason.or(Some(reason)), by_rule: true, ..behind }
        }));
        judged.extend(self.restriction(tool, arguments, argument, path, root));
        let class = named.holds_key.then(PathClass::key).or_else(|| self.class(path, named.used));
        let class = class.filter(|class| !self.permits(class, tool, arguments, argument, path, root));
        judged.extend(class.map(PathClass::into_judgement));
        judged.extend(self.unconfirmed_home(&judgement, root));
        let judgement = judged.into_iter().fold(judgement, stricter);
        self.mode().judge(tool.policy.effects, edited(tool, named), judgement)
    }

    /// Returns the policy for the files that the call reaches while it runs.
    pub(crate) fn path_policy(
        &self,
        tool: &Arc<Tool>,
        arguments: &Map<String, Value>,
        named: Option<&NamedPath>,
    ) -> PathPolicy {
        if !tool.opens_files() {
            return PathPolicy::default();
        }
        // Rules that apply to the call have been followed: nobody is asked twice.
        let is_further = |rule: &Rule| {
            let is_restricting = rule.permission != Permission::Allow && !rule.is_unconditional();
            let applies = |argument: &str, text: &str| {
                rule.applies(self.subject(tool, &with_path(arguments, argument, text)))
            };
            is_restricting
                && !rule.applies(self.subject(tool, arguments))
                && !named.is_some_and(|named| {
                    let texts = self.texts(&named.path, &named.root);
                    texts.iter().any(|text| applies(&named.argument, text))
                })
        };
        let call = CallPaths {
            tool: Arc::clone(tool),
            arguments: arguments.clone(),
            named: named.cloned(),
            rules: self.clone(),
            further: self.only(is_further),
        };
        PathPolicy { call: Some(Arc::new(call)), only_named: false }
    }

    /// Returns the strictest rule that denies or asks for a call with this path. Rules about `path`, which may be about all
    /// tools that open files, count whatever the argument is called.
    fn restriction(
        &self,
        tool: &Tool,
        arguments: &Map<String, Value>,
        argument: &str,
        path: &Path,
        root: &Path,
    ) -> Option<Judgement> {
        let list = self.list();
        if list.iter().all(|rule| rule.permission == Permission::Allow) {
            return None;
        }
        let judged = |argument: &str, text: &str| {
            let arguments = with_path(arguments, argument, text);
            restriction(&list, self.subject(tool, &arguments))
        };
        let names: &[&str] = if argument == PATH { &[PATH] } else { &[argument, PATH] };
        let texts = self.texts(path, root);
        let pairs = names.iter().flat_map(|name| texts.iter().map(move |text| (*name, text)));
        pairs.filter_map(|(name, text)| judged(name, text)).reduce(stricter)
    }

    /// Returns the texts of a path that rules may mean: below the workspace, or absolute, and below the root.
    fn texts(&self, path: &Path, root: &Path) -> Vec<String> {
        let inside = self.workspace().map(|workspace| relative(path, workspace));
        let mut texts = vec![inside.unwrap_or_else(|| path.to_string_lossy().into_owned())];
        if self.workspace() != Some(root) {
            texts.push(relative(path, root));
        }
        texts
    }

    /// Places that must not be written to are the tools' own business, whatever is allowed.
    fn class(&self, path: &Path, used: PathUse) -> Option<PathClass> {
        let is_own = used != PathUse::Write && self.is_private(path);
        if is_own { Some(PathClass::own()) } else { class_of(path, used) }
    }

    /// Returns whether a rule allows the file by its name. A rule that names no path, or any path, does not.
    fn permits(
        &self,
        class: &PathClass,
        tool: &Tool,
        arguments: &Map<String, Value>,
        argument: &str,
        path: &Path,
        root: &Path,
    ) -> bool {
        let texts = self.texts(path, root);
        let by_name = |rule: &Rule| {
            let applies =
                |text: &String| rule.applies(self.subject(tool, &with_path(arguments, argument, text)));
            rule.permission == Permission::Allow
                && rule.spells_out(argument, |pattern| class.is_named_by(pattern))
                && texts.iter().any(applies)
        };
        class.permission == Permission::Ask && self.list().iter().any(by_name)
    }
}

/// Returns the file that a built-in tool would write, unless its descriptor says when to ask.
fn edited<'p>(tool: &Tool, named: &'p NamedPath) -> Option<&'p Path> {
    let is_own = tool.builtin && tool.trusted && tool.policy.effects == Effects::Write;
    let is_edit = is_own && named.used == PathUse::Write && tool.policy.permission.is_none();
    is_edit.then_some(&named.path)
}

/// Of two decisions the stricter one; of equal ones the one that no answer outdoes.
fn stricter(one: Judgement, other: Judgement) -> Judgement {
    let is_stricter = (other.permission, other.by_rule) > (one.permission, one.by_rule);
    if is_stricter { other } else { one }
}

fn with_path(arguments: &Map<String, Value>, argument: &str, path: &str) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    arguments.insert(argument.to_owned(), Value::String(path.to_owned()));
    arguments
}

/// The path below a directory; absolute if it is not below it.
fn relative(path: &Path, directory: &Path) -> String {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    match path.strip_prefix(directory) {
        Ok(inner) if inner.as_os_str().is_empty() => ".".to_owned(),
        Ok(inner) => text(inner),
        Err(_) => text(path),
    }
}

impl NamedPath {
    /// Returns whether the path leads over a symbolic link.
    fn is_linked(&self) -> bool {
        lexical(&self.root.join(&self.written)) != self.path
    }
}

impl std::fmt::Debug for PathPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PathPolicy").field(&self.call.as_ref().map(|call| &call.named)).finish()
    }
}
