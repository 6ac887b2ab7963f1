//! The socket file: who answers on it, putting a new one in its place, and removing only what is ours.
//!
//! A socket's address holds about a hundred bytes, and folders can be deeper. A path that is too long is reached
//! through the open folder, as `/proc/self/fd/N/tenure.sock`.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use serde::Deserialize;
use tenure_core::wire;

use super::report::{Failed, Running};

/// Longest path that fits into a socket's address on every system we know, without its ending NUL.
const ADDRESS_BYTES: usize = 100;
/// The name under which a socket is made before it takes its place.
const FRESH: &str = "tenure.sock.new";
/// How long a daemon that accepts a connection may take to say who it is.
const LOOK_TIMEOUT: Duration = Duration::from_secs(3);

/// A socket that is in its place.
pub(super) struct Listening {
    pub(super) listener: UnixListener,
    pub(super) identity: Identity,
}

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

/// Who is behind the socket.
pub(super) enum Present {
    /// A daemon that said who it is.
    Answering(Running),
    /// Nobody: there is no socket, or a dead one.
    Nobody,
}

/// An address of a file in the folder that is short enough, and what must stay open while it is used.
struct Address {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl Address {
    fn of(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(name);
        if path.as_os_str().len() <= ADDRESS_BYTES {
            return Ok(Self { path, _folder: None });
        }
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let open = rustix::fs::open(folder, flags, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        if !path.exists() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "the folder's path is too long for a socket",
            ));
        }
        Ok(Self { path: path.join(name), _folder: Some(open) })
    }
}

/// Finds out who is behind the socket. Somebody who accepts connections and says nothing is a failure: it may be
/// alive, and its socket must not be taken from it.
pub(super) fn look(folder: &Path) -> Result<Present, Failed> {
    let path = folder.join(wire::SOCKET);
    let shown = path.display();
    match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Present::Nobody),
        Err(error) => {
            return Err(Failed::new(format!("{shown} cannot be read: {error}"), "check the state folder"));
        }
        Ok(found) if !found.file_type().is_socket() => {
            return Err(Failed::new(
                format!("{shown} is no socket, so it is not ours to replace"),
                "move it away, or name another folder with TENURE_STATE_DIR",
            ));
        }
        Ok(_) => {}
    }
    let deadline = Instant::now() + LOOK_TIMEOUT;
    loop {
        match ask(folder) {
            Ok(running) => return Ok(Present::Answering(running)),
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => {
                return Ok(Present::Nobody);
            }
            // A daemon that is going drops the connection; the next one is refused.
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => {
                return Err(Failed::new(
                    format!("a process listens on {shown} and does not answer: {error}"),
                    "look at daemon.log; end that process if it hangs",
                ));
            }
        }
    }
}

/// Asks whoever listens who it is.
fn ask(folder: &Path) -> io::Result<Running> {
    #[derive(Deserialize)]
    struct Info {
        pid: u32,
        version: String,
    }
    let address = Address::of(folder, wire::SOCKET)?;
    let mut stream = UnixStream::connect(&address.path)?;
    stream.set_read_timeout(Some(LOOK_TIMEOUT))?;
    stream.set_write_timeout(Some(LOOK_TIMEOUT))?;
    write!(stream, "GET {}/info HTTP/1.1\r\nHost: tenure\r\nConnection: close\r\n\r\n", wire::API)?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    let info: Info = serde_json::from_str(body).map_err(|_| io::Error::other("it is no tenure daemon"))?;
    let socket = folder.join(wire::SOCKET);
    Ok(Running { already: true, pid: info.pid, version: info.version, socket, listening: Vec::new() })
}

/// Makes a socket and puts it in its place, complete: whoever sees it can connect. The caller holds the lock
/// and has found nobody there.
pub(super) fn bind(folder: &Path) -> Result<Listening, Failed> {
    let make = || -> io::Result<Listening> {
        let fresh = folder.join(FRESH);
        match std::fs::symlink_metadata(&fresh) {
            Ok(found) if found.file_type().is_socket() => std::fs::remove_file(&fresh)?,
            Ok(_) | Err(_) => {}
        }
        let address = Address::of(folder, FRESH)?;
        let listener = UnixListener::bind(&address.path)?;
        listener.set_nonblocking(true)?;
        std::fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        let identity = identity(&fresh)?;
        std::fs::rename(&fresh, folder.join(wire::SOCKET))?;
        Ok(Listening { listener, identity })
    };
    make().map_err(|error| {
        let error = format!("cannot listen in {}: {error}", folder.display());
        Failed::new(error, "check the folder's disk, or name another with TENURE_STATE_DIR")
    })
}

fn identity(path: &Path) -> io::Result<Identity> {
    let found = std::fs::symlink_metadata(path)?;
    Ok(Identity { device: found.dev(), inode: found.ino() })
}

/// Whether the socket in its place is still this one.
pub(super) fn is_ours(folder: &Path, ours: Identity) -> bool {
    identity(&folder.join(wire::SOCKET)).is_ok_and(|found| found == ours)
}

/// Removes the socket if it is still this one.
pub(super) fn remove(folder: &Path, ours: Identity) {
    if is_ours(folder, ours) {
        let _ = std::fs::remove_file(folder.join(wire::SOCKET));
    }
}
