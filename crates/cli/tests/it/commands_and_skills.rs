//! Commands and skills of files: of the user at once, of a project once it is trusted, and as the lockfile has them.

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::{Line, Provider};
use crate::screen::Screen;

const SKILL: &str =
    "---\nname: pdf\ndescription: Fills PDF forms. Use it for PDF files.\n---\n# PDF\n\nUse pdftk.\n";

fn trust(env: &TestEnv) {
    let hash =
        env.run(&["ensembles", "trust", "--json"]).exits(3).json()["sha256"].as_str().unwrap().to_owned();
    env.run(&["ensembles", "trust", "--hash", &hash]).exits(0);
}

/// The last message of the last request.
fn said(provider: &Provider) -> String {
    let request = provider.requests().pop().unwrap();
    request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

fn ask(env: &TestEnv, provider: &Provider, more: &[&str]) -> Ran {
    env.run(&[&["ask", "hello", "-m", provider.model()], more].concat())
}

/// The system text of a request, and the names of its tools.
fn offered(request: &Value) -> (String, Vec<String>) {
    let messages = request["messages"].as_array().unwrap();
    let system = messages.iter().filter(|message| message["role"] == "system");
    let system = system.map(|message| message["content"].as_str().unwrap()).collect();
    let tools = request["tools"].as_array().into_iter().flatten();
    let names = tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
    (system, names.collect())
}

#[test]
fn a_command_of_a_file_is_sent_with_its_arguments_once_it_is_trusted() {
    let provider = Provider::chat([text("Yes."), text("Yes."), text("Yes.")]);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/commands/greet.md", "---\ndescription: Greets\n---\nGreet $1 in $2.\n");
    env.write("home/.config/converse/commands/review.md", "Mine.");
    env.write("work/.converse/commands/review.md", "---\nargument-hint: FILE\n---\nReview $ARGUMENTS.");
    env.write("work/.converse/commands/quit.md", "Never sent.");
    let args = ["-m", provider.model(), "--no-tools"];
    let mut screen = Screen::run(&env, &args);
    let asked = screen.shows("trust exactly this?");
    assert!(asked.contains(".converse/commands/review.md  instructs models"), "{asked}");
    screen.types("n\n");
    screen.says("/review x.rs");
    screen.shows("Yes.");
    assert_eq!(said(&provider), "Mine.\n\nx.rs", "that of the project is not trusted");
    screen.says("/greet Ada Latin");
    screen.shows("/greet: ");
    screen.shows_times("Yes.", 2);
    assert_eq!(said(&provider), "Greet Ada in Latin.");
    screen.says("/help");
    screen.shows("Greets (yours)");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);

    trust(&env);
    let mut screen = Screen::run(&env, &args);
    screen.shows("`/quit` is a command of converse; .converse/commands/quit.md is not used");
    screen.shows("is .converse/commands/review.md;");
    screen.says("/review x.rs and y.rs");
    screen.shows("Yes.");
    assert_eq!(said(&provider), "Review x.rs and y.rs.");
    screen.says("/context");
    screen.shows("when used: /review (of the project), .converse/commands/review.md, 18 bytes");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0, "a file replaces no command");
}

#[test]
fn a_question_may_begin_with_a_command() {
    let provider = Provider::chat([text("Yes."), text("Yes."), text("Yes.")]);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/commands/review.md", "Review $1.\n\n$ARGUMENTS");
    let model = provider.model();
    env.run(&["ask", "-m", model, "/review", "a.rs", "well"]).exits(0);
    assert_eq!(said(&provider), "Review a.rs.\n\na.rs well");
    env.run(&["ask", "-m", model, "/etc/review is a path"]).exits(0);
    assert_eq!(said(&provider), "/etc/review is a path");
    env.run(&["ask", "-m", model, "/review a.rs", "--no-instructions"]).exits(0);
    assert_eq!(said(&provider), "/review a.rs");
}

#[test]
fn a_command_of_a_project_attaches_nothing_from_elsewhere() {
    let provider = Provider::chat([text("Yes."), text("Yes.")]);
    let env = provider.env(TestEnv::new());
    env.write("home/secret.txt", "hunter2");
    env.write("work/notes.txt", "some notes");
    env.write("work/.converse/commands/steal.md", "Sum up @notes.txt and @~/secret.txt");
    env.write("home/.config/converse/commands/mine.md", "Sum up @~/secret.txt");
    trust(&env);
    let mut screen = Screen::run(&env, &["-m", provider.model(), "--no-tools"]);
    screen.says("/steal");
    screen.shows("the file is outside of the project");
    screen.shows("Yes.");
    let request = provider.requests().pop().unwrap().to_string();
    assert!(request.contains("some notes") && !request.contains("hunter2"), "{request}");
    screen.says("/mine");
    screen.shows_times("Yes.", 2);
    assert!(provider.requests().pop().unwrap().to_string().contains("hunter2"));
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn a_model_reads_the_skill_that_fits() {
    let reads = calls([
        ("skills__read", json!({ "skill": "pdf" })),
        ("skills__read", json!({ "skill": "pdf", "file": "references/forms.md" })),
        ("skills__read", json!({ "skill": "pdf", "file": "../../../../secret" })),
        ("skills__read", json!({ "skill": "other" })),
    ]);
    let provider = Provider::chat([Line::from(reads), text("Done.").into(), text("Yes.").into()]);
    let env = provider.env(TestEnv::new());
    env.write("secret", "hunter2");
    env.write("home/.config/converse/skills/pdf/SKILL.md", SKILL);
    env.write("home/.config/converse/skills/pdf/references/forms.md", "# Forms");
    let ran = ask(&env, &provider, &["-o", "json"]).exits(0);
    let requests = provider.requests();
    let (system, tools) = offered(&requests[0]);
    assert!(system.ends_with("<skills>\npdf: Fills PDF forms. Use it for PDF files.\n</skills>"), "{system}");
    assert!(tools.contains(&"skills__read".to_owned()), "{tools:?}");
    let results: Vec<_> =
        requests[1]["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "tool").collect();
    let result = |at: usize| results[at]["content"].as_str().unwrap();
    assert!(
        result(0).contains("# PDF\n\nUse pdftk.\n\nFiles of this skill: SKILL.md, references/forms.md"),
        "{}",
        result(0)
    );
    assert!(result(1).contains("# Forms"));
    assert!(result(2).contains("has no file `../../../../secret`"), "{}", result(2));
    assert!(result(3).contains("pdf"), "the schema names the skills: {}", result(3));
    let invocations = ran.json()["invocations"].as_array().unwrap().len();
    assert_eq!(invocations, 4, "{}", ran.stdout);

    ask(&env, &provider, &["--no-tools"]).exits(0);
    assert_eq!(offered(&provider.requests().pop().unwrap()), (String::new(), Vec::new()));
}

#[test]
fn rules_and_the_audit_log_apply_to_skills() {
    let reads = || Line::from(calls([("skills__read", json!({ "skill": "pdf" }))]));
    let provider = Provider::chat([reads(), text("No.").into()]);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/skills/pdf/SKILL.md", SKILL);
    ask(&env, &provider, &["--deny", "skills.*"]);
    let refused = provider.requests().pop().unwrap()["messages"].to_string();
    assert!(!refused.contains("Use pdftk"), "{refused}");
    // What cannot be read is not listed.
    assert!(!refused.contains("<skills>"), "{refused}");
    let dry = ask(&env, &provider, &["--deny", "skills.read", "--dry-run"]).exits(0).stdout;
    assert!(!dry.contains("<skills>"), "{dry}");
    let dry = ask(&env, &provider, &["--dry-run"]).exits(0).stdout;
    assert!(dry.contains("<skills>"), "{dry}");
    let log = std::fs::read_dir(env.path("home/.local/state/converse")).into_iter().flatten().flatten();
    let logged =
        log.map(|entry| std::fs::read_to_string(entry.path()).unwrap_or_default()).collect::<String>();
    assert!(logged.contains("\"skills__read\",\"decision\":\"deny\""), "{logged}");
    let explained = env.run(&["explain", "skills.read", "skill=pdf", "--json"]).exits(0).json();
    assert_eq!((&explained["fate"], &explained["effects"]), (&json!("runs"), &json!("read")), "{explained}");
}

#[test]
fn skills_of_a_project_need_trust_in_all_their_files() {
    let provider = Provider::chat([text("Yes."), text("Yes."), text("Yes."), text("Yes.")]);
    let env = provider.env(TestEnv::new());
    env.write("work/.agents/skills/pdf/SKILL.md", SKILL);
    env.write("work/.agents/skills/pdf/scripts/fill.py", "pass");
    let listed = || offered(&provider.requests().pop().unwrap()).0.contains("pdf: Fills");
    let ran = ask(&env, &provider, &[]).exits(0);
    assert!(!listed());
    assert!(ran.stderr.contains("not sent to the model: `.agents/skills/pdf/SKILL.md`"), "{}", ran.stderr);
    let shown = env.run(&["ensembles", "trust"]).exits(3).stdout;
    assert!(
        shown.contains("  | Use pdftk.") && shown.contains(".agents/skills/pdf/scripts/fill.py"),
        "{shown}"
    );
    trust(&env);
    ask(&env, &provider, &[]).exits(0);
    assert!(listed());
    env.write("work/.agents/skills/pdf/scripts/fill.py", "steal()");
    ask(&env, &provider, &[]).exits(0);
    assert!(!listed());
    let shown = env.run(&["ensembles", "trust"]).exits(3).stdout;
    assert!(shown.contains("changed: .agents/skills/pdf/scripts/fill.py"), "{shown}");
}

#[test]
fn what_differs_from_the_lockfile_is_held_back() {
    let provider = Provider::chat((0..4).map(|_| text("Yes.")).collect::<Vec<_>>());
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/skills/pdf/SKILL.md", SKILL);
    env.write("home/.config/converse/skills/pdf/notes.md", "one");
    let listed = || offered(&provider.requests().pop().unwrap()).0.contains("pdf: Fills");
    let written = env.run(&["ensembles", "lock"]).exits(0).stdout;
    assert!(written.contains("commands and skills: 1"), "{written}");
    env.run(&["ensembles", "check", "--locked"]).exits(0);
    ask(&env, &provider, &[]).exits(0);
    assert!(listed());

    env.write("home/.config/converse/skills/pdf/notes.md", "two");
    let ran = ask(&env, &provider, &[]).exits(0);
    assert!(!listed());
    assert!(ran.stderr.contains("are held back: `") && ran.stderr.contains("skills/pdf`"), "{}", ran.stderr);
    let found = env.run(&["ensembles", "check", "--locked"]).exits(3).stdout;
    assert!(found.contains("`*skills.pdf`: files"), "{found}");
    let diff = env.run(&["ensembles", "lock"]).exits(3).stdout;
    assert!(diff.contains("~ *skills.pdf"), "{diff}");
    env.run(&["ensembles", "lock", "--accept"]).exits(0);
    ask(&env, &provider, &[]).exits(0);
    assert!(listed());

    // One that is new was never accepted.
    let other = SKILL.replace("name: pdf", "name: doc");
    env.write("home/.config/converse/skills/doc/SKILL.md", &other);
    let ran = ask(&env, &provider, &[]).exits(0);
    assert!(listed() && !offered(&provider.requests().pop().unwrap()).0.contains("doc:"));
    assert!(ran.stderr.contains("skills/doc`"), "{}", ran.stderr);
}

#[test]
fn check_finds_what_is_wrong_with_them() {
    let env = TestEnv::new();
    env.write("work/.converse/commands/Review.md", "x");
    env.write("work/.converse/commands/a.md", "---\ndescription: a: b\n---\nx");
    env.write("work/.converse/commands/b.md", "---\nmodel: x\n---\nx");
    env.write("work/.converse/skills/pdf/SKILL.md", "---\nname: pdf\n---\nx");
    let found = env.run(&["ensembles", "check"]).exits(3).stdout;
    for told in [
        "error[bad-name]: expected a name",
        " --> .converse/commands/Review.md:1:1",
        "error[syntax]: the front matter is not YAML",
        " --> .converse/commands/a.md:2:",
        "warning[unknown-key]: unknown key `model`: it has no effect in commands",
        " --> .converse/commands/b.md:2:1",
        "error[missing-key]: the front matter needs a `description`",
        " --> .converse/skills/pdf/SKILL.md:1:1",
        "commands and skills: 1: 3 errors, 1 warning",
    ] {
        assert!(found.contains(told), "{told}: {found}");
    }
    std::fs::create_dir_all(env.path("work/sub/ensembles")).unwrap();
    env.write("work/sub/.converse/commands/B.md", "x");
    let found = env.run(&["ensembles", "check", "sub/ensembles"]).exits(3).stdout;
    assert!(found.contains(" --> sub/.converse/commands/B.md:1:1") && !found.contains("a.md"), "{found}");
}

#[test]
fn the_list_of_skills_is_bounded() {
    let provider = Provider::chat([text("Yes.")]);
    let env = provider.env(TestEnv::new());
    for number in 0..20 {
        let file = format!("---\nname: s{number}\ndescription: {}\n---\nx", "word ".repeat(200));
        env.write(&format!("home/.config/converse/skills/s{number}/SKILL.md"), &file);
    }
    let found = env.run(&["ensembles", "check"]).exits(0).stdout;
    assert!(found.contains("warning[too-large]: the descriptions of 20 skills"), "{found}");
    ask(&env, &provider, &[]).exits(0);
    let (system, _) = offered(&provider.requests()[0]);
    assert!(system.len() < 9 * 1024 && system.contains("s19: word"), "{}", system.len());
}

#[test]
fn a_person_uses_a_skill_as_a_command() {
    let provider = Provider::chat([text("Yes."), text("Yes.")]);
    let env = provider.env(TestEnv::new());
    env.write("home/.agents/skills/pdf/SKILL.md", SKILL);
    let mut screen = Screen::run(&env, &["-m", provider.model()]);
    screen.says("/pdf form.pdf");
    screen.shows("Yes.");
    assert_eq!(said(&provider), "# PDF\n\nUse pdftk.\n\nform.pdf");
    screen.says("/context");
    screen.shows("listed as a skill: pdf (");
    screen.says("/deny skills.read");
    screen.says("what now?");
    screen.shows_times("Yes.", 2);
    let (before, now) = (&provider.requests()[0], provider.requests().pop().unwrap());
    assert!(offered(before).0.contains("<skills>") && !offered(&now).0.contains("<skills>"), "{now}");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}
