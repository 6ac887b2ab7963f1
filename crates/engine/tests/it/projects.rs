//! Projects are read in parts, in the order of their keys.

use tenure_core::model::ids::ProjectKey;
use tenure_core::model::project::Project;
use tenure_core::working_set::{Need, Page, Rows};

use crate::records::{ask, key, project, stored};
use crate::world::on_every_store;

#[test]
fn a_part_of_the_projects_begins_after_a_key_and_ends_at_its_count() {
    on_every_store(|mut world| {
        let later: ProjectKey = "b".parse().expect("valid");
        let mut set = stored(&mut world, |set| {
            set.projects.put(Project { key: later.clone(), ..project() });
            set.projects.put(project());
        });
        for (after, count, keys) in [
            (None, 9, vec![key(), later.clone()]),
            (None, 1, vec![key()]),
            (Some(key()), 9, vec![later.clone()]),
            (Some(later.clone()), 9, vec![]),
        ] {
            let page = Page::ProjectsAfter { after, count };
            ask(&mut world, &mut set, vec![Need::Page(page.clone())]);
            assert_eq!(set.page(&page), Ok(&Rows::Projects(keys)));
        }
    });
}
