//! One spelling for the many ways to write a remote's address, so that clones are the same repository.

use std::path::Path;

/// The identity of a remote: host and path, without scheme, user, default port, `.git` and the host's case.
/// A remote on this machine is its canonical path. Nothing for what is no address.
#[must_use]
pub fn normalise(url: &str, worktree: &Path) -> Option<String> {
    let url = url.trim();
    if let Some(path) = url.strip_prefix("file://") {
        return local(path, worktree);
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        return address(rest, default_port(&scheme.to_ascii_lowercase()));
    }
    if let Some(rest) = url.strip_prefix("//") {
        return address(rest, "");
    }
    // Git reads `host:path` as a remote unless a slash stands before the colon.
    match url.split_once(':') {
        Some((host, _)) if !host.contains('/') && !host.is_empty() => {
            let url = without_query(url)?;
            let place = match url.split_once('@') {
                Some((_, place)) if place.contains('@') => return None,
                Some((_, place)) => place,
                None => url,
            };
            let (host, path) = place.split_once(':').filter(|(host, _)| !host.contains('/'))?;
            remote(host, path, "")
        }
        _ if url.is_empty() => None,
        _ => local(url, worktree),
    }
}

/// An address without its scheme. A password may hold a slash, so an `@` behind the first one may end it: then what
/// stands before it is read as user and password, or, where it could be a host as well, nothing is read at all.
fn address(rest: &str, default_port: &str) -> Option<String> {
    let rest = without_query(rest)?;
    let (authority, path) = rest.split_once('/')?;
    if !path.contains('@') {
        return remote(authority, path, default_port);
    }
    let (_, password) = authority.split_once(':').filter(|_| !authority.contains('@'))?;
    if password.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let (authority, path) = path.rsplit_once('@')?.1.split_once('/')?;
    remote(authority, path, default_port)
}

/// An address without query and fragment, unless they may be part of a password.
fn without_query(address: &str) -> Option<&str> {
    match address.split_once(['?', '#']) {
        Some((_, rest)) if rest.contains('@') => None,
        Some((address, _)) => Some(address),
        None => Some(address),
    }
}

fn default_port(scheme: &str) -> &'static str {
    match scheme {
        "ssh" | "git+ssh" | "ssh+git" => "22",
        "https" => "443",
        "http" => "80",
        "git" => "9418",
        _ => "",
    }
}

fn remote(authority: &str, path: &str, default_port: &str) -> Option<String> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.rsplit_once(':').filter(|_| !host.ends_with(']')) {
        Some((bare, port)) if port == default_port || port.is_empty() => bare,
        Some((_, port)) if !port.chars().all(|c| c.is_ascii_digit()) => return None,
        _ => host,
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    if host.is_empty() || path.is_empty() {
        return None;
    }
    Some(format!("{}/{path}", host.to_ascii_lowercase()))
}

/// A repository on this machine is named by its Git directory, as it names itself when it has no remote.
fn local(path: &str, worktree: &Path) -> Option<String> {
    let path = worktree.join(path);
    let path = match std::fs::canonicalize(&path) {
        Ok(path) => path,
        // Nothing here has that name, and it may be an address with a password.
        Err(_) if path.to_str()?.contains(['@', '?', '#']) => return None,
        Err(_) => path,
    };
    let inner = path.join(".git");
    let path = if inner.is_dir() { inner } else { path };
    path.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_remote_is_one_identity() {
        for url in [
            "https://github.com/Owner/Repo.git",
            "https://github.com/Owner/Repo",
            "https://github.com/Owner/Repo/",
            "https://someone:secret@GitHub.com:443/Owner/Repo.git",
            "http://github.com/Owner/Repo",
            "ssh://git@github.com/Owner/Repo.git",
            "ssh://git@github.com:22/Owner/Repo.git",
            "git@github.com:Owner/Repo.git",
            "github.com:/Owner/Repo.git/",
            "git://github.com/Owner/Repo.git",
            "  git@GITHUB.com:Owner/Repo\n",
        ] {
            assert_eq!(normalise(url, Path::new("/")).as_deref(), Some("github.com/Owner/Repo"), "{url}");
        }
    }

    #[test]
    fn no_secret_becomes_part_of_an_identity() {
        for (url, identity) in [
            ("https://h/o/r.git?access_token=SECRET", Some("h/o/r")),
            ("https://h/o/r.git#SECRET", Some("h/o/r")),
            ("user:SECRET@h:o/r", Some("h/o/r")),
            ("user:SEC/RET@h:o/r#SECRET", Some("h/o/r")),
            ("https://user:p/SECRET@h/o/r", Some("h/o/r")),
            ("https://user:p@SECRET@h/o/r", Some("h/o/r")),
            ("//u:SECRET@h/o/r", Some("h/o/r")),
            ("https://[::1]/o/r", Some("[::1]/o/r")),
            ("https://user:1/SECRET@h/o/r", None),
            ("https://user:p@x/SECRET@h/o/r", None),
            ("https://user:p#SECRET@h/o/r", None),
            ("https://user/p?SECRET@h/o/r", None),
            ("https://user:SECRET/o/r", None),
            ("u:SECRET@h/o/r", None),
            ("u:p@SECRET@h:o/r", None),
            ("SEC/RET:x@h:o/r", None),
            ("file://u:SECRET@h/o/r", None),
            ("o/r.git?token=SECRET", None),
        ] {
            assert_eq!(normalise(url, Path::new("/none")).as_deref(), identity, "{url}");
        }
    }

    #[test]
    fn what_differs_stays_different() {
        let identity = |url| normalise(url, Path::new("/none"));
        assert_eq!(identity("ssh://git@host:2222/a/b").as_deref(), Some("host:2222/a/b"));
        assert_eq!(identity("https://host/a/B").as_deref(), Some("host/a/B"));
        assert_eq!(identity("https://host/a/b.github").as_deref(), Some("host/a/b.github"));
        assert_eq!(identity("file:///srv/none.git").as_deref(), Some("/srv/none.git"));
        assert_eq!(identity("/srv/none.git").as_deref(), Some("/srv/none.git"));
        assert_eq!(identity("./a:b").as_deref(), Some("/none/./a:b"));
        assert_eq!(identity("https://host"), None);
        assert_eq!(identity(""), None);
    }
}
