//! What the replies of a server are taken for.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| espalier_fuzz::http(data));

#[cfg(not(fuzzing))]
fn main() {
    espalier_fuzz::replay(espalier_fuzz::http);
}
