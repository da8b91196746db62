//! Commands with `sandbox`, through the real binary: what they can reach, what they cannot, and what happens where there
//! is no sandbox. Each way out is tried without a sandbox first, where it works.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use converse_testkit::hang_guard::wait_until;
use serde_json::json;

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::{Line, Provider};

const CONVERSE: &str = env!("CARGO_BIN_EXE_converse");

/// A workspace with `out`, which the tool may write to, and a home with a key.
fn place() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("work/out")).unwrap();
    env.write("work/text", "text\n");
    env.write("home/.ssh/id", "key\n");
    env
}

/// `more` is further keys of `command`.
fn declare(env: &TestEnv, sandbox: &str, line: &str, more: &str) {
    let text = format!(
        "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"tool\"\ndescription = \"d\"\n\
         timeout = 50\nsandbox = \"{sandbox}\"\n\
         command = {{ argv = [\"sh\", \"-c\", '''{line}'''], writes = [\"out\"]{more} }}\n"
    );
    env.write("own/own.toml", &text);
}

const CALL: [&str; 7] = ["ensembles", "call", "own.tool", "--ensembles", "../own", "--allow", "own.*"];

fn confined(env: &TestEnv, line: &str, more: &str) -> Ran {
    declare(env, "require", line, more);
    env.run(&CALL)
}

/// It works outside and fails inside, for want of permission.
#[track_caller]
fn fails(env: &TestEnv, line: &str, more: &str) {
    declare(env, "off", line, "");
    let free = env.run(&CALL);
    assert_eq!(free.code, 0, "`{line}` fails outside too: {}", free.stderr);
    let ran = confined(env, line, more);
    assert_eq!(ran.code, 10, "`{line}` works: {} {}", ran.stdout, ran.stderr);
    let said = ran.stderr.to_lowercase();
    let refused = ["permission denied", "not permitted", "cross-device link"];
    assert!(refused.iter().any(|why| said.contains(why)), "{line}: {said}");
}

#[test]
fn files_are_shut_but_for_those_that_are_opened() {
    let env = place();
    env.write("home/.config/converse/config.toml", "model = \"understudy\"\n");
    std::os::unix::fs::symlink("../../home", env.path("work/out/home")).unwrap();
    std::os::unix::fs::symlink("../../home/.ssh/id", env.path("work/out/id")).unwrap();
    for line in [
        "cat ../home/.ssh/id",
        "ls ../home",
        "cat ../home/.config/converse/config.toml",
        "cat out/id",
        "echo x > out/id && echo key > out/id",
        "echo x > out/home/new",
        "echo x > ../home/new",
        "echo x > new",
        "echo text > text",
        "mkdir dir && rmdir dir",
        "mv text out/text && mv out/text text",
        "ln ../home/.ssh/id out/second && rm out/second",
        "ls /tmp",
    ] {
        fails(&env, line, "");
        std::fs::write(env.path("home/.ssh/id"), "key\n").unwrap();
    }
    for line in [
        "cat text",
        "echo x > out/new && mkdir -p out/dir && mv out/new out/dir && cat out/dir/new && rm -r out/dir",
        "echo x > $HOME/.cache && echo y > $TMPDIR/y && cat $HOME/.cache",
    ] {
        confined(&env, line, "").exits(0);
    }
    let ran = confined(&env, "cat ../home/.ssh/id", ", reads = [\"../home/.ssh\"]").exits(0);
    assert_eq!(ran.stdout, "key\n");
}

/// Modes and times can be changed by any path, because Landlock does not judge these calls; what programs do with files
/// of their own needs them.
#[test]
fn no_file_becomes_set_user_or_gets_attributes_and_own_files_are_changed_as_usual() {
    let env = place();
    env.write("work/other", "other\n");
    fails(&env, "chmod u+s other", "");
    fails(&env, "perl -e 'open(F, q(other)); chmod(04700, *F) or die $!'", "");
    let attribute = "my $number = `uname -m` =~ /x86/ ? 188 : 5; my ($path, $name, $value) = ('text', 'user.x', 'v'); \
                     syscall($number, $path, $name, $value, 1, 0) == 0 or die $!;";
    env.write("work/attribute.pl", attribute);
    let ran = confined(&env, "perl attribute.pl", "").exits(10);
    assert!(ran.stderr.contains("not supported"), "{}", ran.stderr);
    for line in [
        "echo x > out/a && chmod 700 out/a && touch -d @0 out/a && cp -a out/a out/b && test -x out/b",
        "mkdir $HOME/d && chmod 2755 $HOME/d && install -m 750 text $HOME/d/text && mv $HOME/d/text out/c",
        "git init -q out/repository && git -C out/repository config x.y z",
        "tar -c text | tar -x -p -C out && test -s out/text",
    ] {
        confined(&env, line, "").exits(0);
    }
}

#[test]
fn its_home_is_its_own_and_goes_with_it() {
    let env = place().var("OPENAI_API_KEY", "canary-0123456789").var("LD_PRELOAD", "");
    let temporary = env.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let env = env.var("TMPDIR", temporary.display().to_string());
    let ran =
        confined(&env, "echo left > $HOME/left; env | cut -d= -f1 | sort; echo $HOME; echo $TMPDIR", "")
            .exits(0);
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    let (tmp, home) = (lines.pop().unwrap(), lines.pop().unwrap());
    assert_eq!(tmp, home);
    assert!(home.starts_with(&temporary.canonicalize().unwrap().display().to_string()), "{home}");
    lines.retain(|name| !["OLDPWD", "PWD", "SHLVL", "_"].contains(name));
    assert_eq!(lines, ["HOME", "LANG", "PATH", "TMPDIR"]);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "what it left is gone");
    let ran = confined(&env, "echo $HOME", ", environment = { HOME = \"/own\" }").exits(0);
    assert_eq!(ran.stdout, "/own\n");
}

#[test]
fn nobody_is_reached_without_a_network() {
    let env = place();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let unix = UnixListener::bind(env.path("work/out/socket")).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let to_tcp =
        format!("use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => '127.0.0.1:{port}') or die $!;");
    env.write("work/tcp.pl", &to_tcp);
    let to_unix = "use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or die $!; connect(S, sockaddr_un('out/socket')) or die $!;";
    env.write("work/unix.pl", to_unix);
    fails(&env, "perl tcp.pl", "");
    fails(&env, "perl unix.pl", "");
    // Whoever does things for others is reached over these: a network does not open them.
    fails(&env, "perl unix.pl", ", network = true");
    confined(&env, "perl tcp.pl", ", network = true").exits(0);
    drop((tcp, unix));
}

#[test]
fn nobody_leaves_or_looks_into_others() {
    let env = place();
    let trace = "my $number = `uname -m` =~ /x86/ ? 101 : 117; syscall($number, 0, 0, 0, 0) == 0 or die $!;";
    env.write("work/trace.pl", trace);
    for line in [
        "setsid true",
        "perl trace.pl",
        "kill -0 $PPID",
        "cat /proc/$PPID/environ > /dev/null",
        "cat /proc/1/cmdline > /dev/null",
    ] {
        fails(&env, line, "");
    }
    // Not for everybody outside either.
    for line in ["mount -t tmpfs none out", "unshare -U true", "chroot / true"] {
        let ran = confined(&env, line, "").exits(10);
        assert!(ran.stderr.to_lowercase().contains("permi"), "{line}: {}", ran.stderr);
    }
}

/// Processes that were started with this word among their arguments.
fn alive(word: &str) -> usize {
    let holds = |entry: &std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(holds).count()
}

#[test]
fn a_fork_bomb_is_ended_whole() {
    for (number, bomb) in
        ["while :; do sleep 3600 & done", "f() ( f \"$@\" | f \"$@\" & ); f \"$@\"; sleep 3600"]
            .iter()
            .enumerate()
    {
        let env = place();
        let mark = format!("bomb-{}-{number}", std::process::id());
        env.write("work/bomb.sh", &format!("{bomb}\n"));
        let ran = confined(&env, &format!("exec sh bomb.sh {mark}"), "").exits(10);
        assert!(ran.stderr.contains("more than 256 processes"), "{}", ran.stderr);
        // On a busy machine, the kernel takes a while to end what was killed.
        wait_until(bomb, || alive(&mark) == 0);
    }
}

#[test]
fn a_huge_file_is_not_written() {
    let env = place();
    for line in [
        "truncate -s 10G out/large",
        "fallocate -l 10G out/large",
        "dd if=/dev/zero of=out/large bs=1 count=1 seek=10G",
    ] {
        let ran = confined(&env, line, "");
        assert_eq!(ran.code, 10, "{line}: {}", ran.stdout);
        let length = std::fs::metadata(env.path("work/out/large")).map_or(0, |file| file.len());
        assert!(length <= 1 << 30, "{line}: {length}");
    }
    confined(&env, "truncate -s 1M out/small", "").exits(0);
}

/// Nothing runs, and the exit code says why.
#[track_caller]
fn refused(env: &TestEnv, before: &[&str], said: &str) {
    let ran = env.run(&[before, &CALL].concat()).exits(8);
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(!env.path("work/out/trace").exists());
}

const WITHOUT_LANDLOCK: [&str; 2] = ["without-landlock", CONVERSE];

#[test]
fn without_landlock_what_requires_it_does_not_run() {
    let env = place();
    declare(&env, "require", "touch out/trace", "");
    refused(&env, &WITHOUT_LANDLOCK, "no Landlock");

    let provider = Provider::chat([Line::from(calls([("own__tool", json!({}))])), text("Done.").into()]);
    let asking = provider.env(place());
    declare(&asking, "require", "touch out/trace", "");
    let words = ["ask", "go", "-m", provider.model(), "--ensembles", "../own", "--allow", "own.*"];
    let ran = asking.run(&[&WITHOUT_LANDLOCK[..], &words].concat()).exits(8);
    assert!(ran.stdout.contains("Done.") && ran.stderr.contains("sandbox"), "{ran:?}");
    assert!(!asking.path("work/out/trace").exists());
    provider.is_content();
    assert!(format!("{:?}", provider.requests()).contains("no Landlock"), "the model is told why");

    declare(&env, "best-effort", "touch out/trace; cat ../home/.ssh/id; setsid true", "");
    let ran = env.run(&[&WITHOUT_LANDLOCK[..], &CALL].concat()).exits(10);
    assert!(env.path("work/out/trace").exists());
    assert_eq!(ran.stderr.matches("warning:").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("no Landlock") && ran.stderr.contains("key"), "{}", ran.stderr);
    assert!(ran.stderr.contains("not permitted"), "what there is, is in force: {}", ran.stderr);
}

#[test]
fn what_holds_something_of_ours_is_not_opened() {
    for (opening, said) in [
        (", reads = [\"../home\"]", "converse stores its own files"),
        (", reads = [\"../home/.config/converse\"]", "converse stores its own files"),
        (", reads = [\"missing\"]", "missing"),
        ("", "is protected"),
    ] {
        let env = place();
        env.write("home/.config/converse/config.toml", "");
        let line = "touch out/trace";
        match opening {
            "" => {
                declare(&env, "require", line, "");
                std::fs::create_dir(env.path("work/out/.git")).unwrap();
            }
            opening => declare(&env, "require", line, opening),
        }
        refused(&env, &[], said);
    }
    let env = place();
    declare(&env, "require", "touch out/trace", "");
    env.run(&CALL).exits(0);
    env.run(&CALL).exits(0);
    std::fs::remove_file(env.path("work/out/trace")).unwrap();
    env.write("work/out/run.sh", "true\n");
    let other = "[[invokers]]\nname = \"other\"\ndescription = \"d\"\ncommand = { argv = [\"sh\", \"out/run.sh\"] }\n";
    let own = std::fs::read_to_string(env.path("own/own.toml")).unwrap();
    env.write("own/own.toml", &(own + other));
    refused(&env, &[], "is protected");
}

#[test]
fn what_a_command_runs_is_not_its_own_to_write() {
    let other = "[[invokers]]\nname = \"deploy\"\ndescription = \"d\"\n\
                 command = { argv = [\"sh\", \"out/x.sh\"] }\n";
    for (argv, other) in [
        (r#"["sh", "out/x.sh"]"#, ""),
        (r#"["sh", "out/x.sh"]"#, other),
        (r#"["sh", "-c", "touch out/trace; sh out/x.sh"]"#, other),
    ] {
        let env = place();
        env.write("work/out/x.sh", "echo more >> out/x.sh; touch out/trace\n");
        declare(&env, "require", "", "");
        let text = std::fs::read_to_string(env.path("own/own.toml")).unwrap();
        env.write("own/own.toml", &(text.replace(r#"["sh", "-c", '''''']"#, argv) + other));
        refused(&env, &[], "is protected");
    }
}

#[test]
fn the_repository_around_it_can_be_read() {
    let env = place();
    std::fs::create_dir_all(env.path("work/deep")).unwrap();
    declare(&env, "require", "cat ../text && git log --format=%s", "");
    let text = std::fs::read_to_string(env.path("own/own.toml")).unwrap();
    env.write("own/own.toml", &text.replace("writes = [\"out\"]", "cwd = \"deep\""));
    let ran = env.run(&CALL).exits(10);
    assert!(ran.stderr.to_lowercase().contains("permission denied"), "{}", ran.stderr);
    env.shell("git init -q . && git -c user.name=n -c user.email=e@x commit -q --allow-empty -m first")
        .exits(0);
    let ran = env.run(&CALL).exits(0);
    assert_eq!(ran.stdout, "text\nfirst\n");
    // The same, around what holds something of ours.
    std::fs::rename(env.path("work/.git"), env.path(".git")).unwrap();
    env.run(&CALL).exits(10);
}

#[test]
fn what_it_left_is_removed_however_deep() {
    let env = place();
    let temporary = env.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let env = env.var("TMPDIR", temporary.display().to_string());
    // Longer than the longest path, and as deep as removing it in time allows a busy machine.
    env.write("work/deep.pl", "chdir $ENV{HOME}; for (1 .. 2200) { mkdir 'd' or die; chdir 'd' or die }");
    confined(&env, "perl deep.pl && mkdir -p $HOME/a/b && chmod 555 $HOME/a", "").exits(0);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn bubblewrap_that_is_chosen_and_missing_is_a_missing_sandbox() {
    let env = place().var("PATH", "/usr/no/such/directory");
    env.write("home/.config/converse/config.toml", "[sandbox]\nmethod = \"bubblewrap\"\n");
    let absolute = |sandbox| {
        declare(&env, sandbox, "PATH=/usr/bin:/bin; touch out/trace", "");
        let path = env.path("own/own.toml");
        let text = std::fs::read_to_string(&path).unwrap().replace("[\"sh\"", "[\"/bin/sh\"");
        std::fs::write(path, text).unwrap();
    };
    absolute("require");
    refused(&env, &[], "`bwrap` is not in PATH");
    absolute("best-effort");
    let ran = env.run(&CALL).exits(0);
    assert!(
        ran.stderr.contains("`bwrap` is not in PATH") && env.path("work/out/trace").exists(),
        "{}",
        ran.stderr
    );
}

/// Where it is installed and may make namespaces; elsewhere this says so and proves nothing.
#[test]
fn bubblewrap_where_it_works_shuts_the_same_doors() {
    let env = place();
    let works = env.shell("bwrap --unshare-all --ro-bind / / -- /bin/true");
    if works.code != 0 {
        println!("not tested: bubblewrap is not here or cannot be used: {}", works.stderr);
        return;
    }
    env.write("home/.config/converse/config.toml", "[sandbox]\nmethod = \"bubblewrap\"\n");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let to_tcp =
        format!("use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => '127.0.0.1:{port}') or die $!;");
    env.write("work/tcp.pl", &to_tcp);
    for line in [
        "cat ../home/.ssh/id",
        "echo x > new",
        "perl tcp.pl",
        "setsid true",
        "chmod 700 text",
        "kill -0 -- -$PPID || exit 1",
        "truncate -s 10G out/large",
    ] {
        let ran = confined(&env, line, "");
        assert_eq!(ran.code, 10, "`{line}` works: {} {}", ran.stdout, ran.stderr);
    }
    for (line, more) in [
        ("cat text && echo x > out/new && echo y > $TMPDIR/y", ""),
        ("test $(ls -d /proc/[0-9]* | wc -l) -lt 10", ""),
        ("perl tcp.pl", ", network = true"),
    ] {
        confined(&env, line, more).exits(0);
    }
    // Without Landlock the place of the report is open; the report has no name there any more.
    let forge = "for told in /tmp/converse-*/told; do echo refused x > $told/report && echo forged; done";
    declare(&env, "require", forge, "");
    let ran = env.run(&[&WITHOUT_LANDLOCK[..], &CALL].concat()).exits(0);
    assert_eq!(ran.stdout, "forged\n");
}
