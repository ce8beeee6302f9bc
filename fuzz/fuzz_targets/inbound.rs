//! Whoever passes the list of hosts names one of them, whatever else is in its headers; and whoever names one passes. The
//! entries of the list on the first line, then a `Host` header on each line, then an empty line and the target's authority.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| espalier_fuzz::inbound(data));

#[cfg(not(fuzzing))]
fn main() {
    espalier_fuzz::replay(espalier_fuzz::inbound);
}
