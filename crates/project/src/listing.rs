//! What a model is told about skills before it reads one.

use converse_text::shorten::within_bytes;

use crate::skill::Skill;

/// Bytes of the list of skills.
pub const MAX_LISTING: usize = 8 * 1024;
/// Bytes of a description that are always kept.
const MIN_DESCRIPTION: usize = 60;
/// The tool that reads skills, as models see it.
pub const SKILL_TOOL: &str = "skills__read";

/// Returns the list, shortened to [`MAX_LISTING`]. `None` without skills.
pub(crate) fn listing(skills: &[&Skill]) -> Option<String> {
    let mut list = String::new();
    let (shown, most) = fitting(skills);
    for skill in skills.iter().take(shown) {
        list.push_str(&line(skill, most));
    }
    let more = match skills.len() - shown {
        0 => String::new(),
        more => format!("{more} more are not listed.\n"),
    };
    (!skills.is_empty()).then(|| {
        format!(
            "Skills are instructions for special tasks. If one fits the task, read it with the tool `{SKILL_TOOL}` before you \
             begin, and then follow it.\n\n<skills>\n{list}{more}</skills>"
        )
    })
}

/// Returns how many skills are listed, and the bytes of a description that are kept.
pub(crate) fn fitting(skills: &[&Skill]) -> (usize, usize) {
    let size = |most: usize, shown: usize| -> usize {
        skills.iter().take(shown).map(|skill| line(skill, most).len()).sum()
    };
    let all = skills.len();
    if size(usize::MAX, all) <= MAX_LISTING {
        return (all, usize::MAX);
    }
    let names: usize = skills.iter().map(|skill| line(skill, 0).len()).sum();
    let most = MAX_LISTING.saturating_sub(names).checked_div(all).unwrap_or_default();
    if most >= MIN_DESCRIPTION {
        return (all, most);
    }
    let shown = (0..=all).rev().find(|shown| size(MIN_DESCRIPTION, *shown) <= MAX_LISTING);
    (shown.unwrap_or_default(), MIN_DESCRIPTION)
}

fn line(skill: &Skill, most: usize) -> String {
    let description = skill.command.description.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}: {}\n", skill.name(), within_bytes(&description, most))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::instructions::Origin;

    fn skills(count: usize, description: &str) -> Vec<Skill> {
        let dir = tempfile::tempdir().unwrap();
        let read = |path: &Path, _| fs::read(path);
        let skill = |number: usize| {
            let name = format!("skill-{number:03}");
            let directory = dir.path().join(&name);
            fs::create_dir(&directory).unwrap();
            let file = format!("---\nname: {name}\ndescription: {description}\n---\nText.");
            fs::write(directory.join("SKILL.md"), file).unwrap();
            Skill::read(Origin::User, &name, &directory, &read).0.unwrap()
        };
        (0..count).map(skill).collect()
    }

    fn listed(skills: &[Skill]) -> String {
        let text = listing(&skills.iter().collect::<Vec<_>>()).unwrap();
        let (_, list) = text.split_once("<skills>\n").unwrap();
        list.strip_suffix("</skills>").unwrap().to_owned()
    }

    #[test]
    fn each_skill_is_a_line() {
        assert_eq!(listing(&[]), None);
        let list = listed(&skills(2, ">-\n  Does it.\n  Use it."));
        assert_eq!(list, "skill-000: Does it. Use it.\nskill-001: Does it. Use it.\n");
    }

    #[test]
    fn the_list_is_bounded() {
        let list = listed(&skills(20, &"word ".repeat(200)));
        assert_eq!(list.lines().count(), 20);
        assert!(list.len() <= MAX_LISTING && list.len() > MAX_LISTING / 2, "{}", list.len());
        let list = listed(&skills(200, &"word ".repeat(20)));
        assert!(list.len() <= MAX_LISTING + 40 && list.len() > MAX_LISTING / 2, "{}", list.len());
        assert!(list.ends_with(" more are not listed.\n"), "{list}");
    }
}
