//! Mounts of the process: `/proc`, `/sys` and `/run` for the programs in its namespaces.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_move, unmount,
};
use rustix::thread::UnshareFlags;

use super::namespace::unshare;

/// Parts of `/run` that contain programs, or sockets of the user's session: displays, sound, locks, and the programs of NixOS.
const KEPT_RUN_ENTRIES: [&str; 7] = ["user", "lock", "shm", "current-system", "booted-system", "opengl-driver", "wrappers"];
/// Folder over which temporary mounts are prepared, before they move to their places.
const SCRATCH_DIR: &str = "/tmp";
/// Mounted file systems of the kernel contain neither programs nor devices.
const NOEXEC_MOUNT_FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Sets up private mounts of the process: `/proc` for its process namespace, `/sys` for its network namespace, a file with this text over
/// `/etc/hosts`, and a folder in memory over `/run`, where services of the machine have their sockets.
/// The process must have one thread. Failed mounts are returned with their reasons; programs then see those of the machine.
///
/// # Errors
/// Without the privilege over mounts.
pub fn setup_private_mounts(hosts: &str) -> io::Result<Vec<String>> {
    unshare(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
    let proc = mount("proc", "/proc", "proc", NOEXEC_MOUNT_FLAGS, None).map_err(io::Error::from);
    let devices = overmount_sys();
    let names = overmount_file(hosts, "/etc/hosts");
    let run = overmount_run();
    let failed = [("/proc", proc), ("/sys", devices), ("/etc/hosts", names), ("/run", run)]
        .into_iter()
        .filter_map(|(what, done)| Some((what, done.err()?)));
    Ok(failed.map(|(what, why)| format!("{what}: {why}")).collect())
}

/// Mounts a file in memory over another.
fn overmount_file(text: &str, file: &str) -> io::Result<()> {
    let made = format!("{SCRATCH_DIR}/file");
    mount_private_tmp()?;
    let put = fs::write(&made, text).and_then(|()| Ok(mount_bind(&made, file)?));
    unmount_scratch_tmpfs()?;
    put
}

/// Mounts a folder in memory over `/run`. The content of `/etc/resolv.conf` stays, also if the file itself is there.
fn overmount_run() -> io::Result<()> {
    const RUN: &str = "/run";
    let resolver = fs::canonicalize("/etc/resolv.conf").ok().filter(|file| file.starts_with(RUN));
    let resolver = resolver.and_then(|file| Some((format!("{SCRATCH_DIR}{}", file.to_str()?.strip_prefix(RUN)?), fs::read(&file).ok()?)));
    mount_private_tmp()?;
    let made = KEPT_RUN_ENTRIES
        .iter()
        .try_for_each(|kept| bind_or_link(&format!("{RUN}/{kept}"), &format!("{SCRATCH_DIR}/{kept}")))
        .and_then(|()| {
            let Some((file, text)) = &resolver else { return Ok(()) };
            Path::new(file).parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(file, text)
        });
    match made.and_then(|()| Ok(mount_move(SCRATCH_DIR, RUN)?)) {
        Ok(()) => Ok(()),
        Err(why) => unmount_scratch_tmpfs().and(Err(why)),
    }
}

/// Sets up private mounts again, whose `/sys` has the devices of the present network namespace. The process must have one thread.
///
/// # Errors
/// Without the privilege over mounts.
pub fn remount_sysfs() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)?;
    overmount_sys()
}

/// Mounts another `/sys` over the present one, with the network devices of the process. Its submounts are mounted again.
fn overmount_sys() -> io::Result<()> {
    const SYS: &str = "/sys";
    let kept = mount_points_below(SYS, &fs::read_to_string("/proc/self/mounts")?);
    mount("sysfs", SCRATCH_DIR, "sysfs", NOEXEC_MOUNT_FLAGS, None)?;
    let put = kept.iter().try_for_each(|place| {
        let (from, to) = (format!("{SYS}/{place}"), format!("{SCRATCH_DIR}/{place}"));
        Ok(mount_bind_recursive(&from, &to)?)
    });
    match put.and_then(|()| Ok(mount_move(SCRATCH_DIR, SYS)?)) {
        Ok(()) => Ok(()),
        Err(why) => unmount_scratch_tmpfs().and(Err(why)),
    }
}

/// The outermost mount points below a folder, relative to it, of the text of `/proc/self/mounts` (proc(5)).
fn mount_points_below(folder: &str, mounts: &str) -> Vec<String> {
    let places =
        mounts.lines().filter_map(|line| Some(unescape_octal(line.split(' ').nth(1)?).strip_prefix(folder)?.strip_prefix('/')?.to_owned()));
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
fn unescape_octal(path: &str) -> String {
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
fn bind_or_link(from: &str, to: &str) -> io::Result<()> {
    match fs::symlink_metadata(from) {
        Ok(link) if link.is_symlink() => symlink(fs::read_link(from)?, to),
        Ok(_) => {
            fs::create_dir(to)?;
            Ok(mount_bind_recursive(from, to)?)
        }
        Err(_) => Ok(()),
    }
}

fn mount_private_tmp() -> io::Result<()> {
    mount("tmpfs", SCRATCH_DIR, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, None)?;
    fs::set_permissions(SCRATCH_DIR, Permissions::from_mode(0o755))
}

fn unmount_scratch_tmpfs() -> io::Result<()> {
    Ok(unmount(SCRATCH_DIR, UnmountFlags::DETACH)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_parsed_with_octal_escapes() {
        let mounts = r"sysfs /sys sysfs rw 0 0
tmpfs /sys/fs/a\040b tmpfs rw 0 0
tmpfs /sys/fs/a\040b/c tmpfs rw 0 0
tmpfs /sys/fs/d\011e\012f\134040 tmpfs rw 0 0
tmpfs /sys/fs/a tmpfs rw 0 0
tmpfs /system tmpfs rw 0 0";
        assert_eq!(vec!["fs/a b", "fs/d\te\nf\\040", "fs/a"], mount_points_below("/sys", mounts));
    }
}
