//! Where rows are kept between connections. Owns writing, and with it the rule that no write replaces a baseline; what
//! a row means is `catalog`'s business.

pub(crate) mod listings;
pub(crate) mod memory;
pub(crate) mod sql;
pub(crate) mod sqlite;
pub(crate) mod trust;

#[cfg(test)]
mod tests;
