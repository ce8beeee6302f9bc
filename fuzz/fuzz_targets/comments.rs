//! JSON with comments, as people write it into files.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| espalier_fuzz::comments(data));

#[cfg(not(fuzzing))]
fn main() {
    espalier_fuzz::replay(espalier_fuzz::comments);
}
