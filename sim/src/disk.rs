//! A small disk of a test's own, in a mount namespace that nobody else sees.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that tells a test that it runs in a namespace of its own.
const INSIDE: &str = "TENURE_SIM_NAMESPACE";

/// Runs one ignored test of this very executable in a mount namespace of its own. It must run and pass.
pub fn in_a_namespace(test: &str) {
    assert!(rustix::process::geteuid().is_root(), "mounting a small disk needs root: run this test as root");
    let own = std::env::current_exe().expect("a test knows its own executable");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).arg(own);
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(INSIDE, "1").stdin(Stdio::null());
    let output = command.output().expect("unshare is part of every Debian");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    eprintln!("{err}");
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
}

/// Whether this process was started by [`in_a_namespace`].
#[must_use]
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// A small disk that can be filled.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    filler: PathBuf,
}

impl Disk {
    /// Mounts one on a folder. It goes with the namespace.
    #[must_use]
    pub fn mount(folder: &Path, size: &str) -> Self {
        assert!(is_inside(), "a disk is mounted in a namespace of its own only");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=755"), "tenure-sim"])
            .arg(folder)
            .status();
        assert!(status.is_ok_and(|status| status.success()), "root can mount in a namespace of its own");
        Self { folder: folder.join("state"), filler: folder.join("filler") }
    }

    /// The folder for a store on it.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.folder
    }

    /// Takes all room that is left, to the last page.
    pub fn fill(&self) {
        let mut filler =
            File::options().create(true).append(true).open(&self.filler).expect("a name has room");
        for size in [64 * 1024, 4096, 1] {
            let block = vec![b'x'; size];
            loop {
                match filler.write(&block) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("the disk fails otherwise than by being full: {error}"),
                }
            }
        }
    }

    /// Gives the room back.
    pub fn clear(&self) {
        std::fs::remove_file(&self.filler).expect("it was filled");
    }
}
