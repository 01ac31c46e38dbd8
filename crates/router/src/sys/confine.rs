//! Rooms of a process's own: a user namespace in which it may do what needs privileges, processes that end together, mounts that nobody
//! else sees, and the rooms of another process.

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::call::call;

/// Powers by number (`linux/capability.h`) that programs keep: to serve low ports, to set networks up, to send packets as they are made
/// (`ping`), and to make namespaces within those that they are in.
const NET_BIND_SERVICE: u32 = 10;
const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;
const SYS_ADMIN: u32 = 21;
const KEPT: [u32; 4] = [NET_BIND_SERVICE, NET_ADMIN, NET_RAW, SYS_ADMIN];

/// Version 3 of the interface: sets of 64 powers in two parts.
const VERSION: u32 = 0x2008_0522;

/// Whether this process may set networks up and make namespaces, as root may and those in a user namespace of their own.
pub fn has_powers() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    effective.is_some_and(|powers| [NET_ADMIN, SYS_ADMIN].iter().all(|power| powers >> power & 1 == 1))
}

/// Moves the process into namespaces of users and of networks of its own, in which it is root and has powers over what it makes there. It has
/// to have one thread.
///
/// # Errors
/// Where the machine does not permit it.
pub fn become_root() -> io::Result<()> {
    own_users(Some(0))
}

/// The same, but it is who it was, and the programs that it starts keep the powers.
///
/// # Errors
/// Where the machine does not permit it.
pub fn become_owner() -> io::Result<()> {
    own_users(None)?;
    keep_powers()
}

/// Moves the process into namespaces of its own, where its user and its group have this number, or those that they had.
fn own_users(number: Option<u32>) -> io::Result<()> {
    // Safety: these ask for the caller's own numbers, and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // Safety: the namespaces of this process alone change.
    once_alone(|| unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{} {user} 1", number.unwrap_or(user)))?;
    fs::write("/proc/self/gid_map", format!("{} {group} 1", number.unwrap_or(group)))
}

/// How long threads that have done their work may take to be gone.
const PATIENCE: Duration = Duration::from_secs(1);

/// The result of a call that is refused to a process of several threads. A thread counts until the kernel has put it away, which is a moment
/// after whoever waited for its work goes on.
fn once_alone(mut done: impl FnMut() -> libc::c_int) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        match call(done()) {
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) && Instant::now() < end => sleep(Duration::from_millis(1)),
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) => {
                return Err(io::Error::other(format!("no namespace of users, which a process of several threads cannot have: {why}")));
            }
            other => return other.map(drop),
        }
    }
}

/// Lets the programs that this thread starts keep its powers though they are not root's.
///
/// # Errors
/// If it has not the powers itself.
pub fn keep_powers() -> io::Result<()> {
    let mut header = [VERSION, 0];
    // Effective, permitted and inheritable, of the powers below 32 and of those from there on.
    let mut sets = [[0_u32; 3]; 2];
    // Safety: both are as long as version 3 has them, and outlive the call.
    call(unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) })?;
    sets[0][2] |= KEPT.iter().fold(0, |set, power| set | 1 << power) & sets[0][1];
    // Safety: as above.
    call(unsafe { libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_ptr()) })?;
    for power in KEPT {
        let raise = libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong;
        // Safety: this control takes numbers and writes no memory.
        call(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, raise, libc::c_ulong::from(power), 0, 0) })?;
    }
    Ok(())
}

/// From now on the processes that this thread starts are in a new namespace, whose first process is its process 1: when that one ends, the
/// kernel ends all others of it. The thread itself can start no threads any more, and it cannot come back.
///
/// # Errors
/// Without the privilege.
pub fn processes_apart() -> io::Result<()> {
    // Safety: nothing of the calling thread itself changes.
    call(unsafe { libc::unshare(libc::CLONE_NEWPID) })?;
    Ok(())
}

/// Of `/run` what programs are made of or speak to a user's own session with: displays, sound, locks, and where NixOS has its programs.
const KEPT_OF_RUN: [&str; 7] = ["user", "lock", "shm", "current-system", "booted-system", "opengl-driver", "wrappers"];
/// Is hidden while something is made there that goes elsewhere.
const WORKSHOP: &str = "/tmp";

/// Gives the process mounts of its own: `/proc` for the namespace of processes that it is in, `/sys` for the namespace of networks, over
/// `/etc/hosts` a file with this text, and over `/run`, where services of the machine have their sockets, a folder in memory.
/// It has to have one thread. What could not be done, each with why, is no error: programs then see the machine's own.
///
/// # Errors
/// Without the privilege over mounts.
pub fn own_mounts(hosts: &str) -> io::Result<Vec<String>> {
    // Safety: this process alone is in it.
    call(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    mount(None, "/", None, libc::MS_REC | libc::MS_SLAVE)?;
    let safe = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let proc = mount(Some("proc"), "/proc", Some("proc"), safe);
    let devices = cover_devices();
    let names = put_over(hosts, "/etc/hosts");
    let run = cover_run();
    let failed = [("/proc", proc), ("/sys", devices), ("/etc/hosts", names), ("/run", run)]
        .into_iter()
        .filter_map(|(what, done)| Some((what, done.err()?)));
    Ok(failed.map(|(what, why)| format!("{what}: {why}")).collect())
}

/// Puts a file in memory over another.
fn put_over(text: &str, file: &str) -> io::Result<()> {
    let made = format!("{WORKSHOP}/file");
    open_workshop()?;
    let put = fs::write(&made, text).and_then(|()| mount(Some(&made), file, None, libc::MS_BIND));
    close_workshop()?;
    put
}

/// Puts a folder in memory over `/run`. What `/etc/resolv.conf` says stays, also where the file itself is there.
fn cover_run() -> io::Result<()> {
    const RUN: &str = "/run";
    let resolver = fs::canonicalize("/etc/resolv.conf").ok().filter(|file| file.starts_with(RUN));
    let resolver = resolver.and_then(|file| Some((format!("{WORKSHOP}{}", file.to_str()?.strip_prefix(RUN)?), fs::read(&file).ok()?)));
    open_workshop()?;
    let made = KEPT_OF_RUN.iter().try_for_each(|kept| keep(&format!("{RUN}/{kept}"), &format!("{WORKSHOP}/{kept}"))).and_then(|()| {
        let Some((file, text)) = &resolver else { return Ok(()) };
        Path::new(file).parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, text)
    });
    match made.and_then(|()| mount(Some(WORKSHOP), RUN, None, libc::MS_MOVE)) {
        Ok(()) => Ok(()),
        Err(why) => close_workshop().and(Err(why)),
    }
}

/// Gives the process mounts of its own once more, whose `/sys` has the devices of the namespace of networks that it is in now. It has to have
/// one thread.
///
/// # Errors
/// Without the privilege over mounts.
pub fn own_devices() -> io::Result<()> {
    // Safety: this process alone is in it.
    call(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    cover_devices()
}

/// Puts another `/sys` over the one that there is: its devices of networks are those of the process. What is mounted in it is there again.
fn cover_devices() -> io::Result<()> {
    const SYS: &str = "/sys";
    let kept = mounted_below(SYS, &fs::read_to_string("/proc/self/mounts")?);
    mount(Some("sysfs"), WORKSHOP, Some("sysfs"), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC)?;
    let put = kept.iter().try_for_each(|place| {
        let (from, to) = (format!("{SYS}/{place}"), format!("{WORKSHOP}/{place}"));
        mount(Some(&from), &to, None, libc::MS_BIND | libc::MS_REC)
    });
    match put.and_then(|()| mount(Some(WORKSHOP), SYS, None, libc::MS_MOVE)) {
        Ok(()) => Ok(()),
        Err(why) => close_workshop().and(Err(why)),
    }
}

/// The outermost mount points below a folder, relative to it, of the text of `/proc/self/mounts` (proc(5)).
fn mounted_below(folder: &str, mounts: &str) -> Vec<String> {
    let places =
        mounts.lines().filter_map(|line| Some(unescaped(line.split(' ').nth(1)?).strip_prefix(folder)?.strip_prefix('/')?.to_owned()));
    let mut kept: Vec<String> = Vec::new();
    for place in places {
        // What is mounted within another of them comes along with it.
        if !kept.iter().any(|outer| place.strip_prefix(outer.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))) {
            kept.push(place);
        }
    }
    kept
}

/// A path of `/proc/self/mounts`, in which the kernel writes blanks, tabs, line feeds and backslashes as `\ooo` in octal digits.
fn unescaped(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if byte.is_ascii() => {
                plain.push(char::from(byte));
                plain.push_str(&part[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

/// Shows a folder at another place too, with all that is mounted in it, or a link as the link that it is. What is not there needs nothing.
fn keep(from: &str, to: &str) -> io::Result<()> {
    match fs::symlink_metadata(from) {
        Ok(link) if link.is_symlink() => symlink(fs::read_link(from)?, to),
        Ok(_) => {
            fs::create_dir(to)?;
            mount(Some(from), to, None, libc::MS_BIND | libc::MS_REC)
        }
        Err(_) => Ok(()),
    }
}

fn open_workshop() -> io::Result<()> {
    mount(Some("tmpfs"), WORKSHOP, Some("tmpfs"), libc::MS_NOSUID | libc::MS_NODEV)?;
    fs::set_permissions(WORKSHOP, Permissions::from_mode(0o755))
}

fn close_workshop() -> io::Result<()> {
    let path = CString::new(WORKSHOP)?;
    // Safety: the path ends with a zero and outlives the call.
    call(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) })?;
    Ok(())
}

fn mount(from: Option<&str>, to: &str, kind: Option<&str>, flags: libc::c_ulong) -> io::Result<()> {
    let text = |text: &str| CString::new(text).map_err(io::Error::from);
    let (from, to, kind) = (from.map(text).transpose()?, text(to)?, kind.map(text).transpose()?);
    let start = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    // Safety: all texts end with a zero and outlive the call, and no kind that is mounted here takes data.
    call(unsafe { libc::mount(start(&from), to.as_ptr(), start(&kind), flags, std::ptr::null()) })?;
    Ok(())
}

/// Moves the process into the namespaces that another is in: of users, if it is in another, of networks, of mounts, and of processes for those that it
/// starts. It has to have one thread.
///
/// # Errors
/// Without the privilege, which whoever has made the namespaces has.
pub fn join(process: u32) -> io::Result<()> {
    let open = |kind: &str| File::open(format!("/proc/{process}/ns/{kind}"));
    let users = fs::read_link(format!("/proc/{process}/ns/user"))?;
    let users = if users == fs::read_link("/proc/self/ns/user")? { None } else { Some(open("user")?) };
    let others = [("pid", libc::CLONE_NEWPID), ("net", libc::CLONE_NEWNET), ("mnt", libc::CLONE_NEWNS)];
    let others: Vec<_> = others.into_iter().map(|(kind, flag)| Ok((open(kind)?, flag))).collect::<io::Result<_>>()?;
    if let Some(users) = users {
        // Safety: the descriptor is open and is one of a user namespace.
        once_alone(|| unsafe { libc::setns(users.as_raw_fd(), libc::CLONE_NEWUSER) })?;
        keep_powers()?;
    }
    for (namespace, flag) in others {
        // Safety: the descriptor is open and is one of the kind that the flag says.
        call(unsafe { libc::setns(namespace.as_raw_fd(), flag) })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_escapes() {
        let mounts = r"sysfs /sys sysfs rw 0 0
tmpfs /sys/fs/a\040b tmpfs rw 0 0
tmpfs /sys/fs/a\040b/c tmpfs rw 0 0
tmpfs /sys/fs/d\011e\012f\134040 tmpfs rw 0 0
tmpfs /sys/fs/a tmpfs rw 0 0
tmpfs /system tmpfs rw 0 0";
        assert_eq!(vec!["fs/a b", "fs/d\te\nf\\040", "fs/a"], mounted_below("/sys", mounts));
    }
}
