//! Shells: network namespaces for programs, whose packets cross a scenario's links in a thread of Rust code.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use ecnlab_emulator::address::{AddressFamily, Side};
use ecnlab_emulator::capture::PacketCapture;
use ecnlab_emulator::event_loop::ForwardingCounters;
use ecnlab_emulator::shell::{self, ForwardingOutcome, ShellNamespaces, ShellNamespacesSpec, ShellPath, ShellSnapshot, ShellSubnet};
use ecnlab_emulator::sys::{Namespace, caps, mounts, namespace, process, userns};
use ecnlab_sim::{NoProbe, Run};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};

use crate::aqm::failure::{self, Failure};
use crate::errors::engine_fault;
use crate::panic::catch_panic;
use crate::scenario::Scenario;
use crate::table::tables_to_dict;

/// Maximum bytes of each packet in a capture.
const SNAPLEN: u32 = 65_535;

/// Network namespaces of a shell and the links between them; packets are forwarded after the start.
#[pyclass(frozen)]
pub struct Shell {
    path: ShellPath,
    hash: String,
    /// Present until the start.
    namespaces_to_start: Mutex<Option<ShellNamespaces>>,
    namespaces: [Namespace; 2],
    #[pyo3(get)]
    place: String,
    /// Addresses of IPv4, and of IPv6 if the kernel supports it: inner and outer address.
    #[pyo3(get)]
    addresses: Vec<[String; 2]>,
    /// Snapshot that the links' thread updates.
    view: Arc<SharedView>,
    loop_thread: Mutex<Option<JoinHandle<EventLoopResult>>>,
}

#[derive(Default)]
struct SharedView {
    stop: AtomicBool,
    snapshot: Mutex<Option<String>>,
}

/// Result of the links' thread; the text is that of a panic.
type EventLoopResult = (Option<Failure>, Result<io::Result<(Run, Json)>, String>);

#[pymethods]
impl Shell {
    /// Creates the namespaces for the links that a group's flows cross; `within` is the network of the enclosing shell, if any. With
    /// `background` the scenario's flows send too, simulated. Raises OSError.
    #[new]
    #[pyo3(signature = (scenario, group, ecn, congestion_control = None, within = None, background = false))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        group: u32,
        ecn: bool,
        congestion_control: Option<String>,
        within: Option<&str>,
        background: bool,
    ) -> PyResult<Shell> {
        let within = within.map(str::parse::<ShellSubnet>).transpose().map_err(PyValueError::new_err)?;
        if group as usize >= scenario.0.groups.len() {
            return Err(PyValueError::new_err(format!("unknown group {group}")));
        }
        let path = ShellPath::new(&scenario.0, group, background);
        let created = py.detach(|| ShellNamespaces::create(&ShellNamespacesSpec { outer_subnet: within, ecn, congestion_control }))?;
        let families = [AddressFamily::V4, AddressFamily::V6].into_iter().filter(|family| *family == AddressFamily::V4 || created.has_v6);
        let of = |family| [Side::Near, Side::Far].map(|side| created.subnet.address(family, side).to_string());
        Ok(Shell {
            path,
            hash: scenario.0.hash(),
            namespaces: [&created.inner, &created.outer].map(|host| host.namespace.clone()),
            place: created.subnet.to_string(),
            addresses: families.map(of).collect(),
            namespaces_to_start: Mutex::new(Some(created)),
            view: Arc::default(),
            loop_thread: Mutex::new(None),
        })
    }

    /// Identifier of the inner network, unique on this machine while it exists. Raises OSError.
    #[getter]
    fn inner_namespace_inode(&self) -> PyResult<u64> {
        Ok(self.namespaces[0].inode()?)
    }

    /// Links that packets cross: name, "down" or "up", rate in bit/s and delay in seconds.
    #[getter]
    fn links(&self) -> Vec<(String, &'static str, u64, f64)> {
        let of = |number: &u32| {
            let link = &self.path.network.links[*number as usize];
            (link.name.display_name(), self.path.direction_of_link(*number), link.rate.bps(), link.delay.seconds())
        };
        self.path.links.iter().flatten().map(of).collect()
    }

    /// File descriptors of the inner and the outer network namespace. A child process can inherit them while this object exists.
    #[getter]
    fn network_namespace_fds(&self) -> (RawFd, RawFd) {
        let [inside, outside] = self.namespaces.each_ref().map(Namespace::descriptor);
        (inside, outside)
    }

    /// Starts forwarding, and a capture if a path is given. Raises OSError.
    #[pyo3(signature = (seed, capture = None))]
    fn start(&self, seed: u64, capture: Option<PathBuf>) -> PyResult<()> {
        let namespaces_to_start =
            lock_ignoring_poison(&self.namespaces_to_start).take().ok_or_else(|| PyRuntimeError::new_err("a shell starts only once"))?;
        let file = capture.map(CaptureFile::create).transpose()?;
        let (path, view) = (self.path.clone(), Arc::clone(&self.view));
        let loop_thread = thread::Builder::new()
            .name("ecnlab-links".to_owned())
            .spawn(move || run_event_loop(&path, namespaces_to_start, seed, file, &view))?;
        *lock_ignoring_poison(&self.loop_thread) = Some(loop_thread);
        Ok(())
    }

    /// Current state of the queues and packet counters as JSON; None before it is available.
    fn latest_snapshot_json(&self) -> Option<String> {
        lock_ignoring_poison(&self.view.snapshot).clone()
    }

    /// Whether forwarding has stopped after an error.
    #[getter]
    fn has_failed(&self) -> bool {
        lock_ignoring_poison(&self.loop_thread).as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Stops the shell; returns the tables of its whole time, and the counters of real packets as JSON. Raises OSError, AqmFailure and
    /// EngineFault.
    fn stop(&self, py: Python<'_>, seed: u64) -> PyResult<(Py<PyDict>, String)> {
        let loop_thread = lock_ignoring_poison(&self.loop_thread)
            .take()
            .ok_or_else(|| PyRuntimeError::new_err("a shell ends only once, after its start"))?;
        self.view.stop.store(true, Ordering::Relaxed);
        let (failure, carried) = py.detach(|| loop_thread.join()).map_err(|_| PyRuntimeError::new_err("the links' thread panicked"))?;
        if let Some(failure) = failure {
            return Err(failure::into_exception(seed, failure));
        }
        let (run, info) = carried.map_err(|message| engine_fault(py, &self.hash, seed, &message))??;
        Ok((tables_to_dict(py, run.report.tables)?, info.to_string()))
    }
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A capture file whose errors include its name.
struct CaptureFile {
    file: File,
    path: PathBuf,
}

impl CaptureFile {
    fn create(path: PathBuf) -> io::Result<CaptureFile> {
        Ok(CaptureFile { file: File::create(&path)?, path })
    }

    fn add_path_to_error<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.map_err(|why| io::Error::new(why.kind(), format!("cannot write the capture {}: {why}", self.path.display())))
    }
}

impl Write for CaptureFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let outcome = self.file.write(bytes);
        self.add_path_to_error(outcome)
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.file.flush();
        self.add_path_to_error(outcome)
    }
}

/// Main function of the links' thread.
fn run_event_loop(
    path: &ShellPath,
    namespaces_to_start: ShellNamespaces,
    seed: u64,
    file: Option<CaptureFile>,
    view: &SharedView,
) -> EventLoopResult {
    drop(failure::take_failure());
    let mut failed = None;
    let mut real_time = false;
    let mut watch = |snapshot: &ShellSnapshot| {
        failed = failed.take().or_else(failure::take_failure);
        *lock_ignoring_poison(&view.snapshot) = Some(snapshot_json(path, snapshot).to_string());
        failed.is_none() && !view.stop.load(Ordering::Relaxed)
    };
    let began = |is_real_time| real_time = is_real_time;
    let carried = catch_panic(|| match file {
        None => shell::forward_packets(path, namespaces_to_start, seed, NoProbe, began, &mut watch).map(into_run_and_counters_json),
        Some(file) => {
            let tap = PacketCapture::new(Vec::new(), SNAPLEN, None, Box::new(file));
            shell::forward_packets(path, namespaces_to_start, seed, tap, began, &mut watch).map(into_run_and_counters_json)
        }
    });
    let carried = carried.map(|outcome| {
        outcome.map(|(run, mut info)| {
            info["real_time_class"] = json!(real_time);
            (run, info)
        })
    });
    (failed.or_else(failure::take_failure), carried)
}

/// The run, and the counters of real packets as JSON.
fn into_run_and_counters_json<P>(finished: ForwardingOutcome<P>) -> (Run, Json) {
    let ForwardingOutcome { run, counters, lateness, .. } = finished;
    let mut info = forwarding_counters_json(&counters);
    info["lateness_s"] = lateness.json();
    (run, info)
}

fn forwarding_counters_json(counts: &ForwardingCounters) -> Json {
    let mut json = counts.json();
    json["device_drops"] = json!(counts.tun_tx_drops);
    json
}

fn snapshot_json(path: &ShellPath, snapshot: &ShellSnapshot) -> Json {
    let on_the_way = snapshot.queues.iter().zip(path.queue_names()).filter(|(queue, _)| path.crosses(queue.link));
    let queues = on_the_way.map(|(queue, name)| {
        let counted = &queue.counters;
        json!({
            "name": name, "direction": path.direction_of_link(queue.link), "packets": queue.packets, "bytes": queue.bytes,
            "departed": counted.departed.packets, "departed_bytes": counted.departed.bytes, "marked": counted.marked_packets(),
            "dropped": counted.dropped_packets(), "waits": queue.sojourn_count_and_sum_s.0, "waited_s": queue.sojourn_count_and_sum_s.1,
        })
    });
    json!({ "time_s": snapshot.now.seconds(), "queues": queues.collect::<Vec<_>>(), "packets": forwarding_counters_json(snapshot.counters) })
}

/// Ensures that this process may create network namespaces, if necessary by a user namespace with its current user. The process must be
/// single-threaded. Raises OSError.
#[pyfunction]
pub fn gain_capabilities(py: Python<'_>) -> PyResult<()> {
    if !caps::has_capabilities() {
        py.detach(userns::unshare_as_current_user)?;
    }
    Ok(())
}

/// Whether this process may configure networks.
#[pyfunction]
pub fn has_capabilities() -> bool {
    caps::has_capabilities()
}

/// Makes the later child processes of this thread, which can no longer start threads, run in a new PID namespace. Raises OSError.
#[pyfunction]
pub fn unshare_pid_namespace() -> io::Result<()> {
    userns::unshare_pid_namespace()
}

/// Gives the process private mounts; returns the mounts that failed. Raises OSError.
#[pyfunction]
pub fn setup_private_mounts(hosts: &str) -> io::Result<Vec<String>> {
    mounts::setup_private_mounts(hosts)
}

/// Remounts `/sys` with the devices of the current network. The process must be single-threaded. Raises OSError.
#[pyfunction]
pub fn remount_sysfs() -> io::Result<()> {
    mounts::remount_sysfs()
}

/// Makes the kernel end this process when the thread that started it ends.
#[pyfunction]
pub fn die_with_parent() -> io::Result<()> {
    process::die_with_parent()
}

/// Moves the calling thread permanently into the network namespace of a descriptor; programs that it starts run there. Raises OSError.
#[pyfunction]
pub fn enter_network(descriptor: RawFd) -> io::Result<()> {
    namespace::enter_network_namespace(descriptor)
}

/// Moves this process, which must be single-threaded, into the namespaces of another. Raises OSError.
#[pyfunction]
pub fn join_namespaces(py: Python<'_>, process: u32) -> io::Result<()> {
    py.detach(|| userns::join_namespaces(process))
}
