//! The certificate that a server shows: read from its files, and read again when they change. A new file that cannot be
//! used changes nothing, since callers are better served with the old one.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::daemon::report::Failed;

/// Most bytes of a certificate's or a key's file.
const FILE_BYTES: u64 = 1024 * 1024;

/// Where a certificate and its key are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The certificate in PEM, with those that lead to its authority after it.
    pub certificate: PathBuf,
    /// Its private key in PEM.
    pub key: PathBuf,
}

/// The certificate in use.
#[derive(Debug)]
pub(super) struct Certificate {
    files: Files,
    used: RwLock<Arc<CertifiedKey>>,
    /// What the files were like when they were last read.
    read: Mutex<[Option<Stamp>; 2]>,
}

/// Tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(Self { inode: found.ino(), bytes: found.len(), changed })
    }
}

impl Files {
    fn stamps(&self) -> [Option<Stamp>; 2] {
        [Stamp::of(&self.certificate), Stamp::of(&self.key)]
    }

    /// Reads both, and makes sure that they belong together.
    fn read(&self) -> Result<CertifiedKey, Failed> {
        let unusable = |path: &Path, error: &dyn std::fmt::Display| {
            Failed::new(
                format!("{} cannot be used: {error}", path.display()),
                "name a certificate with --certificate and its key with --key, both in PEM",
            )
        };
        let (text, _) = open(&self.certificate).map_err(|error| unusable(&self.certificate, &error))?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&self.certificate, &error))?;
        if chain.is_empty() {
            return Err(unusable(&self.certificate, &"it has no certificate in PEM"));
        }
        let (text, found) = open(&self.key).map_err(|error| unusable(&self.key, &error))?;
        check_private(&self.key, &found)?;
        let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| unusable(&self.key, &error))?;
        let key = ring::sign::any_supported_type(&key).map_err(|error| unusable(&self.key, &error))?;
        let certified = CertifiedKey::new(chain, key);
        certified.keys_match().map_err(|error| unusable(&self.key, &error))?;
        Ok(certified)
    }
}

/// The bytes of a file that is regular and not too long.
fn open(path: &Path) -> io::Result<(Vec<u8>, std::fs::Metadata)> {
    // A pipe that nobody writes to would never open otherwise.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file of ordinary size"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    Ok((bytes, found))
}

/// Refuses a key that others can read. One of root's may be read by a group, because it is lent to a server so.
fn check_private(path: &Path, found: &std::fs::Metadata) -> Result<(), Failed> {
    let lent = if found.uid() == 0 && !rustix::process::geteuid().is_root() { 0o037 } else { 0o077 };
    if found.mode() & lent == 0 {
        return Ok(());
    }
    Err(Failed::new(
        format!("others can read the key {} (mode {:03o})", path.display(), found.mode() & 0o777),
        format!("close it: chmod 600 {}", path.display()),
    ))
}

impl Certificate {
    /// Reads the certificate for the first time.
    pub(super) fn read(files: Files) -> Result<Arc<Self>, Failed> {
        let read = files.stamps();
        let used = RwLock::new(Arc::new(files.read()?));
        Ok(Arc::new(Self { files, used, read: Mutex::new(read) }))
    }

    /// Reads the files again if they have changed. It blocks for as long as that takes.
    pub(super) fn read_again(&self) {
        let stamps = self.files.stamps();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if *read == stamps {
            return;
        }
        *read = stamps;
        match self.files.read() {
            Ok(new) => {
                *self.used.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                tracing::info!("the certificate was read again");
            }
            // Its key may come in a moment.
            Err(failed) => tracing::warn!(
                next = failed.next,
                "the certificate on disk is not used, the one before it still is: {}",
                failed.error
            ),
        }
    }

    /// How connections are encrypted with it.
    pub(super) fn config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, rustls::Error> {
        let provider: CryptoProvider = ring::default_provider();
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.used.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

#[cfg(test)]
mod tests {
    use tenure_cluster::Authority;

    use super::*;

    #[test]
    fn a_pair_that_cannot_be_used_changes_nothing_until_it_is_whole() {
        let authority = Authority::new().expect("openssl");
        let make = || {
            let folder = tempfile::tempdir().expect("a folder");
            (authority.certify("DNS:localhost", folder.path()).expect("a certificate"), folder)
        };
        let (used, _folder) = make();
        let files = Files { certificate: used.certificate.clone(), key: used.key.clone() };
        let certificate = Certificate::read(files).expect("a certificate and its key");
        let shown = || certificate.used.read().expect("no panic").cert.clone();
        let first = shown();
        let (next, _other) = make();
        std::fs::rename(&next.certificate, &used.certificate).expect("renamed");
        certificate.read_again();
        assert_eq!(shown(), first, "the key is another's");
        std::fs::rename(&next.key, &used.key).expect("renamed");
        certificate.read_again();
        let second = shown();
        assert_ne!(second, first, "the pair is whole");
        for broken in ["", "no certificate"] {
            std::fs::write(&used.certificate, broken).expect("written");
            certificate.read_again();
            assert_eq!(shown(), second);
        }
        std::fs::remove_file(&used.certificate).expect("removed");
        certificate.read_again();
        assert_eq!(shown(), second);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &used.certificate, mode).expect("a pipe");
        certificate.read_again();
        assert_eq!(shown(), second, "nobody writes to a pipe, and nobody waits for that");
    }
}
