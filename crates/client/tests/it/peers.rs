//! Whose socket it is: what proves who one is goes to a daemon of one's own user and to nobody else.

use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;

use rustix::process::Uid;
use tenure_client::call::Client;
use tenure_client::transport::connect;
use tenure_core::wire::SOCKET;

/// The user that nobody in particular is.
const NOBODY: u32 = 65_534;

/// Whether this process may become another user. A test that needs that says so when it may not.
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: only root can listen on a socket as another user");
    }
    root
}

/// Plays `caller` while a user listens in a folder, and returns how many calls arrived and all bytes that they sent.
fn listening(user: Option<u32>, caller: impl FnOnce(&Path)) -> (usize, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("its owner may");
    let socket: PathBuf = folder.path().join(SOCKET);
    let (listens, is_listening) = channel();
    let (called, is_called) = channel();
    let listener = thread::spawn(move || {
        if let Some(user) = user {
            // Only this thread becomes another user.
            rustix::thread::set_thread_uid(Uid::from_raw(user)).expect("root may");
        }
        let listener = UnixListener::bind(socket).expect("everybody may write here");
        listens.send(()).expect("somebody waits");
        is_called.recv().expect("the caller ends");
        listener.set_nonblocking(true).expect("a socket");
        let (mut calls, mut heard) = (0, Vec::new());
        while let Ok((mut call, _)) = listener.accept() {
            calls += 1;
            call.read_to_end(&mut heard).expect("the caller has gone");
        }
        (calls, heard)
    });
    is_listening.recv().expect("it listens");
    caller(folder.path());
    called.send(()).expect("it still listens");
    listener.join().expect("no panic")
}

#[test]
fn a_socket_of_another_user_is_refused_before_anything_is_sent() {
    if !is_root() {
        return;
    }
    let (calls, heard) = listening(Some(NOBODY), |folder| {
        let refused = connect(folder).expect_err("it is another user's");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        let client = Client::new(folder, None, Box::new(|_| {}));
        let failure = client.get("/api/v1/info").expect_err("it is another user's");
        assert!(failure.to_string().contains("the socket belongs to another user"), "{failure}");
        assert_eq!(failure.problem().exit_code, 2);
    });
    assert!(calls >= 2, "the socket itself took the calls: {calls}");
    assert_eq!(String::from_utf8_lossy(&heard), "", "another user heard this");
}

#[test]
fn a_socket_of_ones_own_user_is_taken() {
    let (calls, _) = listening(None, |folder| drop(connect(folder).expect("one's own")));
    assert_eq!(calls, 1);
}
