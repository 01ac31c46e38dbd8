//! System calls of the UML kernel: functions with the names of libc, which the linker finds before those of libc.
//!
//! Arguments are passed on in registers, so variadic functions need no special treatment. A function of libc that enters a kernel and is not
//! here would enter the kernel of the machine. A test of this library's symbols verifies that there is none.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};

/// Makes a system call: its number and six arguments.
pub type SyscallFn = unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;

static mut SYSCALL_FN: Option<SyscallFn> = None;

/// Entry point for the kernel: redirects all calls to this function, and starts the program.
///
/// # Safety
/// The function must make system calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ecnlab_box(call: SyscallFn) {
    // Safety: there is one thread.
    unsafe { SYSCALL_FN = Some(call) };
    crate::run_job_or_report_failure();
}

fn guest_syscall(number: c_long, arguments: &[c_long]) -> c_long {
    let [a, b, c, d, e, f] = std::array::from_fn(|at| arguments.get(at).copied().unwrap_or(0));
    // Safety: there is one thread; the arguments are those of the caller.
    let result = unsafe {
        let Some(call) = SYSCALL_FN else { libc::abort() };
        call(number, a, b, c, d, e, f)
    };
    if (-4095..0).contains(&result) {
        // Safety: the location belongs to this thread.
        unsafe { *libc::__errno_location() = -result as c_int };
        return -1;
    }
    result
}

macro_rules! forward_libc_functions {
    ($($name:ident($($argument:ident),*) = $number:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: c_long),*) -> c_long {
                guest_syscall(libc::$number, &[$($argument),*])
            }
        )*
    };
}

forward_libc_functions! {
    // Files.
    open(path, flags, mode) = SYS_open;
    open64(path, flags, mode) = SYS_open;
    openat(folder, path, flags, mode) = SYS_openat;
    openat64(folder, path, flags, mode) = SYS_openat;
    close(file) = SYS_close;
    read(file, to, length) = SYS_read;
    write(file, from, length) = SYS_write;
    readv(file, to, count) = SYS_readv;
    writev(file, from, count) = SYS_writev;
    pread64(file, to, length, offset) = SYS_pread64;
    pwrite64(file, from, length, offset) = SYS_pwrite64;
    lseek(file, offset, whence) = SYS_lseek;
    lseek64(file, offset, whence) = SYS_lseek;
    fstat(file, to) = SYS_fstat;
    fstat64(file, to) = SYS_fstat;
    stat(path, to) = SYS_stat;
    stat64(path, to) = SYS_stat;
    lstat(path, to) = SYS_lstat;
    lstat64(path, to) = SYS_lstat;
    statx(folder, path, flags, mask, to) = SYS_statx;
    rename(from, to) = SYS_rename;
    unlink(path) = SYS_unlink;
    unlinkat(folder, path, flags) = SYS_unlinkat;
    rmdir(path) = SYS_rmdir;
    mkdir(path, mode) = SYS_mkdir;
    chmod(path, mode) = SYS_chmod;
    fchmod(file, mode) = SYS_fchmod;
    ftruncate(file, length) = SYS_ftruncate;
    ftruncate64(file, length) = SYS_ftruncate;
    fsync(file) = SYS_fsync;
    fdatasync(file) = SYS_fdatasync;
    readlink(path, to, length) = SYS_readlink;
    ioctl(file, request, argument) = SYS_ioctl;
    fcntl(file, command, argument) = SYS_fcntl;
    fcntl64(file, command, argument) = SYS_fcntl;
    dup(file) = SYS_dup;
    dup2(file, to) = SYS_dup2;
    pipe2(to, flags) = SYS_pipe2;
    eventfd(count, flags) = SYS_eventfd2;
    poll(files, count, limit) = SYS_poll;
    epoll_create1(flags) = SYS_epoll_create1;
    epoll_ctl(epoll, what, file, event) = SYS_epoll_ctl;
    timerfd_create(clock, flags) = SYS_timerfd_create;
    timerfd_settime(file, flags, new, old) = SYS_timerfd_settime;
    mount(source, target, kind, flags, data) = SYS_mount;

    // Sockets.
    socket(domain, kind, protocol) = SYS_socket;
    socketpair(domain, kind, protocol, to) = SYS_socketpair;
    bind(socket, address, length) = SYS_bind;
    connect(socket, address, length) = SYS_connect;
    listen(socket, backlog) = SYS_listen;
    accept4(socket, address, length, flags) = SYS_accept4;
    shutdown(socket, how) = SYS_shutdown;
    getsockname(socket, address, length) = SYS_getsockname;
    getpeername(socket, address, length) = SYS_getpeername;
    setsockopt(socket, level, name, value, length) = SYS_setsockopt;
    getsockopt(socket, level, name, value, length) = SYS_getsockopt;
    sendto(socket, from, length, flags, address, address_length) = SYS_sendto;
    recvfrom(socket, to, length, flags, address, address_length) = SYS_recvfrom;
    sendmsg(socket, message, flags) = SYS_sendmsg;
    recvmsg(socket, message, flags) = SYS_recvmsg;
    sendmmsg(socket, messages, count, flags) = SYS_sendmmsg;
    recvmmsg(socket, messages, count, flags, limit) = SYS_recvmmsg;

    // The process, namespaces, time.
    unshare(flags) = SYS_unshare;
    setns(file, kind) = SYS_setns;
    prctl(what, a, b, c, d) = SYS_prctl;
    getrlimit(resource, to) = SYS_getrlimit;
    getrlimit64(resource, to) = SYS_getrlimit;
    setrlimit(resource, from) = SYS_setrlimit;
    setrlimit64(resource, from) = SYS_setrlimit;
    sched_setscheduler(process, policy, parameters) = SYS_sched_setscheduler;
    sched_yield() = SYS_sched_yield;
    getpid() = SYS_getpid;
    getppid() = SYS_getppid;
    gettid() = SYS_gettid;
    getuid() = SYS_getuid;
    geteuid() = SYS_geteuid;
    getgid() = SYS_getgid;
    getegid() = SYS_getegid;
    getrandom(to, length, flags) = SYS_getrandom;
    clock_gettime(clock, to) = SYS_clock_gettime;
    nanosleep(time, left) = SYS_nanosleep;
}

/// libc returns an error of this function as its result.
#[unsafe(no_mangle)]
extern "C" fn clock_nanosleep(clock: c_long, flags: c_long, time: c_long, left: c_long) -> c_int {
    let result = guest_syscall(libc::SYS_clock_nanosleep, &[clock, flags, time, left]);
    // Safety: the location belongs to this thread.
    if result == -1 { unsafe { *libc::__errno_location() } } else { 0 }
}

#[unsafe(no_mangle)]
extern "C" fn send(socket: c_long, from: c_long, length: c_long, flags: c_long) -> c_long {
    guest_syscall(libc::SYS_sendto, &[socket, from, length, flags])
}

#[unsafe(no_mangle)]
extern "C" fn recv(socket: c_long, to: c_long, length: c_long, flags: c_long) -> c_long {
    guest_syscall(libc::SYS_recvfrom, &[socket, to, length, flags])
}

/// There is one thread: another one would belong to the machine, and the UML kernel would not know it.
#[unsafe(no_mangle)]
extern "C" fn pthread_create(_thread: c_long, _attributes: c_long, _begin: c_long, _argument: c_long) -> c_int {
    libc::EAGAIN
}

/// System calls without a function in libc.
#[unsafe(no_mangle)]
extern "C" fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long {
    guest_syscall(number, &[a, b, c, d, e, f])
}
