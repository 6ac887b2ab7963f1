//! The writer's connection: opened anew after it was lost, and only to a store that goes on from where this process knows
//! it.

use tenure_core::model::event::Fleet;

use crate::acknowledged::Acknowledged;
use crate::store::driver::{Driver, StoreError};
use crate::store::fleet;

/// Opens a connection for writing; called again after one was lost.
pub(crate) type Connect = Box<dyn Fn() -> Result<Box<dyn Driver>, StoreError> + Send>;

/// The connection, while it stands.
pub(crate) struct Connection {
    present: Option<Box<dyn Driver>>,
    connect: Connect,
    can_be_lost: bool,
}

impl Connection {
    /// A connection that stands; `connect` opens the next one.
    pub fn new(driver: Box<dyn Driver>, connect: Connect) -> Self {
        Self { can_be_lost: driver.can_be_lost(), present: Some(driver), connect }
    }

    /// Whether it may end while the store goes on elsewhere.
    pub fn can_be_lost(&self) -> bool {
        self.can_be_lost
    }

    /// The connection, if it stands.
    pub fn present(&mut self) -> Option<&mut (dyn Driver + 'static)> {
        self.present.as_deref_mut()
    }

    /// The connection, opened anew if it was lost. `last` is the fleet row as this process committed it last.
    pub fn open(&mut self, last: &Fleet) -> Result<&mut (dyn Driver + 'static), StoreError> {
        let driver = match self.present.take() {
            Some(driver) => driver,
            None => self.again(last)?,
        };
        Ok(&mut **self.present.insert(driver))
    }

    /// Gives the connection up.
    pub fn give_up(&mut self) {
        self.present = None;
    }

    fn again(&self, last: &Fleet) -> Result<Box<dyn Driver>, StoreError> {
        let mut driver = (self.connect)()?;
        if self.can_be_lost {
            Acknowledged::from(last).is_held_by(&fleet::existing(&mut *driver)?)?;
        }
        Ok(driver)
    }
}
