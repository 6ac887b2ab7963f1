//! One committed state, as a question sees it.

use tenure_core::model::event::Fleet;

use super::driver::{Driver, StoreError};
use super::fleet;

/// Does something that only reads, within one committed state, whose fleet row it is given.
pub fn in_one_state<T, E: From<StoreError>>(
    driver: &mut dyn Driver,
    within: impl FnOnce(&mut dyn Driver, Fleet) -> Result<T, E>,
) -> Result<T, E> {
    driver.begin_read()?;
    let answer = fleet::existing(driver).map_err(E::from).and_then(|fleet| within(driver, fleet));
    // There is nothing to keep; what ends a question's transaction cannot spoil its answer.
    let ended = driver.rollback();
    let answer = answer?;
    ended?;
    Ok(answer)
}
