//! What a client carries and brings back: a state that was sealed opens as it was and in no other way, and no text that
//! nobody sealed or signed is taken up. A key of one answer, a blank line, and what a client makes up.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| espalier_fuzz::sealed(data));

#[cfg(not(fuzzing))]
fn main() {
    espalier_fuzz::replay(espalier_fuzz::sealed);
}
