//! All projects, where a list that ends is not enough: names are completed and mended from all of them.

use tenure_client::call::Client;
use tenure_client::failure::Failure;
use tenure_core::model::limits::PAGE_ROWS;
use tenure_core::operation::project::{ListProjects, ProjectView};

/// Hands every project over by key, page by page, until there are none left or `each` wants no more.
pub fn every(client: &Client, each: &mut dyn FnMut(ProjectView) -> bool) -> Result<(), Failure> {
    let mut cursor = None;
    loop {
        let page = client.call(&ListProjects { limit: Some(PAGE_ROWS), cursor }, None)?.value;
        cursor = page.cursor;
        if !page.projects.into_iter().all(&mut *each) || cursor.is_none() {
            return Ok(());
        }
    }
}
