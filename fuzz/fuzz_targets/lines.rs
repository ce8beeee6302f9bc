//! Any split of a stream gives the lines of one piece.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| espalier_fuzz::lines(data));

#[cfg(not(fuzzing))]
fn main() {
    espalier_fuzz::replay(espalier_fuzz::lines);
}
