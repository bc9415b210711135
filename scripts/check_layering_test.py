#!/usr/bin/env python3
"""Tests of check_layering.py; scripts/check runs them before it trusts the rules."""

import unittest

import check_layering
from check_layering import errors_of, place_errors


def messages(path, *includes, exists=True):
    text = "\n".join(f"#include {include}" for include in includes)
    return [message for _, message in errors_of(path, text, lambda _: exists)]


class LayeringTest(unittest.TestCase):

    def test_left_and_own_folder_are_allowed(self):
        self.assertEqual(messages("worker/executor/plan.cc", '"worker/executor/plan.h"', '"core/tensor/tensor.h"', '"graph/graph.h"',
                                  '"tensorflow/core/framework/graph.pb.h"', "<vector>"), [])

    def test_right_is_refused(self):
        self.assertIn("core may not use graph", messages("core/a.cc", '"graph/graph.h"')[0])
        self.assertIn("worker may not use master", messages("worker/a.h", '"master/master.h"')[0])
        self.assertIn("client may not use client/strategy", messages("client/a.cc", '"client/strategy/a.h"')[0])

    def test_strategies_stand_above_the_client(self):
        self.assertEqual(messages("client/strategy/a.cc", '"client/session.h"'), [])
        self.assertIn("distribute may not use client", messages("distribute/cluster/a.cc", '"client/session.h"')[0])

    def test_a_task_runtime_stands_between_master_and_client(self):
        self.assertEqual(messages("client/runtime/a.cc", '"master/master.h"', '"kernels/library.h"'), [])
        self.assertEqual(messages("client/a.cc", '"client/runtime/a.h"'), [])
        self.assertEqual(messages("tools/a.cc", '"client/runtime/a.h"'), [])
        self.assertIn("client/runtime may not use client", messages("client/runtime/a.cc", '"client/session.h"')[0])

    def test_subfolders_of_distribute_use_lower_subfolders(self):
        self.assertEqual(messages("distribute/collective/a.cc", '"distribute/transport/worker_interface.h"',
                                  '"distribute/collective/b.h"'), [])
        self.assertEqual(messages("distribute/transport/workers/a.cc", '"distribute/transport/stream/a.h"',
                                  '"distribute/transport/frames/a.h"', '"distribute/cluster/a.h"'), [])

    def test_subfolders_of_distribute_do_not_use_upper_subfolders(self):
        for path, include in (("transport/a.h", "collective/received_bytes.h"),
                              ("transport/a.h", "transport/frames/a.h"),
                              ("transport/frames/a.h", "transport/workers/a.h"),
                              ("collective/a.h", "collective/gpu/a.h"),
                              ("cluster/a.h", "coordination/store.h")):
            with self.subTest(path=path):
                found = messages(f"distribute/{path}", f'"distribute/{include}"')
                self.assertEqual(len(found), 1)
                self.assertIn("may not use", found[0])

    def test_subfolders_of_one_row_do_not_use_each_other(self):
        self.assertEqual(len(messages("distribute/transport/stream/a.h",
                                      '"distribute/transport/shared_memory/link_poller.h"')), 1)

    def test_a_new_subfolder_of_distribute_needs_a_place(self):
        self.assertIn("SUBFOLDERS", messages("distribute/transport/new/a.h", '"distribute/transport/a.h"')[0])

    def test_tests_in_distribute_use_every_subfolder(self):
        self.assertEqual(messages("distribute/transport/a_test.cc", '"distribute/collective/task/a.h"'), [])

    def test_subfolders_of_core_have_an_order(self):
        self.assertEqual(messages("core/kernel/a.cc", '"core/tensor/tensor.h"'), [])
        self.assertEqual(len(messages("core/tensor/a.cc", '"core/kernel/op_kernel.h"')), 1)
        self.assertEqual(len(messages("core/a.cc", '"core/tensor/tensor.h"')), 1)

    def test_programs_do_not_use_each_other(self):
        self.assertEqual(len(messages("tools/weir_main.cc", '"examples/digits/model.h"')), 1)

    def test_examples_may_serve(self):
        self.assertEqual(messages("examples/estimator/main.cc", '"tools/server.h"'), [])

    def test_never(self):
        self.assertIn("gRPC", messages("kernels/activation/a.cc", "<grpcpp/grpcpp.h>")[0])
        self.assertIn("gRPC", messages("core/a.h", '"tensorflow/core/protobuf/master_service.grpc.pb.h"')[0])
        self.assertIn("threads", messages("graph/a.h", "<thread>")[0])
        self.assertIn("I/O", messages("graph/a.cc", "<fstream>")[0])
        self.assertIn("CUDA", messages("graph/a.cc", "<cuda_runtime.h>")[0])
        self.assertIn("CUDA", messages("core/gpu/a.cc", "<cuda_runtime_api.h>")[0])
        self.assertIn("CUDA", messages("worker/a.cc", "<cublasLt.h>")[0])
        self.assertEqual(messages("core/cuda/a.cc", "<cuda_runtime_api.h>", '"core/gpu/gpu_runtime.h"'), [])
        self.assertEqual(messages("core/cuda/a_testing.cu", '"core/gpu/b_testing.h"', "<cuda_runtime.h>"), [])
        self.assertIn("kernels", messages("distribute/transport/a.cc", '"kernels/library.h"')[0])
        self.assertIn("kernels", messages("master/a.cc", '"kernels/library.h"')[0])
        self.assertEqual(messages("worker/a.cc", "<thread>", "<grpcpp/grpcpp.h>"), [])

    def test_tests_use_all_and_nothing_uses_them(self):
        self.assertEqual(messages("core/a_test.cc", '"client/session.h"', '"gtest/gtest.h"'), [])
        self.assertEqual(messages("tests/a.cc", '"client/session.h"'), [])
        self.assertEqual(len(messages("worker/a.cc", '"tests/cluster.h"')), 1)
        self.assertEqual(len(messages("worker/a.cc", '"core/status_testing.h"')), 1)
        self.assertEqual(len(messages("worker/a.cc", '"gtest/gtest.h"')), 1)

    def test_the_wall_clock_is_for_people(self):
        def found(path):
            return list(check_layering.errors_of(path, "start_ = absl::Now();\n", lambda include: False))
        self.assertIn("MonotonicNow", found("master/a.cc")[0][1])
        self.assertEqual(found("core/logging.cc") + found("master/a_test.cc"), [])

    def test_paths_are_from_the_root(self):
        self.assertEqual(len(messages("core/a.cc", '"a.h"')), 1)
        self.assertEqual(len(messages("core/a.cc", '"../graph/a.h"')), 1)
        self.assertEqual(len(messages("core/a.cc", "<core/a.h>")), 1)


class PlacesTest(unittest.TestCase):

    def test_names_that_say_nothing(self):
        self.assertEqual([path for path, _ in place_errors(["core/util/a.cc", "kernels/rare/b.h"])], ["core/util", "kernels/rare"])
        self.assertEqual([path for path, _ in place_errors(["core/file_util.cc", "core/misc.h", "tests/table_domain.py"])],
                         ["core/file_util.cc", "core/misc.h", "tests/table_domain.py"])

    def test_parts_of_words_and_tensorflows_paths_are_allowed(self):
        self.assertEqual(list(place_errors(["core/utilization.cc", "core/transformer.h", "protos/tensorflow/core/util/event.proto",
                                            "docs/helper.md"])), [])

    def test_large_folders(self):
        sixty = [f"core/a{i}.cc" for i in range(60)]
        self.assertEqual(list(place_errors(sixty + ["core/README.md", "core/gpu/b.cc"])), [])
        self.assertIn("61 sources", list(place_errors(sixty + ["core/b.h"]))[0][1])


if __name__ == "__main__":
    unittest.main()
