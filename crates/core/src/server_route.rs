//! The routes that are no operations: they tell of the server itself, or are done to it.

use crate::model::text_enum::text_enum;
use crate::operation::Method;

text_enum! {
    /// A route of the server itself, by its name in the document of the API.
    ServerRoute {
        /// Whether the process answers.
        Alive = "health.alive",
        /// Whether it can write now.
        Ready = "health.ready",
        /// Its version.
        Version = "version",
        /// How somebody whom it does not know gets in.
        Help = "help",
        /// The document of the API.
        Document = "openapi",
        /// What it is doing, and for which fleet.
        Info = "info",
        /// Whether the record is whole.
        Audit = "audit",
        /// What agents are told about working here.
        Instructions = "instructions",
        /// Every project and task, as lines.
        Export = "export",
        /// What is found when the database is looked at.
        Database = "database",
        /// Writes a backup into a folder of the machine.
        Backup = "backup",
        /// Ends it.
        Shutdown = "shutdown",
        /// Shows a person who they are and what they may do.
        Home = "page.home",
        /// Shows a person where to log in.
        LoginPage = "page.login",
        /// The style of pages.
        Style = "page.style",
        /// Logs a person in.
        Login = "page.log_in",
        /// Logs a person out.
        Logout = "page.log_out",
        /// Ends another login of the same person.
        EndLogin = "page.end_login",
    }
}

/// From where a route of the server may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// By everybody.
    Everybody,
    /// By whoever is known: by a token, or to the operating system.
    Known,
    /// On the server's own machine alone.
    OwnMachine,
    /// By browsers: it is a page, or what a page sends, and says by itself for whom it is.
    Browser,
}

impl ServerRoute {
    /// Its method.
    #[must_use]
    pub const fn method(self) -> Method {
        match self {
            Self::Alive
            | Self::Ready
            | Self::Version
            | Self::Help
            | Self::Document
            | Self::Info
            | Self::Audit
            | Self::Instructions
            | Self::Export
            | Self::Database
            | Self::Home
            | Self::LoginPage
            | Self::Style => Method::Get,
            Self::Backup | Self::Shutdown | Self::Login | Self::Logout | Self::EndLogin => Method::Post,
        }
    }

    /// Its whole path.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Alive => "/healthz",
            Self::Ready => "/readyz",
            Self::Version => "/version",
            Self::Document => "/openapi.json",
            Self::Help => "/api/v1/help",
            Self::Info => "/api/v1/info",
            Self::Audit => "/api/v1/audit",
            Self::Instructions => "/api/v1/instructions",
            Self::Export => "/api/v1/export",
            Self::Database => "/api/v1/database",
            Self::Backup => "/api/v1/backups",
            Self::Shutdown => "/api/v1/shutdown",
            Self::Home => "/",
            Self::LoginPage => "/login",
            Self::Style => "/browser/style.css",
            Self::Login => "/browser/login",
            Self::Logout => "/browser/logout",
            Self::EndLogin => "/browser/end",
        }
    }

    /// Who may ask for it.
    #[must_use]
    pub const fn reach(self) -> Reach {
        match self {
            Self::Alive | Self::Ready | Self::Version | Self::Help => Reach::Everybody,
            Self::Document | Self::Info | Self::Audit | Self::Instructions | Self::Export => Reach::Known,
            Self::Database | Self::Backup | Self::Shutdown => Reach::OwnMachine,
            Self::Home | Self::LoginPage | Self::Style | Self::Login | Self::Logout | Self::EndLogin => {
                Reach::Browser
            }
        }
    }

    /// The route at a path.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|route| route.path() == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::catalog::entries;
    use crate::wire;

    #[test]
    fn each_has_a_path_of_its_own_at_the_root_or_in_the_api() {
        let outside = [ServerRoute::Alive, ServerRoute::Ready, ServerRoute::Version, ServerRoute::Document];
        for route in ServerRoute::ALL {
            assert_eq!(ServerRoute::at(route.path()), Some(*route));
            let below = route.path().strip_prefix(wire::API);
            let is_outside = outside.contains(route) || route.reach() == Reach::Browser;
            assert_eq!(below.is_none(), is_outside, "{route}");
            assert!(entries().iter().all(|entry| Some(entry.spec.path) != below), "{route}");
        }
        assert_eq!(ServerRoute::at("/api/v1/tasks"), None);
    }
}
