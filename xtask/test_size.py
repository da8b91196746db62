"""Tests of the report of sizes: `python3 -m unittest discover -s xtask`."""

import unittest

import size


class Size(unittest.TestCase):
    def test_a_function_counts_for_the_crate_that_its_path_begins_with(self):
        for name, crate in [
            ("tokio::runtime::task::raw::poll", "tokio"),
            ("<alloc::vec::Vec<T,A> as core::clone::Clone>::clone", "alloc"),
            ("<&mut serde_json::de::Deserializer<R> as serde_core::de::Deserializer>::deserialize_struct", "serde_json"),
            ("<dyn rmcp::handler::Handler as core::any::Any>::type_id", "rmcp"),
            ("ring_core_0_17_14__x25519_ge_scalarmult_base", "(not Rust)"),
            ("memcpy", "(not Rust)"),
        ]:
            self.assertEqual(size.crate(name), crate, name)

    def test_data_undefined_symbols_and_second_names_do_not_count(self):
        lines = [
            "0000000000001000 0000000000000010 t one::copy",
            "0000000000002000 0000000000000020 T one::copy.llvm.123",
            "0000000000002000 0000000000000020 T other::name_of_the_same",
            "0000000000003000 0000000000000040 r a::table",
            "                 U malloc",
            "0000000000004000 t without_a_size",
        ]
        self.assertEqual(list(size.functions(lines)), [("one::copy", 16), ("one::copy", 32)])

    def test_sections_are_read_from_size(self):
        lines = ["converse  :", "section    size   addr", ".text       255   4096", "Total      1000"]
        self.assertEqual(size.sections(lines), {".text": 255})


if __name__ == "__main__":
    unittest.main()
