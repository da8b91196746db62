//! The system calls that are refused in every sandbox.
//!
//! Numbers and meanings: <https://man7.org/linux/man-pages/man2/syscalls.2.html> (checked 2026-11).

/// Whatever their arguments are: to look into or steer other processes, to change what the file system is, to enter
/// other namespaces, to load code into the kernel, to leave the process group by which everything is ended, and to make
/// system calls that the filter does not see.
pub(crate) const ALWAYS: &[i64] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // memory and queues that others of the same user share by number
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // mounts and namespaces
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // keys
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // the kernel and the machine
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Since Linux 6.15; the same number everywhere.
const OPEN_TREE_ATTR: i64 = 467;

/// Calls that change extended attributes, access lists among them, by a path that Landlock does not judge. They fail as on
/// a file system without attributes, which programs that copy files are used to.
pub(crate) const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
];

/// Since Linux 6.13; the same numbers everywhere.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;

/// Calls that are refused as unknown: `clone3` hides its flags in memory, and `file_setattr` (Linux 6.17, the same number
/// everywhere) changes flags of files by a path.
pub(crate) const UNKNOWN: &[i64] = &[libc::SYS_clone3, 469];

/// Calls that change the mode of a file, each with the index of the mode.
pub(crate) const MODES: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
];

/// Since Linux 6.6; the same number everywhere.
const FCHMODAT2: i64 = 452;

/// Those that one processor alone has.
#[cfg(target_arch = "x86_64")]
pub(crate) const OF_THIS_PROCESSOR: &[i64] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const OF_THIS_PROCESSOR: &[i64] = &[];

/// Flags of `clone` that ask for a namespace.
pub(crate) const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Requests of `ioctl` that type into a terminal.
pub(crate) const TYPING: &[u64] = &[0x5412, 0x541C];
