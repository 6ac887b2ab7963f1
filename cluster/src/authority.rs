//! A certificate authority of a test's own, and what it signs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::place::hand_over;
use crate::program::run;

/// What `openssl` is told about the two kinds of certificates. Whoever signs is no server, and a server signs nothing.
const KINDS: &str = "\
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = $ENV::NAME
";

/// An authority that nobody knows but who is told of its certificate.
#[derive(Debug)]
pub struct Authority {
    folder: tempfile::TempDir,
}

/// A server's certificate and its key, both in PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate's file.
    pub certificate: PathBuf,
    /// The key's file.
    pub key: PathBuf,
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("tenure-ca-").tempdir();
        let authority = Self { folder: folder.map_err(|error| error.to_string())? };
        fs::write(authority.file("kinds"), KINDS).map_err(|error| error.to_string())?;
        authority.make(
            "authority",
            "DNS:none",
            &authority.identity_in(authority.folder.path(), "ca"),
            &[],
        )?;
        Ok(authority)
    }

    /// The file with its certificate, as `sslrootcert` wants it.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// A certificate for the server of a host name, in a folder that whoever runs the server can read.
    pub(crate) fn identity(&self, host: &str, folder: &Path) -> Result<Identity, String> {
        let identity = self.certify(&format!("DNS:{host}"), folder)?;
        hand_over(&identity.key)?;
        Ok(identity)
    }

    /// A certificate in a folder for a server of these names, such as `DNS:localhost,IP:127.0.0.1`. Its key is private.
    pub fn certify(&self, names: &str, folder: &Path) -> Result<Identity, String> {
        let identity = self.identity_in(folder, "server");
        let (certificate, key) = (self.certificate(), self.file("ca.key"));
        let signed: [&Path; 4] = [Path::new("-CA"), &certificate, Path::new("-CAkey"), &key];
        self.make("server", names, &identity, &signed)?;
        let private = Permissions::from_mode(0o600);
        fs::set_permissions(&identity.key, private).map_err(|error| error.to_string())?;
        Ok(identity)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn identity_in(&self, folder: &Path, name: &str) -> Identity {
        Identity {
            certificate: folder.join(name).with_extension("pem"),
            key: folder.join(name).with_extension("key"),
        }
    }

    fn make(&self, kind: &str, name: &str, into: &Identity, signed: &[&Path]) -> Result<(), String> {
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-new", "-nodes", "-days", "2", "-newkey", "ec"]);
        command.args(["-pkeyopt", "ec_paramgen_curve:prime256v1", "-extensions", kind, "-subj"]);
        command.arg(format!("/CN=tenure test {kind}")).arg("-config").arg(self.file("kinds"));
        command.arg("-out").arg(&into.certificate).arg("-keyout").arg(&into.key).args(signed);
        run(command.env("NAME", name).stdin(Stdio::null()))
            .map(drop)
            .map_err(|error| format!("openssl (Debian's package is `openssl`): {error}"))
    }
}
