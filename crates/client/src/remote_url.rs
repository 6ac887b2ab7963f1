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
        let (authority, path) = rest.split_once('/')?;
        return remote(authority, path, default_port(&scheme.to_ascii_lowercase()));
    }
    // Git reads `host:path` as a remote unless a slash stands before the colon.
    match url.split_once(':') {
        Some((host, path)) if !host.contains('/') && !host.is_empty() => remote(host, path, ""),
        _ if url.is_empty() => None,
        _ => local(url, worktree),
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
    let host = match host.rsplit_once(':') {
        Some((bare, port)) if port == default_port || port.is_empty() => bare,
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
    let path = std::fs::canonicalize(&path).unwrap_or(path);
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
