//! Ways out of the sandbox, each tried by a real program in it. What each tries works outside, or the test would prove
//! nothing: that is tried first.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may panic")]
#![allow(clippy::disallowed_methods, reason = "a test hands words to itself")]

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::PathBuf;
use std::process::{Command, Output};

use converse_process::sandbox::{Confinement, Limits, Report, Strictness, confined};

const WORDS: &str = "WORDS_OF_THE_CONFINED";
const MIB: u64 = 1024 * 1024;

/// Not a test: what the others start, this very binary.
#[test]
fn inside() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let words: Vec<OsString> =
        serde_json::from_str::<Vec<String>>(&words).unwrap().into_iter().map(Into::into).collect();
    std::process::exit(i32::from(confined(&words)));
}

/// A directory with `out` to write to, `in` to read, and `shut`, which is neither.
struct Place {
    root: tempfile::TempDir,
    confinement: Confinement,
    report: RefCell<Option<File>>,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["out", "in", "shut"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        for file in ["in/text", "shut/key", "report"] {
            std::fs::write(root.path().join(file), if file == "report" { "" } else { file }).unwrap();
        }
        let at = |name: &str| root.path().join(name);
        let confinement = Confinement {
            strictness: Strictness::Everything,
            reads: vec![at("in")],
            writes: vec![at("out")],
            network: false,
            limits: Limits { file_bytes: MIB, open_files: 64, ..Limits::default() },
            report: at("report"),
        };
        Self { root, confinement, report: RefCell::default() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn free(&self, program: &str, arguments: &[&str]) -> Output {
        Command::new(program).args(arguments).current_dir(self.root.path()).output().unwrap()
    }

    fn confined(&self, program: &str, arguments: &[&str]) -> Output {
        std::fs::write(self.at("report"), "").unwrap();
        *self.report.borrow_mut() = Some(File::open(self.at("report")).unwrap());
        let confinement = serde_json::to_string(&self.confinement).unwrap();
        let words = [&[confinement.as_str(), program][..], arguments].concat();
        let own = std::env::current_exe().unwrap();
        let mut command = Command::new(own);
        command.args(["--exact", "inside", "--nocapture", "-q"]).current_dir(self.root.path());
        command.env(WORDS, serde_json::to_string(&words).unwrap()).output().unwrap()
    }

    /// Of the last that was confined.
    fn report(&self) -> Report {
        Report::read(self.report.borrow().as_ref().unwrap())
    }

    /// It works outside and fails inside, for want of permission.
    #[track_caller]
    fn fails(&self, program: &str, arguments: &[&str]) {
        let free = self.free(program, arguments);
        assert!(free.status.success(), "{arguments:?} fails outside too: {free:?}");
        std::fs::write(self.at("shut/key"), "shut/key").unwrap();
        let output = self.confined(program, arguments);
        assert_eq!(self.report(), Report::Entered, "{output:?}");
        assert!(!output.status.success(), "{arguments:?} works: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
        let refused = ["permission denied", "not permitted", "cross-device link"];
        assert!(refused.iter().any(|why| said.contains(why)), "{arguments:?}: {output:?}");
        assert_eq!(std::fs::read_to_string(self.at("shut/key")).unwrap(), "shut/key", "{arguments:?}");
    }

    #[track_caller]
    fn works(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.confined(program, arguments);
        let report = self.report();
        assert!(output.status.success(), "{arguments:?}: {output:?} {report:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn sh(line: &str) -> (&'static str, [&str; 2]) {
    ("/bin/sh", ["-c", line])
}

#[test]
fn files() {
    let place = Place::new();
    std::os::unix::fs::symlink("../shut", place.at("out/door")).unwrap();
    std::os::unix::fs::symlink("../shut/key", place.at("in/door")).unwrap();
    for line in [
        "echo x > shut/new",
        "echo x >> shut/key",
        "cat shut/key",
        "ls shut",
        "cat in/door",
        "echo x > out/door/new",
        "cp /bin/true in/text",
        "mkdir new && rmdir new",
        "mv in/text out/text && mv out/text in/text",
        "ln shut/key out/second && rm out/second",
        "cd out && mkdir -p a/b/c && cat a/b/../../../shut/key",
        "cat /proc/self/root/etc/../../..$PWD/shut/key",
        "ls /tmp",
        "ls /var/lib",
        "ls /run",
        "ls /",
        "ls /proc",
    ] {
        let (program, arguments) = sh(line);
        place.fails(program, &arguments);
    }
    // What was opened works.
    for line in [
        "cat in/text",
        "echo x > out/new && cat out/new && mkdir out/dir && mv out/new out/dir/new && rm -r out/dir",
        "ln -s ../shut/key out/link && ls out && rm out/link",
        "echo gone > /dev/null && head -c 4 /dev/urandom | wc -c",
        "cp /bin/true out/program && out/program",
    ] {
        let (program, arguments) = sh(line);
        place.works(program, &arguments);
    }
}

#[test]
fn what_is_only_for_root_is_shut_to_root_too() {
    let place = Place::new();
    if std::fs::File::open("/etc/shadow").is_err() {
        return;
    }
    place.fails("/bin/cat", &["/etc/shadow"]);
    place.works("/bin/cat", &["/etc/passwd"]);
    let (program, arguments) = sh("mknod out/disk b 8 0 && rm -f out/disk");
    place.fails(program, &arguments);
    let (program, arguments) = sh("chroot / true");
    place.fails(program, &arguments);
    place.fails("/bin/chown", &["1:1", "shut/key"]);
    std::os::unix::fs::chown(place.at("shut/key"), Some(0), Some(0)).unwrap();
}

/// A program that makes system calls by number: perl is on every machine that has git.
fn perl(line: &str) -> [&str; 2] {
    ["-e", line]
}

const PERL: &str = "/usr/bin/perl";

#[test]
fn connections() {
    let mut place = Place::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let unix = UnixListener::bind(place.at("out/socket")).unwrap();
    let datagrams = UnixDatagram::bind(place.at("out/datagrams")).unwrap();
    let to_tcp = format!(
        "use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => '127.0.0.1:{}') or die \"no: $!\"",
        tcp.local_addr().unwrap().port()
    );
    let to_unix = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die \"no: $!\"; \
                   connect($s, sockaddr_un('out/socket')) or die \"no: $!\"";
    // A pair that is bound to itself, pointed elsewhere.
    let by_pair = "use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_DGRAM, 0) or die \"no: $!\"; \
                   connect($a, sockaddr_un('out/datagrams')) or die \"no: $!\"";
    let raw_pair = by_pair.replace("SOCK_DGRAM", "SOCK_RAW");
    let udp = "use Socket; socket(my $s, AF_INET, SOCK_DGRAM, 0) or die \"no: $!\"";
    let netlink = "use Socket; socket(my $s, 16, 3, 15) or die \"no: $!\"";
    for line in [&to_tcp, to_unix, by_pair, &raw_pair, udp, netlink] {
        place.fails(PERL, &perl(line));
    }
    place.works(
        PERL,
        &perl("use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die \"no: $!\""),
    );
    place.confinement.network = true;
    place.works(PERL, &perl(&to_tcp));
    place.works(PERL, &perl(udp));
    for line in [to_unix, by_pair, netlink] {
        place.fails(PERL, &perl(line));
    }
    drop((unix, datagrams));
}

#[test]
fn other_processes_and_namespaces() {
    let place = Place::new();
    let own = std::process::id();
    let (program, arguments) = sh("setsid true");
    place.fails(program, &arguments);
    for line in [
        "use POSIX; setpgid(0, 0) or die \"no: $!\"".to_owned(),
        "use POSIX; defined(my $child = fork) or die; if (!$child) { POSIX::setsid() > 0 or die \"no: $!\"; exit 0 } \
         waitpid($child, 0); exit($? ? 1 : 0)"
            .to_owned(),
        format!("kill(0, {own}) or die \"no: $!\""),
        format!("open(my $f, '<', '/proc/{own}/environ') or die \"no: $!\""),
        format!("open(my $f, '<', '/proc/{own}/cmdline') or die \"no: $!\""),
    ] {
        place.fails(PERL, &perl(&line));
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// By number, as nobody who wants out asks the C library. Outside each answers something else than EPERM, to root.
#[cfg(target_arch = "x86_64")]
#[test]
fn calls_by_number() {
    let place = Place::new();
    const EPERM: i32 = 1;
    const ENOSYS: i32 = 38;
    let cases: &[(&str, &str, i32)] = &[
        ("ptrace: who traces me", "syscall(101, 0, 0, 0, 0)", EPERM),
        ("process_vm_readv", "syscall(310, $$, 0, 0, 0, 0, 0)", EPERM),
        ("pidfd_getfd", "syscall(438, -1, 0, 0)", EPERM),
        ("mount", "syscall(165, 0, 0, 0, 0, 0)", EPERM),
        ("unshare: nothing", "syscall(272, 0)", EPERM),
        ("setns", "syscall(308, -1, 0)", EPERM),
        ("clone: a namespace of users", "syscall(56, 0x10000000 | 17, 0, 0, 0, 0)", EPERM),
        ("clone3", "syscall(435, 0, 0)", ENOSYS),
        ("keyctl", "syscall(250, 0, -3, 0)", EPERM),
        ("bpf", "syscall(321, -1, 0, 0)", EPERM),
        ("perf_event_open", "syscall(298, 0, 0, -1, -1, 0)", EPERM),
        ("userfaultfd", "syscall(323, 0)", EPERM),
        ("io_uring_setup", "syscall(425, 0, 0)", EPERM),
        ("open_by_handle_at", "syscall(304, -1, 0, 0)", EPERM),
        ("personality: no random addresses", "syscall(135, 0x0040000)", EPERM),
        ("ioctl: type into a terminal", "syscall(16, 0, 0x5412, 0)", EPERM),
        ("ioctl: the same with more bits", "syscall(16, 0, 0x100005412, 0)", EPERM),
        ("shmget", "syscall(29, 0, 4096, 0600)", EPERM),
        ("the limits of another", "my $b = pack('QQ', 0, 0); syscall(302, getppid(), 13, $b, 0)", EPERM),
        ("socket by its other number", "syscall(0x40000000 | 41, 2, 1, 0)", ENOSYS),
    ];
    for (what, call, errno) in cases {
        let line = format!("my $r = do {{ {call} }}; print $r == -1 ? 0 + $! : 'done'");
        let said = place.works(PERL, &perl(&line));
        let said = said.trim_start().rsplit('\n').next().unwrap_or_default();
        assert_eq!(said, errno.to_string(), "{what}");
        let free = place.free(PERL, &perl(&line));
        let free = String::from_utf8_lossy(&free.stdout).into_owned();
        assert!(
            !is_root() || free != EPERM.to_string() || *errno == ENOSYS,
            "{what} answers the same outside"
        );
    }
    place.works(PERL, &perl("syscall(135, 0xffffffff) == 0 or die")); // what am I?
}

#[test]
fn limits() {
    let place = Place::new();
    let (program, arguments) = sh("head -c 3000000 /dev/zero > out/large");
    let output = place.confined(program, &arguments);
    assert!(!output.status.success());
    assert_eq!(std::fs::metadata(place.at("out/large")).unwrap().len(), MIB);
    place.works("/bin/sh", &["-c", "head -c 1048576 /dev/zero > out/just"]);
    let open = "my @all; for (1 .. 100) { open(my $f, '<', '/dev/null') or die \"$_: $!\"; push @all, $f }";
    let output = place.confined(PERL, &perl(open));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Too many open files"), "{output:?}");
    assert!(place.free(PERL, &perl(open)).status.success());
    let said = place.works("/bin/grep", &["-E", "^(NoNewPrivs|CapEff|CapBnd)", "/proc/self/status"]);
    assert!(said.contains("NoNewPrivs:\t1"), "{said}");
    assert!(!is_root() || said.contains("CapEff:\t0000000000000002\nCapBnd:\t0000000000000002"), "{said}");
    assert!(place.works("/bin/sh", &["-c", "ulimit -c; ulimit -Hc"]).ends_with("0\n0\n"));
}

#[test]
fn what_cannot_be_entered_or_started_is_said() {
    let mut place = Place::new();
    place.confined("/no/such/program", &[]);
    let Report::Unstarted(why) = place.report() else { panic!() };
    assert!(why.contains("No such file"), "{why}");
    place.confined("/bin/sh", &["-c", "exit 125"]);
    assert_eq!(place.report(), Report::Entered);
    place.confinement.reads.push(place.at("missing"));
    place.confined("/bin/sh", &["-c", "echo ran > out/ran"]);
    let Report::Refused(why) = place.report() else { panic!() };
    assert!(why.contains("missing"), "{why}");
    assert!(!place.at("out/ran").exists());
}

#[test]
fn the_report_is_out_of_reach() {
    let mut place = Place::new();
    // Even with its directory open: it has no name there, and what is made under it is another file.
    place.confinement.writes.push(place.at(""));
    let (program, arguments) = sh(
        "test ! -e report && ! ls -l /proc/$$/fd | grep report && echo 'refused x' > report && cat report",
    );
    assert!(place.works(program, &arguments).ends_with("refused x\n"));
    assert_eq!(place.report(), Report::Entered);
}
