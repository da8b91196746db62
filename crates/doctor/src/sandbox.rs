//! What is effective here of the sandbox that commands may have.

use std::path::Path;
use std::time::Duration;

use converse_config::{SandboxMethod, SettingsPlan};
use converse_process::sandbox::{LEAST_LANDLOCK, Survey, survey};
use converse_process::scratch_dir_problem;
use converse_process::{CountingMethod, Spawn, counting_method};
use tokio::time::timeout;

use super::finding::{Finding, State};
use converse_host::confined;
use converse_host::runtime::block_on;
use converse_host::world::World;
use converse_process::this_program;
use converse_text::wording::counted;

/// How long bubblewrap has to start nothing.
const TIMEOUT: Duration = Duration::from_secs(3);

/// What a version of Landlock added that counts here. <https://docs.kernel.org/userspace-api/landlock.html> (checked
/// 2026-11)
const LANDLOCK: [(u32, &str); 5] = [
    (1, "files"),
    (2, "renames between directories"),
    (LEAST_LANDLOCK, "cutting files"),
    (4, "TCP"),
    (6, "signals"),
];

/// `needed`: commands that do not run without it.
pub(super) fn look(world: &World, files: Option<&SettingsPlan>, needed: usize) -> Vec<Finding> {
    let survey = survey().map_err(|error| error.to_string());
    let method = files.and_then(|files| files.sandbox).unwrap_or_default();
    let found = confined::bwrap(world);
    let bwrap = found.as_deref().map(|bwrap| (bwrap, works(bwrap)));
    let mut lacks = match (method, bwrap) {
        (SandboxMethod::Own, _) => lacks_of(&survey, Survey::lacks),
        (SandboxMethod::Bubblewrap, Some((_, true))) => lacks_of(&survey, Survey::lacks_but_files),
        (SandboxMethod::Bubblewrap, Some((_, false))) => vec!["bubblewrap does not work here".to_owned()],
        (SandboxMethod::Bubblewrap, None) => vec!["`bwrap` is not in PATH".to_owned()],
    };
    let counting = counting_method();
    lacks.extend(counting.lack().map(str::to_owned));
    lacks.extend(scratch_dir_problem(confined::temporary(world)));
    let bubblewrap = match bwrap {
        Some((path, true)) => Finding::fine("bubblewrap", format!("{} works", path.display())),
        Some((path, false)) => Finding::note(
            "bubblewrap",
            format!("{} does not work here: it is not allowed to create namespaces", path.display()),
        ),
        None => Finding::fine("bubblewrap", "not installed"),
    };
    let method = match method {
        SandboxMethod::Own => "own (Landlock and seccomp)",
        SandboxMethod::Bubblewrap => "bubblewrap, by your settings",
    };
    let mut findings = survey.map_or_else(|why| vec![Finding::note("parts", why)], parts);
    findings.extend([
        limits(counting),
        left_behind(counting),
        bubblewrap,
        Finding::fine("method", method),
        require(&lacks, needed),
    ]);
    findings
}

fn parts(survey: Survey) -> Vec<Finding> {
    let Survey { landlock, seccomp, no_new_privs } = survey;
    let has = |there: bool| if there { State::Fine } else { State::Note };
    let yes = |there: bool| if there { "in force" } else { "not available" };
    let covers: Vec<&str> =
        LANDLOCK.iter().filter(|(since, _)| *since <= landlock).map(|(_, what)| *what).collect();
    let version = match landlock {
        0 => "not available".to_owned(),
        version => format!("version {version}: {}", covers.join(", ")),
    };
    vec![
        Finding::new(has(landlock >= LEAST_LANDLOCK), "Landlock", version),
        Finding::new(has(seccomp), "seccomp", yes(seccomp)),
        Finding::new(has(no_new_privs), "no new privileges", yes(no_new_privs)),
    ]
}

fn limits(counting: CountingMethod) -> Finding {
    const NAME: &str = "resource limits";
    match (counting, counting.lack()) {
        (_, Some(lack)) => Finding::note(NAME, format!("in force, except: {lack}")),
        (CountingMethod::ByGroup, None) => Finding::fine(
            NAME,
            "in force; the process limit counts all processes of this machine, because the kernel does not report child processes",
        ),
        (_, None) => Finding::fine(NAME, "in force"),
    }
}

fn lacks_of(survey: &Result<Survey, String>, lacks: impl Fn(&Survey) -> Vec<String>) -> Vec<String> {
    survey.as_ref().map_or_else(|why| vec![why.clone()], lacks)
}

/// Not of the sandbox alone, but for the same reason.
fn left_behind(counting: CountingMethod) -> Finding {
    const NAME: &str = "what tools leave behind";
    let lack = counting.blindness();
    lack.map_or_else(|| Finding::fine(NAME, "ends with the run"), |lack| Finding::note(NAME, lack))
}

fn require(lacks: &[String], needed: usize) -> Finding {
    const NAME: &str = "sandbox = \"require\"";
    match (lacks, needed) {
        ([], _) => Finding::fine(NAME, "works here"),
        (lacks, 0) => Finding::note(NAME, format!("would refuse: {}", lacks.join("; "))),
        (lacks, needed) => Finding::broken(
            NAME,
            format!("refuses {} enabled here: {}", counted(needed, "command"), lacks.join("; ")),
        ),
    }
}

/// It starts a program that does nothing, in namespaces of its own.
fn works(bwrap: &Path) -> bool {
    let words = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--", "/bin/true"];
    let spawn = Spawn {
        program: bwrap.to_owned(),
        arguments: words.map(str::to_owned).to_vec(),
        environment: Vec::new(),
        cwd: "/".into(),
        stdin: false,
    };
    let works = block_on(async {
        let Ok(mut child) = spawn.start(&confined::guardian(Some(&this_program()))) else { return false };
        let ended = timeout(TIMEOUT, child.wait()).await;
        child.end(TIMEOUT).await;
        matches!(ended, Ok(Ok(status)) if status.success())
    });
    works.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_and_missing_is_broken() {
        let lacks = ["this kernel has no Landlock".to_owned()];
        for (lacks, needed, state) in
            [(&[][..], 3, State::Fine), (&lacks[..], 0, State::Note), (&lacks[..], 2, State::Broken)]
        {
            assert_eq!(require(lacks, needed).state, state, "{lacks:?} {needed}");
        }
    }

    #[test]
    fn who_cannot_count_says_so() {
        for (counting, state, said) in [
            (CountingMethod::ByParents, State::Fine, "in force"),
            (CountingMethod::ByGroup, State::Fine, "counts all processes"),
            (CountingMethod::Not, State::Note, "not limited"),
        ] {
            let finding = limits(counting);
            assert!(finding.state == state && finding.detail.contains(said), "{counting:?}");
            assert_eq!(left_behind(counting).state, state, "{counting:?}");
        }
    }

    #[test]
    fn each_version_of_landlock_is_told_apart() {
        let told = |landlock| parts(Survey { landlock, seccomp: true, no_new_privs: true });
        let first = |landlock| told(landlock).swap_remove(0);
        assert_eq!((first(0).state, first(2).state, first(3).state), (State::Note, State::Note, State::Fine));
        assert!(!first(3).detail.contains("TCP") && first(4).detail.contains("TCP"));
        assert!(!first(5).detail.contains("signals") && first(7).detail.contains("signals"));
        let none = parts(Survey::default());
        assert!(none.iter().take(3).all(|finding| finding.state == State::Note));
    }
}
