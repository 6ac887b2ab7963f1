-- Numbers within a record were handed out up to this one before the fleet was restored, and are not given again.
ALTER TABLE fleet ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;
